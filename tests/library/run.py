"""Libraries (`compile --library`) and their clients: C, C++, ctypes, futhark-ffi, threads; the names that Futhark gives the same
entries. usage: run.py MINIFUT BUILD_FOLDER"""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / "tests"))
from checks import check, summary  # noqa: E402
import checks  # noqa: E402

MINIFUT = str(Path(sys.argv[1]).resolve())
WORK = Path(sys.argv[2]).resolve() / "library"
LIBS = ["-lm", "-ldl", "-lpthread"]
# PoCL and LLVM keep what they have until the end, and their compiler takes the signals' stack of a thread away.
ASAN = {"ASAN_OPTIONS": "use_sigaltstack=0:allocator_may_return_null=1",
        "LSAN_OPTIONS": f"suppressions={HERE}/leaks.txt:print_suppressions=0"}


def run(cmd, **more):
    env = {**os.environ, **more.pop("env", {})}
    r = subprocess.run([str(c) for c in cmd], capture_output=True, text=True, cwd=more.pop("cwd", WORK), env=env, timeout=600)
    return r.returncode, r.stdout + r.stderr


def build(cmd, what):
    code, out = run(cmd)
    check(code == 0 and "warning" not in out, f"{what}: {out[-2000:]}")
    return code == 0


def client(cmd, what, **more):
    """Runs a client that sums its checks up in a line."""
    code, out = run(cmd, **more)
    m = re.search(r"^(\d+) passed, (\d+) failed$", out, re.M)
    if m:
        checks.passed += int(m[1])
        checks.failed += int(m[2])
    check(code == 0 and m, f"{what}: exit {code}\n{out[-3000:]}")


def names_of_types(manifest):
    """Macros for types and functions by what the manifest calls them."""
    cell, grid = "{deep:[]f64, flag:bool}", "[][]{deep:[]f64, flag:bool}"
    types = manifest["types"]
    fields = {f["name"]: f["project"] for f in types[cell]["record"]["fields"]}
    names = {"CELL": types[cell]["ctype"].split()[1], "GRID": types[grid]["ctype"].split()[1],
             "FREE_CELL": types[cell]["ops"]["free"], "FREE_GRID": types[grid]["ops"]["free"],
             "INDEX_GRID": types[grid]["record_array"]["index"], "SET_GRID": types[grid]["record_array"]["set"],
             "DEEP_OF": fields["deep"], "FLAG_OF": fields["flag"]}
    return [f"-D{k}={v}" for k, v in names.items()]


def names_of_sums(manifest):
    """Macros for sums that have no readable name: by their variants, each the functions that make it and take it apart."""
    macros = {}
    for macro, name in (("MARK", "small: | large:i8"), ("COUNTER", "#counted i32 () | #never ()")):
        t = manifest["types"][name]
        macros |= {macro: t["ctype"].split()[1], f"FREE_{macro}": t["ops"]["free"], f"VARIANT_{macro}": t["sum"]["variant"]}
        for v in t["sum"]["variants"]:
            macros |= {f"NEW_{v['name'].upper()}": v["construct"], f"DESTRUCT_{v['name'].upper()}": v["destruct"]}
    return [f"-D{k}={v}" for k, v in macros.items()]


def declared(header):
    return set(re.findall(r"\b(futhark_\w+)\(", header))


def check_manifest(name):
    """What the manifest names is in the header, and each struct and entry of the header in the manifest."""
    m = json.loads((WORK / f"{name}.json").read_text())
    header = (WORK / f"{name}.h").read_text()
    functions = declared(header)
    said = set(re.findall(r'"(futhark_\w+)"', json.dumps(m)))
    check(said <= functions, f"{name}: in the manifest only: {said - functions}")
    made = {f for f in functions if not re.match(r"futhark_(context|get_tuning)", f)}
    check(made <= said, f"{name}: in the header only: {made - said}")
    structs = set(re.findall(r"^(struct futhark_\w+);", header, re.M)) - {"struct futhark_context", "struct futhark_context_config"}
    check(structs == {t["ctype"].removesuffix(" *") for t in m["types"].values()}, f"{name}: types")
    for e in m["entry_points"].values():
        for slot in e["inputs"] + e["outputs"]:
            known = slot["type"] in m["types"] or re.fullmatch(r"[iuf]\d+|bool", slot["type"])
            check(known, f"{name}: {slot['type']} is no type")
    return m, functions


