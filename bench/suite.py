#!/usr/bin/env python3
"""The paper's programs on their data sets, in four modes: moderate and full flattening, incremental flattening untuned
and tuned. Checks every result, times it, and writes JSON, tables and plots.

    suite.py run [-d DEVICE] [--data FOLDER] [--work FOLDER] [--results FOLDER] [--small] [PROGRAM...]
    suite.py prepare FOLDER [PROGRAM...]      C files (and the compiler) for a machine without flex, bison, network
             [--binaries] [--modes MODE,...]  binaries instead; only what these modes need
    suite.py run --prebuilt FOLDER ...        there: needs a C compiler, OpenCL, Python with NumPy
    suite.py first [options of run]           only the time to the first result, with cold caches, of each program
    suite.py report FOLDER                    tables and plots of results again

--data: the artifact's data sets, FOLDER/{LocVolCalib,OptionPricing,backprop,heston32,lavaMD,nw,srad}/NAME.in; other
data sets are generated. What has been measured is kept: an interrupted run goes on where it was (--again: anew).
A program that fails is reported and does not stop the others; exit code 1 if anything failed.
"""
import argparse
import gzip
import json
import os
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np

import datasets
import first
import report
import turns
from datasets import reference_of
from programs import build_c, emit_c, shell
from values import difference, read_values

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
# program -> (source, folder of the artifact's data)
PROGRAMS = {
    "matmul": ("examples/matmul.sf", None),
    "LocVolCalib": ("bench/LocVolCalib/LocVolCalib.sf", "LocVolCalib"),
    "Heston": ("bench/Heston/Heston.sf", "heston32"),
    "OptionPricing": ("bench/OptionPricing/OptionPricing.sf", "OptionPricing"),
    "Backprop": ("bench/Backprop/Backprop.sf", "backprop"),
    "LavaMD": ("bench/LavaMD/LavaMD.sf", "lavaMD"),
    "NW": ("bench/NW/NW.sf", "nw"),
    "NN": ("bench/NN/NN.sf", None),
    "SRAD": ("bench/SRAD/SRAD.sf", "srad"),
    "Pathfinder": ("bench/Pathfinder/Pathfinder.sf", None),
    "LUD": ("bench/LUD/LUD.sf", None),
    "BFAST": ("bench/BFAST/BFAST.sf", None),
    "mapscan": ("examples/mapscan.sf", None),
    "KMeans": ("bench/KMeans/KMeans.sf", None),
    "Quickhull": ("bench/Quickhull/Quickhull.sf", None),
    "Quicksort": ("bench/Quicksort/Quicksort.sf", None),
    "Neighbours": ("bench/Neighbours/Neighbours.sf", None),
    "PageRank": ("bench/PageRank/PageRank.sf", None),
    "BFS": ("bench/BFS/BFS.sf", None),
    "Components": ("bench/Components/Components.sf", None),
    "WordCount": ("bench/WordCount/WordCount.sf", None),
    "Attention": ("bench/Attention/Attention.sf", None),
    "CG": ("bench/primitives/conjugate.sf", None),
}
# Relative differences between versions that the tuner allows, where they mean little: see the reference's check.
TUNE_TOLERANCE = {"Heston": 1e6}
# mode -> flattening mode of the compiler
MODES = {"moderate": "moderate", "full": "full", "untuned": "incremental", "tuned": "incremental"}


# --- Programs -------------------------------------------------------------------------------------------------------


def prepare(a):
    """C files of all programs and modes, or binaries, and the compiler, which holds the tuner."""
    a.folder.mkdir(parents=True, exist_ok=True)

    def one(job):
        program, flattening = job
        target = a.folder / f"{program}-{flattening}.c"
        try:
            emit_c(a.minifut, ROOT / PROGRAMS[program][0], flattening, target)
            if a.binaries:
                build_c(target, portable=True)
                target.unlink()
        except RuntimeError as e:
            print(f"{program}, {flattening}: {str(e).strip()}")
            return 1
        return 0

    flattenings = sorted({MODES[mode] for mode in a.modes.split(",")})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = sum(pool.map(one, [(p, f) for p in a.programs or PROGRAMS for f in flattenings]))
    shutil.copy(a.minifut, a.folder / "minifut")
    return bad > 0


