"""Cases: the C that compile emits is for people, too."""
import os
import platform
import re
import shutil
import subprocess

from box import EXAMPLES, GOOD, MINIFUT, ROOT, USER, Failed, case, table
from commands import long_program, nest_program

MOST_LINES = 300  # of a function
MOST_COLUMNS = 300  # of a line that is no comment
MOST_NARROW = 120  # of one in a function that looks whether indices fit in 32 bits


def functions(text):
    """(name, lines) of each function, and what the program has behind the runtime."""
    program = text[text.index("/* ==== The program ==== */"):]
    return [(m[1], m[2].split("\n")) for m in
            re.finditer(r"^static (?:inline )?(?:int|bool) (\w+)\([^)]*\)\n\{\n(.*?)^\}$", program, re.M | re.S)], program


def readable(box, text):
    """Functions and lines are of a length that one can read, and control flow has no jumps but to the end."""
    found, program = functions(text)
    names = [name for name, _ in found]
    if not any(name.startswith("entry_") for name in names) or len(set(names)) != len(names):
        raise Failed(f"functions {names}")
    for name, lines in found:
        if len(lines) > MOST_LINES:
            raise Failed(f"{name} has {len(lines)} lines")
        for line in lines:
            most = MOST_NARROW if name.startswith("narrow_") else MOST_COLUMNS
            if len(line) > most and "/*" not in line:
                raise Failed(f"{name}: a line of {len(line)} columns: {line[:200]}")
        jumps = {j for line in lines for j in re.findall(r"\bgoto (\w+)|^ *(\w+):;?$", line)}
        if jumps - {("done", ""), ("", "done")}:
            raise Failed(f"{name} jumps: {jumps}")
    return found, program


def of_program(box, path):
    box.put("here/p.sf", path.read_text())
    for name in re.findall(r'import "\.\./(\w+/\w+)"', path.read_text()):
        box.put(f"{name}.sf", (path.parent.parent / f"{name}.sf").read_text())
    for folder, to in ((path.parent, "here/"), (path.parent.parent, "")):  # of what it may import
        for lib in folder.glob("*.sf"):
            box.put(to + lib.name, lib.read_text())
    found, program = readable(box, box.minifut("compile --emit=c here/p.sf", 0)[0])
    # A version is a function; an entry without thresholds is one version.
    told = [block.split("\n    versions:")[1] for block in box.minifut("explain -v here/p.sf", 0)[0].split("\nentry ")]
    want = sum(n for n in (len(re.findall(r"-- V\d+$", t, re.M)) for t in told) if n > 1)
    got = [name for name, _ in found if "__version_" in name]
    if len(got) != want or len(re.findall(r"^/\* V\d+ of ", program, re.M)) != want:
        raise Failed(f"explain has {want} versions, the program {got}")


# One turn of a time loop is one function, be it that of a whole model's derivative.
LONG = {"locvol"}
PROGRAMS = sorted(p for d in (EXAMPLES, ROOT / "bench") for p in d.rglob("*.sf")
                  if p.stem not in LONG and re.search(r"^entry|^def main\b", p.read_text(), re.M))

table("C of", False, [(p.stem, p) for p in PROGRAMS], of_program)


def of_text(box, text):
    box.put("p.sf", text)
    readable(box, box.minifut("compile --emit=c p.sf", 0)[0])


table("C of a generated program", False, [
    ("2000 lines", long_program()), ("a nest of seven", nest_program(7, 1)), ("siblings", nest_program(4, 3)),
], of_text)


@case(False)
def an_assertion_may_say_nothing(box):
    """In IR text; those of programs begin with words of ours."""
    box.put("p.ir", 'dialect soac\nentry main [] (x: i64, y: i64) = {\n  let a: bool = le.i64 0i64 x\n  let () = assert a "" ()\n'
                    '  let b: bool = le.i64 0i64 y\n  let () = assert b "" ()\n  in x\n}\n')
    out, _ = box.minifut("compile --emit=c --from=flatten p.ir", 0)
    if out.count('{"", "p.ir:') != 2:
        raise Failed("the places of the assertions")


