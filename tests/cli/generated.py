"""Cases: generated programs on wrong data, failures in kernels, refused versions, options and files."""
import json
import os
import pty
import re
import shutil
import struct
import subprocess

from box import EXAMPLES, GCC, HERE, MATRICES, MINIFUT, NEVER, OPENCL, QUICK, ROOT, USAGE, USER, Failed, Skipped, case, table

# Code of which programs are tried, with what a case needs for it.
SHAPES = {"native": True, "opencl": OPENCL, "gpu": OPENCL}


def run_as(shape):
    """The environment for it."""
    return {"MINIFUT_DRIVER": "native"} if shape == "native" else {"MINIFUT_DRIVER": "opencl", **({"MINIFUT_CODE": "gpu"} if shape == "gpu" else {})}


# --- data: the interpreter and the program must refuse alike --------------------------------------------

DATA = [
    ("nothing", "", "1:1: expected a value, got end of input"),
    ("no value", "hello", "1:1: expected"),
    ("truncated array", "[[1f32, 2], [3", r"1:15: expected ',' or '\]', got end of input"),
    ("one argument missing", "[[1f32, 2]]", r"1:12: expected a value, got end of input"),
    ("irregular rows", "[[1f32, 2], [3]] [[1]]", "1:16: a row of 1 elements after one of 2"),
    ("wrong element type", "[[1i32]] [[1]]", "1:3: expected f32, got a literal of type i32"),
    ("wrong rank", "[1f32, 2] [[1]]", "1:2: expected an array of 2 dimensions"),
    ("too high a rank", "[[[1f32]]] [[1]]", "too many dimensions|expected f32|expected"),
    ("a scalar", "5 [[1]]", "1:1: expected an array of 2 dimensions"),
    ("sizes that disagree", "[[1f32, 2]] [[1]]", r"argument 2 \(yss\): size m is 1 here, but 2 before"),
    ("too many values", "[[1f32]] [[2]] 3", "1:16: (data after the last argument|more input)"),
    ("empty without type", "[] [[1]]", r"argument 2 \(yss\): size m is 1 here, but 0 before"),
    ("wrong empty type", "empty([0][1]i32) [[1]]", "expected|i32"),
    ("a bad number", "[[1.5.5f32]] [[1]]", "1:[0-9]+: "),
    ("binary: truncated", b"b\x02\x02 f32" + (2).to_bytes(8, "little") * 2 + b"\0" * 7, "the data ends in the middle of an array of 16 bytes"),
    ("binary: other type", b"b\x02\x02 i32" + (1).to_bytes(8, "little") * 2 + b"\0" * 4, "f32.*i32"),
    ("binary: other rank", b"b\x02\x01 f32" + (1).to_bytes(8, "little") + b"\0" * 4, r"\[\]f32|dimension|rank"),
    ("binary: version", b"b\x09\x01 f32" + b"\0" * 12, "version"),
    ("binary: huge", b"b\x02\x02 f32" + b"\xff" * 16, "a dimension of size -1"),
    ("binary: too large", b"b\x02\x02 f32" + (1 << 32).to_bytes(8, "little") * 2, "larger than any memory"),
    ("binary: empty but too large", b"b\x02\x02 f32" + (0).to_bytes(8, "little") + (1 << 62).to_bytes(8, "little"),
     "larger than any memory"),
    ("empty but too large", "empty([0][4611686018427387905]f32)", "larger than any memory"),
    ("a binary integer", "[[1f32, 0b11]] [[1]]", "1:9: expected f32, got a binary integer"),
    ("a hexadecimal integer", "[[1f32, 0x10]] [[1]]", "1:9: expected f32, got a hexadecimal integer"),
    ("a binary float", "[[1f32, 0b11f32]] [[1]]", "1:9: expected f32, got a binary integer"),
    ("a name", "[[1f32, -nanx]] [[1]]", "1:9: expected f32, got '-nanx'"),
]


def data_to_interpreter(box, data, err):
    shutil.copy(EXAMPLES / "matmul.sf", box.path)
    box.minifut("run matmul.sf", USER, err, out="^$", stdin=data)


def data_to_program(box, data, err):
    box.run([box.binary("matmul")], USER, err, out="^$", stdin=data)


table("data, interpreter", False, DATA, data_to_interpreter)
table("data, program", True, DATA, data_to_program)


# --- failures inside kernels, in every version -----------------------------------------------------------

FAILS = [  # entry, arguments, place and what is said
    ("div_map", "[1,2,3] [1,0,1]", ("fails.sf:3:17", r"division by zero")),
    ("index_map", "[1,2,3] [0i64,1,3]", ("fails.sf:6:14", r"Index \[3\] out of bounds for array of shape \[3\]\.")),
    ("index_map", "[1,2,3] [0i64,-1,1]", ("fails.sf:6:14", r"Index \[-1\] out of bounds for array of shape \[3\]\.")),
    ("index_reduce", "[1,2,3] [0i64,1,3]", ("fails.sf:9:28", r"Index \[3\] out of bounds for array of shape \[3\]\.")),
    ("div_reduce", "[1,2,3] [1,1,0]", ("fails.sf:12:12", r"division by zero")),
    ("index_scan", "[1,2,3] [0i64,1,3]", ("fails.sf:15:26", r"Index \[3\] out of bounds for array of shape \[3\]\.")),
    ("index_group", "[[1,2,3],[4,5,6]] [1i64,3]",
     ("fails.sf:20:42", r"Index \[3\] out of bounds for array of shape \[3\]\.")),
    ("div_group", "[[1,2,3],[4,5,6]] [1,0]", ("fails.sf:25:41", r"division by zero")),
    ("asserts", "[1,2,0]", ("fails.sf:28:14", r"Assertion is false: \(x > 0\)")),
    ("host_index", "[1,2,0] 5i64", ("fails.sf:31:3", r"Index \[5\] out of bounds for array of shape \[3\]\.")),
    ("host_div", "1 0", ("fails.sf:34:3", r"division by zero")),
    ("slices", "[1,2,0] 2i64 5i64", ("fails.sf:37:13", r"Index \[2:5\] out of bounds for array of shape \[3\]\.")),
    ("slices", "[1,2,0] 2i64 1i64", ("fails.sf:37:13", r"Index \[2:1\] out of bounds for array of shape \[3\]\.")),
    ("coerced", "[1,2,0] 2i64", ("fails.sf:40:12", r"Value of \(desugared\) shape \[3\] cannot match shape of type .\[2\]i32..")),
]
GROUP_VERSIONS = [
    ("outer", ["suff_outer_par_0=1"], "suff_outer_par_0 <= 1: true"),
    ("intra", ["suff_outer_par_0=" + NEVER, "suff_intra_par_1=1"], "suff_intra_par_1 <= 6: true"),
    ("flat", ["suff_outer_par_0=" + NEVER, "suff_intra_par_1=" + NEVER], "suff_intra_par_1 <= 6: false"),
]


