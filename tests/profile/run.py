#!/usr/bin/env python3
"""minifut profile: what it adds up, its JSON, trace and table, and its errors. usage: run.py MINIFUT [CASE...]
Needs an OpenCL device. The page is tested in tests/pages."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from checks import check, need_header, need_opencl, summary  # noqa: E402

MINIFUT = str(Path(sys.argv[1]).resolve())
CEILINGS = ["--gbs=10", "--gflops=5"]
SHAPES = {"flat <&>": (3, 500, 4), "tall": (200, 2, 1)}  # rows, columns, steps
LINES = (HERE / "two.sf").read_text().splitlines()
SUMS, GROWN = (next(i for i, text in enumerate(LINES, 1) if word in text) for word in ("let sums", "map2"))
NUMBERS = {"us", "share", "launches", "bytes", "operations", "bound", "of_bound", "busy"}
cases = []


def case(f):
    cases.append(f)
    return f


class Box:
    def __init__(self, path):
        self.path = Path(path)
        shutil.copy(HERE / "two.sf", self.path)
        (self.path / "d").mkdir()
        for name, (n, m, steps) in SHAPES.items():
            rows = ", ".join("[" + ", ".join(f"{(i * j) % 7}f32" for j in range(m)) + "]" for i in range(n))
            (self.path / f"d/{name}.in").write_text(f"[{rows}] {steps}i32")

    def run(self, *args, code=0, env=None, out=subprocess.PIPE):
        """The program is compiled; the ceilings are told."""
        return self.minifut("profile", "--skip-compilation", *CEILINGS, *args, code=code, env=env, out=out)

    def minifut(self, *args, code=0, env=None, out=subprocess.PIPE):
        r = subprocess.run([MINIFUT, *args], cwd=self.path, timeout=120, text=True, stdout=out, stderr=subprocess.PIPE,
                           env={**os.environ, **(env or {})})
        check(r.returncode == code, f"minifut {' '.join(args)}: exit code {r.returncode}, not {code}: {r.stderr[-500:]}")
        return r.stdout, r.stderr

    def json(self, name):
        return json.loads((self.path / name).read_text())


def opencl(n=1, **more):
    """The environment for OpenCL with a library before it, or None where it is not to be had, and the n tests that need it are skipped."""
    if need_opencl(n) and need_header("CL/cl.h", "opencl-headers", n):
        return {"MINIFUT_DRIVER": "opencl", **more}
    return None


def close(x, y, by=1e-4):
    return abs(x - y) <= by * max(1, abs(x), abs(y))


def by_kind(dataset, kind):
    return [s for s in dataset["shares"] if s["kind"] == kind]


@case
def shares_add_up(box):
    """To a whole run, and kernels to their lines; bounds are what the ceilings say."""
    out, _ = box.run("--json", "r.json", "two.sf", "d")
    r = box.json("r.json")
    check((r["format"], r["version"], r["program"], r["entry"], r["tuning"], r["runs"]) ==
          ("minifut profile", 1, "two.sf", "main", None, 5) and r["device"], f"the head: {r}")
    check(r["ceilings"] == {"gbs": 10, "gflops": 5}, f"ceilings {r['ceilings']}")
    check([d["name"] for d in r["datasets"]] == sorted(SHAPES), "the data sets")
    for d in r["datasets"]:
        check(d["error"] is None and min(d["run_us"], d["profiled_us"], d["kernels_us"], d["peak_bytes"]) > 0, f"{d}")
        check(close(sum(s["share"] for s in d["shares"]), 1), "shares are not a whole")
        # each is rounded to a thousandth
        check(abs(sum(s["us"] for s in d["shares"]) - d["whole_us"]) <= 0.0005 * (len(d["shares"]) + 1) + 1e-4 * d["whole_us"],
              "times are not the whole")
        check(abs(d["kernels_us"] + d["transfers_us"] + d["host_us"] - d["whole_us"]) <= 0.002 + 1e-4 * d["whole_us"],
              "kernels, transfers, host")
        check(d["whole_us"] >= d["profiled_us"] - 0.001, "less than a run")
        check([s["us"] for s in d["shares"]] == sorted((s["us"] for s in d["shares"]), reverse=True), "not sorted")
        check(close(sum(k["us"] for k in d["kernels"]), d["kernels_us"] + d["transfers_us"], 0.002), "the kernels' sum")
        for s in d["shares"]:
            check(NUMBERS <= set(s) and s["share"] >= 0, f"members of {s}")
            within = s["constructs"]
            check(s["kind"] == "host" or all(close(s[n], sum(c[n] for c in within), 0.002) for n in ("us", "launches", "bytes", "operations")),
                  f"constructs of {s}")
            least = max(s["bytes"] / 10e3, s["operations"] / 5e3)
            of = s["of_bound"]  # both are rounded: to four places, and the time to three
            check(abs(of * s["us"] - least) <= 6e-4 * of + 6e-5 * s["us"] if least else of is None, f"the bound of {s}")
            check(s["bound"] == (None if not least else "bytes" if s["bytes"] / 10 >= s["operations"] / 5 else "operations"), f"{s}")
        n, m, _ = SHAPES[d["name"]]
        check(d["inputs"]["bytes"] == n * m * 4, f"inputs of {d['name']}: {d['inputs']}")
        check(d["results"]["bytes"] >= n * m * 4 + n * 4, f"results of {d['name']}: {d['results']}")
        check(len(by_kind(d, "host")) == 1, "the host")


@case
def lines_are_right(box):
    """Both nests and the copy stand where they are written, with the launches that the loop makes."""
    box.run("--json", "r.json", "two.sf", "d")
    for d in box.json("r.json")["datasets"]:
        _, _, steps = SHAPES[d["name"]]
        lines = {s["line"]: s for s in by_kind(d, "line")}
        check(set(lines) == {SUMS, GROWN}, f"lines {sorted(lines)}")
        check(all(lines[n]["text"] == LINES[n - 1].strip() and lines[n]["file"] == "two.sf" for n in lines), "their text")
        check([c["construct"][:6] for c in lines[GROWN]["constructs"]] == ["segmap"], f"{lines[GROWN]['constructs']}")
        check(any(c["construct"].startswith("seg") for c in lines[SUMS]["constructs"]), f"{lines[SUMS]['constructs']}")
        check(lines[GROWN]["launches"] == steps, f"launches of the loop: {lines[GROWN]['launches']}, not {steps}")
        copies = [s for s in by_kind(d, "transfer") if s["text"] == "copy on device"]
        check(len(copies) == 1 and copies[0]["launches"] >= 1 and copies[0]["bytes"] > 0, f"copies: {copies}")


@case
def launches_are_those_of_the_program(box):
    box.run("--json", "r.json", "two.sf", "d")
    for d in box.json("r.json")["datasets"]:
        with open(box.path / f"d/{d['name']}.in") as f:
            subprocess.run(["./two", "-n", "-r1", "--profile-json", "own.json"], cwd=box.path, stdin=f, check=True, timeout=60,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        own = {(e["name"], e["provenance"]): e["runs"] for e in box.json("own.json")["events"] if e["name"] != "copy to device" and
               e["name"] != "copy from device"}
        got = {(k["name"], k["place"]): k["launches"] for k in d["kernels"] if k["name"] not in ("copy to device", "copy from device")}
        check(got == own and got, f"{d['name']}: {got}, the program: {own}")


@case
def table(box):
    """Within 100 columns, what the JSON says, in its order."""
    out, _ = box.run("--json", "r.json", "--runs", "2", "two.sf", "d")
    check(all(len(line) <= 100 for line in out.splitlines()), f"wider than 100 columns: {out}")
    check("means of 2 runs" in out and "10 GB/s and 5 GFLOP/s" in out, out)
    for d, text in zip(box.json("r.json")["datasets"], out.split("\n\n")[1:]):
        check(text.startswith(d["name"] + ": "), f"the head of {text}")
        rows = re.findall(r"^ *([0-9.]+) % +[0-9.]+ [mu]?s .*?  (\S.*)$", text, re.M)
        top = [(float(share), what) for share, what in rows if not re.match(r"seg\w+$", what)]
        check(len(top) == len(d["shares"]) and abs(sum(share for share, _ in top) - 100) < 0.6, f"shares of {text}")
        check([share for share, _ in top] == sorted((share for share, _ in top), reverse=True), "not sorted")
        check(f"{SUMS}: {LINES[SUMS - 1].strip()[:20]}" in text, f"the line is not quoted: {text}")
        check(re.search(r"^ {50,}segmap", text, re.M), f"no construct: {text}")


def busy_rows(rows):
    for r in rows:
        b = r["busy"]
        check(0 <= b["least"] <= b["mean"] <= b["most"] <= 1.01 and b["most"] > 0, f"threads of {r}")
    return rows


@case
def threads_are_busy(box):
    """Natively, in kernels: as many as there are; a line's time is that of its kernels."""
    for threads in (1, 3):
        out, _ = box.run("--json", "r.json", "--html", "r.html", "two.sf", "d",
                         env={"MINIFUT_DRIVER": "native", "MINIFUT_THREADS": str(threads)})
        check(all(len(line) <= 100 for line in out.splitlines()), f"wider than 100 columns: {out}")
        for d, text in zip(box.json("r.json")["datasets"], out.split("\n\n")[1:]):
            head, kernels = text.splitlines()[2], busy_rows([k for k in d["kernels"] if k["place"]])
            check(head.endswith(" of bound  threads busy  line, kernels"), f"the head {head!r}")
            check(all(r["busy"] is None for r in [*by_kind(d, "host"), *by_kind(d, "transfer"), *(k for k in d["kernels"] if not k["place"])]),
                  "of transfers or the host")
            for s in busy_rows(by_kind(d, "line")):
                b = s["busy"]
                parts = sum(c["us"] * c["busy"]["mean"] for c in busy_rows(s["constructs"]))
                check(abs(s["us"] * b["mean"] - parts) <= 0.002 + 2e-4 * s["us"], f"constructs of {s}")
                check(b["most"] <= b["mean"] * threads + 1e-3, f"there are {threads} threads: {s}")
                check(threads > 1 or b["least"] == b["mean"] == b["most"], f"one thread: {s}")
                shown = re.search(rf" (\d+)% (\d+)-(\d+)%  {s['line']}: ", text)
                check(shown and all(abs(int(n) - 100 * b[m]) <= 0.51 for n, m in zip(shown.groups(), ("mean", "least", "most"))),
                      f"{b} in {text}")
            check(len({k["place"] for k in kernels}) == 2, f"{kernels}")
        check((box.path / "r.html").read_text().count("threads busy") == 4, "the page's tables")