def build(a, program, mode, prebuilt):
    """The binary of a program in a mode, from the folder `prebuilt` if it is given; raises RuntimeError with the
    compiler's message."""
    name = f"{program}-{MODES[mode]}"
    if prebuilt and (prebuilt / name).exists():
        return prebuilt / name
    c = a.work / "bin" / f"{name}.c"
    if prebuilt:
        shutil.copy(prebuilt / c.name, c)
    else:
        emit_c(a.minifut, ROOT / PROGRAMS[program][0], MODES[mode], c)
    return build_c(c)


# --- Data sets ------------------------------------------------------------------------------------------------------


def copy_plain(source, target):
    """A file, unpacked if it is packed."""
    if target.exists():
        return
    data = source.read_bytes()
    target.write_bytes(gzip.decompress(data) if source.suffix == ".gz" else data)


def gather(a, program):
    """The program's data sets in work/data/PROGRAM; their names."""
    folder = a.work / ("small" if a.small else "data") / program
    names = datasets.generate(program, folder, a.small)
    theirs = PROGRAMS[program][1]
    sources = [BENCH / program / "data"] if a.small else []
    if a.data and theirs and not a.small:
        sources.append(a.data / theirs)
    for source in sources:
        for path in sorted(source.glob("*.in")) + sorted(source.glob("*.in.gz")):
            name = path.name.split(".")[0]
            if program == "Heston" and name.startswith("error"):
                continue  # of another entry point
            copy_plain(path, folder / f"{name}.in")
            names.append(name)
            for out in (path.with_name(f"{name}.out"), path.with_name(f"{name}.out.gz")):
                if out.exists():
                    copy_plain(out, folder / f"{name}.out")
    skip = a.skip.split(",")
    return folder, [n for n in sorted(set(names)) if f"{program}/{n}" not in skip]


def expect(a, program, source):
    """Writes NAME.out by the reference program if it is not there; a message if that failed."""
    target = source.with_suffix(".out")
    if target.exists() or hasattr(reference_of(program), "check"):
        return None
    half = target.with_suffix(".half")
    cmd = [sys.executable, BENCH / program / "reference.py", source, half]
    code, _, message = shell(cmd, a.reference_limit)
    if code:
        return f"{program} {source.stem}: no expected result: {message.strip()[-200:]}"
    half.rename(target)
    return None


def all_data(a):
    """{program: (folder, names of data sets)}, with expected results, and the number of programs without."""
    sets, bad = {}, 0
    with ProcessPoolExecutor() as pool:
        jobs = {program: pool.submit(gather, a, program) for program in a.programs or PROGRAMS}
    for program, job in jobs.items():
        try:
            sets[program] = job.result()
        except (OSError, ValueError) as e:
            bad += 1
            print(f"{program}: no data sets: {e}", flush=True)
    todo = [(p, folder / f"{n}.in") for p, (folder, names) in sets.items() for n in names]
    print(f"expected results of {len(todo)} data sets", flush=True)
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        for message in pool.map(lambda t: expect(a, *t), todo):
            if message:
                print(message, flush=True)
    return sets, bad


# --- Measurements ---------------------------------------------------------------------------------------------------


def wrong(a, program, source, results):
    """None, or what is wrong with the results."""
    module = reference_of(program)
    if hasattr(module, "check"):
        return module.check(read_values(source), results)
    want = source.with_suffix(".out")
    return difference(results, read_values(want), a.tolerance) if want.exists() else "no expected result"


def kernels_of(a, binary, options, source):
    """The kernels that take most time: [[name, microseconds]]; those of work-groups have intra in their names."""
    with tempfile.TemporaryDirectory() as folder, open(source, "rb") as inp:
        path = Path(folder) / "profile.json"
        code, _, _ = shell([binary, *options, "-n", "--profile-json", path], a.limit, stdin=inp)
        if code or not path.exists():
            return []
        total = {}
        for event in json.loads(path.read_text()).get("events", []):
            total[event["name"]] = total.get(event["name"], 0) + event["duration"]
    return [[k, round(v, 1)] for k, v in sorted(total.items(), key=lambda kv: -kv[1])[:4]]


def measure(a, program, source, fleet):
    """One data set in the programs of a fleet: see turns.measure."""
    return turns.measure(a, fleet, lambda server: server.load("main", source),
                         lambda results: wrong(a, program, source, results))