def told(err):
    """What is said, the place, the line and a caret."""
    place, text = err
    return rf"^Error: {text}\n{re.escape(place)}:\n    .*\n +\^~*$"


def fails_interpreted(box, entry, stdin, err):
    shutil.copy(HERE / "fails.sf", box.path)
    box.minifut(f"run -e {entry} fails.sf", USER, told(err), out="^$", stdin=stdin)


def fails_compiled(box, entry, stdin, err, shape, params=(), taken=None):
    args = [box.binary("fails"), "-e", entry] + (["-L"] if taken else [])
    for p in params:
        args += ["--param", f"{entry}.{p}"]
    _, said = box.run(args, USER, told(err), out="^$", stdin=stdin, env=run_as(shape))
    if taken and taken not in said:
        raise Failed(f"another version ran: {said}")


table("failure, interpreter", False, [(f"{e} {x}", e, x, m) for e, x, m in FAILS], fails_interpreted)
for shape, needs in SHAPES.items():
    table(f"failure, {shape}", needs, [(f"{e} {x}", e, x, m, shape) for e, x, m in FAILS
                                       if not e.endswith("group")], fails_compiled)
    table(f"failure, {shape}", needs, [(f"{e} {v}", e, x, m, shape, p, t) for e, x, m in FAILS
                                       if e.endswith("group") for v, p, t in GROUP_VERSIONS], fails_compiled)


def results_of_versions(box, shape, params, taken):
    args = [box.binary("fails"), "-L", "-e", "index_group"]
    for p in params:
        args += ["--param", f"index_group.{p}"]
    box.run(args, 0, re.escape(taken), out=r"^\[19i32, 73i32\]$", stdin="[[1,2,3],[4,5,6]] [1i64,2]",
            env=run_as(shape))


for shape, needs in SHAPES.items():
    table("no failure", needs, [(f"{shape} {v}", shape, p, t) for v, p, t in GROUP_VERSIONS], results_of_versions)


# --- what untuned programs choose --------------------------------------------------------------------------

def chosen_untuned(box, shape, options, taken, stdin="[[1,2,3],[4,5,6]] [1i64,2]", out=r"^\[19i32, 73i32\]$"):
    """Work-groups spare launches on GPUs, unless a threshold is given."""
    args = [box.binary("fails"), "-L", "-e", "index_group", *options]
    box.run(args, 0, rf"suff_intra_par_1 <= {taken}\.", out=out, stdin=stdin, env=run_as(shape))


table("untuned", True, [("native", "native", [], "6: false")], chosen_untuned)
table("untuned", OPENCL, [
    ("gpu", "gpu", [], "6: true"),
    ("gpu, a threshold for all", "gpu", ["--default-threshold", "32768"], "6: false"),
    ("gpu, its threshold", "gpu", ["--param", "index_group.suff_intra_par_1=32768"], "6: false"),
    ("gpu, no rows", "gpu", [], "0: false", "empty([0][3]i32) empty([0]i64)", r"^empty\(\[0\]i32\)$"),
], chosen_untuned)


# --- versions that the device cannot run -------------------------------------------------------------------

def too_much_local_memory(box, shape, limit):
    row = list(range(1, 602))
    data = f"[{row}, {row[::-1]}]".replace(" ", "")
    shutil.copy(EXAMPLES / "mapscan.sf", box.path)
    want, _ = box.minifut("run mapscan.sf", 0, stdin=data)
    args = [box.binary("mapscan"), "-L", "--param", "main.suff_outer_par_0=" + NEVER, "--param",
            "main.suff_intra_par_1=1"]
    env = run_as(shape)
    got, said = box.run(args, 0, "suff_intra_par_1 <= 504: true", stdin=data, env=env)
    if got != want or "Refused" in said:
        raise Failed(f"within the limit: {said}: {got[:200]}")
    got, said = box.run(args + ["--local-memory-limit", str(limit)], 0,
                        rf"^Refused segmap_intra_main_\d+: needs \d+ bytes of local memory, the device offers {limit}\.",
                        stdin=data, env=env)
    if got != want:
        raise Failed(f"the next version is wrong: {got[:200]}, expected {want[:200]}")


for shape, needs in SHAPES.items():
    table("local memory", needs, [(shape, shape, 2048)], too_much_local_memory)


# --- kernels that makers choose ----------------------------------------------------------------------------

