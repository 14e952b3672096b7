"""Cases: the command line, programs, their directives, hostile names, large programs."""
import os
import re
import signal
import subprocess
import time

import checks
from box import GCC, GOOD, HOSTILE, LIMIT, MINIFUT, ROOT, USAGE, USER, WRONG, Failed, case, table


# --- the command line ---------------------------------------------------------------------------------

def usage(box, args, err):
    box.put("p.sf", "entry main (x: i32): i32 = x + 1\n")
    box.run([MINIFUT] + (args if isinstance(args, list) else args.split()), USAGE, err, out=r"\A\Z")  # nothing is half done


table("usage", False, [
    ("no command", "", "^usage: minifut COMMAND"),
    ("unknown command", "frobnicate p.sf", "unknown command 'frobnicate'"),
    ("misspelt command", "chekc p.sf", "unknown command 'chekc'; did you mean 'check'"),
    ("no program", "compile", "which program"),
    ("two programs", "check p.sf q.sf", "one program at a time: 'p.sf' and 'q.sf'"),
    ("unknown option", "compile --fast p.sf", "unknown option '--fast'"),
    ("misspelt option", "compile --flaten=full p.sf", "unknown option '--flaten'; did you mean '--flatten'|unknown option '--flaten=full'; did you mean '--flatten'"),
    ("misspelt option of test", "test --excude x", "test: unknown option '--excude'; did you mean '--exclude'"),
    ("misspelt option of tune", "tune --timeot 3 p.sf", "tune: unknown option '--timeot'; did you mean '--timeout'"),
    ("misspelt mode", "compile --flatten=incremantal p.sf", "unknown mode 'incremantal'; did you mean 'incremental'"),
    ("misspelt pass", "ir --after=flaten p.sf", "unknown pass 'flaten'; did you mean 'flatten'"),
    ("unknown short option", "compile -x p.sf", "unknown option '-x'"),
    ("option of another command", "check --json p.sf", "unknown option '--json'"),
    ("no value", "compile p.sf -o", "option -o needs a value"),
    ("no entry", "run p.sf -e", "option -e needs a value"),
    ("a value too many", "explain --json=yes p.sf", "option --json takes no value"),
    ("mode", "compile --flatten=deep p.sf", "unknown mode 'deep': incremental"),
    ("kind", "compile --emit=asm p.sf", "--emit=asm: c, opencl, kernel-ir, plan, memory or ir"),
    ("target", "compile --emit=opencl --target=tpu p.sf", "--target=tpu: gpu or native"),
    ("target of a program", "compile --target=gpu p.sf", "--target=gpu: gpu or native, with --emit=opencl"),
    ("portable text", "compile --emit=c --portable p.sf", "--portable is about a program that is built"),
    ("emit to a file", "compile --emit=c -o x p.sf", "does not go with -o"),
    ("pass", "ir --after=magic p.sf", "unknown pass 'magic'"),
    ("first pass", "ir --from=magic p.sf", "unknown pass 'magic'"),
    ("overwriting the program", "compile -o p.sf p.sf", "would overwrite a file of the program"),
    ("tune without program", "tune", "which program"),
    ("test of nothing", "test", "which programs"),
    ("test, unknown option", "test --fast p.sf", "test: unknown option '--fast'"),
    ("test, no value", "test p.sf --exclude", "option --exclude needs a value"),
    ("test, mode", "test --flatten=full,deep p.sf", "unknown mode 'deep'"),
    ("test, jobs", "test -j many p.sf", "-j takes a positive number, not 'many'"),
    ("test, tolerance", "test --tolerance=-1 p.sf", "--tolerance takes a positive number, not '-1'"),
    ("tune, unknown option", "tune --fast p.sf d", "tune: unknown option '--fast'"),
    ("tune, unknown strategy", "tune --strategy=monoton p.sf d", "unknown strategy 'monoton'; did you mean 'monotone'"),
    ("tune, an option of bench", "tune --roofline p.sf d", "tune: unknown option '--roofline'"),
    ("tune, a value too many", "tune --fresh=3 p.sf d", "option --fresh takes no value"),
    ("a misspelt long option", "compile -output x p.sf", "unknown option '-output'"),
    ("a value behind '='", "test -j=x p.sf", "-j takes a positive number, not 'x'"),
    ("test, a value behind its letter", "test -jx p.sf", "-j takes a positive number, not 'x'"),
    ("tune, no value", "tune p.sf d --timeout", "option --timeout needs a value"),
    ("tune, no number", "tune --timeout=soon p.sf d", "takes a positive number, not 'soon'"),
    ("bench, negative number", "bench --timeout=-1 p.sf d", "takes a positive number, not '-1'"),
    ("bench, a third name", "bench p.sf d e", "what is 'e'"),
    ("new, no name", "new", "new: which name"),
    ("new, two names", "new a b", "one name at a time: 'a' and 'b'"),
    ("new, no identifier", "new 2x", "'2x' cannot be the name"),
    ("new, a path", "new a/b", "'a/b' cannot be the name"),
    ("new, an option", "new -x", "unknown option '-x'"),
    ("new, empty", ["new", ""], "'' cannot be the name"),
    ("new, too long", "new " + 101 * "a", "cannot be the name"),
    ("new, what the folder has", "new Makefile", "'Makefile' cannot be the name of a program: its folder has"),
    ("devices takes nothing", "devices all", "takes no arguments, got 'all'"),
    ("doc, no program", "doc", "which program?"),
    ("doc, two programs", "doc p.sf q.sf", "one program at a time: 'p.sf' and 'q.sf'"),
    ("doc, both pages", "doc --prelude p.sf", "--prelude is a page by itself"),
    ("lsp takes nothing", "lsp prog.sf", "takes no arguments, got 'prog.sf'"),
    ("dataset of nothing", "dataset", "^usage: minifut dataset"),
    ("dataset, no type", "dataset -g", "option -g needs a value"),
    ("dataset, unknown type", "dataset -g [10]f8", "'\\[10\\]f8' is neither a type"),
    ("dataset, broken type", "dataset -g [10", "'\\[10' is neither a type"),
    ("dataset, negative size", "dataset -g [-1]i32", "is neither a type"),
    ("dataset, bounds", "dataset --i32-bounds=7 -g i32", "cannot understand '--i32-bounds=7'"),
    ("dataset, bounds turned", "dataset --f32-bounds=2:1 -g f32", "cannot understand"),
    ("dataset, seed", "dataset -s x -g i32", "a seed is a number, not 'x'"),
    ("dataset, option after values", "dataset -g i32 -g [2]f32 --fast", "unknown option '--fast'"),
    ("dataset, type after values", "dataset -g i32 -g f8", "'f8' is neither a type"),
    ("dataset, infinite bounds", "dataset --f32-bounds=0:f32.inf -g f32", "cannot understand"),
    ("dataset, binary float", "dataset -g 0b11f32", "'0b11f32' is neither a type"),
    ("tune, no finite number", "tune --timeout=nan p.sf d", "takes a positive number, not 'nan'"),
    ("test, no finite number", "test --timeout=inf p.sf", "--timeout takes a positive number, not 'inf'"),
    ("dataset, unknown option", "dataset --fast -g i32", "unknown option '--fast'"),
], usage)


