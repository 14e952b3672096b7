#!/usr/bin/env python3
"""The size of the generated text of each program of the suite, without the runtime that all of them begin with; beside
that of an older commit's compiler the ratio and its geometric mean. Exit code 1 if that is above what is asked for.

usage: bench/text_size.py [--minifut COMPILER] [--old COMPILER] [PROGRAM...]"""
import argparse
import sys
import tempfile
from math import exp, log
from pathlib import Path

from programs import emit_c
from suite import PROGRAMS, ROOT

ASKED = 1.5
# What this becomes is the runtime, but for a few lines.
LEAST = "entry main (x: i32): i32 = x\n"


def emitted(minifut, source, folder):
    """Characters of the C file."""
    target = Path(folder) / "program.c"
    emit_c(minifut, source, "incremental", target)
    return target.stat().st_size


def sizes(minifut, programs):
    """{program: characters of its own text}"""
    with tempfile.TemporaryDirectory() as folder:
        least = Path(folder) / "least.sf"
        least.write_text(LEAST)
        runtime = emitted(minifut, least, folder)
        return {p: emitted(minifut, ROOT / PROGRAMS[p][0], folder) - runtime for p in programs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minifut", type=Path, default=ROOT / "minifut", help="the compiler (default: ../minifut)")
    parser.add_argument("--old", type=Path, help="that of an older commit")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    a = parser.parse_args()
    unknown = [p for p in a.programs if p not in PROGRAMS]
    if unknown:
        parser.error(f"no program {unknown[0]}; there are {', '.join(PROGRAMS)}")
    programs = a.programs or list(PROGRAMS)
    new = sizes(a.minifut.resolve(), programs)
    old = sizes(a.old.resolve(), programs) if a.old else {}
    for p in programs:
        print(f"{p:14} {new[p] / 1e3:8.1f} kB" + (f" {old[p] / 1e3:8.1f} kB {new[p] / old[p]:7.3f}" if old else ""))
    if not old:
        return 0
    mean = exp(sum(log(new[p] / old[p]) for p in programs) / len(programs))
    print(f"geometric mean {mean:.3f} of {len(programs)} programs; asked: {ASKED}")
    return mean > ASKED


if __name__ == "__main__":
    sys.exit(main())