def said_of_choices(box, value, why, kernel):
    (box.path / "hist.sf").write_text("entry main (is: [9]i64) : [3]i32 = hist (+) 0 3 is (map i32.i64 is)\n")
    box.minifut("compile -o hist hist.sf", 0, leaves=["hist", "hist.c"], env=QUICK)
    settings = [] if value is None else ["--param", f"main.choice_seghist_local_0={value}"]
    got, said = box.run(["./hist", "-L", "-D", *settings], 0, rf"^Choice main\.choice_seghist_local_0: {why}\.$",
                        stdin="[0i64, 1, 2, 2, 2, 2, 2, 2, 3]")
    if got != "[0i32, 1i32, 12i32]\n" or not re.search(rf"(Built k|^K)ernel {kernel}_main", said, re.M):
        raise Failed(f"{got}, {said}")
    params, _ = box.run(["./hist", "--print-params"], 0)
    if "main.choice_seghist_local_0 (choice(seghist_local))" not in params:
        raise Failed(params)
    box.minifut("explain -v hist.sf", 0, out="main.choice_seghist_local_0 +at hist.sf:1:36: there are as many elements as bins")
    box.minifut("compile --emit=plan hist.sf", 0, out="choose main.choice_seghist_local_0: can .*, pays ")


@case(True)
def kernels_of_steps(box):
    """Work-items with several elements each also do what a step does with a reduction."""
    pairs = ROOT / "tests/programs/soacs/all_pairs.sf"
    box.minifut(f"compile --emit=plan {pairs}", 0, out=r"kernel segshare_moved_\d+ -- segmap\^1 <x, y, z in xs, ys, zs>")


for place, needs in (("", True), (" by OpenCL", OPENCL)):
    table(f"choices{place}", needs, [("pays", None, r"yes, it pays \(300 of 100 %\)", "seghist_local"), ("always", 1, r"yes, it pays \(300 of 1 %\)", "seghist_local"),
                             ("a higher bar", 301, r"no, it does not pay \(300 of 301 %\)", "seghist(_turns)?"),
                             ("never", NEVER, rf"no, it does not pay \(300 of {NEVER} %\)", "seghist(_turns)?")], said_of_choices)


# --- histograms whose bins are more than local memory holds ---------------------------------------------------

def bins_outside(box, shape, n, kernels):
    """Sums and maxima of n elements in 100 bins, which would be in local memory were it not limited."""
    box.put("bins.sf", "entry main [n] (xs: [n]i32): ([100]i32, [100]f32) =\n"
            "  let is = map (\\x -> i64.i32 x % 101 - 1) xs\n"
            "  in (hist (+) 0 100 is xs, hist f32.max (-1) 100 is (map f32.i32 xs))\n")
    data = str([i * 7919 % 5003 for i in range(n)]).replace(" ", "")
    want, _ = box.minifut("run bins.sf", 0, stdin=data)
    box.minifut("compile bins.sf", 0, leaves=["bins", "bins.c"], env=QUICK)
    got, said = box.run(["./bins", "-P", "--local-memory-limit", "64"], 0, "seghist", stdin=data,
                        env=run_as(shape))
    if got != want:
        raise Failed(f"{got[:200]}, expected {want[:200]}")
    if set(re.findall(r"^(seghist\w*)_main", said, re.M)) != kernels:
        raise Failed(f"expected {kernels} in: {said}")


table("bins outside local memory", True, [
    ("native, many elements", "native", 5000, {"seghist_turns", "seghist_combine"}),
    ("native, few elements", "native", 500, {"seghist"}),
], bins_outside)
table("bins outside local memory", OPENCL, [
    ("gpu", "gpu", 5000, {"seghist"}),
], bins_outside)


# --- options and files of programs ---------------------------------------------------------------------------

PRODUCT = r"^\[\[19.0f32, 22.0f32\], \[43.0f32, 50.0f32\]\]$"


def program(box, args, code, err, out):
    box.put("bad.tuning", "main.suff_outer_par_0=10\nmain.suff_outer_par_0 is 7\n")
    box.put("odd.tuning", "-- a comment\n\n  main.suff_outer_par_0 = 1 -- another\nmain.nobody=5\n")
    box.run([box.binary("matmul")] + args.split(), code, err, out=out, stdin=MATRICES)


table("program", True, [
    ("right", "", 0, "", PRODUCT),
    ("unknown option", "--fast", USAGE, "unrecognized option '--fast'", "^$"),
    ("misspelt option", "--print-param=1 --tunning x", USAGE, "did you mean '--print-params'|did you mean '--tuning'", "^$"),
    ("misspelt parameter", "--param main.suff_outer_pra_0=1", USER,
     "unknown tuning parameter: main.suff_outer_pra_0; did you mean 'main.suff_outer_par_0'", "^$"),
    ("misspelt entry point", "-e mian", USER, "no entry point 'mian'; did you mean 'main'", "^$"),
    ("option without value", "--tuning", USAGE, "option '--tuning' requires an argument", "^$"),
    ("unknown entry point", "-e nobody", USER, "no entry point 'nobody'", "^$"),
    ("broken tuning file", "--tuning bad.tuning", USER,
     "bad.tuning:2: expected name=int, got 'main.suff_outer_par_0 is 7'", "^$"),
    ("unknown name in the tuning file", "-L --tuning odd.tuning", 0,
     "odd.tuning:4: warning: unknown tuning parameter: main.nobody(.|\n)*_0 <= 1: true", PRODUCT),
    ("missing tuning file", "--tuning none.tuning", USER, "cannot read none.tuning: No such file", "^$"),
    ("unknown parameter", "--param main.nobody=1", USER, "unknown tuning parameter: main.nobody", "^$"),
    ("a limit that is no number", "--local-memory-limit x", USAGE, "--local-memory-limit needs a number, got 'x'", "^$"),
    ("threads that are no number", "--threads two", USAGE, "--threads needs a number from 1 to 1024, got 'two'", "^$"),
    ("a default that is no number", "--default-group-size=", USAGE, "--default-group-size needs a number, got ''", "^$"),
    ("times that cannot be written", "-t bad.tuning/t", USER, "cannot write bad.tuning/t", ""),
    ("no such device", "-d nonesuch", USER, "no device matches device nonesuch", "^$"),
    ("no such platform", "-p nonesuch", USER, "no device matches platform nonesuch", "^$"),
], program)