def help_text(box, args):
    box.minifut(args, 0, out="^usage: minifut")


table("help", False, [(c, f"{c} --help") for c in
                      ("compile", "check", "run", "explain", "ir", "test", "tune", "bench", "profile", "dataset", "new", "doc", "devices")]
      + [("alone", "--help")], help_text)


@case(False)
def version(box):
    number = (ROOT / "VERSION").read_text().strip().replace(".", r"\.")
    box.minifut("--version", 0, out=rf"\Aminifut {number}( \([0-9a-f]{{7,}}(-dirty)?\))?\n\Z")


# --- new ----------------------------------------------------------------------------------------------

NEW = {"p/" + name for name in ("p.sf", "Makefile", "README.md", ".gitignore")}


@case(False)
def new_overwrites_nothing(box):
    box.minifut("new p", 0, out=r"\Ap/ has a program, p.sf, .* next: cd p && make run\n\Z", leaves=NEW | {"p"})
    before = {name: (box.path / name).read_bytes() for name in NEW}
    box.minifut("new p", USER, "cannot make the folder p: File exists; nothing is overwritten")
    if before != {name: (box.path / name).read_bytes() for name in NEW}:
        raise Failed("files were changed")
    if any(b"@" in text.replace(b"$@", b"") for text in before.values()):
        raise Failed("a template that is not filled in")
    box.put("q", "a file")
    box.minifut("new q", USER, "cannot make the folder q: File exists")


@case(False)
def new_on_a_full_disk(box):
    """A limit on the size of files stands for it; nothing half-made stays."""
    box.run(["bash", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$1\" new p", "bash", MINIFUT], USER,
            "^minifut new: cannot write p/p.sf: File too large$")


@case(True)
def new_project_works(box):
    """Each target of its Makefile does what its name says."""
    box.minifut("new p", 0, leaves=NEW | {"p"})
    make = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    at = box.path / "p"

    def target(name, out):
        r = subprocess.run(["make", name, f"MINIFUT={MINIFUT}"], cwd=at, env=make, capture_output=True, text=True, timeout=300)
        if r.returncode or not re.search(out, r.stdout, re.M):
            raise Failed(f"make {name}: exit code {r.returncode}, {r.stdout[-500:]!r}, {checks.timeless(r.stderr)[-500:]!r}")

    target("compile", "compile p.sf")
    target("test", "^[1-9][0-9]* passed, 0 failed$")
    target("run", r"^\[3.0f32, 5.0f32\]\n\[2.0f32, 0.0f32\]$")
    target("data", "")
    target("bench", "^few_long_rows .* (us|ms|s) ")
    target("tune", "^written to p.sf.tuning$")
    target("run", r"--tuning p.sf.tuning\n\[3.0f32, 5.0f32\]\n\[2.0f32, 0.0f32\]$")
    target("bench", "^many_short_rows .* (us|ms|s) .* (us|ms|s) .* versions agree$")
    target("clean", "")
    target("-k", "compile p.sf")  # what make does when nothing is said
    target("clean", "")
    if {str(p.relative_to(box.path)) for p in at.iterdir()} != NEW:
        raise Failed(f"make clean leaves {sorted(at.iterdir())}")


# --- programs and files -------------------------------------------------------------------------------

def bad_program(box, text, args, code, err):
    if text is not None:
        box.put("p.sf", text)
    box.minifut(args, code, err)