@case(False)
def a_version_is_called_not_jumped_to(box):
    box.put("p.sf", (EXAMPLES / "matmul.sf").read_text())
    found, _ = functions(box.minifut("compile --emit=c p.sf", 0)[0])
    entry = "\n".join(dict(found)["entry_main"])
    calls = re.findall(r"\bmain__version_(\d)\(ctx, s\)", entry)
    if calls != list("01234"):
        raise Failed(f"versions {calls} are called")


@case(False)
def sizes_that_occur_again_have_names(box):
    box.put("p.sf", (EXAMPLES / "rowsum.sf").read_text())
    for name, lines in functions(box.minifut("compile --emit=c p.sf", 0)[0])[0]:
        text = "\n".join(lines)
        for size in re.findall(r"^ *const int64_t local\[\] = \{(.*)\};$", text, re.M):
            if not re.fullmatch(r"\w+", size):
                raise Failed(f"{name}: a group of {size}")


# The vectors that the kernels of an entry load and store on GPUs; entries that are not named have none.
VECTORS = {
    "rows_bodies": {"accelerations": "load float4, store float4", "simulate": "load float4, store float4"},
    "rows_points": {"nearest": "load float2, store float2", "by_reduction": "load float2, store float2",
                    "complex": "load double2, store double2", "intervals": "load long2, store long2",
                    "table": "load int2"},
    "rows_bytes": {"grey": "load uchar4, store uchar4", "bits": "store uchar4", "lines": "load short8, store short8"},
    "rows_in_place": {"fibonacci": "load int4", "turned": "load int4, store int4", "swapped": "load long2, store long2"},
    "rows_odd": {"sixes": "load int2, store int2", "inner": "store int2"},
}


def vectors_of(box, name):
    """Rows of few elements are vectors in memory, on GPUs and where that is known."""
    box.put("p.sf", (ROOT / f"tests/programs/soacs/{name}.sf").read_text())
    gpu, cpu = box.minifut("compile --emit=opencl p.sf", 0)[0].split("/* ==== C for CPUs ==== */")
    access = r"\*\((const )?__(?:global|local) ([a-z]+\d) \*\)"
    found = {}
    for kernel in re.split("__kernel (?:MF_SHAPE )?void ", gpu)[1:]:
        entry = re.match(r"(?:seg[a-z]+_|intra_|partials_|arriving_|dealt_)+(\w+)_\d+\(", kernel)[1]
        found.setdefault(entry, set()).update(("load " if m[0] else "store ") + m[1] for m in re.findall(access, kernel))
    found = {entry: ", ".join(sorted(v)) for entry, v in found.items() if v}
    if found != VECTORS[name] or re.search(access, cpu):
        raise Failed(f"vectors: {found}, on CPUs {re.findall(access, cpu)}")


table("vectors of", False, [(name, name) for name in VECTORS], vectors_of)


@case(False)
def what_a_launch_looks_at(box):
    """When indices have 32 bits: the text, but for the numbers of names."""
    box.put("p.sf", (EXAMPLES / "rowsum.sf").read_text())
    found, _ = functions(box.minifut("compile --emit=c p.sf", 0)[0])
    got = [re.sub(r"_\d+", "", line).strip() for line in dict(found)["narrow_segmap_main_0"]]
    want = ["const double n = rt_count(args, 0), groups0 = (double)groups[0], size0 = (double)size[0],",
            "offset = rt_count(args, 2), stride = rt_count(args, 3),",
            "stride = rt_count(args, 4), m = rt_count(args, 6);",
            "return n + groups0 * size0 <= RT_INT &&",
            "offset + n * stride + stride * m <= RT_INT;", ""]
    if got != want:
        raise Failed("\n".join(got))