@case
def no_threads_of_the_program(box):
    env = opencl()
    if env:
        out, _ = box.run("--json", "r.json", "--html", "r.html", "two.sf", "d", env=env)
        check("busy" not in out + (box.path / "r.html").read_text(), out)
        rows = [r for d in box.json("r.json")["datasets"] for s in d["shares"] for r in (s, *s["constructs"], *d["kernels"])]
        check(rows and all(r["busy"] is None for r in rows), f"{rows}")


@case
def tuned_or_not(box):
    (box.path / "two.sf.tuning").write_text("main.suff_outer_par_0=1\nmain.suff_outer_par_2=1\nmain.no_such=1\n")
    out, err = box.run("--json", "r.json", "two.sf", "d")
    check("tuned by two.sf.tuning" in out and "no parameter main.no_such" in err, f"{out} {err}")
    r = box.json("r.json")
    check(r["tuning"] == "two.sf.tuning" and all(d["versions"].startswith("V0") for d in r["datasets"]), f"{r}")
    out, err = box.run("--untuned", "--json", "r.json", "two.sf", "d")
    check("untuned" in out and not err and not any(d["versions"].startswith("V0") for d in box.json("r.json")["datasets"]), out)
    (box.path / "other").write_text("main.suff_outer_par_0=one\n")
    _, err = box.run("--tuning", "other", "two.sf", "d", code=1)
    check("minifut profile: other:1" in err, err)
    (box.path / "two.sf.tuning").unlink()