table("program", False, [
    ("dataset, too large", None, "dataset -g [4611686018427387905]i64", USER, "is too large"),
    ("dataset, product too large", None, "dataset -g [4294967296][4294967296]u8", USER, "is too large"),
    ("dataset, empty but too large", None, "dataset -g [0][281474976710656]i64", USER, "is too large"),
    ("dataset, no memory", None, "dataset -g [200000000000000]i64", USER, "is too large"),
    ("missing, tested", None, "test p.sf", USER, "cannot read p.sf: No such file"),
    ("no programs to test", None, "test .", USER, "there are no programs"),
    ("no data sets", GOOD, "tune p.sf", USER, "p.sf has no data sets: give a folder"),
    ("notune only", "-- ==\n-- notune input { 1 }\n" + GOOD, "tune p.sf", USER, "cases are marked notune"),
    ("nobench only", "-- ==\n-- nobench input { 1 }\n" + GOOD, "bench p.sf", USER, "cases are marked nobench"),
    ("bench with a wrong directive", "-- ==\n-- input { 1\n" + GOOD, "bench p.sf", USER,
     r"^p.sf:2:10: error: this brace is not closed\n .*\n +\^"),
    ("missing", None, "compile p.sf", USER, "cannot read `p.sf`: No such file"),
    ("a folder", None, "compile .", USER, "cannot read `.`: Is a directory"),
    ("wrong", WRONG, "compile p.sf", USER, r"^p.sf:1:\d+: error: "),
    ("wrong, with --html", WRONG, "explain --html q p.sf", USER, r"^p.sf:1:\d+: error: "),
    ("unwritable page", GOOD, "explain --html none/q p.sf", USER, "cannot write none/q: No such file"),
    ("wrong, with -o", WRONG, "compile -o q p.sf", USER, r"^p.sf:1:\d+: error: "),
    ("empty", "", "compile p.sf", USER, "no entry point: nothing to compile"),
    ("bytes", b"\xff\x00\x01\x80", "compile p.sf", USER, "^p.sf:1:1: error: unexpected byte 0xff"),
    ("cut", "entry main (x: i32", "check p.sf", USER, "^p.sf:1:16: error: the file ends too early"),
    ("IR that is none", GOOD, "ir --from=simplify p.sf", USER, "^p.sf:1:.*error: "),
    ("missing IR", None, "ir --from=simplify q.ir", USER, "cannot read `q.ir`: No such file"),
    ("IR with a trace", "dialect soac\n\nentry main [] (x_1: i32)\n  takes (\"x\": \"i32\")\n  gives (\"out0\": \"i32\")\n"
     "= {\n    let () = trace \"a\" (x_1)\n    in x_1\n}\n", "ir --from=simplify p.sf", USER, "^p.sf:7:14: error: a trace cannot be read"),
    ("IR cut", "dialect soac\n\nentry main [n_1] (xs_2: [n_1]", "ir --from=simplify p.sf", USER,
     r"^p.sf:3:\d+: error: "),
    ("IR of the other dialect", "dialect seg\n\nentry main (x_1: i32) takes (\"x\": \"i32\") "
     "gives (\"i32\") = {\n    in (x_1)\n}\n", "ir --from=flatten p.sf", USER, "other dialect"),
    ("code before flattening", GOOD, "compile --emit=c --to=fuse p.sf", USER, "pass flatten is missing"),
    ("unknown entry point", GOOD, "run -e nobody p.sf", USER, "no entry point `nobody`; there is `main`"),
    ("output folder is a file", GOOD, "compile -o p.sf/q p.sf", USER,
     "cannot write p.sf/q.c: Not a directory"),
    ("no output folder", GOOD, "compile -o none/q p.sf", USER, "cannot write none/q.c: No such file"),
    ("output folder nobody can write", GOOD, "compile -o /proc/q p.sf", USER, "cannot write /proc/q.c: "),
], bad_program)


# --- directives ---------------------------------------------------------------------------------------

HELPERS = """
entry length32 [n] (_: [n]u8) = i32.i64 n
entry less (x: i32) = 1 / x
type option = #some i32 | #none
#[prop]
entry below (x: i32) (xs: []u8) = x < 17 || length xs < 3
#[prop]
entry divides (x: i32) (y: i32) = x / y * y + x % y == x
entry some (size: i64) (seed: i64) : option = if seed % 3 == 0 then #none else #some (i32.i64 (seed % (size + 1)))
entry fewer (x: option) (_: i32) : option = match x case #some y -> #some (y - 1) case #none -> #none
#[prop(gen(some), shrink(fewer))]
entry of_option (x: option) : bool = match x case #some y -> y < 30 case #none -> true
#[prop]
entry of_any (x: option) = match x case #some _ -> true case #none -> false
#[prop(gen(nobody))]
entry of_nobody (x: i32) = x == x
#[prop(gen(less))]
entry of_less (x: i32) = x == x
def twice (x: i32) = 2 * x
"""


def directive(box, lines, err, code=USER):
    """A program with these directives under `minifut test -i`; `err`: what it reports, with the message's place."""
    box.put("p.sf", "-- A program.\n-- ==\n" + "".join(f"-- {line}\n" for line in lines) + GOOD + HELPERS)
    for name, text in (("p.txt", "abc"), ("p.data", "5i16"), ("pp.data", "6 true"), ("torn.data", "[1, 2"),
                       ("p.script", "-- A comment.\nlet x = 3\nin main (main x)\n"), ("torn.script", "(1,\n 2 3)"),
                       ("nobody.script", "nobody 1")):
        box.put(name, text)
    box.minifut("test -i p.sf", code, out=err)