@case(True)
def program_without_OpenCL(box):
    (box.path / "none").mkdir()
    env = {"OCL_ICD_VENDORS": box.path / "none"}
    box.run([box.binary("matmul")], 0, "", out=PRODUCT, stdin=MATRICES, env=env)
    box.run([box.binary("matmul")], USER, "no OpenCL device found: install a driver", out="^$",
            stdin=MATRICES, env={**env, "MINIFUT_DRIVER": "opencl"})
    box.run([box.binary("matmul"), "--list-devices"], USER, "no OpenCL device found", out="^$", env={**env, "MINIFUT_DRIVER": "opencl"})


@case(OPENCL)
def drivers(box):
    """MINIFUT_DRIVER hides what others have, from programs and `minifut devices`."""
    for driver in ("opencl", "cuda", "native"):
        env = {"MINIFUT_DRIVER": driver}
        listed, _ = box.run([box.binary("matmul"), "--list-devices"], 0, env=env)
        shown, _ = box.minifut("devices", 0, env=env)
        for text in (listed, shown):
            if (re.search(r"\bnative\b", text) is not None) != (driver == "native"):
                raise Failed(f"{driver}: {text}")
        if len(listed.splitlines()) != len(re.findall(r"^ +platform ", shown, re.M)) or (driver == "native" and len(listed.splitlines()) != 1):
            raise Failed(f"{driver}: {listed}; {shown}")
    box.run([box.binary("matmul"), "-d", "native"], USER, "no device matches device native", stdin=MATRICES)


@case(True)
def without_a_look_at_OpenCL(box):
    """Neither by name nor by its driver `native` loads OpenCL's loader."""
    for args, env in ((["-d", "native"], {}), ([], {"MINIFUT_DRIVER": "native"})):
        _, said = box.run([box.binary("matmul"), *args], 0, "libc", out=PRODUCT, stdin=MATRICES, env={**env, "LD_DEBUG": "libs"})
        if "OpenCL" in said:
            raise Failed(said)


@case(True)
def program_on_a_full_disk(box):
    with open("/dev/full", "wb") as full:
        box.run([box.binary("matmul")], USER, "cannot write the results: No space left", stdin=MATRICES,
                stdout=full)


def full_file(box, args):
    box.use("matmul")
    with open("/dev/full", "wb") as full:
        box.run([box.binary("matmul")] + args.split(), USER, "cannot write", stdin=MATRICES, stdout=full)


table("full disk, program", True, [(a, a) for a in
      ("--help", "--print-params", "--list-devices", "-n -t /dev/full", "-n -t /dev/full -r 3000",
       "-n --profile-json /dev/full", "--dump-opencl /dev/full", "-b", "")], full_file)


@case(True)
def kernels_of_a_program(box):
    """The text of all kernels compiles, for each width of indices."""
    if not shutil.which("clang"):
        raise Skipped("clang")
    box.run([box.binary("mapscan"), "--dump-opencl", "k.cl"], 0, leaves=["k.cl"])
    text = (box.path / "k.cl").read_text()
    if "barrier(CLK_LOCAL_MEM_FENCE)" not in text:
        raise Failed("no barriers")
    for options in ([], ["-DMF_INDEX32"]):
        box.run(["clang", "-x", "cl", "-cl-std=CL1.2", "-D__OPENCL_VERSION__=120", "-Xclang", "-finclude-default-header",
                 "-fsyntax-only", *options, "k.cl"], 0)


@case(True)
def packed_kernels(box):
    """A program has its kernels in fewer characters than `--emit=opencl`, and they are the same, whatever its file is called."""
    name = "at@cost$5.sf"
    box.put(name, (EXAMPLES / "kmeans_step.sf").read_text())
    box.minifut(f"compile -o k {name}", 0, leaves=["k", "k.c"], env=QUICK)
    box.run(["./k", "--dump-opencl", "k.cl"], 0, leaves=["k.cl"])
    whole = (box.path / "k.cl").read_text()
    text = box.minifut(f"compile --emit=opencl --target=gpu {name}", 0)[0]
    kernels = re.split(r"^\n(?=/\*)", text, flags=re.M)[1:]
    lost = [k for k in kernels if k.rstrip() not in whole]
    if not kernels or lost or name not in whole:
        raise Failed(f"{len(lost)} of {len(kernels)} kernels are others: {lost[:1]}")
    packed = re.search(r"^static const char texts\[\] =\n((?: +\".*\"\n)+)", (box.path / "k.c").read_text(), re.M)
    if not packed or 3 * len(packed[1]) > len(text):
        raise Failed(f"{packed and len(packed[1])} characters for {len(text)}")


def both_widths(box, program, stdin, out, shape, params):
    """Indices of 64 bits give what those of 32 do, and are taken only if asked for here: sizes are small."""
    for bits in (32, 64):
        args = [box.binary(program), "-D"] + [x for p in params for x in ("--param", p)]
        _, said = box.run(args, 0, "Built kernel", out=out, stdin=stdin,
                          env={"MINIFUT_CODE": shape, "MINIFUT_INDEX": bits, "XDG_CACHE_HOME": ""})
        wide = ["with 64-bit indices" in line
                for line in said.splitlines() if line.startswith("Built kernel")]
        if wide != [bits == 64] * len(wide):
            raise Failed(f"{bits} bits: {said}")


