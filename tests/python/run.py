"""The tests of the Python package, by pytest, and the wheel, which pip installs in an environment of its own.
usage: run.py MINIFUT BUILD_FOLDER [pytest's options...]"""
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / "tests"))
sys.dont_write_bytecode = True
import checks  # noqa: E402
from checks import check  # noqa: E402

MINIFUT, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
WORK = BUILD / "python"
PROGRAM = """
import minifut, sys
from minifut import compiler
assert compiler.command().startswith(sys.prefix), compiler.command()
m = minifut.compile("entry main [n] (xs: [n]f64): f64 = f64.sum xs")
assert m.main([1, 2, 3.5]) == 6.5
"""


def run(cmd, **env):
    r = subprocess.run([str(c) for c in cmd], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, timeout=600,
                       env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env})
    return r.returncode, r.stdout


def by_pytest(more):
    """Its sums: what is skipped is skipped for want of something."""
    code, out = run([sys.executable, "-m", "pytest", "-q", "-rsP", "-p", "no:cacheprovider", "--basetemp", WORK / "pytest", HERE, *more],
                    MINIFUT=str(MINIFUT), MINIFUT_DRIVER="native")
    for line in re.findall(r"^(?:a call takes|the first result after) .*$", out, re.M):
        print(line)
    for n, why in re.findall(r"^SKIPPED \[(\d+)\] \S+: (.*)$", out, re.M):
        m = re.search(r"could not import '(\w+)", why)
        checks.skip(f"{m[1]} (PyPI)" if m else why.split(":")[0], int(n))
    sums = {what: int(n) for n, what in re.findall(r"(\d+) (passed|failed|errors?)\b", out.splitlines()[-1] if out else "")}
    checks.passed += sums.get("passed", 0)
    checks.failed += sum(n for what, n in sums.items() if what != "passed")
    if code:
        print(out)
    check(code == 0 and sums.get("passed"), f"pytest: exit code {code}")


def wheel():
    """What `make wheel` makes is a package by itself, the same each time."""
    code, out = run(["make", "wheel", f"BUILD={os.environ.get('BUILD', 'build')}"])
    path = next((BUILD / "wheel").glob("*.whl"), None)
    check(code == 0 and path, f"make wheel: {out[-2000:]}")
    if not path:
        return
    first = path.read_bytes()
    run(["make", "wheel", f"BUILD={os.environ.get('BUILD', 'build')}"])
    check(path.read_bytes() == first, "two wheels of the same files differ")
    names = zipfile.ZipFile(path).namelist()
    if shutil.which("dpkg-query"):
        for carried in (n for n in names if re.search(r"/_compiler/lib(cjson|md)\.so", n)):
            check(any(n.endswith(f"/licenses/{Path(carried).name}.txt") for n in names), f"{carried} is carried without its licence")
    code, out = run([sys.executable, "-m", "venv", "--system-site-packages", "--clear", WORK / "installed"])
    if code:
        checks.skip("venv (python3-venv)", 3)
        return
    python = WORK / "installed/bin/python"
    code, out = run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check", path])
    check(code == 0, f"pip install: {out}")
    here = str(Path(next(p for p in sys.path if (Path(p) / "numpy").is_dir())))  # NumPy of the environment that runs this
    code, out = run([python, "-c", PROGRAM], PYTHONPATH=here, MINIFUT="")
    check(code == 0, f"the installed package: {out}")
    code, out = run([WORK / "installed/bin/minifut", "--version"], PYTHONPATH=here, MINIFUT="")
    check(code == 0 and (ROOT / "VERSION").read_text().strip() in out, f"the installed command: {out}")


def main():
    checks.need_modules("numpy", "pytest", n=60)
    WORK.mkdir(parents=True, exist_ok=True)
    by_pytest(sys.argv[3:])
    wheel()
    return checks.summary()


if __name__ == "__main__":
    sys.exit(main())
