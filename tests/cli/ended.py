"""Commands that end early: by a signal, or since there is no more memory. What they have started ends with them, and
nothing is left."""
import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

from box import GOOD, LIMIT, MATRICES, MINIFUT, OPENCL, USER, Failed, case, table

# A C compiler that starts another process, as compilers do, and says so.
SLOW = "#!/bin/sh\nsleep 300 &\necho $$ $! > $$.tmp\nmv $$.tmp pids.$$\nwait\n"


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


def while_cc_works(box, command, sig, text=GOOD, processes=1, text_stays=True):
    box.put("p.sf", text)
    box.put("d/a.in", "3")
    (box.path / box.put("cc", SLOW)).chmod(0o755)
    (box.path / "tmp").mkdir()
    p = subprocess.Popen([MINIFUT] + command.split(), cwd=box.path, stderr=subprocess.PIPE,
                         env={**os.environ, "CC": "./cc", "TMPDIR": str(box.path / "tmp")})
    wait_until(lambda: len(list(box.path.glob("pids.*"))) == processes, "the C compiler did not start")
    p.send_signal(sig)
    said = p.communicate(timeout=60)[1].decode()
    if p.returncode != -sig:
        raise Failed(f"exit code {p.returncode}: {said!r}")
    if "Sanitizer" in said:
        raise Failed(said)
    pids = list(box.path.glob("pids.*"))
    for pid in " ".join(f.read_text() for f in pids).split():
        wait_until(lambda: not alive(pid), f"process {pid} of the C compiler goes on")
    if text_stays:
        wait_until(lambda: "p.c" in box.files(), "no p.c")
    left = box.files() - {"p.sf", "d", "d/a.in", "cc", "tmp", *(["p.c"] if text_stays else []), *(f.name for f in pids)}
    if left:
        raise Failed(f"left {sorted(left)}")


table("ended", False, [(f"{command.split()[0]} {sig.name}", command, sig)
                       for command in ("compile p.sf", "tune p.sf d", "bench p.sf d", "profile p.sf d")
                       for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)], while_cc_works)


# Host code and kernels side by side.
table("several ended", False, [(sig.name, "compile p.sf", sig, "entry main (xs: []i32) = map (+1) xs\n", 2)
                               for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)], while_cc_works)


@case(False)
def a_terminal_that_stops_the_background(box):
    """What the C compiler says there stops nobody."""
    box.put("p.sf", GOOD)
    (box.path / box.put("cc", '#!/bin/sh\necho a warning >&2\nexec cc "$@"\n')).chmod(0o755)
    own, its = os.openpty()
    p = subprocess.Popen(["sh", "-c", 'exec <"$0" >"$0" 2>&1 && stty tostop && exec "$@"', os.ttyname(its), MINIFUT, "compile", "p.sf"],
                         cwd=box.path, start_new_session=True, env={**os.environ, "CC": "./cc"})
    try:
        code = p.wait(timeout=60)
        said = os.read(own, 1000)
    finally:
        p.kill()
        os.close(own)
        os.close(its)
    if code != 0 or b"a warning" not in said:
        raise Failed(f"exit code {code}: {said!r}")


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
    for most in range(1 << 20, 3 << 20, 1 << 18):  # another part of it has none
        r = subprocess.run([MINIFUT, "check", "p.sf"], cwd=box.path, stderr=subprocess.PIPE, timeout=60,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)))
        if r.returncode != LIMIT or b"out of memory" not in r.stderr:
            raise Failed(f"{most} bytes: {r.returncode}: {r.stderr!r}")


# --- What has no end, or nobody at the other one ----------------------------------------------------------------

NO_FILE = "it is no regular file"


def endless(box, files, args, said):
    """`pipe` has no writer, `zeros` no end: neither is waited for."""
    os.mkfifo(box.path / "pipe")
    (box.path / "zeros").symlink_to("/dev/zero")
    box.put("p.sf", files.pop("p.sf", "entry main (x: i32): i32 = x\nentry count (s: []u8): i32 = i32.i64 (length s)\n"))
    for name, text in files.items():
        box.put(name, text)
    try:
        box.run(["timeout", "60", MINIFUT] + args.split(), USER, *said)
    except subprocess.TimeoutExpired as e:
        raise Failed(str(e)) from e


def script(text):
    return {"p.sf": "-- ==\n-- entry: count\n-- script input { " + text + " }\nentry count (s: []u8): i32 = i32.i64 (length s)\n"}


table("endless", False, [
    ("program", {}, "check zeros", (f"cannot read `zeros`: {NO_FILE}",)),
    ("program that is a folder", {"d/x": ""}, "check d", ("cannot read `d`: Is a directory",)),
    ("program to format", {}, "fmt zeros", (f"cannot read `zeros`: {NO_FILE}",)),
    ("page of a program", {}, "explain --html x zeros", (f"cannot read `zeros`: {NO_FILE}",)),
    ("bytes of a script", script('count ($loadbytes "zeros")'), "test -i p.sf", ("", f"cannot read zeros: {NO_FILE}")),
    ("bytes of a pipe", script('count ($loadbytes "pipe")'), "test -i p.sf", ("", f"cannot read pipe: {NO_FILE}")),
    ("data of a script", script('count ($loaddata "zeros")'), "test -i p.sf", ("", f"cannot read zeros: {NO_FILE}")),
    ("data of a pipe", script('count ($loaddata "pipe")'), "test -i p.sf", ("", f"cannot read pipe: {NO_FILE}")),
    ("data of a case", {"p.sf": "-- ==\n-- input @ pipe\nentry main (x: i32): i32 = x\n"}, "test -i p.sf",
     ("", f"cannot read pipe: {NO_FILE}")),
    ("result of a case", {"p.sf": "-- ==\n-- input { 1 } output @ zeros\nentry main (x: i32): i32 = x\n"}, "test -i p.sf",
     ("", f"cannot read zeros: {NO_FILE}")),
], endless)