@case(False)
def primes_in_names_of_entry_points(box):
    """In C they are spelt as in Futhark; elsewhere as in the program."""
    box.put("p.sf", "entry f' (x: i32) = x + 1\nentry z'Z (x: i32) = x\n")
    box.minifut("run -e f' p.sf", 0, out="^5i32$", stdin="4")
    box.minifut("compile --library -o p p.sf", 0, leaves=("p.c", "p.h", "p.json"))
    header, manifest = ((box.path / name).read_text() for name in ("p.h", "p.json"))
    for c, name in (("fzq", "f'"), ("zzzqZZ", "z'Z")):
        if f"int futhark_entry_{c}(" not in header or not re.search(rf'"{name}": {{\s*"cfun": "futhark_entry_{c}"', manifest):
            raise Failed(f"no entry {name}")


# A C compiler that tells what it is asked, a call a line.
TELLING = '#!/bin/sh\necho "$@" >>asked\nprevious=\nfor word; do [ "$previous" != -o ] || echo made >"$word"; previous=$word; done\n'


def calls(box, args, minifut=MINIFUT, **env):
    """What `minifut compile` asks of a C compiler that tells. Objects are in a folder of their own, and do not stay."""
    (box.path / box.put("bin/cc", TELLING)).chmod(0o755)
    (box.path / "tmp").mkdir(exist_ok=True)
    chosen = {"PATH": f"{box.path}/bin:{os.environ['PATH']}", "MINIFUT_RUNTIME": "", "CC": "", "CFLAGS": "",
              "TMPDIR": str(box.path / "tmp"), **env}
    box.run([minifut, "compile", "--force", *args.split()], 0, leaves=("p", "p.c", "asked"), env=chosen)
    told = (box.path / "asked").read_text().splitlines()
    (box.path / "asked").unlink()
    if list((box.path / "tmp").iterdir()):
        raise Failed(f"left {list((box.path / 'tmp').iterdir())}")
    return told


@case(False)
def a_runtime_compiled_once(box):
    """Programs take it from the library that was built with the compiler, unless somebody chose another C compiler or flags,
    or the library is not there or has another text."""
    box.put("p.sf", GOOD)

    def asked(minifut=MINIFUT, **env):
        return "\n".join(calls(box, "p.sf", minifut, **env))

    found = re.search(r" (\S+/libminifut_rt-\d+\.a) ", asked())
    if not found or "-DRT_API= -DRT_SEPARATE" not in asked():
        raise Failed(f"the runtime is compiled again: {asked()}")
    for env in {"CC": f"{box.path}/bin/cc"}, {"CFLAGS": "-O0"}:
        if "RT_SEPARATE" in asked(**env):
            raise Failed(f"{env}: {asked(**env)}")
    other = box.path / "other"
    (other / "bin").mkdir(parents=True)
    (other / "lib/minifut").mkdir(parents=True)
    shutil.copy(MINIFUT, other / "bin/minifut")
    shutil.copy(found[1], other / "lib/minifut/libminifut_rt-1.a")
    if "RT_SEPARATE" in asked(str(other / "bin/minifut")):
        raise Failed("a library of another text")
    shutil.copy(found[1], other / "lib/minifut")
    if f"{other}/bin/../lib/minifut/" not in asked(str(other / "bin/minifut")):
        raise Failed("not the installed library")


KERNEL = "entry main (xs: []i32) = map (+1) xs\n"


def kernel_calls(told):
    return [line for line in told if "-DRT_PART_KERNELS" in line]


