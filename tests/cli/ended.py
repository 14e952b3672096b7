"""Commands that end early: by a signal, or since there is no more memory. What they have started ends with them, and
nothing is left."""
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

from box import GOOD, LIMIT, MINIFUT, USER, Failed, case, table

# A C compiler that starts another process, as compilers do, and says so.
SLOW = "#!/bin/sh\nsleep 300 &\necho $$ $! > pids.tmp\nmv pids.tmp pids\nwait\n"


def alive(pid):
    """Does it run? One that nobody has reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(holds, what):
    end = time.monotonic() + 30
    while not holds():
        if time.monotonic() > end:
            raise Failed(what)
        time.sleep(0.01)


def while_cc_works(box, command, sig):
    box.put("p.sf", GOOD)
    box.put("d/a.in", "3")
    (box.path / box.put("cc", SLOW)).chmod(0o755)
    p = subprocess.Popen([MINIFUT] + command.split(), cwd=box.path, stderr=subprocess.PIPE,
                         env={**os.environ, "CC": "./cc"})
    wait_until((box.path / "pids").exists, "the C compiler did not start")
    p.send_signal(sig)
    said = p.communicate(timeout=60)[1].decode()
    if p.returncode != -sig:
        raise Failed(f"exit code {p.returncode}: {said!r}")
    if "Sanitizer" in said:
        raise Failed(said)
    for pid in (box.path / "pids").read_text().split():
        wait_until(lambda: not alive(pid), f"process {pid} of the C compiler goes on")
    wait_until(lambda: "p.c" in box.files(), "no p.c")
    left = box.files() - {"p.sf", "d", "d/a.in", "cc", "pids", "p.c"}
    if left:
        raise Failed(f"left {sorted(left)}")


table("ended", False, [(f"{command.split()[0]} {sig.name}", command, sig)
                       for command in ("compile p.sf", "tune p.sf d", "bench p.sf d", "profile p.sf d")
                       for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)], while_cc_works)


@case(False)
def a_C_compiler_out_of_memory(box):
    box.put("p.sf", GOOD)
    (box.path / box.put("cc", "#!/bin/sh\nkill -KILL $$\n")).chmod(0o755)
    box.minifut("compile p.sf", USER, r"^minifut: the C compiler was ended by a signal \(Killed\) on p.c: is there too little memory\?$",
                leaves=["p.c"], env={"CC": "./cc"})


@case(False)
def a_file_that_the_C_compiler_would_take(box):
    """Its output has a name of its own: no file of that name can be lost."""
    box.put("p.sf", GOOD)
    (box.path / box.put("cc", '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho "$2" >"$2"\n')).chmod(0o755)
    box.minifut("compile p.sf", 0, leaves=["p", "p.c"], env={"CC": "./cc"})
    name, mode = (box.path / "p").read_text().strip(), (box.path / "p").stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    if not name.startswith("./p.") or mode != 0o777 & ~mask:
        raise Failed(f"the C compiler wrote {name}; its mode is {mode:o}")


@case(False)
def a_compiler_out_of_memory(box):
    """It is no bug. (Address sanitizers need their own room.)"""
    if "asan" in MINIFUT:
        return
    box.put("p.sf", "entry main (x: i32): i32 =\n"
            + "".join(f"  let y{i} = x + {i}\n" for i in range(3000)) + "  in x\n")
    r = subprocess.run([MINIFUT, "check", "p.sf"], cwd=box.path, stderr=subprocess.PIPE, timeout=60,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 20, 1 << 20)))
    if r.returncode != LIMIT or b"out of memory" not in r.stderr:
        raise Failed(f"{r.returncode}: {r.stderr!r}")