def check_names():
    """The functions that Futhark 0.25.33 has for the same entries, by what futhark_names.json says."""
    want = json.loads((HERE / "futhark_names.json").read_text())
    for name, w in want["programs"].items():
        code, out = run([MINIFUT, "compile", "--library", "-o", WORK / name, ROOT / w["source"]])
        check(code == 0, f"{name}: {out}")
        m, functions = check_manifest(name)
        for f in want["all"] + w["functions"]:
            check(f in functions, f"{name}: {f} is missing")
        check(m["backend"] == "multicore" and "version" in m, f"{name}: manifest")
        for entry, e in w["entries"].items():
            got = m["entry_points"].get(entry, {})
            check([i["type"] for i in got.get("inputs", [])] == e["inputs"], f"{name}.{entry}: inputs {got.get('inputs')}")
            check([o["type"] for o in got.get("outputs", [])] == e["outputs"], f"{name}.{entry}: outputs {got.get('outputs')}")
            check({"cfun", "inputs", "outputs", "tuning_params", "attributes"} <= set(got), f"{name}.{entry}: fields")
        for t in m["types"].values():
            ops = {"free", "shape", "values", "new", "new_raw", "values_raw", "index"} if t["kind"] == "array" \
                else {"free", "store", "restore"}
            check(set(t["ops"]) == ops, f"{name}: operations of {t['ctype']}")


def check_c():
    """The runtime with sanitizers once, for all libraries; each is one file elsewhere here."""
    m, _ = check_manifest("types")
    flags = ["-g", "-O0", "-Wall", "-Wextra", "-I", WORK]  # with sanitizers, -O1 takes three times as long
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    (WORK / "runtime.c").write_text(run(["sh", "runtime/bundle.sh", "--library"], cwd=ROOT)[1])
    build(["cc", *flags[:2], *sanitize, "-DRT_API=", "-c", "runtime.c"], "the runtime")
    sanitize += ["-DRT_API=", "-DRT_SEPARATE", "runtime.o"]
    if build(["cc", *flags, *sanitize, *names_of_types(m), "-o", "client", HERE / "client.c", "types.c", *LIBS], "client.c"):
        client(["./client"], "client.c", env=ASAN)
    m, _ = check_manifest("opaque")
    if build(["cc", *flags, *sanitize, *names_of_sums(m), "-o", "opaque", HERE / "opaque.c", "opaque.c", *LIBS], "opaque.c"):
        client(["./opaque"], "opaque.c", env=ASAN)
    m, _ = check_manifest("names")
    docs = {name: x["doc"] for part in ("entry_points", "types") for name, x in m[part].items() if "doc" in x}
    check(docs == {"named": "Adds both up.\nA comment goes on in the next line,",
                   "body": 'Where something is, and where it goes to. "Quoted" \\\\ and so on.'}, f"documentation: {docs}")
    used = {name: e["tuning_params"] for name, e in m["entry_points"].items() if "block" in e["tuning_params"]}
    check(used == {"block": ["block"]}, f"the program's own tuning parameter: {used}")
    if build(["cc", *flags, *sanitize, "-o", "names", HERE / "names.c", "names.c", *LIBS], "names.c"):
        client(["./names"], "names.c", env=ASAN)
    if run(["cc", "-E", "-include", "CL/cl.h", "-x", "c", "/dev/null"])[0]:
        checks.skip("CL/cl.h (opencl-headers)", 2)
    else:
        build(["cc", *flags, "-D_GNU_SOURCE", "-include", "CL/cl.h", "-fsyntax-only", "types.c"], "types.c behind OpenCL's header")
        if build(["cc", *flags, *sanitize, "-o", "interop", HERE / "interop.c", "types.c", "-lOpenCL", *LIBS], "interop.c"):
            client(["./interop"], "interop.c", env=ASAN | {"MINIFUT_DRIVER": "opencl"})
            for kept in WORK.glob("kept.*"):
                shutil.rmtree(kept)


def check_without_opencl():
    """With all headers but OpenCL's, and none of its libraries."""
    headers = WORK / "include"
    headers.mkdir(exist_ok=True)
    for path in Path("/usr/include").iterdir():
        if path.name != "CL" and not (headers / path.name).exists():
            (headers / path.name).symlink_to(path)
    folders = [*headers.glob("*-linux-gnu"), headers]
    own = run(["cc", "-print-file-name=include"])[1].strip()
    flags = ["-O1", "-Wall", "-Wextra", "-pedantic-errors", "-nostdinc"]
    flags += [x for f in (own, *folders) for x in ("-isystem", f)]
    build(["cc", "-std=gnu11", *flags[:3], *flags[4:], "-c", "-o", "headless.o", "types.c"], "types.c without headers")
    for cc in (["cc", "-std=c99"], ["cc", "-std=c11"], ["c++", "-x", "c++"]):
        if checks.need(cc[0]) and build([*cc, *flags, "-I", WORK, "-c", "-o", "bare.o", HERE / "bare.c"], f"bare.c by {cc}"):
            build(["cc", "-o", "bare", "bare.o", "headless.o", *LIBS], f"bare.c by {cc}, linked")
            client(["./bare"], f"bare.c by {cc}", env={"MINIFUT_DRIVER": "opencl", "MINIFUT_OPENCL": str(WORK / "none")})
    if checks.need("c++") and build(["c++", *flags[:3], "-I", WORK, "-o", "client++", HERE / "client.cc", "headless.o", *LIBS], "client.cc"):
        client(["./client++"], "client.cc")


