#!/usr/bin/env python3
"""Programs in the style of public packages (lib/*.sf and who uses them) against references in Python.

usage: run.py [-i] MINIFUT [NAME...]

For each NAME.sf, references.py makes inputs and says what each entry point gives for them; the cases become
directives of a copy of the program, and `minifut test` runs that: in the interpreter, and compiled in all
versions (-i: in the interpreter alone). NumPy is needed.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from checks import need_modules  # noqa: E402

need_modules("numpy", n=len(list(HERE.glob("*.sf"))))
import numpy as np  # noqa: E402
import references  # noqa: E402

TYPES = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
         "uint32": "u32", "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool"}


def scalar_text(x, t):
    if t == "bool":
        return "true" if x else "false"
    if t in ("f32", "f64"):
        x = float(x)
        return f"{x!r}{t}" if np.isfinite(x) else f"{t}.nan" if np.isnan(x) else f"{'-' if x < 0 else ''}{t}.inf"
    return f"{int(x)}{t}"


def value_text(v):
    """A NumPy value as Futhark's text."""
    v = np.asarray(v)
    t = TYPES[v.dtype.name]
    if v.ndim == 0:
        return scalar_text(v[()], t)
    if v.size == 0:
        return "empty(" + "".join(f"[{d}]" for d in v.shape) + t + ")"
    return "[" + ", ".join(value_text(x) for x in v) + "]"


def directives(cases):
    """Comment lines of [(entry, arguments, results)]."""
    lines = []
    for entry, args, results in cases:
        lines += ["", "-- ==", f"-- entry: {entry}",
                  "-- input { " + " ".join(map(value_text, args)) + " }",
                  "-- output { " + " ".join(map(value_text, results)) + " }"]
    return "\n".join(lines) + "\n"


def main():
    options = [a for a in sys.argv[1:] if a.startswith("-")]
    minifut, *names = [a for a in sys.argv[1:] if not a.startswith("-")]
    names = names or sorted(f.stem for f in HERE.glob("*.sf"))
    with tempfile.TemporaryDirectory() as tmp:
        shutil.copytree(HERE / "lib", Path(tmp) / "lib")
        for name in names:
            text = (HERE / f"{name}.sf").read_text()
            (Path(tmp) / f"{name}.sf").write_text(text + directives(references.CASES[name]()))
        r = subprocess.run([str(Path(minifut).resolve()), "test", "-j2", *options, *(f"{n}.sf" for n in names)],
                           cwd=tmp, stdout=subprocess.PIPE, text=True)
    print(r.stdout, end="")
    if not re.match(r"\d+ passed, \d+ failed$", (r.stdout.splitlines() or [""])[-1]):
        print(f"exit code {r.returncode}\n0 passed, 1 failed")
    sys.exit(r.returncode != 0)


if __name__ == "__main__":
    main()
