#!/usr/bin/env python3
"""End to end: each program on each input in every mode, each comparison forced both ways, against the interpreter.

usage: run.py [--methods] MINIFUT [NAME...]

A case is a folder tests/e2e/NAME with inputs *.in (and, if there is one, the expected *.out) and a file
`program` holding the path of the program from the project's root. It is given to `minifut test` with the inputs
as directives. --methods: under PoCL's other work-group methods as well.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def work_group_methods(minifut):
    """The methods that the installed PoCL knows, besides its default."""
    text = subprocess.run([minifut, "devices"], capture_output=True, text=True).stdout
    version = re.search(r"driver (\d+)\.", text)
    return ["loopvec", "repl"] if not version or int(version.group(1)) < 4 else ["loopvec", "cbs"]


def write_case(folder, to):
    """The program with its inputs as directives."""
    program = ROOT / (folder / "program").read_text().strip()
    lines = ["", "-- =="]
    for path in sorted(folder.glob("*.in")):
        out = path.with_suffix(".out")
        lines.append(f'-- "{path.stem}" input @ {path}' + (f" output @ {out}" if out.exists() else ""))
    (to / f"{folder.name}.sf").write_text(program.read_text() + "\n".join(lines) + "\n")


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    minifut, names = str(Path(args[0]).resolve()), args[1:]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        for file in sorted(Path(__file__).parent.glob("*/program")):
            if not names or file.parent.name in names:
                write_case(file.parent, Path(tmp))
        runs = [("", ["--flatten=incremental,moderate,full,outer"])]
        if "--methods" in sys.argv:
            runs += [(method, ["-c"]) for method in work_group_methods(minifut)]
        for method, options in runs:
            env = {**os.environ, **({"POCL_WORK_GROUP_METHOD": method} if method else {})}
            r = subprocess.run([minifut, "test", "--tolerance=1e-3", *options, "."], cwd=tmp, env=env,
                               stdout=subprocess.PIPE, text=True)
            lines = r.stdout.splitlines()
            counts = re.match(r"(\d+) passed, (\d+) failed", lines[-1]) if lines else None
            for line in lines[:-1] if counts else lines + [f"exit code {r.returncode}"]:
                print(line, method)
            passed += int(counts.group(1)) if counts else 0
            failed += int(counts.group(2)) if counts else 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
