"""What commands and generated programs write: never over what they read, nor, without --force, over what they did
not make."""
import os
import shutil

from box import GOOD, MATRICES, MINIFUT, USAGE, USER, Failed, case, table

PROGRAM = 'import "lib"\nentry main (x: i32): i32 = x + one\n'
MINE = b"what nobody may lose\n"


def states(box):
    return {f: (box.path / f).read_bytes() for f in box.files() if (box.path / f).is_file()}


def refused(box, args, code, message):
    """The command ends with the message, and all files are as they were."""
    before = states(box)
    box.run(args if isinstance(args, list) else [MINIFUT] + args.format(here=box.path).split(), code, message)
    if states(box) != before:
        raise Failed("a file was changed")


def put_program(box):
    box.put("p.sf", PROGRAM)
    box.put("lib.sf", "def one = 1i32\n")
    box.put("d/a.in", "3")
    box.put("d/a.out", "4")
    box.put("w", "a 2\n")
    box.put("p.sf.tuning", "-- by hand\nmain.group_size=64\n")
    box.put("p.sf.tuning.log", "# 0123456789abcdef: main on a device\n")
    os.link(box.path / "p.sf", box.path / "hard")
    os.symlink("lib.sf", box.path / "soft")


def over_what_it_reads(box, args, said):
    put_program(box)
    refused(box, args, USAGE, rf"^minifut {args.split()[0]}: {said}; give another name$")


A_FILE = "a file of the program"
table("output over an input", False, [
    ("the program", "compile -o p.sf p.sf", f"-o p.sf would overwrite {A_FILE}"),
    ("the program, spelt otherwise", "compile -o ./p.sf p.sf", rf"-o ./p.sf would overwrite p.sf, {A_FILE}"),
    ("the program, from the root", "compile -o {here}/p.sf p.sf", f"-o /.*/p.sf would overwrite p.sf, {A_FILE}"),
    ("the program, with force", "compile --force -o d/../p.sf p.sf", f"-o d/../p.sf would overwrite p.sf, {A_FILE}"),
    ("a hard link", "compile -o hard p.sf", f"-o hard would overwrite p.sf, {A_FILE}"),
    ("an import", "compile -o lib.sf p.sf", f"-o lib.sf would overwrite {A_FILE}"),
    ("a link to an import", "compile -o soft p.sf", f"-o soft would overwrite lib.sf, {A_FILE}"),
    ("page of explain", "explain --html p.sf p.sf", f"--html p.sf would overwrite {A_FILE}"),
    ("documentation", "doc --force -o lib.sf p.sf", f"-o lib.sf would overwrite {A_FILE}"),
    ("page of explain, an import", "explain --force --html lib.sf p.sf", f"--html lib.sf would overwrite {A_FILE}"),
    ("tuning file", "tune -o p.sf p.sf d", "-o p.sf would overwrite the program"),
    ("tuning file, an import", "tune --force -o soft p.sf d", f"-o soft would overwrite lib.sf, {A_FILE}"),
    ("tuning file, a data set", "tune -o d/a.in p.sf d", "-o d/a.in would overwrite the input of a data set"),
    ("JSON of tune", "tune --json hard p.sf d", "--json hard would overwrite p.sf, the program"),
    ("page of tune, its weights", "tune --weights w --report ./w p.sf d", "--report ./w would overwrite w, the weights"),
    ("JSON of tune, its tuning file", "tune --json p.sf.tuning p.sf d",
     "--json p.sf.tuning would overwrite what it writes to p.sf.tuning"),
    ("JSON of tune, its log", "tune --force --json ./p.sf.tuning.log p.sf d",
     "--json ./p.sf.tuning.log would overwrite what it writes to p.sf.tuning.log"),
    ("page and JSON in one", "tune --json new --report ./new p.sf d",
     "--report ./new would overwrite what --json writes to new"),
    ("JSON of bench", "bench --json p.sf p.sf d", "--json p.sf would overwrite the program"),
    ("JSON of bench, an expected result", "bench --force --json d/a.out p.sf d",
     "--json d/a.out would overwrite an expected result"),
    ("page of bench, a tuning file", "bench --report p.sf.tuning p.sf d",
     "--report p.sf.tuning would overwrite the tuning file"),
    ("JSON of bench, a log", "bench --json p.sf.tuning.log p.sf d",
     "--json p.sf.tuning.log would overwrite the tuning's log"),
    ("page of profile", "profile --html lib.sf p.sf d", f"--html lib.sf would overwrite {A_FILE}"),
    ("JSON of profile", "profile --json p.sf p.sf d", "--json p.sf would overwrite the program"),
    ("trace of profile", "profile --trace d/a.in p.sf d", "--trace d/a.in would overwrite the input of a data set"),
], over_what_it_reads)


