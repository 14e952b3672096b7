"""Compiled programs: their entry points as functions."""
import ctypes
import inspect
import os

from . import compiler, library
from .errors import ArgumentTypeError, RunError
from .device import Kept
from .library import POINTER, Context, Library
from .values import Call, Classes, Types, argument


class Shown(str):
    """A type of the program in a signature, as the program has it."""
    __repr__ = str.__str__


def groups(text):
    """What stands in parentheses one after another, and what follows them: of "[n] (a: f32) (b: [n]f32): f32"."""
    found, depth, start, rest = [], 0, 0, ""
    for i, c in enumerate(text):
        if c in "([{":
            if depth == 0:
                start = i
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0 and c == ")":
                found.append(text[start + 1:i])
        elif c == ":" and depth == 0:
            rest = text[i + 1:].strip()
            break
    return found, rest


def type_part(text):
    """Of "xs: [n]f32" the type."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == ":" and depth == 0:
            return text[i + 1:].strip()
    return ""


def said_types(name, about):
    """The types of the parameters and of the result as the program says them, with sizes, if they can be told apart."""
    words = " ".join(about.get("signature", "").split())
    head = f"entry {name}"
    found, result = groups(words[len(head):]) if words.startswith(head) else ([], "")
    types = [type_part(g) for g in found]
    star = [("*" if i["unique"] else "") + i["type"] for i in about["inputs"]]
    outs = [("*" if o["unique"] else "") + o["type"] for o in about["outputs"]]
    plain = outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
    return (types if len(types) == len(star) and all(types) else star), result or plain


def here(value, cx):
    """A value whose kept parts are of this context: those of others are fetched before it is locked, as a thread that had locked
    theirs might be waiting for ours."""
    if isinstance(value, Kept):
        return value if value.cx is cx else value.get()
    if isinstance(value, tuple) and any(isinstance(v, (Kept, tuple, dict)) for v in value):
        parts = [here(v, cx) for v in value]
        return type(value)._make(parts) if hasattr(value, "_make") else tuple(parts)
    if isinstance(value, dict):
        return {k: here(v, cx) for k, v in value.items()}
    return value


class Entry:
    """An entry point: how it is called. What users have is a function (`function`), so that `help` shows it as one."""

    def __init__(self, module, name, about):
        types = module._types
        self.module, self.name, self.about, self.doc = module, name, about, about.get("doc", "")
        taken = set()
        from .values import identifier
        self.names = [identifier(i.get("name", f"arg{k}"), taken) for k, i in enumerate(about["inputs"])]
        self.inputs = [types[i["type"]] for i in about["inputs"]]
        self.unique = [i["unique"] for i in about["inputs"]]
        self.outputs = [types[o["type"]] for o in about["outputs"]]
        self.wheres = [f"{name}: parameter {n}" for n in self.names]
        parameters = [argument(t) for t in self.inputs]
        self.call = types.library.function(about["cfun"], ctypes.c_int, [POINTER] * (1 + len(self.outputs)) + parameters)
        self.wanted, self.result = said_types(name, about)

    def run(self, args, kwargs, keep):
        if kwargs or len(args) != len(self.inputs):
            args = self.bound(args, kwargs)
        cx = self.module._context()
        call = Call()
        args = [here(value, cx) for value in args]
        with cx.lock:
            if cx.dead:
                cx.bury()
            try:
                passed = []
                for t, value, where, call.unique in zip(self.inputs, args, self.wheres, self.unique):
                    passed.append(t.into(cx, value, where, call))
                places = [t.out() for t in self.outputs]
                code = self.call(cx.ptr, *map(ctypes.byref, places), *passed)
                self.consume(args)
                cx.check(code)
                if call.foreign:
                    cx.check(cx.library.context_sync(cx.ptr))
                results = self.kept(cx, places, call) if keep else self.taken(cx, places)
            finally:
                for free, pointer in call.made:
                    free(cx.ptr, pointer)
        return results[0] if len(results) == 1 else tuple(results)

    def consume(self, args):
        for unique, value in zip(self.unique, args):
            if unique and isinstance(value, Kept) and not (value.exported or value.owners):
                value.consumed = True

    def kept(self, cx, places, call):
        return [t.keep(cx, p, call) for t, p in zip(self.outputs, places)]

    def taken(self, cx, places):
        """If one cannot be fetched (an index out of bounds shows now), the others are freed all the same."""
        results = []
        try:
            for t, p in zip(self.outputs, places):
                results.append(t.take(cx, p))
        except BaseException:
            for t, p in list(zip(self.outputs, places))[len(results) + 1:]:
                if hasattr(t, "free"):
                    t.free(cx.ptr, p.value)
            raise
        return results

    def bound(self, args, kwargs):
        try:
            return self.signature().bind(*args, **kwargs).args
        except TypeError as e:
            raise ArgumentTypeError(f"{self.name}: {e}: the parameters are {', '.join(f'{n}: {t}' for n, t in zip(self.names, self.wanted)) or 'none'}") from None

    def signature(self):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(n, kind, annotation=Shown(t)) for n, t in zip(self.names, self.wanted)],
                                 return_annotation=Shown(self.result))

    def function(self, keep=False):
        def call(*args, **kwargs):
            return self.run(args, kwargs, keep)

        call.__name__ = call.__qualname__ = self.name + (".keep" if keep else "")
        call.__module__ = self.module.name
        call.__signature__ = self.signature()
        declared = self.about.get("signature", "")
        call.__doc__ = "\n\n".join(filter(None, ["The same, with results on the device." if keep else "", self.doc, declared])) or None
        call.__wrapped_entry__ = self
        if not keep:
            call.keep = self.function(keep=True)
        return call


class Module:
    """A compiled program. Its entry points are functions: `m.main(x)`, or `m["main"](x)`; `m.main.keep(x)` leaves arrays on the device."""

    def __init__(self, source, built, device=None, threads=None, tuning=None, params=None, options=()):
        self._source, self._built, self._options = source, built, options
        self._opened, self._how = None, {"device": device, "threads": threads, "tuning": tuning, "params": params}
        self.manifest = built.manifest
        self._types = Types(Library(built.library), self.manifest["types"])
        self.name = source.name.rsplit(".", 1)[0]
        self.types = Classes(self._types)
        self.entries = {n: Entry(self, n, about).function() for n, about in self.manifest["entry_points"].items()}
        docs = [self.entries[n].__wrapped_entry__.about.get("signature", n) for n in self.entries]
        self.__doc__ = f"The program {source.name}:\n\n" + "\n".join(docs)

    def __getattr__(self, name):
        entries = self.__dict__.get("entries", {})
        if name in entries:
            return entries[name]
        near = ", ".join(entries) or "none"
        raise AttributeError(f"the program {self.__dict__.get('name', '')} has no entry point {name}; it has {near}")

    def __getitem__(self, name):
        return self.entries[name]

    def __dir__(self):
        return [*super().__dir__(), *self.entries]

    def __repr__(self):
        return f"<program {self._source.name}: {', '.join(self.entries)}>"

    def _repr_html_(self):
        from html import escape
        rows = "".join(f"<tr><td style='text-align:left'><code>{escape(f.__wrapped_entry__.about.get('signature', n))}</code></td>"
                       f"<td style='text-align:left'>{escape(f.__wrapped_entry__.doc)}</td></tr>" for n, f in self.entries.items())
        return f"<table><caption>{escape(self._source.name)}</caption>{rows}</table>"

    def _context(self):
        """The context, made by the first call; in a forked process a new one."""
        cx = self._opened
        if cx is not None and cx.forks == library.forks:
            return cx
        with library.lock("open"):
            cx = self._opened
            if cx is None:
                self._opened = Context(self._types.library, **self._how)
            elif cx.forks != library.forks:
                if cx.driver != "native":
                    raise RunError(f"this process was forked from one that uses {cx.device}, which a fork does not survive: start processes "
                                   "by `spawn` (multiprocessing.set_start_method), or load the program after the fork")
                self._opened = Context(self._types.library, **{**self._how, "device": "native"})
            return self._opened

    @property
    def device(self):
        """The device, as "platform, name, version, driver"."""
        return self._context().device

    @property
    def driver(self):
        """What the program runs by: "native", "opencl" or "cuda"."""
        return self._context().driver

    def sync(self):
        """Waits for the device: calls by `keep` do not, and failures inside of kernels show here at the latest."""
        self._context().sync()

    def load_tuning(self, path):
        """Takes what `minifut tune` found, for the calls that follow."""
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no tuning file {path}")
        self._context().load_tuning(path)
        self._how["tuning"] = os.path.abspath(path)

    def tune(self, datasets, entry=None, save=None, **options):
        """Finds the thresholds that are best for these arguments: a list of tuples, each the arguments of a call, or a dict of
        them by name. They hold for the calls that follow; `save`: a file that keeps them. See tools.Tuning."""
        from .tools import tune
        return tune(self, datasets, entry, save, options)

    def explain(self, verbose=False):
        """The versions of the program, when each is taken, and its kernels."""
        from .tools import explain
        return explain(self, verbose)

    def profile(self, *args, entry=None, runs=5):
        """Where the time of a call with these arguments goes: lines of the program, kernels, transfers."""
        from .tools import profile
        return profile(self, args, entry, runs)

    def grad(self, entry="main", wrt=None, value=False):
        """The gradient of an entry point whose result is one float, by reverse mode: a function with the same parameters. `wrt`: the
        parameter or parameters; default: all that are floats or arrays of them. `value`: the result as well, in front."""
        from .gradients import grad
        return grad(self, entry, wrt, value)

    def stub(self, path=None):
        """Type stubs, written to `path`; default: beside the program, NAME.pyi. The path."""
        from .stubs import write
        return write(self, path)


def build(source, device=None, threads=None, tuning=None, params=None, flatten=None, strict_math=False, fast_math=False):
    if tuning is not None:
        tuning = os.path.abspath(tuning)
        if not os.path.isfile(tuning):
            raise FileNotFoundError(f"there is no tuning file {tuning}")
    options = [f"--flatten={flatten}"] * bool(flatten) + ["--strict-math"] * strict_math + ["--fast-math"] * fast_math
    return Module(source, compiler.build(source, options), device, threads, tuning, params, options)