def tuning_file(a, program):
    return a.work / "bin" / f"{program}.tuning"


def tune(a, program, binary, folder, names):
    """Finds thresholds on the training sets (or on all, where there are none) and writes them to tuning_file:
    {"report": ...} or {"error": ...}. The results may be kept: they name no folder of this machine."""
    train = [n for n in names if n.startswith("train")] or names
    with tempfile.TemporaryDirectory(dir=a.work) as place:
        place = Path(place)
        (place / "sets").mkdir()
        for n in train:
            os.symlink(folder / f"{n}.in", place / "sets" / f"{n}.in")
            if (folder / f"{n}.out").exists() and not hasattr(reference_of(program), "check"):
                os.symlink(folder / f"{n}.out", place / "sets" / f"{n}.out")
        shutil.copy(ROOT / PROGRAMS[program][0], place / f"{program}.sf")
        shutil.copy(binary, place / program)
        target = tuning_file(a, program)
        cmd = [a.minifut, "tune", *turns.device_options(a), "--skip-compilation", "--tolerance",
               TUNE_TOLERANCE.get(program, a.tolerance),
               *(["-e", "main"] if program == "Heston" else []), "-o", target, f"{program}.sf", "sets"]
        code, out, message = shell(cmd, a.tune_limit, cwd=place)
    text = out.decode(errors="replace") + message
    text = text.replace(str(target), target.name)
    return {"report": text} if code == 0 else {"error": text.strip()[-400:]}


class Results:
    """results/PROGRAM.json, written after each measurement."""

    def __init__(self, a, program):
        self.path = a.results / f"{program}.json"
        old = self.path.exists() and not a.again
        self.data = json.loads(self.path.read_text()) if old else {"program": program, "datasets": {}}

    def get(self, name, mode):
        return self.data["datasets"].get(name, {}).get(mode, {})

    def put(self, name, mode, m):
        self.data["datasets"].setdefault(name, {})[mode] = m
        self.save()

    def save(self):
        half = self.path.with_suffix(".half")
        half.write_text(json.dumps(self.data, indent=1))
        half.rename(self.path)


def cell(m):
    return f"{np.median(m['runtimes']):.0f}" if "runtimes" in m else "FAILED"


def prepare_modes(a, program, folder, names, res):
    """{mode: (binary, options)} of those that compile, and if need be are tuned; messages of the others."""
    ready, messages = {}, []
    for mode in a.modes.split(","):
        try:
            binary = build(a, program, mode, a.prebuilt)
        except (RuntimeError, OSError) as e:
            messages.append((mode, f"not compiled: {str(e).strip()[-300:]}"))
            continue
        options = []
        if mode == "tuned":
            res.data["tuning"] = tune(a, program, binary, folder, names)
            res.save()
            if "error" in res.data["tuning"]:
                messages.append((mode, f"not tuned: {res.data['tuning']['error']}"))
                continue
            options = ["--tuning", tuning_file(a, program)]
        ready[mode] = binary, [*turns.device_options(a), *options]
    return ready, messages


def first_result(a, program, folder, names, res, progress):
    """Of the smallest data set, with default thresholds; the number of failures."""
    source = min((folder / f"{n}.in" for n in names), key=lambda path: path.stat().st_size)
    try:
        m = first.first_result(build(a, program, "untuned", a.prebuilt), turns.device_options(a), source, a.limit,
                               lambda results: wrong(a, program, source, results))
    except (RuntimeError, OSError) as e:
        m = {"error": f"not compiled: {str(e).strip()[-300:]}"}
    res.data["first_result"] = {"dataset": source.stem, **m}
    res.save()
    print(f"{progress} {first.line(program, source.stem, m)}", flush=True)
    return "error" in m