@case(False)
def output_over_data_of_the_program(box):
    box.put("v.txt", "3")
    box.put("bytes", "abc")
    box.put("p.sf", '-- ==\n-- input @ v.txt\n-- script input { f ($loadbytes "bytes") }\n'
            "entry f (s: []u8): i32 = i32.i64 (length s)\nentry main (x: i32): i32 = x\n")
    refused(box, "bench --json ./v.txt p.sf", USAGE, "--json ./v.txt would overwrite v.txt, the input of a data set")
    refused(box, "bench --force --json bytes p.sf", USAGE, "--json bytes would overwrite data that it reads")


def over_what_is_not_ours(box, args, files):
    put_program(box)
    for f in files:
        (box.path / f).unlink(missing_ok=True)
        box.put(f, MINE)
        refused(box, args, USER, rf"[ /]{f} is there and was not made by minifut: give another name, or --force")
        (box.path / f).unlink()


table("output over a file of others", False, [
    ("program", "compile p.sf", ["p", "p.c"]),
    ("program elsewhere", "compile -o q p.sf", ["q", "q.c"]),
    ("library", "compile --library p.sf", ["p.c", "p.h", "p.json"]),
    ("page of explain", "explain --html x p.sf", ["x"]),
    ("documentation", "doc -o x p.sf", ["x"]),
    ("tune", "tune -o t --json x --report y p.sf d", ["t", "t.log", "x", "y", "p", "p.c"]),
    ("bench", "bench --json x --report y p.sf d", ["x", "y", "p", "p.c"]),
    ("profile", "profile --json x --html y --trace z p.sf d", ["x", "y", "z", "p", "p.c"]),
], over_what_is_not_ours)


@case(False)
def pages_of_others_need_force(box):
    box.put("p.sf", GOOD)
    box.put("x.html", "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>mine</title>\n")
    refused(box, "explain --html x.html p.sf", USER, "x.html is there and was not made by minifut")
    box.minifut("explain --force --html x.html p.sf", 0)
    box.minifut("explain --html x.html p.sf", 0)  # now it is ours
    for attempt in range(2):
        box.minifut("doc -o x.md p.sf", 0, leaves=["x.md"])
    box.put("empty", "")
    box.minifut("explain --html empty p.sf", 0)


@case(True)
def what_we_made_is_written_again(box):
    box.put("p.sf", "entry main [n] (xs: [n]i32): [n]i32 = map (+ 1) xs\n")
    box.put("d/a.in", "[1, 2, 3]")
    box.minifut("compile p.sf", 0, leaves=["p", "p.c"])
    for attempt in range(2):
        box.minifut("tune -q --only=thresholds --json j --report r p.sf d", 0, leaves=["p.sf.tuning", "j", "r"])
        box.minifut("bench --skip-compilation --json b --report s p.sf d", 0, leaves=["b", "s"])
        box.minifut("profile --skip-compilation --gbs 1 --gflops 1 --json k --html h --trace t p.sf d", 0,
                    leaves=["k", "h", "t"])
    box.put("mine", MINE)
    box.minifut("bench --skip-compilation --force --json mine p.sf d", 0)


def of_a_program(box, args, code, message):
    shutil.copy(box.binary("matmul"), box.path)
    box.put("in", MATRICES)
    box.put("t", "main.group_size=64\n")
    box.put("mine", MINE)
    before = states(box)
    with open(box.path / "in", "rb") as arguments:
        box.run(["sh", "-c", f"exec ./matmul {args} < in"], code, message)
    if states(box) != before:
        raise Failed("a file was changed")


table("output of a program", True, [
    ("times over its input", "-t ./in", USAGE, r"-t ./in would overwrite its arguments; give another name"),
    ("times over itself", "--force -t matmul", USAGE, "-t matmul would overwrite the program; give another name"),
    ("profile over its tuning file", "--tuning t --force --profile=./t", USAGE, "--profile ./t would overwrite its tuning file"),
    ("profile over its input", "--profile-json in", USAGE, "--profile in would overwrite its arguments"),
    ("kernels over its input", "--dump-opencl in", USAGE, "--dump-opencl in would overwrite its arguments"),
    ("times over a file of others", "-t mine", USER, "mine is there and was not made by -t: give another name, or --force"),
    ("profile over a file of others", "-Pmine", USER, "mine is there and was not made by --profile"),
    ("kernels over a file of others", "--dump-opencl mine", USER, "mine is there and was not made by --dump-opencl"),
], of_a_program)


@case(True)
def a_program_writes_its_files_again(box):
    shutil.copy(box.binary("matmul"), box.path)
    for attempt in range(2):
        for args, err in (("-n -t times", ""), ("-n --profile-json j", ""), ("--dump-opencl k", "")):
            box.run(["./matmul"] + args.split(), 0, err, stdin=MATRICES, leaves=args.split()[-1:])
    box.run(["./matmul", "-n", "--force", "-t", "k"], 0, stdin=MATRICES)
    box.put("file", MINE)
    box.run(["./matmul", "-n", "--cache-file", "file"], 0, stdin=MATRICES)
    if (box.path / "file").read_bytes() != MINE:
        raise Failed("the file was changed")