def data_of_tools(box, what, name, said):
    box.use("matmul")
    box.put("d/a.in", MATRICES)
    os.mkfifo(box.path / name)
    args = {"d/t": " --tuning d/t"}.get(name, "")
    box.run(["timeout", "120", MINIFUT, *f"{what} --skip-compilation -q{args} matmul.sf d".split()], USER,
            f"{said}: {NO_FILE}", leaves={"matmul.sf.tuning"} if what == "tune" else ())


table("a pipe among the data", True, [
    ("tune", "tune", "d/b.in", "cannot read d/b.in"),
    ("tune, packed", "tune", "d/b.in.gz", "d/b.in.gz"),
    ("bench", "bench", "d/b.in", "b: cannot read d/b.in"),
    ("bench, a result", "bench", "d/a.out", "cannot read d/a.out"),
    ("bench, a tuning file", "bench", "d/t", "cannot read d/t"),
], data_of_tools)


@case(True)
def a_server_and_pipes(box):
    os.mkfifo(box.path / "pipe")
    shutil.copy(box.binary("matmul"), box.path)
    box.put("x", "[[3f32]]")
    said = box.run(["timeout", "60", "./matmul", "--server"], 0,
                   stdin="restore pipe x i32\nrestore /dev/zero x i32\nrestore x x [][]f32\nstore pipe x\n")[0]
    if said.count(NO_FILE) != 2 or "cannot write pipe" not in said:
        raise Failed(said)
    box.run(["timeout", "60", "./matmul", "--tuning", "/dev/zero"], USER, f"cannot read /dev/zero: {NO_FILE}", stdin="")


# --- The cache, in a folder that others may write to -----------------------------------------------------------

def built(box, *more):
    """How many kernels were built, and how many came from the cache."""
    r = subprocess.run(["./matmul", "-n", "-D", "--cache-file", "k", *more], input=MATRICES, text=True, cwd=box.path, timeout=120,
                       stderr=subprocess.PIPE, check=True, env={**os.environ, **box.driver})
    lines = [line for line in r.stderr.splitlines() if "Built kernel" in line]
    cached = sum("from the cache" in line for line in lines)
    return len(lines) - cached, cached


@case(OPENCL)
def a_cache_that_others_write_to(box):
    shutil.copy(box.binary("matmul"), box.path)
    folder = box.path / "k"
    folder.mkdir()
    folder.chmod(0o777)
    first, second = built(box), built(box)
    if not first[0] or second != (0, sum(first)):
        raise Failed(f"kernels built and taken from the cache: {first}, then {second}")
    entries = sorted(folder.glob("*.bin"))
    if sorted(folder.iterdir()) != entries or any(e.stat().st_mode & 0o77 for e in entries):
        raise Failed(f"the cache has {[(e.name, oct(e.stat().st_mode)) for e in folder.iterdir()]}")
    kept = {e: e.read_bytes() for e in entries}

    def refused(what):
        if built(box)[1]:
            raise Failed(f"{what} was taken")
        for e in entries:
            if e.is_symlink() or not e.read_bytes().startswith(b"mfkern"):
                raise Failed(f"{what} is still there")

    for e in entries:
        e.chmod(0o666)
    refused("what others may have changed")
    for e in entries:
        e.unlink()
        (box.path / ("victim" + e.name)).write_bytes(kept[e])
        e.symlink_to(box.path / ("victim" + e.name))
    refused("a link")
    if any((box.path / ("victim" + e.name)).read_bytes() != kept[e] for e in entries):
        raise Failed("a link was written through")
    for e in entries:
        e.write_bytes(kept[e])
        e.chmod(0o600)
        e.rename(folder / ("x" + e.name))
        e.write_bytes((folder / ("x" + e.name)).read_bytes())
        e.chmod(0o600)
    if built(box)[0]:
        raise Failed("what is as it was is not taken")
    built(box, "--build-option", "-DOTHER")  # other entries
    other = next(e for e in folder.glob("*.bin") if e not in entries and not e.name.startswith("x"))
    for e in entries:
        e.write_bytes(other.read_bytes())
    refused("an entry under another one's name")
    if os.geteuid() == 0:
        for e in entries:
            os.chown(e, 12345, 12345)
        refused("somebody else's file")
    (box.path / "mine").write_text("mine")
    for e in entries:
        e.unlink()
        Path(f"{e}.lock").symlink_to(box.path / "mine")
    if built(box)[1] or (box.path / "mine").read_text() != "mine":
        raise Failed("a lock was taken through a link")