def run_program(a, program, folder, names, progress):
    """All data sets in all modes; the number of failures."""
    if a.command == "first":
        return first_result(a, program, folder, names, Results(a, program), progress)
    res, bad = Results(a, program), 0
    todo = [n for n in names if not all("runtimes" in res.get(n, mode) for mode in a.modes.split(","))]
    if not todo:
        return 0
    ready, messages = prepare_modes(a, program, folder, names, res)
    for mode, message in messages:
        print(f"{progress} {program}, {mode}: {message}", flush=True)
    with turns.Fleet(ready, a.limit) as fleet:
        for n in todo:
            source = folder / f"{n}.in"
            got = measure(a, program, source, fleet) | {mode: {"error": message} for mode, message in messages}
            if a.kernels and "runtimes" in got.get("tuned", {}):
                got["tuned"]["kernels"] = kernels_of(a, *ready["tuned"], source)
            for mode, m in got.items():
                res.put(n, mode, m)
                print(f"{progress} {program:14} {n:16} {mode:10} {cell(m):>12}  {m.get('error', '')}", flush=True)
                bad += "error" in m
    if any(MODES[mode] == "incremental" for mode in a.modes.split(",")):
        bad += first_result(a, program, folder, names, res, progress)
    return bad


def run(a):
    for folder in (a.work / "bin", a.results):
        folder.mkdir(parents=True, exist_ok=True)
    if a.prebuilt and not a.minifut_given:
        a.minifut = a.prebuilt / "minifut"
    sets, bad = all_data(a)
    for k, (program, (folder, names)) in enumerate(sets.items()):
        try:
            bad += run_program(a, program, folder, names, f"[{k + 1}/{len(sets)}]")
        except Exception as e:  # one program must not stop the rest
            bad += 1
            print(f"{program}: {type(e).__name__}: {e}", flush=True)
        if a.command == "run":
            report.write(a.results)
    print(f"results in {a.results}; " + (f"{bad} failed" if bad else "all right"))
    return bad > 0


def add_options(p, **turns_defaults):
    """Options of what measures programs on data sets."""
    turns.add_options(p, **turns_defaults)
    p.add_argument("--data", type=Path)
    p.add_argument("--work", type=Path, default=ROOT / "build" / "bench")
    p.add_argument("--small", action="store_true", help="small data sets, for a CPU")
    p.add_argument("--reference-limit", type=float, default=600)
    p.add_argument("--tolerance", type=float, default=2e-3)
    p.add_argument("--skip", default="", metavar="PROGRAM/DATASET,...")


def checked(p, a):
    """The parsed arguments, completed; ends if they name a program or mode that there is not."""
    unknown = [x for x in getattr(a, "programs", []) if x not in PROGRAMS]
    if unknown:
        p.error(f"no program {unknown[0]}; there are {', '.join(PROGRAMS)}")
    unknown = [m for m in getattr(a, "modes", "tuned").split(",") if m not in MODES]
    if unknown:
        p.error(f"no mode {unknown[0]}; there are {', '.join(MODES)}")
    if "work" in a:
        a.work = a.work.resolve()
    return a


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--minifut", type=Path, help="the compiler (default: ../minifut)")
    commands = p.add_subparsers(dest="command", required=True)
    modes = {"default": ",".join(MODES), "help": "comma-separated (default: %(default)s)"}
    q = commands.add_parser("prepare")
    q.add_argument("folder", type=Path)
    q.add_argument("--modes", **modes)
    q.add_argument("--binaries", action="store_true", help="instead of C files, for a machine like this one")
    q.add_argument("programs", nargs="*")
    q = commands.add_parser("report")
    q.add_argument("folder", type=Path)
    for name in ("first", "run"):
        q = commands.add_parser(name)
        add_options(q, runs=10, seconds=10, least=0)
        q.add_argument("--again", action="store_true", help="measure again what has been measured")
        q.add_argument("--results", type=Path)
        q.add_argument("--prebuilt", type=Path)
        q.add_argument("programs", nargs="*")
    q.add_argument("--tune-limit", type=float, default=900)
    q.add_argument("--modes", **modes)
    q.add_argument("--no-kernels", dest="kernels", action="store_false", help="no list of the kernels of tuned runs")
    a = checked(p, p.parse_args())
    a.minifut_given = a.minifut is not None
    a.minifut = (a.minifut or ROOT / "minifut").resolve()
    if a.command in ("first", "run"):
        a.results = (a.results or a.work / "results").resolve()
        a.prebuilt = a.prebuilt and a.prebuilt.resolve()
    if a.command == "report":
        report.write(a.folder)
        return 0
    return prepare(a) if a.command == "prepare" else run(a)


if __name__ == "__main__":
    sys.exit(main())