table("directive", False, [
    ("well", ["input { 1 } output { 2 }"], r"\A2 passed, 0 failed\n\Z", 0),
    ("named", ['"a" input { 1 } output { 3 }'],
     r"^p.sf:3: main a: interpreter: result 0: the value: 2i32, expected 3i32"),
    ("unknown", ["inptu { 1 }"], "^p.sf: p.sf:3:4: error: `inptu` is no directive"),
    ("unknown before input", ["compild input { 1 }"], "p.sf:3:4: error: `compild` is no directive"),
    ("of another tool", ["no_python input { 1 } output { 2 }"], "^2 passed", 0),
    ("script", ["script input { main 4 }", "output { 6 }"], r"\A2 passed, 0 failed\n\Z", 0),
    ("script with let and a tuple", ["script input { let (a, b) = (main 4, 7i32) in a }", "output { 6 }"], "^2 passed", 0),
    ("script, another type", ["script input { 4i64 } output { 5 }"], "^2 passed", 0),
    ("script, bytes of a module", ['script input { length32 (io.loadbytes "p.txt") } output { 4 }'], "^2 passed", 0),
    ("script, bytes", ['script input { length32 ($loadbytes "p.txt") } output { 4 }'], "^2 passed", 0),
    ("script, data", ['script input { $loaddata "p.data" } output { 6 }',
                      'script input { let (a, b) = $loaddata "pp.data" in a } output { 7 }'], "^3 passed", 0),
    ("script, no file", ['script input { $loaddata "x" }'], r"p.sf:3:29: error: script input: cannot read x: No such"),
    ("script, torn file", ['script input { $loaddata "torn.data" }'],
     r"p.sf:3:19: error: script input: torn.data:1:.*: expected .*, got end of input"),
    ("script, no built-in", ["script input { $load 3 }"], r"p.sf:3:19: error: script input: the built-in functions are `\$loadd"),
    ("script, no name", ["script input { $loadbytes 3 }"], "p.sf:3:30: error: script input: expected the name of a file"),
    ("script, negative numbers", ["script input { main -4 } output { -2 }", "script input { -4i64 } output { -3 }"], "^3 passed", 0),
    ("script, nothing in an array", ["script input { length32 empty([0]u8) } output { 1 }"], "^2 passed", 0),
    ("script of nothing", ["script input { main (nothing 1) }"],
     "p.sf: p.sf:3:25: error: script input: `nothing` is no entry point of the program"),
    ("script of a function", ["script input { twice 1 } output { 3 }"], "^2 passed", 0),
    ("script, a wrong argument", ["script input { twice true }"], "p.sf:3:19: error: script input: the argument of `twice` should be `i32`"),
    ("script, mixed elements", ["script input { main [1, 2i64, 3i32] }"], "p.sf:3:24: error: script input: the argument of `main` should be `i32`"),
    ("script that fails", ["script input { less 0 }"], "p.sf:3:17: error: script input: .*division by zero"),
    ("script, an operator", ["script input { main (1 + 2) } output { 5 }"], "^2 passed", 0),
    ("script, a lambda", ["script input { (\\x -> main x) 2 } output { 4 }"], "^2 passed", 0),
    ("script, a comma", ["script input { (1, 2 }"], "p.sf:3:25: error: script input: expected `,` or `[)]`"),
    ("script, a field", ["script input { {a 1} }"], "p.sf:3:22: error: script input: expected `=`"),
    ("script, let", ["script input { let 3 = 4 in 5 }"], "p.sf:3:23: error: script input: this pattern does not match all values"),
    ("script, let without in", ["script input { let x = 4 }"], "p.sf:3:29: error: script input: expected `in`"),
    ("script, two", ["script input { (1, 2) 3 }"], "p.sf:3:26: error: script input: this is applied to 1 argument, but is not a function"),
    ("script, nothing", ["script input { }"], "p.sf:3:19: error: script input: expected an expression"),
    ("script, an escape", [r'script input { "\q" }'], "p.sf:3:20: error: script input: unknown escape sequence"),
    ("script, a deep one", ["script input { " + 300 * "(" + "}"], "p.sf:3:219: error: script input: this is nested too"),
    ("script in a file", ["script input @ p.script output { 6 }"], "^2 passed", 0),
    ("script in no file", ["script input @ q.script"], "p.sf:3:19: error: cannot read q.script: No such file"),
    ("script in a folder", ["script input @ ."], "p.sf:3:19: error: cannot read `.`: Is a directory"),
    ("wrong script in a file", ["script input @ torn.script"],
     r"torn.script:2:4: error: script input: this is applied to 1 argument, but is not a function"),
    ("script in a file that fails", ["script input @ nobody.script"],
     "nobody.script:1:1: error: script input: `nobody` is no entry point"),
    ("property", ["property: below", "input { 1 } output { 2 }"],
     r"^p.sf:3: below property: it does not hold of 17i32 \[0u8, 0u8, 0u8\]: gives false\n3 passed, 1 failed"),
    ("property that fails", ["property: divides"], "divides property: it does not hold of 0i32 0i32: Error: division by zero"),
    ("property of a sum", ["property: of_option"], "of_option property: it does not hold of 1i8 30i32: gives false"),
    ("property that has no generator", ["property: of_any"], "of_any property: what is or holds a sum needs a generator"),
    ("property of nobody", ["property: of_nobody"], "of_nobody property: its `gen`, `nobody`, is no entry point"),
    ("property by another function", ["property: of_less"], "of_less property: its `gen`, `less`, does not take a size and a seed"),
    ("property of no truth", ["property: main"], "main property: a property gives a `bool`"),
    ("property without a name", ["property", "input { 1 }"], "p.sf:3:12: error: expected `:` and the names of entry"),
    ("no values", ["input 1"], "p.sf:3:10: error: expected `. values .` or `@ file`"),
    ("brace", ["input { 1", "output { 2 }"], "p.sf:3:10: error: this brace is not closed"),
    ("name", ['"a input { 1 }'], "p.sf:3:4: error: this name is not closed"),
    ("name twice", ['"a" input { 1 }', '"a" input { 2 }'], 'p.sf:4:4: error: there is already a case "a" of main'),
    ("auto without output", ["input { 1 } auto"], "p.sf:3:20: error: expected `output` after `auto`"),
    ("missing file", ["input @ nothing.in"], "p.sf:3:12: error: cannot read nothing.in: No such file"),
    ("no file", ["input @"], "p.sf:3:11: error: expected the name of a file"),
    ("no entries", ["entry:", "input { 1 }"], "p.sf:3:9: error: expected the names of entry points"),
    ("entry", ["entry: f", "input { 1 }"], "p.sf:4:4: error: there is no entry point `f`"),
    ("expression", ["input { 1 } error: a(b"], r"p.sf:3:23: error: not a regular expression: .*\("),
    ("rejection with cases", ["error: x", "input { 1 }"], "p.sf:4:4: error: the program must be rejected"),
    ("two rejections", ["error: x", "error: y"], "p.sf:4:4: error: the program's error is given twice"),
    ("accepted", ["error: x"], "^p.sf: it should be rejected, but was not"),
    ("values of a type", ["input { 1 } output {", "  true }"], "p.sf:4:6: error: result 1: expected i32"),
    ("too many values", ["input { 1 2 }"], "p.sf:3:10: error: there are more than 1 inputs"),
    ("too few values", ["input { }"], "p.sf:3:.*: error: input 1: .*end of input"),
    ("random of no type", ["random input { [10]f8 }"], r"p.sf:3:17: error: '\[10\]f8' is neither a type"),
    ("random from a file", ["random input @ p.sf"], "p.sf:3:19: error: random input is given by types"),
    ("random of another type", ["random input { [10]i32 }"], "p.sf:3:17: error: input 1: "),
    ("tags", ["tags { a disable }", "input { 1 } output { 3 }"], "^1 programs left out for their tags\n0 passed", 0),
    ("structure", ["structure gpu { /SegMap 1 }", "input { 1 } output { 2 }", "structure gpu-mem { Alloc 3 }",
                   "structure { }"], "^2 passed", 0),
    ("notest", ["notest input { 1 } output { 3 }"], "^1 passed", 0),
    ("compiled", ["compiled input { 1 } output { 3 }"], "^1 passed", 0),
    ("warning", ["warning: strange"], "^p.sf: no warning matches `strange`"),
], directive)