def check_events(events):
    """Chrome's trace event format: what viewers ask of complete events and metadata."""
    names = {}
    for e in events:
        check(e["ph"] in "MX" and isinstance(e["pid"], int) and isinstance(e["tid"], int) and e["name"], f"{e}")
        if e["ph"] == "M":
            check(e["name"] in ("process_name", "thread_name") and e["args"]["name"], f"{e}")
            names[e["pid"], e["tid"] if e["name"] == "thread_name" else None] = e["args"]["name"]
        else:
            check(e["ts"] >= 0 and e["dur"] >= 0 and isinstance(e["args"], dict) and e["cat"], f"{e}")
            check((e["pid"], e["tid"]) in names and (e["pid"], None) in names, f"a track without a name: {e}")
    return names


def check_trace(box, env):
    box.run("--trace", "t.json", "--json", "r.json", "two.sf", "d", env=env)
    t, r = box.json("t.json"), box.json("r.json")
    check(t["otherData"]["program"] == "two.sf" and t["displayTimeUnit"] in ("ms", "ns"), "the head")
    names = check_events(t["traceEvents"])
    shown = {name: pid for (pid, tid), name in names.items() if tid is None}
    check(list(shown) == [f"{d}: {run} run" for d in sorted(SHAPES) for run in ("first", "later")], f"runs {list(shown)}")
    for d in r["datasets"]:
        for run in ("first", "later"):
            mine = [e for e in t["traceEvents"] if e["pid"] == shown[f"{d['name']}: {run} run"] and e["ph"] == "X"]
            track = collections.defaultdict(list)
            for e in mine:
                track[e["cat"]].append(e)
            check(min(e["ts"] for e in mine) == 0, "does not begin at 0")
            check({"host", "kernel", "transfer"} <= set(track), f"tracks {set(track)}")
            device = sorted(track["kernel"] + track["transfer"], key=lambda e: e["ts"])
            check(all(a["ts"] + a["dur"] <= b["ts"] + 0.01 for a, b in zip(device, device[1:])), "commands overlap")
            call = [e for e in track["host"] if e["name"] == "call"]
            check(len(call) == 1 and all(e["ts"] >= call[0]["ts"] for e in track["kernel"]), "a kernel before the call")
            ran = collections.Counter(e["name"] for e in track["kernel"])
            check(ran == {k["name"]: k["launches"] for k in d["kernels"] if k["place"]}, f"launches {ran}")
            check(all(e["args"]["place"] for e in track["kernel"]), "places")
            check(run == "first" or not track["build"], "a later run builds")
    builds = any(e["cat"] == "build" and e["name"].startswith("seg") for e in t["traceEvents"] if e["ph"] == "X")
    check(builds == (env["MINIFUT_DRIVER"] != "native"), "kernels are built by OpenCL, and not natively")


