"""What the compiler's tools say of a program, for people and notebooks: tunings, explanations, profiles."""
import html
import json
import os
import re
import tempfile
from pathlib import Path

import numpy as np

from . import compiler
from .errors import ArgumentTypeError, Error
from .library import DRIVERS
from .values import Array, Scalar


class Report:
    """A text, and a page that notebooks show."""

    def __init__(self, text, page):
        self.text, self.html = text, page

    def __str__(self):
        return self.text

    __repr__ = __str__

    def _repr_html_(self):
        return (f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:32em;border:1px solid #8888" '
                'sandbox="allow-scripts allow-popups"></iframe>')


class Explanation(Report):
    """The versions of a program, when each is taken, and its kernels. `data`: the same as `minifut explain --json`."""

    def __init__(self, text, page, data):
        super().__init__(text, page)
        self.data = data


class Profile(Report):
    """Where the time goes. `data`: the numbers, as `minifut profile --json` has them."""

    def __init__(self, text, page, data):
        super().__init__(text, page)
        self.data = data


class Tuning(Report):
    """What was found: `params`, a dict; `tuning`, the text of the tuning file; `data`, as `minifut tune --json` has it."""

    def __init__(self, text, page, data, tuning):
        super().__init__(text, page)
        self.data, self.tuning = data, tuning
        self.params = {k: int(v) for k, v in re.findall(r"^([^\s=#-][^=\n]*)=(\d+)$", tuning, re.M)}

    def save(self, path):
        """Writes the tuning file."""
        Path(path).write_text(self.tuning, encoding="utf-8")


def plain_types(entry):
    for n, t in zip(entry.names, entry.inputs):
        if not isinstance(t, (Scalar, Array)):
            raise ArgumentTypeError(f"{entry.name}: parameter {n}: data sets hold numbers and arrays, and none of type {t.name}")
    return entry.inputs


def encoded(t, value, where):
    """A value in the binary format of data files."""
    if isinstance(t, Array):
        x = np.array(value) if hasattr(value, "cx") else value
        plain = type(x) is np.ndarray and x.dtype == t.dtype and x.ndim == t.rank
        x = np.ascontiguousarray(x if plain else t.converted(x, where))
        elem = t.elem
    else:
        x, elem = np.array(t.python(value, where), t.dtype), t
    return b"b\x02" + bytes([x.ndim]) + elem.name.rjust(4).encode() + np.array(x.shape, "<i8").tobytes() + x.astype(x.dtype.newbyteorder("<")).tobytes()


def write_data(entry, datasets, folder):
    plain_types(entry)
    for k, args in enumerate(datasets):
        args = args if isinstance(args, (tuple, dict)) else (args,)
        given = entry.bound((), args) if isinstance(args, dict) else entry.bound(args, {})
        parts = [encoded(t, v, w) for t, v, w in zip(entry.inputs, given, entry.wheres)]
        Path(folder, f"data{k}.in").write_bytes(b"".join(parts))


def of_entry(module, name):
    """An entry point by name; None: main, or the only one."""
    name = name or ("main" if "main" in module.entries or len(module.entries) != 1 else next(iter(module.entries)))
    if name not in module.entries:
        raise ArgumentTypeError(f"the program has no entry point {name}; it has {', '.join(module.entries)}")
    return module.entries[name].__wrapped_entry__


def on_device(module):
    """Options and environment that choose the module's device."""
    device, threads = module._how["device"], module._how["threads"]
    env = {**os.environ, **({"MINIFUT_DRIVER": device} if device in DRIVERS else {}), **({"MINIFUT_THREADS": str(threads)} if threads else {})}
    return (["-d", device] if device and device not in DRIVERS else []), env


def read(folder, name):
    return compiler.shown(Path(folder, name).read_text(encoding="utf-8"))


def with_data(module, command, entry, datasets, more):
    """Runs a tool on the program and data sets; what it printed, its page, its JSON, and the folder's tuning file."""
    if module._options:
        raise Error(f"{command} is for programs as `minifut compile` makes them without options, and this one was loaded with {', '.join(module._options)}")
    options, env = on_device(module)
    with tempfile.TemporaryDirectory(prefix="minifut-") as work, module._source.file() as (folder, name):
        data = Path(work, "data")
        data.mkdir()
        write_data(entry, datasets, data)
        page = "--report" if command == "tune" else "--html"
        tuning = Path(work, "program.tuning")
        done = compiler.run([command, "-e", entry.name, *options, *more, *(["-o", tuning] if command == "tune" else []), page, f"{work}/page.html",
                             "--json", f"{work}/found.json", "--", name, data], folder, env=env)
        said = re.sub(r"^written to .*\n?", "", compiler.shown(done.stdout), flags=re.M).strip()
        return (said, read(work, "page.html"), json.loads(read(work, "found.json")), read(work, tuning.name) if tuning.exists() else "")


def tune(module, datasets, entry, save, options):
    """options: those of `minifut tune`, with underscores: seconds=3, strategy="exhaustive"."""
    datasets = list(datasets)
    if not datasets:
        raise ArgumentTypeError("tuning needs arguments to try: a list of tuples, each the arguments of a call")
    more = [f"--{k.replace('_', '-')}" + ("" if v is True else f"={v}") for k, v in options.items() if v is not False]
    found = Tuning(*with_data(module, "tune", of_entry(module, entry), datasets, more))
    path = save or compiler.cache_folder() / f"{compiler.digest(found.tuning)}.tuning"
    found.save(path)
    module.load_tuning(path)
    return found


def profile(module, args, entry, runs):
    tuning = module._how["tuning"]
    more = ["--runs", runs, *(["--tuning", tuning] if tuning else ["--untuned"])]
    return Profile(*with_data(module, "profile", of_entry(module, entry), [tuple(args)], more)[:3])


def explain(module, verbose):
    options = [o for o in module._options if o.startswith("--flatten")]
    with tempfile.TemporaryDirectory(prefix="minifut-") as work, module._source.file() as (folder, name):
        page = f"{work}/page.html"
        compiler.run(["explain", *options, "--html", page, "--", name], folder)
        text = compiler.run(["explain", *options, *(["-v"] if verbose else []), "--", name], folder).stdout.rstrip()
        data = json.loads(compiler.shown(compiler.run(["explain", *options, "--json", "--", name], folder).stdout))
        return Explanation(compiler.shown(text), read(work, "page.html"), data)
