"""Type stubs (.pyi) of a program, for editors and type checkers; and modules of programs, by `import`."""
from pathlib import Path

from .values import Array, Many, Record, Scalar, Sum

HEAD = '''"""Type stubs of {file}. Made by minifut: not meant to be edited."""
from typing import Any, NamedTuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minifut import DeviceArray, DeviceValue, Module, Variant

'''


def quoted(text, indent):
    safe = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'{indent}"""{safe}{" " if safe.endswith(chr(34)) else ""}"""\n'


def given(t):
    """What may be passed."""
    if isinstance(t, Scalar):
        return t.hint
    if isinstance(t, Array):
        return "Union[ArrayLike, DeviceArray]"
    if isinstance(t, Many):
        return "Any"
    if isinstance(t, Sum):
        return f"Union[{union(t)}, DeviceValue, tuple[Any, ...], str]"
    return f"Union[{result(t)}, dict[str, Any], tuple[Any, ...]]"


def union(t):
    return "Union[" + ", ".join(f"{t.hint}.{made.__name__}" for *_, made in t.variants) + "]"


def result(t):
    if isinstance(t, Record) and t.is_tuple:
        return f"tuple[{', '.join(map(result, t.parts)) or '()'}]"
    return union(t) if isinstance(t, Sum) else t.hint


def kept(t):
    if isinstance(t, Record) and t.is_tuple:
        return f"tuple[{', '.join(map(kept, t.parts)) or '()'}]"
    return t.hint if isinstance(t, Scalar) else "DeviceArray" if isinstance(t, Array) else "Any" if isinstance(t, Record) else "DeviceValue"


def several(outputs, of):
    return of(outputs[0]) if len(outputs) == 1 else f"tuple[{', '.join(map(of, outputs)) or '()'}]"


def class_of(t):
    if isinstance(t, Record):
        body = "".join(f"    {n}: {result(p)}\n" for n, p in zip(t.fields, t.parts)) or "    ...\n"
        return f"class {t.hint}(NamedTuple):\n" + (quoted(t.doc, "    ") if t.doc else "") + body + "\n"
    text = f"class {t.hint}(Variant):\n" + (quoted(t.doc, "    ") if t.doc else "")
    for _, parts, _, _, made in t.variants:
        text += f"    class {made.__name__}(Variant):\n"
        text += "".join(f"        {n}: {result(p)}\n" for n, p in zip(made.__match_args__, parts))
        arguments = "".join(f", {n}: {given(p)}" for n, p in zip(made.__match_args__, parts))
        text += f"        def __init__(self{arguments}) -> None: ...\n"
    return text + "\n"


def text(module):
    types = module._types.made.values()
    out = HEAD.format(file=module._source.name)
    out += "".join(class_of(t) for t in types if isinstance(t, Sum) or isinstance(t, Record) and not t.is_tuple)
    for name, f in module.entries.items():
        e = f.__wrapped_entry__
        parameters = "".join(f", {n}: {given(t)}" for n, t in zip(e.names, e.inputs))
        doc = e.about.get("signature", name) if not e.doc else e.doc + "\n\n" + e.about.get("signature", "")
        out += f"class _{name}:\n    def __call__(self{parameters}) -> {several(e.outputs, result)}:\n{quoted(doc, '        ')}        ...\n"
        out += f"    def keep(self{parameters}) -> {several(e.outputs, kept)}: ...\n\n{name}: _{name}\n\n"
    return out + "program: Module\n"


def write(module, path=None):
    if path is None:
        path = module._source.folder / (module.name + ".pyi")
    Path(path).write_text(text(module), encoding="utf-8")
    return Path(path)