@case
def trace(box):
    """Two runs of each data set; the device does one thing at a time, after it was asked to."""
    check_trace(box, {"MINIFUT_DRIVER": "native"})
    env = opencl()
    if env:
        check_trace(box, env)


@case
def trace_by_libcuda(box):
    """... whose device has no clock, but tells the time between two events. OpenCL stands in for it."""
    if not opencl():
        return
    lib = box.path / "libcuda.so.1"
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", lib, HERE.parent / "runtime/cuda_on_opencl.c", "-lOpenCL"],
                   check=True)
    check_trace(box, {"MINIFUT_DRIVER": "cuda", "LD_LIBRARY_PATH": str(box.path)})


@case
def own_cases(box):
    """Without a folder, the program's directives, but for what must fail."""
    out, _ = box.run("--json", "r.json", "two.sf")
    check([d["name"] for d in box.json("r.json")["datasets"]] == ["own"] and "\nown: " in out, out)
    _, err = box.run("-e", "pick", "two.sf", code=1)
    check("two.sf has no data sets for pick" in err, err)


@case
def failing_data_sets(box):
    """What fails is said and left out; the others are profiled."""
    (box.path / "f").mkdir()
    (box.path / "f/good.in").write_text("[1f32, 2] 1i64")
    (box.path / "f/out.in").write_text("[1f32, 2] 7i64")
    (box.path / "f/torn.in").write_text("[1f32, 2")
    (box.path / "f/wrong.in").write_text("[1f32, 2] 1i64")
    (box.path / "f/wrong.out").write_text("[1f32, 2]")
    files = ("--json", "r.json", "--html", "r.html", "--trace", "t.json")
    out, err = box.run("-e", "pick", *files, "two.sf", "f", code=1)
    check(re.search(r"minifut profile: out: .*Index \[7\] out of bounds", err), err)
    check(re.search(r"minifut profile: torn: ", err) and re.search(r"minifut profile: wrong: wrong result 0", err), err)
    check("\ngood: " in out and "\nout: " not in out, out)
    told = {d["name"]: d["error"] for d in box.json("r.json")["datasets"]}
    check(told["good"] is None and "out of bounds" in told["out"] and set(told) == {"good", "out", "torn", "wrong"}, f"{told}")
    check("out of bounds" in (box.path / "r.html").read_text(), "the page")
    check_events(box.json("t.json")["traceEvents"])


