"""What runs the tests: tests/run on a list of its own, tools/prerequisites.sh where packages are missing, suites without their tools.
usage: run.py"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
sys.dont_write_bytecode = True
from checks import check, summary  # noqa: E402

SUITES = """# a comment
device t 1 slow: sleep 1; echo "3 passed, 0 failed"
compiler tac 1/x first: echo begin >>"$BUILD/order"; sleep 0.3; echo end >>"$BUILD/order"; echo "1 passed, 0 failed"
compiler ta 1/x second: echo begin >>"$BUILD/order"; sleep 0.3; echo end >>"$BUILD/order"; echo "1 passed, 0 failed"
compiler ta 2 lacks: echo "skipped for want of a tool: 2"; echo "skipped for want of zsh: 1"; echo "4 passed, 0 failed, 3 skipped"
compiler a 1 sanitized: echo "100 passed, 0 failed"
tools tac 1 lacks too: echo "skipped for want of a tool: 5"; echo "0 passed, 0 failed, 5 skipped"
"""


def run(*command, cwd=ROOT, **env):
    r = subprocess.run([str(c) for c in command], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=300)
    return r.returncode, r.stdout + r.stderr


def put_list(tmp, more, programs=()):
    (tmp / "tests").mkdir(exist_ok=True)
    shutil.copy(ROOT / "tests/run", tmp / "tests")
    (tmp / "tests/suites").write_text(SUITES + more)
    shutil.rmtree(tmp / "build", ignore_errors=True)
    for name in programs:
        (tmp / "build/unit").mkdir(parents=True, exist_ok=True)
        (tmp / "build/unit" / name).touch()


def listed(tmp, more, *names, programs=(), **env):
    """tests/run on a list of suites: exit status, lines."""
    put_list(tmp, more, programs)
    code, text = run(tmp / "tests/run", "build", *names, cwd=tmp, **{"JOBS": "2", "MINIFUT": "minifut", "LONG": "", **env})
    return code, text.splitlines()


def test_list(tmp):
    code, lines = listed(tmp, "")
    check(code == 0 and lines[-1] == "9 passed, 0 failed, 8 skipped", f"sums: {lines}")
    check(lines[-3:-1] == ["skipped for want of a tool: 7", "skipped for want of zsh: 1"], f"what was skipped and why: {lines}")
    names = [re.match(r"(\S+(?: \S+)?) +\d+ passed +\d+ failed +\d+s \[\d+s\]", line) for line in lines[:5]]
    check([n and n[1] for n in names] == ["slow", "first", "second", "lacks", "lacks too"], f"in the order of the list: {lines}")
    order = (tmp / "build/order").read_text().split()
    check(order == ["begin", "end"] * 2, f"of one word, one after the other: {order}")
    check(listed(tmp, "", "asan")[1][-1] == "106 passed, 0 failed, 8 skipped", "of make asan")
    check(listed(tmp, "", "check")[1][-1] == "1 passed, 0 failed, 5 skipped", "of make check")
    check(listed(tmp, "", "compiler")[1][-1] == "6 passed, 0 failed, 3 skipped", "of a group")
    check(listed(tmp, "", "device", "tools")[1][-1] == "3 passed, 0 failed, 5 skipped", "of two groups")
    check(listed(tmp, "", "slow", "first")[1][-1] == "4 passed, 0 failed", "by name")
    code, lines = listed(tmp, "", "first", "sanitized", "third")
    check(code == 1 and lines == ["tests/suites: there is no suite sanitized, third"], f"names of none: {lines}")
    code, lines = listed(tmp, "compiler t 1 unit: echo '2 passed, 0 failed #'\n", "unit", programs=["a_test", "b_test"])
    check([line.split()[:3] for line in lines[:2]] == [["unit", "a", "2"], ["unit", "b", "2"]], f"programs of unit/: {lines}")


def test_long(tmp):
    """What takes long is left out, unless all is asked for, or it by name."""
    more = 'tools l 1 long: echo "4 passed, 0 failed"\n'
    check(listed(tmp, more)[1][-1] == "9 passed, 0 failed, 8 skipped", "without it")
    check(listed(tmp, more, LONG="1")[1][-1] == "13 passed, 0 failed, 8 skipped", "with it")
    check(listed(tmp, more, "long")[1][-1] == "4 passed, 0 failed", "by name")


def test_failures(tmp):
    for command, words in (('echo "why not"; echo "1 passed, 2 failed"', "why not"), ('echo "died"', "died"),
                           ('echo "1 passed, 0 failed"; exit 3', "1 failed"), ('echo "1 passed, 0 failed"; kill -9 $$', "1 failed")):
        code, lines = listed(tmp, f"compiler t 1 wrong: {command}\n", "wrong")
        check(code == 1 and re.fullmatch(r"\d passed, [12] failed", lines[-1]) and words in "\n".join(lines), f"{command}: {lines}")
    for waits in ("sleep 1000", 'trap "kill -9 \\$\\$" TERM; sleep 1000'):  # ended, and killed
        code, lines = listed(tmp, f'compiler t 1 waits: echo "1 passed, 0 failed"; {waits}\n', "waits", SUITE_LIMIT="1")
        check(code == 1 and lines[-1] == "1 passed, 1 failed" and "waits did not end in 1 seconds" in lines, f"what does not end: {lines}")
    check("what is this" in "\n".join(listed(tmp, "all one wrong: true\n")[1]), "a broken list")


def test_opencl(tmp):
    """Suites of make test-opencl, and what is skipped without a device."""
    minifut = tmp / "devices"
    more = 'device to 1 both: echo "1 passed, 0 failed"\ndevice o 1 alone: MINIFUT_DRIVER=opencl; echo "2 passed, 0 failed"\n'
    for said, sums in (("    platform        Some", "3 passed, 0 failed"), ("", "1 passed, 0 failed, 1 skipped")):
        minifut.write_text(f"#!/bin/sh\n[ $1 = devices ] && [ $MINIFUT_DRIVER = opencl ] && echo '{said}'\n")
        minifut.chmod(0o755)
        code, lines = listed(tmp, more, "opencl", MINIFUT=str(minifut))
        check(code == 0 and lines[-1] == sums, f"of make test-opencl: {lines}")
        check(said or lines[-2] == "skipped for want of an OpenCL device: 1", f"what it lacks: {lines}")
        check(listed(tmp, more, "alone", "first", MINIFUT=str(minifut))[0] == 0, "one of them by name")
    check(listed(tmp, more)[1][-1] == "10 passed, 0 failed, 8 skipped", "of make test")


def test_ended(tmp):
    """What ends tests/run ends its suites."""
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        put_list(tmp, 'compiler t 1 waits: echo $$ >"$BUILD/pid.new"; mv "$BUILD/pid.new" "$BUILD/pid"; sleep 1000\n')
        p = subprocess.Popen([tmp / "tests/run", "build", "waits"], cwd=tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, "JOBS": "2", "MINIFUT": "minifut"})
        check(within(30, (tmp / "build/pid").exists), "a suite begins")
        p.send_signal(getattr(signal, name))
        check(p.wait(30) != 0, f"{name}: its exit status")
        suite = Path("/proc", (tmp / "build/pid").read_text().strip())
        check(within(30, lambda: not suite.exists()), f"{name}: a suite goes on")


def within(seconds, holds):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


def tools_without(tmp, *missing):
    """A folder with all programs but some; apt-get knows no `oclgrind`, and installs nothing."""
    folder = tmp / "tools"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    own = {"apt-get": 'echo "$*" >>"$APT_LOG"\ncase "$*" in *oclgrind*) exit 100 ;; esac', "sudo": 'shift; exec "$@"',
           "apt-cache": '[ "$2" = oclgrind ] || printf "x:\\n  Candidate: 1.0\\n"'}
    for place in os.environ["PATH"].split(":") + ["/usr/bin", "/bin"]:
        for p in Path(place).glob("*") if place else []:
            if p.name not in (*own, *missing) and not (folder / p.name).is_symlink():
                (folder / p.name).symlink_to(p)
    for name, text in own.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_prerequisites(tmp):
    log = tmp / "apt"
    path = tools_without(tmp, "oclgrind", "fish")
    code, text = run("tools/prerequisites.sh", "test", PATH=path, APT_LOG=str(log))
    check(code == 0 and not re.search("opencl|oclgrind", log.read_text() + text), f"tests ask for no driver: {text}")
    log.unlink()
    code, text = run("tools/prerequisites.sh", "opencl", PATH=path, APT_LOG=str(log))
    check(code == 0, f"what is wished for stops nothing: {text}")
    asked = log.read_text()
    check("fish" in asked and "oclgrind" not in asked, f"what apt-get knows is installed: {asked}")
    check(re.search(r"^not to be had here, .*:.* fish.* oclgrind\b", text, re.M), f"and the rest is named: {text}")
    path = tools_without(tmp, "flex")
    code, text = run("tools/prerequisites.sh", "test", PATH=path, APT_LOG=str(log))
    check(code == 1 and re.search(r"please install them:.* flex\b", text), f"what is needed stops it: {text}")


def test_suites_without_tools(tmp):
    path = tools_without(tmp, "oclgrind", "clang")
    for suite, tool in (("tests/oclgrind/run", "oclgrind"), ("tests/kir/emitted", "clang")):
        code, text = run(sys.executable, suite, PATH=path)
        check(code == 0 and re.search(rf"^skipped for want of {tool}: \d+\n0 passed, 0 failed, \d+ skipped$", text, re.M), f"{suite}: {text}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        for test in (test_list, test_long, test_failures, test_opencl, test_ended, test_prerequisites, test_suites_without_tools):
            test(Path(tmp))
    return summary()


sys.exit(main())