@case(False)
def kernels_are_compiled_apart(box):
    """Optimised for this machine, in several parts where there is much of them; unless somebody chose a level."""
    box.put("p.sf", KERNEL)
    told = calls(box, "p.sf")
    of = kernel_calls(told)
    if len(told) != 3 or len(of) != 1 or "-O3" not in of[0] or "=native" not in of[0] or "-DRT_PARTS=1 -DRT_PART=0" not in of[0]:
        raise Failed(f"asked: {told}")
    host = [line for line in told if "-DRT_PART_HOST" in line]
    if len(host) != 1 or "-O1" not in host[0] or any("-ffp-contract=off" not in line for line in told):
        raise Failed(f"asked: {told}")
    portable = calls(box, "--portable p.sf")
    if "=native" in "".join(portable):
        raise Failed("for this machine")
    twice = platform.machine() == "x86_64"
    wide = [" -mavx2 " in line and "-DRT_WIDE" in line for line in kernel_calls(portable)]
    host = ["-DRT_WIDE" in line for line in portable if "-DRT_PART_HOST" in line]
    if sorted(wide) != ([False, True] if twice else [False]) or host != [twice]:
        raise Failed(f"kernels for processors with wide vectors: {portable}")
    told = calls(box, "p.sf", CFLAGS="-g -O2")
    if len(told) != 1 or "RT_PART" in told[0] or "-O1 -ffp-contract=off -g -O2" not in told[0]:
        raise Failed(f"asked: {told}")
    if " -O3 " not in kernel_calls(calls(box, "p.sf", CFLAGS="-g"))[0]:
        raise Failed("flags without a level")
    box.put("p.sf", (ROOT / "bench/LUD/LUD.sf").read_text())
    if len(kernel_calls(calls(box, "p.sf"))) != min(6, len(os.sched_getaffinity(0))):
        raise Failed(f"{len(kernel_calls(calls(box, 'p.sf')))} parts")


@case(False)
def no_object_stays(box):
    """Where the C compiler fails, on host code, kernels or the link."""
    (box.path / "tmp").mkdir()
    box.put("p.sf", KERNEL)
    for at in "RT_PART_HOST", "RT_PART_KERNELS", "-lm":
        (box.path / box.put("cc", f'#!/bin/sh\ncase "$*" in *{at}*) exit 3;; esac\nexec cc "$@"\n')).chmod(0o755)
        box.minifut("compile --force p.sf", USER, "^minifut: the C compiler failed on p.c", leaves=["p.c"],
                    env={"CC": "./cc", "TMPDIR": str(box.path / "tmp")})
        if list((box.path / "tmp").iterdir()):
            raise Failed(f"{at}: left {list((box.path / 'tmp').iterdir())}")
    box.minifut("compile --force p.sf", USER, "^minifut: cannot make a folder nowhere/minifut-tmp-", leaves=["p.c"],
                env={"TMPDIR": "nowhere"})


def defined(box, *options):
    """The names that an object of p.c defines for others."""
    cc = os.environ.get("CC", "cc").split()
    r = subprocess.run([*cc, "-std=gnu11", "-Wall", "-Wextra", "-Werror", *options, "-c", "-o", "p.o", "p.c"], cwd=box.path,
                       stderr=subprocess.PIPE, text=True)
    if r.returncode:
        raise Failed(r.stderr)
    names = subprocess.run(["nm", "-g", "--defined-only", "p.o"], cwd=box.path, stdout=subprocess.PIPE, check=True, text=True).stdout
    (box.path / "p.o").unlink()
    return {line.split()[2] for line in names.splitlines()}


@case(False)
def kernels_as_functions(box):
    """The file is a program by itself, in which they are static; parts of it have each its own. Equal ones are one."""
    box.put("p.sf", "entry a (xs: []i32): []i32 = map (+1) xs\nentry b (ys: []i32): []i32 = map (+1) ys\nentry c (xs: []i32): []i32 = map (+2) xs\n")
    (box.path / "p.c").write_text(box.minifut("compile --emit=c p.sf", 0)[0])
    if defined(box) != {"main"} or defined(box, "-DRT_PART_HOST") != {"main"}:
        raise Failed(f"{defined(box)}, host code {defined(box, '-DRT_PART_HOST')}")
    parts = [defined(box, "-DRT_PART_KERNELS", "-DRT_PARTS=2", f"-DRT_PART={i}") for i in range(2)]
    if parts != [{"kernel_segmap_a_0"}, {"kernel_segmap_c_2"}]:
        raise Failed(f"parts: {parts}")
    c = box.minifut("compile --emit=opencl --target=native p.sf", 0)[0]
    if not c.startswith("/* ==== C for CPUs ==== */") or c.count("\nRT_KERNEL(kernel_") != 3:
        raise Failed(c)