for shape in ("cpu", "gpu"):
    for flag in (NEVER, "1"):
        table(f"indices, {shape}, outer {'all' if flag == '1' else 'none'}", OPENCL, [
            ("matmul", "matmul", "[[1f32, 2], [3, 4]] [[5f32, 6], [7, 8]]",
             r"^\[\[19\.0f32, 22\.0f32\], \[43\.0f32, 50\.0f32\]\]$", shape, ["main.suff_outer_par_0=" + flag]),
        ], both_widths)


@case(True)
def sizes_of_entries(box):
    """Each entry has parameters for the sizes that its kernels depend on, which are named, and for no others."""
    (box.path / "two.sf").write_text("entry plus [n] (xs: [n]i64): [n]i64 = map (+ 1) xs\n"
                                     "entry total [n] (xs: [n]i64): i64 = i64.sum xs\n")
    box.minifut("compile two.sf", 0, leaves=["two", "two.c"], env=QUICK)
    said, _ = box.run(["./two", "--print-params"], 0)
    sizes = dict(re.findall(r"^(\S+) \((\w+\(.*\))\)$", said, re.M))
    if [k for k in sizes if k.startswith("plus.")] != ["plus.group_size", "plus.num_groups"]:
        raise Failed(f"of a map: {said}")
    if not re.fullmatch(r"item_elems\(segred\w*_total_\d+( segred\w*_total_\d+)*\)", sizes.get("total.item_elems", "")):
        raise Failed(f"of a sum: {said}")
    for size in sizes:
        box.run(["./two", "-e", size.split(".")[0], "--param", size + "=3"], 0, out=r"^(\[2i64, 3i64\]|3i64)$", stdin="[1i64, 2]")


