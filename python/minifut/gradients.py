"""Gradients of entry points: a program with one more entry point, which calls vjp2."""
from . import compiler
from .compiler import Source
from .errors import ArgumentTypeError
from .module import Module, groups, said_types
from .tools import of_entry
from .values import Array, Scalar


def is_float(t):
    return isinstance(t, (Scalar, Array)) and t.dtype.kind == "f"


def chosen(entry, wrt):
    """Numbers of the parameters."""
    if wrt is None:
        found = [k for k, t in enumerate(entry.inputs) if is_float(t)]
        if not found:
            raise ArgumentTypeError(f"{entry.name}: no parameter is a float or an array of floats")
        return found
    found = []
    for name in [wrt] if isinstance(wrt, (str, int)) else wrt:
        k = entry.names.index(name) if name in entry.names else name
        if not isinstance(k, int) or not 0 <= k < len(entry.names):
            raise ArgumentTypeError(f"{entry.name} has no parameter {name!r}; it has {', '.join(entry.names)}")
        found.append(k)
    return found


def written(entry, wrt, value):
    """The name of the new entry point, and its text."""
    words = " ".join(entry.about.get("signature", "").split())
    types, _ = said_types(entry.name, entry.about)
    head = words[len("entry " + entry.name):]
    sizes = head[:head.index("(")] if "(" in head and groups(head)[0] else " "
    names = [i["name"] if i.get("name", "").isidentifier() and i["name"] != entry.name else f"x{k}" for k, i in enumerate(entry.about["inputs"])]
    new = entry.name + ("_and_gradient" if value else "_gradient")
    params = " ".join(f"({n}: {t.lstrip('*')})" for n, t in zip(names, types))
    over = ", ".join(names[k] for k in wrt)
    over = f"({over})" if len(wrt) > 1 else over
    result = entry.outputs[0].name
    call = f"vjp2 (\\{over} -> {entry.name} {' '.join(names)}) {over} (1: {result})"
    parts = [f"d_{k}" for k in wrt]
    pattern = f"({', '.join(parts)})" if len(parts) > 1 else parts[0]
    results = ", ".join((["y"] if value else []) + parts)
    return new, f"\nentry {new}{sizes}{params} =\n  let ({'y' if value else '_'}, {pattern}) = {call}\n  in ({results})\n"


def grad(module, name, wrt, value):
    entry = of_entry(module, name)
    if len(entry.outputs) != 1 or not isinstance(entry.outputs[0], Scalar) or not is_float(entry.outputs[0]):
        raise ArgumentTypeError(f"{entry.name} gives {entry.result}: gradients are of entry points that give one float")
    new, text = written(entry, chosen(entry, wrt), value)
    source = module._source
    whole = (source.text if source.text is not None else source.path.read_text(encoding="utf-8")).rstrip("\n") + "\n" + text
    made = Source(text=whole, name=source.name.rsplit(".", 1)[0] + "_gradient", folder=source.folder)
    how = {**module._how, "tuning": None, "params": None}
    return Module(made, compiler.build(made, module._options), **how, options=module._options)[new]