def outcome(box, text, args, code, out):
    box.put("p.sf", text)
    box.minifut("test " + args, code, out=out)


LOOPS = "-- ==\n-- input { 1 }\nentry main (x: i32) = loop x while x != 0 do x | 1\n"
FAILS = "-- ==\n-- input { 0 } error: %s\nentry main (x: i32) = 5 / x\n"
table("test", False, [
    ("rejected", "-- ==\n-- error: true\n" + WRONG, "-i p.sf", 0, r"\A1 passed, 0 failed"),
    ("rejected for another reason", "-- ==\n-- error: apples\n" + WRONG, "-i p.sf", USER,
     r"^p.sf: rejected with `p.sf:3:\d+: error: .*`, expected a match of `apples`"),
    ("does not check", WRONG, "-i .", USER, r"^./p.sf: does not check: ./p.sf:1:\d+: error: "),
    ("no directives", GOOD, "-i p.sf", 0, "^1 passed, 0 failed"),
    ("excluded", "-- ==\n-- tags { slow }\n" + WRONG, "-i --exclude slow p.sf", 0, "^1 programs left out"),
    ("endless", LOOPS, "-i --timeout=1 p.sf", USER, "^p.sf: not ready after 1 s: at the interpreter at case #1"),
    ("run-time error", FAILS % "division by zero", "-i p.sf", 0, "^2 passed, 0 failed"),
    ("another run-time error", FAILS % "apples", "-i p.sf", USER,
     r"interpreter: failed with `Error: division by zero\|p.sf:3:\d+:`, expected a match of `apples`"),
    ("no run-time error", FAILS.replace("{ 0 }", "{ 1 }") % "zero", "-i p.sf", USER, "it should fail, but did not"),
    ("all messages", WRONG, "-i -v p.sf", USER, r"^    p.sf:1:\d+: error: .*\n.*\n +\^"),
], outcome)


VERSIONS = """-- ==
-- entry: sums
-- input { [[1, 2], [3, 4]] } output { [3, %d] }
-- input { [[1, 2], [3, 4]] }
-- entry: at
-- compiled input { [1, 2] 5i64 } error: %s
entry sums [n][m] (xss: [n][m]i32) = map (reduce (+) 0) xss
entry at [n] (xs: [n]i32) (i: i64) = map (+ xs[i]) xs
"""
table("test, compiled", True, [
    ("well", VERSIONS % (7, "out of bounds"), "--flatten=incremental,full p.sf", 0, r"\A11 passed, 0 failed"),
    ("wrong", VERSIONS % (8, "out of bounds"), "-c p.sf", USER,
     r"^p.sf:3: sums #1 .*: incremental, default thresholds: wrong result 0: \[1\]: 7i32, expected 8i32; "
     r"1 of 2 elements differ \(and \d more settings\)$"),
    ("another error", VERSIONS % (7, "apples"), "-c p.sf", USER,
     r"^p.sf:6: at #3 .*: incremental, default thresholds: .*out of bounds.*; expected a match of `apples`"),
    ("endless", LOOPS, "-c --timeout=3 p.sf", USER, "^p.sf: not ready after 3 s: at "),
], outcome)


CRASH = """static void __attribute__((constructor)) crash(void)
{
    if (__builtin_strstr(__BASE_FILE__, "/0/")) /* the first program */
        __builtin_trap();
}
"""


def test_crash(box, options):
    """A program that crashes is blamed alone, whether programs run in forks or are started each."""
    for name in "pq":
        box.put(name + ".sf", "-- ==\n-- input { 1 } output { 2 }\n" + GOOD)
    box.put("crash.h", CRASH)
    box.minifut(f"test -c -j1 {options} .", USER, out=r"\A./p.sf: incremental: .*/incremental does not start as a server: ?\n"
                r"5 passed, 1 failed$", env=GCC | {"CFLAGS": f"-include {box.path}/crash.h"})


table("test, crash", True, [("in a fork", ""), ("in a process", "-d #0")], test_crash)


@case(False)
def test_goes_on_after_a_C_compiler_that_fails(box):
    box.put("p.sf", GOOD)
    box.minifut("test p.sf", USER, out="^p.sf: compile --flatten=incremental: exit code 1", env={"CC": "false"})


@case(False)
def test_interrupted(box):
    box.put("p.sf", LOOPS)
    tmp = box.path / "tmp"
    tmp.mkdir()
    p = subprocess.Popen([MINIFUT, "test", "-i", "p.sf"], cwd=box.path, stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "TMPDIR": str(tmp)})
    while not list(tmp.glob("*/0/report")):
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=60)[1]
    if p.returncode != USER or "interrupted" not in said or list(tmp.iterdir()):
        raise Failed(f"exit code {p.returncode}, said {said!r}, left {list(tmp.iterdir())}")


@case(False)
def endless_files(box):
    (box.path / "zeros.sf").symlink_to("/dev/zero")
    box.put("p.sf", 'import "zeros"\n')
    box.minifut("check p.sf", USER, "p.sf:1:1: error: cannot read `zeros.sf`: it is no regular file")
    box.minifut("check zeros.sf", USER, "error: cannot read `zeros.sf`: it is no regular file")
    box.minifut("test -i zeros.sf", USER, out="cannot read `zeros.sf`: it is no regular file")
    box.minifut("run /dev/stdin", 0, out="^3i32", stdin="entry f = 3i32")


@case(False)
def endings(box):
    """A program may end in .fut; of two files that an import may mean, .sf counts."""
    box.put("p.fut", '-- ==\n-- input { 1 } output { 42 }\nimport "lib"\nimport "more.fut"\n'
            'entry main (x: i32): i32 = x + answer + one - 2\n')
    box.put("lib.fut", "def wrong = true\n")
    box.put("lib.sf", "def answer = 42\n")
    box.put("more.fut", "def one = 1\n")
    box.minifut("check p.fut", 0)
    box.minifut("test -i .", 0, out="5 passed, 0 failed")
    box.run([MINIFUT, "compile", "p.fut"], 0, leaves=["p", "p.c"])