@case(OPENCL)
def built_for_sizes(box):
    """A kernel that is built for its sizes gives what the general one does; thresholds ask without building it."""
    (box.path / "rows.sf").write_text("entry main [n][m] (a: i64) (xss: [n][m]i64): [n][m]i64 =\n"
                                      "  map (\\xs -> map (+ a) (scan (+) 0 (map (\\x -> i64.max x (i64.sum xs / n)) (scan (+) 0 xs)))) xss\n")
    box.minifut("compile rows.sf", 0, leaves=["rows", "rows.c"], env=QUICK)
    intra = ["--param", "main.suff_outer_par_0=" + NEVER, "--param", "main.suff_intra_par_1=1"]
    for n in (1, 40):
        xs = list(range(1, n + 1))
        best = [max(sum(xs) // 2, sum(xs[:x])) for x in xs]
        want = ", ".join(f"{3 + sum(best[:i])}i64" for i in range(1, n + 1))
        for sized in "01":
            for params in (intra, ["--param", "main.suff_outer_par_0=1"]):
                _, said = box.run(["./rows", "-D", *params], 0, "Built kernel", stdin=f"3 [{xs}, {xs}]",
                                  out=rf"^\[\[{want}\], \[{want}\]\]$",
                                  env={"MINIFUT_CODE": "gpu", "MINIFUT_SIZED": sized, "XDG_CACHE_HOME": ""})
                built = [line for line in said.splitlines() if line.startswith("Built kernel segmap")]
                if not built or any(("for its sizes" in line) != (sized == "1") for line in built):
                    raise Failed(f"sized {sized}: {said}")


@case(OPENCL)
def long_kernels(box):
    """On CPUs these are not optimised, which would take minutes."""
    steps = "".join(f"  let x{i + 1} = (x{i} ^ (x{max(i - 7, 0)} >> {i % 13 + 1})) * {2 * i + 3} + {i}\n" for i in range(700))
    box.put("long.sf", f"entry main (xs: []u32) = map (\\x0 ->\n{steps}  in x700) xs\nentry short (xs: []u32) = map (+ 1) xs\n")
    box.minifut("compile long.sf", 0, leaves=["long", "long.c"], env={"CFLAGS": "-O0"})
    want, _ = box.minifut("run long.sf", 0, stdin="[1u32, 2, 3000000000]")
    alone = "Built kernel segmap_main_0 .* without optimisation in "
    box.run(["./long", "-D"], 0, err=alone, stdin="[1u32, 2, 3000000000]", out="^" + re.escape(want), env={"MINIFUT_CODE": "cpu"})
    _, said = box.run(["./long", "-D", "-e", "short"], 0, err="Built kernel", stdin="[1u32]", out="^\\[2u32\\]$")
    if "without optimisation" in said:
        raise Failed(said)


@case(OPENCL)
def leads(box):
    """Loops for the lead of a group give the same in groups that are smaller than that, as large, or larger."""
    program = ROOT / "tests/programs/soacs/narrow_waves.sf"
    cases = re.findall(r"^-- entry: (\w+)\n-- input \{ (.*) \}\n-- output \{ (\[.*\]) \}$", program.read_text(), re.M)
    box.minifut(f"compile -o narrow {program}", 0, leaves=["narrow", "narrow.c"], env=QUICK)
    first = {entry: case for case in reversed(cases) for entry in case[:1]}
    if len(first) != 9:
        raise Failed(f"{program}: {len(first)} entries with cases")
    for entry, stdin, want in first.values():
        params = [f"{entry}.suff_outer_par_0={NEVER}", f"{entry}.suff_intra_par_1=1"]
        for size, sized in ((16, 0), (256, 1)):
            args = [x for p in (*params, f"{entry}.group_size={size}") for x in ("--param", p)]
            box.run(["./narrow", "-e", entry, "--build-option=-cl-opt-disable", *args], 0, stdin=stdin, out="^" + re.escape(want),
                    env={"MINIFUT_CODE": "gpu", "MINIFUT_SIZED": str(sized), "XDG_CACHE_HOME": ""})


@case(OPENCL)
def matrix_units(box):
    """Products of f16, and of f32, are made of tiles where there are matrix units, and give the same, also where rows begin anywhere; without such
    they are not. With units of four warps the larger ones of f16 have a kernel of their own. Factors of f32 are rounded with --fast-math alone."""
    tried = [("plain", "248i64 64i64 256i64", "2", True), ("plain", "136i64 72i64 72i64", "1", True), ("plain", "136i64 72i64 72i64", "0", False), ("plain", "248i64 64i64 256i64", "1", True),
             ("plain", "64i64 66i64 66i64", "1", True), ("plain", "67i64 131i64 65i64", "1", True), ("rows", "64i64 1032i64 64i64", "1", True), ("batch", "2i64 136i64 72i64 72i64", "1", True)]
    computed = ("computed", "136i64 72i64 72i64", "1", True)
    for elem, flags, of in (("f16", "", [*tried, computed]), ("f32", "", [tried[0], *tried[5:7]]), ("f32", "--fast-math", tried[6:])):
        program = ROOT / f"tests/programs/soacs/products_{elem}.sf"
        box.minifut(f"compile --force {flags} -o {elem} {program}", 0, leaves=[elem, f"{elem}.c"], env=QUICK)
        kernels = {}
        for entry, stdin, units, tiles in of:
            _, said = box.run([f"./{elem}", "-e", entry, "--matrix-units", units, "-D", "--build-option=-cl-opt-disable"], 0, "Built kernel",
                              stdin=stdin, out="^true$", env={"MINIFUT_CODE": "gpu"})
            if ("Built kernel segmatrix" in said) != tiles:
                raise Failed(f"{elem}: {entry} {stdin}, units {units}: {said}")
            kernels[stdin, units] = re.findall(r"Built kernel (segmatrix\w+)", said)
        large = "248i64 64i64 256i64"
        if elem == "f16" and kernels[large, "1"] == kernels[large, "2"]:
            raise Failed(f"units of one warp and of four: {kernels[large, '1']}")
        if elem == "f32":
            box.run(["./f32", "-e", "rounded", "--matrix-units", "1", "--build-option=-cl-opt-disable"], 0, stdin="8i64",
                    out="^true$" if flags else "^false$", env={"MINIFUT_CODE": "gpu"})
        if elem == "f32" and not flags:
            alone = [f"several.{p}" for p in ("suff_outer_par_0=9999999", "suff_intra_par_1=9999999", "suff_outer_par_2=1")]
            for stdin in ("250i64 64i64 68i64", "101i64 35i64 70i64"):  # results stored as vectors, and one by one
                box.run(["./f32", "-e", "several", "--matrix-units", "1", "-D", "--build-option=-cl-opt-disable",
                         *(x for p in alone for x in ("--param", p))], 0, "Built kernel segmatrix_several", stdin=stdin, out="^true$", env={"MINIFUT_CODE": "gpu"})


FLAT = ("suff_outer_par_0=1", )
BATCH = ("suff_outer_par_0=9999999", "suff_intra_par_1=9999999", "suff_outer_par_2=1")
# Entry, the version of rows (None: what an untuned program takes), arguments, the kernel's number among those of units of one warp (of rows
# up to 64, up to 128; None: rows of such widths are not for the units), behind as many of units of four.
ATTENTION = [("before", None, "[32][33][8]f16 [32][33][8]f16 [32][33][8]f16", 0),
             ("before", BATCH, "[1][130][64]f16 [1][129][64]f16 [1][129][64]f16", 0), ("before", BATCH, "[2][40][72]f16 [2][70][72]f16 [2][70][128]f16", 1),
             ("before", BATCH, "[1][33][136]f16 [1][33][136]f16 [1][33][136]f16", None), ("before", BATCH, "[1][3][8]f16 [1][0][8]f16 [1][0][8]f16", 0),
             ("behind", BATCH, "[2][40][16]f16 [140][16]f16 [140][24]f16 [2][40][140]f16 [24]f16", 0),
             ("window", FLAT, "[300][8]f16 [270][8]f16 [270][8]f16", 0), ("scaled", None, "[32][33][8]f16 [32][33][8]f16 [32][33][8]f16", 0)]


def alike(got, want):
    """Are these the same numbers, but for rounding to f16?"""
    number = re.compile(r"(-?[\d.]+(?:e-?\d+)?|nan)(?:f16)?")
    xs, ys = ([float(x) for x in number.findall(re.sub(r"f16\.nan", "nan", text))] for text in (got, want))
    return len(xs) == len(ys) and all(abs(x - y) <= 2e-3 * max(1, abs(y)) or (x != x and y != y) for x, y in zip(xs, ys))


@case(OPENCL)
def attention(box):
    """Attention of f16 is one kernel where there are matrix units, and gives what the interpreter does, whatever the sizes; not of rows that the
    units do not take, and without such."""
    program = ROOT / "tests/programs/soacs/attention_f16.sf"
    box.minifut(f"compile -o attention {program}", 0, leaves=["attention", "attention.c"], env=QUICK)
    emitted, _ = box.minifut(f"compile --emit=opencl --target gpu {program}", 0)
    for entry, forced, types, kernel in ATTENTION:
        data, _ = box.minifut(" ".join(f"dataset -g {t}" if i == 0 else f"-g {t}" for i, t in enumerate(types.split())), 0)
        want, _ = box.minifut(f"run -e {entry} {program}", 0, stdin=data)
        params = [*(forced or ()), *(f"choice_attention_{i}=1" for i in range(4 if forced else 0))]
        first = int(re.search(rf"__kernel MF_SHAPE void attention_{entry}_(\d+)|$", emitted)[1])
        for units in (1, 2) if forced else (1, 0):
            got, said = box.run(["./attention", "-e", entry, "--matrix-units", str(units), "-D", "--build-option=-cl-opt-disable",
                                 *(x for p in params for x in ("--param", f"{entry}.{p}"))], 0, "Built kernel", stdin=data, env={"MINIFUT_CODE": "gpu"})
            built = re.findall(rf"Built kernel attention_{entry}_(\d+)", said)
            if built != ([str(first + kernel + 2 * (units == 1))] if units and kernel is not None else []):
                raise Failed(f"{entry} {types}, units {units}: {built}")
            if not alike(got, want):
                raise Failed(f"{entry} {types}, units {units}: {got[:300]} instead of {want[:300]}")


@case(OPENCL)
def rows_in_little_local_memory(box):
    """Groups that share out rows of unequal length are smaller where there is little local memory, of wide values and of narrow ones."""
    program = ROOT / "tests/programs/ragged/wide.sf"
    want = {entry: box.minifut(f"run -e {entry} {program}", 0, stdin="700")[0] for entry in ("many", "asked", "bytes")}
    box.minifut(f"compile --flatten=full -o wide {program}", 0, leaves=["wide", "wide.c"], env=QUICK)
    for told in ("16384", "32768", "65536"):
        for entry in want:
            box.run(["./wide", "-e", entry, "--build-option=-cl-opt-disable"], 0, stdin="700", out="^" + re.escape(want[entry]) + "$",
                    env={"MINIFUT_CODE": "gpu", "MINIFUT_SIZED": "0", "MINIFUT_LOCAL_TOLD": told, "XDG_CACHE_HOME": ""})


@case(OPENCL)
def columns_in_little_local_memory(box):
    """Scans of columns go along each where what groups exchange does not fit."""
    (box.path / "pairs.sf").write_text(
        "def op (a, b, c, d) (e, f, g, h) = (a + e, b * f, c + g, d + h): (i64, i64, i64, i64)\n"
        "entry main [n][m] (xss: [n][m]i64): [n][m]i64 =\n"
        "  transpose (map (\\xs -> map (\\(a, b, c, d) -> a + b + c + d)\n"
        "                          (scan op (0, 1, 0, 0) (map (\\x -> (x, 1 | x, x / 2, -x)) xs))) (transpose xss))\n")
    rows = str([[i * 5 % 7 + j for j in range(3)] for i in range(900)])
    want = box.minifut("run pairs.sf", 0, stdin=rows)[0]
    box.minifut("compile pairs.sf", 0, leaves=["pairs", "pairs.c"], env=QUICK)
    for told, kernel in (("16384", "segscan_seq"), ("65536", "segscan_across")):
        _, said = box.run(["./pairs", "-P", "--build-option=-cl-opt-disable", "--param", "main.suff_outer_par_0=" + NEVER,
                           "--param", "main.suff_intra_par_1=" + NEVER], 0, kernel, stdin=rows, out="^" + re.escape(want) + "$",
                          env={"MINIFUT_CODE": "gpu", "MINIFUT_SIZED": "0", "MINIFUT_LOCAL_TOLD": told, "XDG_CACHE_HOME": ""})


@case(OPENCL)
def declared_local_memory(box):
    """Kernels that are built for their sizes have more local memory than is told where the device gives it; others are refused."""
    (box.path / "far.sf").write_text("entry main [n][m] (xss: [n][m]i64): [n][m]i64 =\n"
                                     "  map (\\xs -> let ys = scan (+) 0 xs in map (\\i -> ys[m - 1 - i]) (iota m)) xss\n")
    box.minifut("compile far.sf", 0, leaves=["far", "far.c"], env=QUICK)
    xs = list(range(700))
    want = ", ".join(f"{sum(xs[:700 - i])}i64" for i in range(700))
    for sized in "01":
        for told in ("2048", "200000"):
            _, said = box.run(["./far", "-L", "-D", "--param", "main.suff_outer_par_0=" + NEVER, "--param", "main.suff_intra_par_1=1"],
                              0, "Built kernel", stdin=f"[{xs}, {xs}]", out=rf"^\[\[{want}\], \[{want}\]\]$",
                              env={"MINIFUT_CODE": "gpu", "MINIFUT_SIZED": sized, "MINIFUT_LOCAL_TOLD": told, "XDG_CACHE_HOME": ""})
            if ("Refused segmap_intra" in said) != (sized == "0" and told == "2048") or \
                    ("may declare" in said) != (sized == "1" and told == "2048"):
                raise Failed(f"sized {sized}, told {told}: {said}")


@case(OPENCL)
def chunks_without_elements(box):
    """Chunks of a reduction are of equal size, rounded up, so there are sizes of which nothing is left for the last."""
    (box.path / "sum.sf").write_text("entry main (n: i64): i64 = reduce (+) 0 (map (% 7) (iota n))\n")
    box.minifut("compile sum.sf", 0, leaves=["sum", "sum.c"], env=QUICK)
    for n in (1600, 1640, 1699, 1700):
        box.run(["./sum", "--default-group-size", "4", "--default-num-groups", "100"], 0, stdin=str(n),
                out=f"^{sum(i % 7 for i in range(n))}i64", env={"MINIFUT_CODE": "gpu"})


# --- building kernels is told --------------------------------------------------------------------------------------

def on_terminal(box, args, env):
    """What a program says on a terminal, and its results."""
    ours, its = pty.openpty()
    p = subprocess.Popen([box.binary("mapscan"), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=its, env={**os.environ, **box.driver, **env})
    os.close(its)
    out, _ = p.communicate(b"[[1, 2], [3, 4]]", timeout=300)
    said = b""
    try:
        while more := os.read(ours, 4096):
            said += more
    except OSError: # the other side is closed
        pass
    os.close(ours)
    if p.returncode or (not out and "-n" not in args):
        raise Failed(f"{args}: exit code {p.returncode}, {said!r}")
    return said.decode()


def built_late(said):
    return [float(ms) for ms in re.findall(r"^The driver built kernel .* in groups of \d+x\d+x\d+ in (\d+\.\d) ms$", said, re.M)]


@case(OPENCL)
def building_is_told(box):
    """On a terminal in a line that goes away, in the log in one that stays, else not at all; that it is the first run, where it is."""
    first, own = {"POCL_CACHE_DIR": str(box.programs / "pocl-told")}, ["--cache-file", str(box.programs / "kernels-told")]
    line = r"(building kernels%s\.\.\.\r\x1b\[K)+"
    for args, words in (([], ""), (own, r" \(first run on this device\)")):
        said = on_terminal(box, args, first)
        if not re.fullmatch(line % words, said):
            raise Failed(f"{args}: {said!r}")
    said = on_terminal(box, own, first)
    if "first run" in said:
        raise Failed(f"the second run: {said!r}")
    for args in (["-D"], ["-L"], ["-n", "-L"]):
        if "\x1b" in on_terminal(box, args, first):
            raise Failed(f"{args}: a line that goes away")
    stdin = "[[1, 2], [3, 4]]"
    box.run([box.binary("mapscan"), "-L"], 0, r"^Building kernels\.\.\.\n(.|\n)*^Built kernels in \d+\.\d\d s\.$", stdin=stdin)
    box.run([box.binary("mapscan")], 0, "", stdin=stdin)


@case(OPENCL)
def builds_at_launches_have_their_time(box):
    """PoCL builds a kernel when it is first launched: that takes long once, and nothing where PoCL has it."""
    env, times = {"POCL_CACHE_DIR": box.programs / "pocl-late"}, []
    for _ in range(2):
        _, said = box.run([box.binary("mapscan"), "-D", "-r", "2"], 0, "Built kernel", stdin="[[1, 2], [3, 4]]", env=env)
        late = built_late(said)
        launched = set(re.findall(r"^Built kernel (\w+)", said, re.M))
        if not late or len(late) > 2 * len(launched):
            raise Failed(f"kernels {launched}: {said}")
        times.append(sum(late))
    if times[1] > times[0] / 2 or times[0] < 10:
        raise Failed(f"{times[0]} ms at the first run, {times[1]} at the second: {said}")


@case(True)
def threads_are_profiled(box):
    """In the table, and each in the JSON; not where the device's threads are not the program's."""
    data = f"[{', '.join(['[1f32, 2]'] * 500)}] [[1], [2]]"
    native = {"MINIFUT_DRIVER": "native"}
    box.run([box.binary("matmul"), "-n", "-P", "--threads", "3"], 0,
            r"GFLOP/s  threads busy\n(.*\d+%\n)*\w+ +matmul.sf:\d+:\d+ .* \d+% +\d+-\d+%\n", stdin=data, env=native)
    box.run([box.binary("matmul"), "-n", "--profile-json", "p.json", "--threads", "3"], 0, stdin=data, leaves=("p.json",), env=native)
    events = [e for e in json.loads((box.path / "p.json").read_text())["events"] if "matmul.sf" in e["provenance"]]
    if not events or any(len(e["busy"]) != 3 or not 0 < max(e["busy"]) <= e["duration"] for e in events):
        raise Failed(events)


# --- functions of vectors ---------------------------------------------------------------------------------

FUNCTIONS = ("acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 sin sinh tan "
             "tanh").split()
OF_TWO = ["atan2", "hypot", "pow"]


def functions_of(t):
    of_two = {f: f"{t}.{f} x 1.25" for f in OF_TWO} | {"pow": f"x {t}.** 1.25"}
    return "".join(f"entry {f} (xs: []{t}) = map {t}.{f} xs\n" for f in FUNCTIONS) + "".join(
        f"entry {f} (xs: []{t}) = map (\\x -> {e}) xs\n" for f, e in of_two.items())


def ulps(x, y, t):
    """How many floats of the type lie between two, with one 0."""
    kinds = {"f64": ("<d", "<q"), "f32": ("<f", "<i")}[t]
    at = [struct.unpack(kinds[1], struct.pack(kinds[0], v))[0] for v in (x, y)]
    least = -(1 << (63 if t == "f64" else 31))
    a, b = (v if v >= 0 else least - v for v in at)
    return abs(a - b)


def of_vectors(box, t):
    """They agree with the interpreter to 4 units in the last place; with --strict-math as its own do, and wherever they stand."""
    box.put("p.sf", functions_of(t))
    box.minifut("compile --force p.sf", 0, leaves=("p", "p.c"), env=GCC)
    box.minifut("compile --force --strict-math -o q p.sf", 0, leaves=("q", "q.c"), env=GCC)
    xs = [k / 97 + 1.0 for k in range(391)]
    for f in FUNCTIONS + OF_TWO:
        near_one = f in ("acos", "asin", "atanh")
        given = "[" + ", ".join(f"{(x - 1) / 4.1 if near_one else x}{t}" for x in xs) + "]"
        want, quick, strict = (values(box.run(args, 0, stdin=given, env={"MINIFUT_DRIVER": "native"})[0])
                               for args in ([MINIFUT, "run", "-e", f, "p.sf"], ["./p", "-e", f], ["./q", "-e", f]))
        for name, got, most in ("vectors", quick, 4), ("--strict-math", strict, 1):
            worst = max(ulps(x, y, t) for x, y in zip(want, got))
            if len(got) != len(want) or worst > most:
                raise Failed(f"{f}: {name}: {worst} units in the last place")
        same = "[" + ", ".join([f"0.7{t}" if near_one else f"1.7{t}"] * 301) + "]"
        if len(set(values(box.run(["./q", "-e", f], 0, stdin=same, env={"MINIFUT_DRIVER": "native"})[0]))) != 1:
            raise Failed(f"{f}: --strict-math: equal elements differ")


def values(said):
    return [float(x) for x in re.findall(r"-?\d[\d.e+-]*(?=f)", said)]


table("functions of vectors", True, [(t, t) for t in ("f32", "f64")], of_vectors)