@case
def a_data_set_that_does_not_end(box):
    """The program is ended, and started again for the next one."""
    (box.path / "spin.sf").write_text("entry main (n: i64) (xs: []f32): []f32 = loop xs for _i < n do map (+1) (scan (+) 0 xs)\n")
    (box.path / "s").mkdir()
    for name, n in (("forever", 10**12), ("twice", 2)):
        (box.path / f"s/{name}.in").write_text(f"{n}i64 [1f32, 2]")
    box.minifut("compile", "spin.sf")
    out, err = box.run("--timeout=2", "--json", "r.json", "spin.sf", "s", code=1)
    check("forever: the run took too long" in err and "\ntwice: " in out and "\nforever: " not in out, f"{err} {out}")
    twice = [d for d in box.json("r.json")["datasets"] if not d["error"]]
    check(len(twice) == 1 and sum(s["launches"] for s in by_kind(twice[0], "line")) == 4, f"{twice}")


@case
def imported_lines(box):
    """Stand under their own file."""
    (box.path / "lib.sf").write_text("-- a library\ndef sums [n][m] (xss: [n][m]f32) = map (\\xs -> reduce (+) 0 xs) xss\n")
    (box.path / "use.sf").write_text('-- ==\n-- input { [[1f32, 2]] }\nimport "lib"\nentry main [n][m] (xss: [n][m]f32) = sums xss\n')
    box.minifut("compile", "use.sf")
    out, _ = box.run("--json", "r.json", "use.sf")
    lines = by_kind(box.json("r.json")["datasets"][0], "line")
    check([(s["file"], s["line"]) for s in lines] == [("lib.sf", 2)] and lines[0]["text"].startswith("def sums"), f"{lines}")
    check("lib.sf:2: def sums" in out, out)


@case
def no_data(box):
    (box.path / "none.sf").write_text("entry main (x: i32): i32 = x\n")
    (box.path / "e").mkdir()
    check("none.sf has no data sets" in box.run("none.sf", code=1)[1], "no directives")
    check("no data sets" in box.run("two.sf", "e", code=1)[1], "an empty folder")
    check("cannot read absent.sf" in box.run("absent.sf", code=1)[1], "no program")
    check("has no entry point 'absent'" in box.run("-e", "absent", "two.sf", "d", code=1)[1], "no entry")
    check("no-such-device" in box.run("-d", "no-such-device", "two.sf", "d", code=1)[1], "no device")