@case(False)
def tolerances(box):
    """What .fut files expect is as precise as Futhark's own tests ask for; --tolerance decides for both."""
    for name in ["t.fut", "t.sf"]:
        box.put(name, "-- ==\n-- input { 1f64 } output { 0.3333 }\nentry main (x: f64) = x / 3\n")
    box.minifut("test -i t.fut", 0, out="2 passed, 0 failed")
    box.minifut("test -i t.sf", USER, out="1 passed, 1 failed")
    box.minifut("test -i --tolerance 1e-6 t.fut", USER, out="1 passed, 1 failed")
    box.minifut("test -i --tolerance 1e-3 t.sf", 0, out="2 passed, 0 failed")


@case(False)
def routes_to_a_file(box):
    """A file is read once, by whatever names: else its definitions would be there twice."""
    box.put("src/deep/p.sf", 'import "../../util/u"\nimport "../deep/../../util/u"\nimport "./../../util//u"\n'
            f'import "{box.path}/util/u"\nimport "linked"\nentry main (x: i32): i32 = x + u\n')
    box.put("util/u.sf", 'import "../src/deep/shared"\ndef u = 1i32\n')
    box.put("src/deep/shared.sf", "def s = 1i32\n")
    (box.path / "src/deep/linked.sf").symlink_to("../../util/u.sf")
    box.minifut("check src/deep/p.sf", 0)
    box.put("util/u.sf", 'import "../src/deep/p"\ndef u = 1i32\n')
    box.minifut("check src/deep/p.sf", USER, "util/u.sf:1:1: error: import cycle: `src/deep/p.sf` imports itself")


@case(False)
def packages(box):
    """lib/ is looked for beside the file that imports, and above, up to the folder of futhark.pkg."""
    box.put("lib/github.com/user/beyond/b.fut", "def beyond = 1i32\n")
    box.put("project/futhark.pkg", "package github.com/user/own\nrequire {}\n")
    box.put("project/lib/github.com/user/own/o.fut", 'import "lib/github.com/user/one/a"\ndef own = one\n')
    box.put("project/lib/github.com/user/one/a.fut",
            'import "../two/b"\nimport "lib/github.com/user/two/b"\ndef one = two\n')
    box.put("project/lib/github.com/user/two/b.fut", "def two = 2i32\n")
    box.put("project/lib/github.com/user/two/futhark.pkg", "require {}\n")
    box.put("project/lib/github.com/user/two/c.fut", 'import "lib/github.com/user/one/a"\ndef three = one\n')
    box.put("project/tests/deep/p.fut", 'import "lib/github.com/user/own/o"\nimport "lib/github.com/user/two/c"\n'
            'entry main = own + three\n')
    box.minifut("run project/tests/deep/p.fut", 0, out="^4i32$")
    box.put("project/tests/deep/q.fut", 'import "lib/github.com/user/beyond/b"\n')
    box.minifut("check project/tests/deep/q.fut", USER,
                "neither `project/tests/deep/lib/github.com/user/beyond/b.sf` nor .*/b.fut`; also tried `project/lib`; "
                "`minifut pkg add github.com/user/beyond` fetches the package")


@case(False)
def output_is_a_folder(box):
    box.put("p.sf", GOOD)
    box.run([MINIFUT, "compile", "-o", "", "p.sf"], USAGE, "-o needs a name")
    (box.path / "q").mkdir()
    box.minifut("compile -o q p.sf", USER, "cannot write q: Is a directory")


@case(False)
def failing_C_compiler(box):
    box.put("p.sf", GOOD)
    old = "Reads the arguments of an entry point from standard input"  # which makes it one of ours
    box.put("p", old)
    box.minifut("compile p.sf", USER, "the C compiler failed on p.c", leaves=["p.c"], env={"CC": "false"})
    if (box.path / "p").read_text() != old:
        raise Failed("the old binary was touched")


@case(False)
def no_C_compiler(box):
    box.put("p.sf", GOOD)
    box.minifut("compile p.sf", USER, "the C compiler failed on p.c", leaves=["p.c"], env={"CC": "nonesuch"})


def full_disk(box, args, stdin):
    box.put("p.sf", GOOD)
    with open("/dev/full", "wb") as full:
        box.minifut(args, USER, "cannot write|the results", stdin=stdin, stdout=full)


table("full disk", False, [(a, a, s) for a, s in [
    ("explain p.sf", ""), ("ir --after=lower p.sf", ""), ("compile --emit=c p.sf", ""), ("ir --list", ""),
    ("run p.sf", "1"), ("dataset -g [100]i32", ""), ("dataset -b -g [100000]i32", ""),
    ("--help", ""), ("--version", ""), ("test --help", ""), ("tune --help", ""), ("dataset --help", ""),
    ("test -i p.sf", "")]], full_disk)


# --- hostile names ------------------------------------------------------------------------------------

