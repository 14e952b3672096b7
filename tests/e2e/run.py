"""End to end: each program on each input, through the interpreter and through the OpenCL program in every
mode, with each threshold forced both ways, under several of PoCL's work-group methods.

usage: run.py MINIFUT BUILD_FOLDER [--quick] [NAME...]

A case is a folder tests/e2e/NAME with inputs *.in (and, if there is one, the expected *.out) and a file
`program` holding the path of the program from the project's root.
"""
import functools
import io
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import futhark_data
import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from server import Server, ServerError  # noqa: E402

MODES = ["incremental", "moderate", "full", "outer"]
NEVER, ALWAYS, DEFAULT = 1 << 60, 1, 32768
TOLERANCE = 1e-3


@functools.cache
def work_group_methods():
    """The methods that the installed PoCL knows, besides its default."""
    text = subprocess.run(["clinfo"], capture_output=True, text=True).stdout
    version = re.search(r"PoCL (\d+)\.", text, re.I) or re.search(r"pocl (\d+)\.", text, re.I)
    major = int(version.group(1)) if version else 3
    return ["loopvec", "repl"] if major < 4 else ["loopvec", "cbs"]


def thresholds(binary):
    """[(name, [(ancestor, outcome)])] from --print-params."""
    out = subprocess.run([binary, "--print-params"], capture_output=True, text=True, check=True).stdout
    res = []
    for line in out.splitlines():
        m = re.match(r"(\S+) \(threshold\([^,]*,\s*(.*)\)\)$", line.strip())
        if m:
            path = [(s.lstrip("!"), not s.startswith("!")) for s in m.group(2).split()]
            res.append((m.group(1), path))
    return res


def settings(params):
    """Settings that force each comparison both ways: all false, then each true on its own path."""
    base = {name: NEVER for name, _ in params}
    yield "defaults", {}
    yield "all false", base
    for name, path in params:
        s = dict(base)
        s.update({a: ALWAYS if taken else NEVER for a, taken in path})
        s[name] = ALWAYS
        yield name, s
    yield "all true", {name: ALWAYS for name, _ in params}


def same(got, want):
    if len(got) != len(want):
        return f"{len(got)} results, expected {len(want)}"
    for k, (g, w) in enumerate(zip(got, want)):
        g, w = np.asarray(g), np.asarray(w)
        if g.dtype != w.dtype or g.shape != w.shape:
            return f"result {k}: {g.dtype}{list(g.shape)}, expected {w.dtype}{list(w.shape)}"
        if g.dtype.kind == "f":
            ok = np.isclose(g, w, rtol=TOLERANCE, atol=1e-5, equal_nan=True)
        else:
            ok = g == w
        if not np.all(ok):
            at = tuple(np.argwhere(~np.atleast_1d(ok))[0])
            return f"result {k} at {at}: {np.atleast_1d(g)[at]}, expected {np.atleast_1d(w)[at]} ({np.sum(~ok)} differ)"
    return None


def load(data):
    return list(futhark_data.load(io.BytesIO(data)))


class Case:
    def __init__(self, folder, minifut, build):
        self.name = folder.name
        self.program = ROOT / (folder / "program").read_text().strip()
        self.inputs = sorted(folder.glob("*.in"))
        self.minifut = minifut
        self.build = build / "e2e"
        self.build.mkdir(parents=True, exist_ok=True)

    def compile(self, mode):
        binary = self.build / f"{self.name}-{mode}"
        r = subprocess.run([self.minifut, "compile", f"--flatten={mode}", "-o", str(binary), str(self.program)],
                           capture_output=True, text=True, env={"CFLAGS": "-O0", **os.environ})
        return str(binary), f"compile: {r.stderr[-1500:]}" if r.returncode else None

    def interpret(self, path):
        r = subprocess.run([self.minifut, "run", "-b", str(self.program)], stdin=open(path, "rb"), capture_output=True)
        if r.returncode != 0:
            return None, r.stderr.decode(errors="replace")
        got, wrong = load(r.stdout), None
        expected = path.with_suffix(".out")
        if expected.exists():
            with open(expected, "rb") as f:
                wrong = same(got, list(futhark_data.load(f)))
        return got, wrong

    def execute(self, binary, path):
        """The program as users run it."""
        try:
            r = subprocess.run([binary, "-b"], stdin=open(path, "rb"), capture_output=True, timeout=300)
        except subprocess.TimeoutExpired:
            return None, "no answer within 300 s"
        if r.returncode != 0:
            return None, f"exit code {r.returncode}: {r.stderr.decode(errors='replace')[-800:]}"
        try:
            return load(r.stdout), None
        except Exception as e:  # malformed output is a failure of the program, not of the test
            return None, f"unreadable output: {e}"

    def versions(self, binary, label, wants, method):
        """All settings of a program on all inputs, in one server: [(label, None or what is wrong)]."""
        params, res = thresholds(binary), []
        env = {"POCL_WORK_GROUP_METHOD": method} if method else {}
        labels = [(f"{self.name} {path.stem} {label} [{name}] {method}", path, values)
                  for path in wants for name, values in settings(params)]
        try:
            with Server(binary, limit=300, env=env) as server:
                for text, path, values in labels:
                    for name, _ in params:
                        server.ask("set_tuning_param", name, values.get(name, DEFAULT))
                    server.load("main", path)
                    server.call()
                    res.append((text, same(server.results(), wants[path])))
        except ServerError as e:
            res += [(text, f"not run: {e}") for text, _, _ in labels[len(res):]]
        return res


def check_case(case, quick, pool):
    """[(label, None or what is wrong)] of all checks of a case."""
    res, wants, waiting = [], {}, []
    for path in case.inputs:
        got, wrong = case.interpret(path)
        res.append((f"{case.name} {path.stem} interpreter", wrong))
        if got is not None:
            wants[path] = got
    for mode, (binary, wrong) in zip(MODES, pool.map(case.compile, MODES)):
        res.append((f"{case.name} compile {mode}", wrong))
        if wrong:
            continue
        for method in [""] + (work_group_methods() if mode == "incremental" and not quick else []):
            waiting.append(pool.submit(case.versions, binary, mode, wants, method))
        if mode == "incremental":
            for path, want in wants.items():
                got, wrong = case.execute(binary, path)
                res.append((f"{case.name} {path.stem} from the command line", wrong or same(got, want)))
    for future in waiting:
        res += future.result()
    return res


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    minifut, build, names = str(Path(args[0]).resolve()), Path(args[1]).resolve(), args[2:]
    folders = sorted(p.parent for p in Path(__file__).parent.glob("*/program"))
    cases = [Case(f, minifut, build) for f in folders if not names or f.name in names]
    passed = failed = 0
    # Cases wait most of the time, so there is a pool for them and one for the work.
    with ThreadPoolExecutor(2) as work, ThreadPoolExecutor(2) as pool:
        for res in pool.map(lambda case: check_case(case, "--quick" in sys.argv, work), cases):
            for label, wrong in res:
                passed += wrong is None
                failed += wrong is not None
                if wrong is not None:
                    print(f"{label}: {wrong}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