def check_calls():
    flags = ["-g", "-O0", "-I", WORK, HERE / "calls.c"]
    if build(["cc", "-o", "calls", *flags, "headless.o", *LIBS], "calls.c"):
        code, out = run(["./calls", "100000", "1"])
        check(code == 0, f"100,000 calls: {out}")
    if build(["cc", "-fsanitize=thread", "-o", "threads", *flags, "types.c", *LIBS], "calls.c, threads"):
        env = {"TSAN_OPTIONS": f"suppressions={HERE}/races.txt:halt_on_error=1"}
        for shared in ([], ["shared"]):
            code, out = run(["./threads", "2000", "2", *shared], env=env)
            check(code == 0 and "ThreadSanitizer" not in out, f"two threads {shared}: {out[-3000:]}")


def check_python():
    tests = ROOT / "tests"
    (WORK / "mine.so").write_text("mine\n")
    code, out = run([MINIFUT, "compile", "--shared", "-o", "mine", "--force", HERE / "types.sf"], env={"CFLAGS": "-O0"})
    check(code == 0 and (WORK / "mine.so").stat().st_size > 5, f"--shared --force: {out}")
    if build([MINIFUT, "compile", "--shared", "-o", "libtypes", HERE / "types.sf"], "libtypes.so"):
        client([sys.executable, HERE / "ctypes_client.py", WORK, tests], "ctypes")
    want = checks.builds_modules()
    if want:
        checks.skip(want)
        return
    code = 0
    for name in ("types", "opaque"):
        for suffix in ("c", "h", "json"):
            (WORK / f"{name}_sf.{suffix}").write_text((WORK / f"{name}.{suffix}").read_text())
        failed, out = run([Path(sys.executable).parent / "build_futhark_ffi", f"{name}_sf"], env={"CFLAGS": "-O0 -g0"})
        check(failed == 0, f"build_futhark_ffi: {out[-2000:]}")
        code |= failed
    if code == 0:
        client([sys.executable, HERE / "ffi_client.py", WORK, tests], "futhark-ffi")


def check_command():
    """What the command says of what cannot be."""
    for args, words in ((["--library", "--server"], "--library does not go with"),
                        (["--library", "--emit=c"], "--library does not go with"),
                        (["--shared", "--server"], "--shared does not go with")):
        code, out = run([MINIFUT, "compile", *args, HERE / "types.sf"])
        check(code == 2 and words in out, f"{args}: {out}")
    (WORK / "mine.h").write_text("/* mine */\n")
    code, out = run([MINIFUT, "compile", "--library", "-o", "mine", HERE / "types.sf"])
    check(code == 1 and "mine.h is there and was not made by minifut" in out, f"mine.h: {out}")
    check((WORK / "mine.h").read_text() == "/* mine */\n" and not (WORK / "mine.c").exists(), "nothing is written over")
    for _ in range(2): # again over its own files
        for name in ("types", "opaque", "names"):
            code, out = run([MINIFUT, "compile", "--library", "-o", name, HERE / f"{name}.sf"])
            check(code == 0, out)


def check_list():
    """docs/embedding.md names each function that all libraries have, and none else."""
    page = (ROOT / "docs/embedding.md").read_text()
    section = page[page.index("## What a library has"):page.index("Its types and entry points:")]
    named, prefix = set(), "futhark_"
    for line in section.replace("\n  ", " ").splitlines():
        words = re.findall(r"`(\w+)`", line)
        prefix = "futhark_"
        for word in words if line.startswith("- ") else []:
            if word.endswith("_"):
                prefix += word
            else:
                named.add(prefix + word)
    functions = {f for f in declared((WORK / "types.h").read_text()) if re.match(r"futhark_(context|get_tuning)", f)}
    check(named == functions, f"docs/embedding.md lists {named - functions}, and not {functions - named}")


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    for old in WORK.glob("mine.*"):
        old.unlink()
    check_command()
    check_c()
    check_without_opencl()
    check_calls()
    check_python()
    check_names()
    check_list()
    return summary()


sys.exit(main())