@case(False)
def hostile_names_in_C(box):
    folder, name = HOSTILE
    path = box.put(f"{folder}/{name}.sf", "entry main (x: i32) = 10 / x -- \" */ ??/ \x01\n")
    text = box.run([MINIFUT, "compile", "--emit=c", "--", path], 0)[0]
    flags = ["-std=c11", "-trigraphs", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-"]
    box.run([os.environ.get("CC", "cc")] + flags, 0, stdin=text)
    box.run([MINIFUT, "compile", "--emit=opencl", "--", path], 0)
    box.run([MINIFUT, "explain", "--", path], 0)


@case(False)
def kernels_of_each_target(box):
    """Barriers are for GPUs; what is made for any target asks for traits, what a target runs does not."""
    box.put("p.sf", "entry main [n] (xs: [n]f32) : f32 = reduce (+) 0.0f32 xs\n")
    texts = [box.minifut(f"compile --emit=opencl --target={t} p.sf", 0)[0] for t in ("gpu", "native")]
    if ["barrier(" in text for text in texts] != [True, False] or box.minifut("compile --emit=opencl p.sf", 0)[0] != "\n".join(texts):
        raise Failed("the kernels of two targets")
    made = box.minifut("compile --emit=kernel-ir p.sf", 0)[0]
    done = box.minifut("compile --emit=kernel-ir --target=gpu p.sf", 0)[0]
    if "if teams {" not in made or "teams" in done or "barrier" not in done:
        raise Failed("kernels before and after passes")
    for name, text in (("made.kir", made), ("done.kir", done)):
        box.put(name, text)
        box.minifut(f"kir --target=native --opencl {name}", 0)
    if "RT_KERNEL(kernel_" not in box.minifut("kir --target=native --opencl made.kir", 0)[0]:
        raise Failed("kernels of CPUs")


@case(False)
def stages_behind_flattening(box):
    """Of a plan and of kernels, too, what each stage takes and leaves is told, by the names that the list has."""
    box.put("p.sf", "entry main [n] (xs: [n]f32) : f32 = reduce (+) 0.0f32 xs\n")
    listed = {line.split()[0] for line in box.run([MINIFUT, "ir", "--list"], 0)[0].splitlines() if "  " in line}
    told = box.minifut("compile --emit=c --time-passes p.sf", 0, "\nall ")[1].splitlines()
    rows = {line.split()[0]: float(line.split()[1]) for line in told}
    for name in ("parse", "check", "lower", "verify", "kernel", "specialize", "emit"):
        listed.add(name)
    if set(rows) - {"all"} != listed or abs(sum(rows.values()) - 2 * rows["all"]) > 1:
        raise Failed(f"--time-passes: {sorted(set(rows) ^ listed)}, all: {rows.get('all')}")
    traced = box.minifut("compile --emit=c --trace-passes p.sf", 0, "-- after")[1]
    for head in ("-- after flatten\n", "-- after host\n", "-- after targets", " after kernel\nkernel ", " on native after specialize\n"):
        if head not in traced:
            raise Failed(f"--trace-passes: no {head!r}")


@case(False)
def option_of_a_C_compiler(box):
    box.put("p.sf", GOOD)
    box.put("cc", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (box.path / "cc").chmod(0o755)
    got = box.run([MINIFUT, "compile", "-o", "-rf x", "p.sf"], USER, "cannot write -rf x", leaves=["-rf x.c"],
                  env={"CC": "./cc  -q", "CFLAGS": " -a  -b "})[0].splitlines()
    if got[:6] != ["-q", "-std=gnu11", "-O1", "-ffp-contract=off", "-a", "-b"] or got[8] != "./-rf x.c":
        raise Failed(f"the C compiler got {got}")


@case(False)
def names_of_entries_are_kept_apart(box):
    long = "a" * 60
    names = ["ap", "a__p", "_x", "v_x", "v__ux", long + "1", long + "2", "x" * 56, "x" * 57]
    box.put("p.sf", "".join(f"entry {n} (x: i32) = x\n" for n in names))
    text = box.minifut("compile --emit=c p.sf", 0)[0]
    functions = set(re.findall(r"^static int (entry_\w+)\(", text, re.M))
    if len(functions) != len(names) or max(map(len, functions)) > 63:
        raise Failed(f"{functions}")


@case(False)
def a_file_of_somebody_else(box):
    box.put("p.sf", GOOD)
    box.put("p.c", "int main(void) { return 0; }\n")
    box.minifut("compile p.sf", USER, r"p.c is there and was not made by minifut: .*--force")
    if (box.path / "p.c").read_text() != "int main(void) { return 0; }\n":
        raise Failed("it was changed")
    box.minifut("compile --force p.sf", USER, "the C compiler failed", env={"CC": "false"})
    box.minifut("compile p.sf", USER, "the C compiler failed", env={"CC": "false"})  # now it is ours


@case(False)
def a_device_is_not_replaced(box):
    os.mkfifo(box.path / "q.c")
    os.mkfifo(box.path / "r")
    box.put("p.sf", GOOD)
    with open(box.path / "got", "wb") as got, subprocess.Popen(["cat", "q.c"], cwd=box.path, stdout=got):
        box.minifut("compile -o q p.sf", USER, "the C compiler failed", env={"CC": "false"})
    if b"Generated by minifut" not in (box.path / "got").read_bytes():
        raise Failed("nothing was written to it")
    box.minifut("compile -o r p.sf", USER, "cannot write r: it is a device or pipe")
    if not (box.path / "q.c").is_fifo() or not (box.path / "r").is_fifo():
        raise Failed("it is gone")


@case(False)
def a_TMPDIR_that_is_a_command(box):
    box.put("p.sf", "-- ==\n-- input { 1 }\n" + GOOD)
    tmp = box.path / "$(touch x) \"';touch y"
    tmp.mkdir()
    box.minifut("test -c p.sf", USER, out="exit code 1", env={"TMPDIR": tmp, "CC": "false"})
    if list(tmp.iterdir()):
        raise Failed(f"left {list(tmp.iterdir())}")


@case(False)
def folders_left_behind(box):
    """One whose process was killed goes at the next start; others stay."""
    box.put("p.sf", LOOPS)
    box.put("q.sf", GOOD)
    tmp = box.path / "tmp"
    own = tmp / "minifut-tmp-mine"
    own.mkdir(parents=True)
    killed, living = (subprocess.Popen([MINIFUT, "test", "-i", "p.sf"], cwd=box.path, stderr=subprocess.DEVNULL,
                                       env={**os.environ, "TMPDIR": str(tmp)}) for _ in range(2))
    while len(list(tmp.glob("*/0/report"))) < 2:
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    deadline = time.monotonic() + 60
    while len(list(tmp.iterdir())) > 2 and time.monotonic() < deadline:  # until its children are dead, too
        box.minifut("test -i q.sf", 0, env={"TMPDIR": tmp})
    left = len(list(tmp.iterdir()))
    living.send_signal(signal.SIGTERM)
    living.wait(timeout=60)
    if left != 2 or list(tmp.iterdir()) != [own]:
        raise Failed(f"{left} folders, then {list(tmp.iterdir())}")


@case(False)
def no_OpenCL_device(box):
    (box.path / "none").mkdir()
    box.minifut("devices", 0, out=r"\A\* native.*\n +platform +minifut\n", env={"OCL_ICD_VENDORS": box.path / "none"})


# --- large programs -------------------------------------------------------------------------------------

def deep(box, text, err):
    box.put("p.sf", text)
    box.minifut("check p.sf", LIMIT if "limitation" in err else USER if err else 0, err)


TOO_DEEP = r"^p.sf:\d+:\d+: limitation: program is nested too deeply \(more than 1000 levels\)\n.*\n +\^~*$"
table("nested", False, [(name, f"entry main (x: i32): i32 =\n{text}\n", err) for name, text, err in [
    ("parentheses", "(" * 10000 + "x" + ")" * 10000, ""),
    ("open parentheses", "(" * 10000 + "x", r"^p.sf:2:10001: error: the file ends too early: expected"),
    ("tuples", "(1," * 10000 + "x" + ")" * 10000, TOO_DEEP),
    ("arrays", "[" * 10000 + "x" + "]" * 10000, TOO_DEEP),
    ("records", "{a=" * 10000 + "x" + "}" * 10000, TOO_DEEP),
    ("indices", "x[" * 10000 + "0" + "]" * 10000, TOO_DEEP),
    ("negations", "- " * 10000 + "x", TOO_DEEP),
    ("conditions", "if x > 0 then 1 else " * 10000 + "x", TOO_DEEP),
    ("functions", "(\\y -> " * 10000 + "x" + ")" * 10000 + " 1", TOO_DEEP),
    ("applications", "i32.abs (" * 10000 + "x" + ")" * 10000, TOO_DEEP),
    ("loops", "loop x for i < 2 do " * 10000 + "x", TOO_DEEP),
    ("attributes", "#[unsafe] " * 10000 + "x", TOO_DEEP),
    ("patterns", "let " + "(" * 10000 + "y" + ", z)" * 10000 + " = x in x", TOO_DEEP),
    ("types", "x : " + "[1]" * 10000 + "i32", TOO_DEEP),
    ("function types", "x : " + "i32 -> " * 10000 + "i32", TOO_DEEP),
    ("operators", "x" + " + x" * 30000, TOO_DEEP),
    ("many operators", "x" + " + x" * 10000, ""),
    ("lets", "let x = x + 1\n" * 30000 + "in x", TOO_DEEP),
    ("many lets", "let x = x + 1\n" * 10000 + "in x", ""),
    ("a long line", "x" + " " * 100000 + "+ true", r"^p.sf:2:100004: error: right operand of `\+` should be"),
]], deep)


def nest(depth, siblings, var="x"):
    """A map nest with scans and reductions at each level."""
    pad = "  " * (10 - depth)
    if depth == 1:
        return f"{pad}let p = scan (+) 0 {var} in reduce (+) 0 (map2 (*) p {var})\n"
    text, row = "", f"x{depth}"
    for k in range(siblings):
        text += f"{pad}let m{k} = map (\\{row} ->\n{nest(depth - 1, siblings, row)}{pad}  ) {var}\n"
        text += f"{pad}let s{k} = scan (+) 0 m{k}\n"
    return text + f"{pad}in reduce (+) 0 (map2 (*) s0 m{siblings - 1})\n"


def nest_program(depth, siblings):
    names = [f"[n{k}]" for k in range(depth)]
    return f"entry main {''.join(names)} (x: {''.join(names)}i32): i32 =\n{nest(depth, siblings)}"


def versions(box, depth, siblings, pruned):
    box.put("p.sf", nest_program(depth, siblings))
    got, _ = box.minifut("explain -v p.sf", 0)
    n = len(re.findall(r"^ +main\.suff_\w+_par_\d+ .*\(", got, re.M))
    if not 10 < n <= 64:
        raise Failed(f"{n} thresholds")
    if pruned != ("pruned (many-versions" in got):
        raise Failed("versions are pruned, or not, against expectation")
    steps = re.findall(r"under ((?:<.*? in .*?> )+) *e_top(:|.*pruned)", got)
    made, left = ([len(re.findall("<", nest)) for nest, what in steps if (what == ":") == kept]
                  for kept in (True, False))
    if pruned and max(made) > min(left): # outer maps come first
        raise Failed(f"a nest of {max(made)} maps has versions, one of {min(left)} has not")
    data = "[" * depth + "3,-1" + "]" * depth
    whole = box.minifut("run --to=flatten p.sf", 0, stdin=data)[0]
    if whole != box.minifut("run p.sf", 0, stdin=data)[0]:
        raise Failed(f"flattened, it gives {whole}")


def memory(box, text):
    """A generated program takes less than 500 MB to compile (without sanitizers, which take their own)."""
    box.put("p.sf", text)
    pid = subprocess.Popen([MINIFUT, "compile", "--emit=c", "p.sf"], cwd=box.path, stdout=subprocess.DEVNULL).pid
    _, status, use = os.wait4(pid, 0)
    limit = 4000 if "ASAN_OPTIONS" in os.environ else 500
    if status or use.ru_maxrss > limit * 1024:
        raise Failed(f"status {status}, {use.ru_maxrss // 1024} MB")


table("versions", False, [("nest of eight", 8, 1, False), ("siblings", 5, 3, True)], versions)


table("memory", False, [("nest of eight", nest_program(8, 1)), ("siblings", nest_program(5, 3))], memory)


def long_program():
    lines = ["entry main [n] (xs: [n]f32) (k: i64): [n]f32 =", "  let r0 = xs"]
    for i in range(660):
        lines += [f"  let a{i} = map (\\x -> x * {i} + f32.i64 k) r{i}", f"  let t{i} = reduce (+) 0 a{i}",
                  f"  let r{i + 1} = map2 (\\p q -> p + q * t{i}) r{i} a{i}"]
    return "\n".join(lines + ["  in r660"]) + "\n"


@case(False)
def program_of_2000_lines(box):
    box.put("p.sf", long_program())
    box.minifut("compile --emit=c p.sf", 0, out="clCreateContext|cl_context")