@case
def wrong_use(box):
    check("which program?" in box.run(code=2)[1], "no program")
    check("which?" in box.run("--untuned", "--tuning", "x", "two.sf", code=2)[1], "--untuned --tuning")
    for runs in ("0", "1.5", "many", "100000"):
        check("--runs" in box.run("--runs", runs, "two.sf", code=2)[1], f"--runs {runs}")
    check("--html" in box.minifut("profile", "--help")[0], "help")


@case
def full_disk(box):
    for option in ("--json", "--html", "--trace"):
        _, err = box.run(option, "/dev/full", "two.sf", code=1)
        check("cannot write /dev/full: No space left on device" in err, f"{option}: {err}")
    with open("/dev/full", "w") as full:
        _, err = box.run("two.sf", code=1, out=full)
        check("cannot write to standard output: No space left on device" in err, err)


@case
def a_device_without_times(box):
    lib = box.path / "silent.so"
    preloaded = opencl(LD_PRELOAD=str(lib))
    if not preloaded:
        return
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", lib, HERE / "silent.c"], check=True)
    _, err = box.run("two.sf", code=1, env=preloaded)
    check("own: the device does not tell the time of kernels" in err, err)
    _, err = box.minifut("profile", "--skip-compilation", "two.sf", code=1, env=preloaded)
    check("give --gbs and --gflops" in err, err)


@case
def ceilings_are_measured(box):
    out, _ = box.minifut("profile", "--json", "r.json", "two.sf")
    c = box.json("r.json")["ceilings"]
    check(c["gbs"] > 0 and c["gflops"] > 0 and "the device reaches " in out, f"{c} {out}")
    steady = box.json("r.json")["steady_ceilings"]
    check(steady != ("no ceilings" in out), f"{steady}: {out}")


@case
def ceilings_that_are_none(box):
    """What kernels do more of than the device is said to be able to do shows that it is none."""
    out, _ = box.minifut("profile", "--skip-compilation", "--gbs=1e-6", "--gflops=1e9", "--html", "r.html", "two.sf")
    check(re.search(r"^  over 100 %: data stayed in a cache, or something else ran", out, re.M), out)
    check("Over 100 %: data stayed in a cache" in (box.path / "r.html").read_text(), "the page")
    out, _ = box.minifut("profile", "--skip-compilation", "--gbs=1e9", "--gflops=1e-9", "two.sf")
    check(re.search(r"^  over 100 %: this is no ceiling: something else ran", out, re.M), out)
    out, _ = box.minifut("profile", "--skip-compilation", "--gbs=1e9", "--gflops=1e9", "two.sf")
    check("over 100" not in out, out)


@case
def ceilings_that_vary(box):
    """A device that takes as long as it likes, as on a busy machine, has been measured to reach less than it can."""
    lib = box.path / "busy.so"
    preloaded = opencl(LD_PRELOAD=str(lib))
    if not preloaded:
        return
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", lib, HERE / "busy.c", "-ldl"], check=True)
    out, _ = box.minifut("profile", "--skip-compilation", "--json", "r.json", "two.sf", env=preloaded)
    check("so these are no ceilings" in out and not box.json("r.json")["steady_ceilings"], out)


@case
def ceilings_of_fast_memory(box):
    """A small copy, whose time varies there, decides nothing."""
    lib = box.path / "fast.so"
    preloaded = opencl(LD_PRELOAD=str(lib))
    if not preloaded:
        return
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", lib, HERE / "fast.c", "-ldl"], check=True)
    box.minifut("profile", "--skip-compilation", "--gflops=1", "--json", "r.json", "two.sf", env=preloaded)
    r = box.json("r.json")
    check(100 < r["ceilings"]["gbs"] < 1000 and r["steady_ceilings"], f"{r['ceilings']} {r['steady_ceilings']}")


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tmp:
        box = Box(tmp)
        box.minifut("compile", "two.sf")
        for f in cases:
            if len(sys.argv) < 3 or f.__name__ in sys.argv[2:]:
                try:
                    f(box)
                except (OSError, KeyError, ValueError, IndexError, subprocess.SubprocessError) as e:
                    check(False, f"{f.__name__}: {e!r}")
    return summary()


if __name__ == "__main__":
    sys.exit(main())
