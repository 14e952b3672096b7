#!/usr/bin/env python3
"""The tuner on a program with simulated times (program.py): what it measures and what it forgets.
usage: run.py MINIFUT [CASE...]"""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from checks import check, summary  # noqa: E402

MINIFUT = str(Path(sys.argv[1]).resolve())
cases = []

# With the default, 32768, `a` takes version 2 and `b` version 0; best are 1 and 2.
DATA = {"a": {"pars": [10, 20], "seconds": [0.003, 0.001, 0.002]},
        "b": {"pars": [100000, 200000], "seconds": [0.006, 0.005, 0.001]},
        "c": {"pars": [30, 60], "seconds": [0.004, 0.002, 0.003]}}


class Box:
    def __init__(self, path):
        self.path = Path(path)
        shutil.copy(HERE / "program.py", self.path / "p")
        (self.path / "p.sf").write_text("the program is there already\n")
        (self.path / "d").mkdir()

    def sim(self, data=None, **more):
        data = DATA if data is None else data
        (self.path / "sim.json").write_text(json.dumps({"thresholds": 2, "data": data, **more}))
        for name in data:
            self.dataset(name)
        return self

    def dataset(self, name, more=""):
        path = self.path / f"d/{name}.in"
        if not path.exists() or more:
            path.write_text("[" + ", ".join(f"{c}u8" for c in name.encode()) + "]" + more)

    def tune(self, *args, code=0):
        r = subprocess.run([MINIFUT, "tune", "--skip-compilation", "--seconds=100", *args, "p.sf", "d"], cwd=self.path, timeout=120,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(r.returncode == code, f"{self.name}: exit code {r.returncode}, not {code}: {r.stderr[-500:]}")
        return r.stdout, r.stderr

    def bench(self, words):
        r = subprocess.run([MINIFUT, "bench", "--skip-compilation", "--json", "b.json", "p.sf", "d"], cwd=self.path, timeout=120,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(r.returncode == 0 and re.search(words, r.stderr, re.M), f"{self.name}: exit code {r.returncode}, {r.stderr[-500:]}")
        return r.stdout

    def said(self, pattern, text):
        check(re.search(pattern, text, re.M), f"{self.name}: {text!r} has no {pattern!r}")

    def tuning(self):
        path = self.path / "p.sf.tuning"
        return sorted(x for x in path.read_text().splitlines() if not x.startswith("--")) if path.exists() else None

    def calls(self, word="call "):
        """What the program has done since last asked."""
        path = self.path / "calls.log"
        lines = path.read_text().splitlines() if path.exists() else []
        new = lines[getattr(self, "seen", 0):]
        self.seen = len(lines)
        return [x for x in new if x.startswith(word)]

    def log(self):
        """The measurements: (data set, settings, outcome) and how often each."""
        lines = (self.path / "p.sf.tuning.log").read_text(errors="replace").splitlines()
        return collections.Counter(tuple(x.split()[1:4]) for x in lines if re.match("[0-9a-f]{16} ", x))


def case(f):
    cases.append(f)
    return f


def reference(box):
    """What an undisturbed tuning gives."""
    with tempfile.TemporaryDirectory() as tmp:
        other = Box(tmp)
        other.name = box.name
        sim = json.loads((box.path / "sim.json").read_text())
        for name in ("kill", "interrupt", "vanish"):
            sim.pop(name, None)
        (other.path / "sim.json").write_text(json.dumps(sim))
        for path in (box.path / "d").iterdir():
            shutil.copy2(path, other.path / "d")
        other.tune()
        return other.tuning(), other.log(), other.calls()


@case
def the_same_command_measures_nothing(box):
    box.sim()
    box.tune()
    tuning, log = box.tuning(), box.log()
    check(len(box.calls()) > 9, f"{box.name}: no calls")
    out, _ = box.tune("--json", "r.json")
    r = json.loads((box.path / "r.json").read_text())
    check((r["strategy"], r["objective"], r["complete"]) == ("monotone", "regret", True), f"{box.name}: {r}")
    box.said(r"\d+ of the measurements are from p.sf.tuning.log", out)
    check(box.calls() == [], f"{box.name}: calls")
    check(box.tuning() == tuning and box.log() == log, f"{box.name}: another tuning or log")
    box.tune("--fresh")
    check(len(box.calls()) > 9, f"{box.name}: --fresh makes no calls")
    check(box.tuning() == tuning, f"{box.name}: --fresh gives another tuning")
    box.tune()
    check(box.calls() == [], f"{box.name}: calls after --fresh")


@case
def strategies_go_on_too(box):
    box.sim()
    for strategy in ("monotone", "exhaustive", "stochastic", "all"):
        box.tune("--strategy=" + strategy, "--fresh", "--objective=sum", "--json", "r.json")
        r = json.loads((box.path / "r.json").read_text())
        check((r["strategy"], r["objective"]) == (strategy, "sum"), f"{box.name}: {r['strategy']}, {r['objective']}")
        tuning, n = box.tuning(), len(box.calls())
        box.tune("--strategy=" + strategy, "--objective=sum")
        check(n > 9 and box.calls() == [], f"{box.name}: {strategy}: calls")
        check(box.tuning() == tuning, f"{box.name}: {strategy}: another tuning")


def log_rows(box):
    """{(data set, settings): [(outcome, seconds, noise, runs), ...]}"""
    rows = collections.defaultdict(list)
    for line in (box.path / "p.sf.tuning.log").read_text().splitlines():
        if not line.startswith("#"):
            _, data, settings, outcome, seconds, noise, runs, *_ = line.split()
            rows[data.split("/")[0], settings].append((outcome, float(seconds), float(noise), int(runs)))
    return rows


@case
def runs_until_it_is_known(box):
    """Version 2 always takes the same; version 0 between 0.9 and 1.1 ms: its median is known to 3 % after some runs."""
    noisy = [0.001 + 0.000001 * (37 * i % 101 - 50) * 2 for i in range(101)]
    box.sim({"a": {"pars": [10, 20], "seconds": [noisy, 0.005, 0.00101]}})
    box.tune()
    runs = {0: [], 2: []}
    for rows in log_rows(box).values():
        for outcome, seconds, noise, n in rows:
            if outcome == "ok" and seconds < 0.002:
                runs[2 if seconds == 0.00101 else 0].append((n, noise))
                check(5 <= n <= 60, f"{box.name}: {n} runs")
    check(runs[0] and max(n for n, _ in runs[0]) > 20, f"{box.name}: few runs of what is noisy: {runs[0]}")
    check(all(noise < 0.1 for _, noise in runs[0]), f"{box.name}: noise {runs[0]}")
    check(runs[2] and min(n for n, _ in runs[2]) == 5, f"{box.name}: many runs of what is not: {runs[2]}")
    total = sum(n + 1 for rows in log_rows(box).values() for _, _, _, n in rows)
    check(len(box.calls()) == total, f"{box.name}: the log says {total} runs")


@case
def what_lost_by_far_is_left(box):
    """Version 2 runs first, version 0 takes five times as long, and version 1 so long that it is stopped, or that the
    program, which cannot leave it, ends."""
    for starts in 1, 2:
        box.sim({"a": {"pars": [10, 20], "seconds": [0.005, 0.5, 0.001]}}, endless=starts == 2)
        (box.path / "p.sf.tuning.log").unlink(missing_ok=True)
        _, err = box.tune()
        outcomes = collections.Counter(r[0] for rows in log_rows(box).values() for r in rows)
        check(outcomes["cut"] == 1 and outcomes["stopped"] == 1, f"{box.name}: {outcomes}")
        calls = collections.Counter(box.calls(""))
        check(calls["call a 0"] == 2 and calls["call a 1"] == 1, f"{box.name}: {calls}")
        check(calls["start"] == starts and "cannot be used" not in err, f"{box.name}: {calls}, {err}")
        check(box.tuning() == [], f"{box.name}: {box.tuning()}")


NESTS = [[0.003, 0.001], [0.001, 0.002], [0.004, 0.001], [0.001, 0.004]]


@case
def nests_are_tried_side_by_side(box):
    """Four nests of two versions each: two runs of a data set tell all of them, a third one is the best as a whole. What
    they told is in the log."""
    data = {"a": {"pars": [10, 20, 30, 40], "nests": NESTS}, "b": {"pars": [50000, 60000, 30, 40], "nests": NESTS}}
    box.sim(data, thresholds=4, nests=True)
    out, _ = box.tune()
    box.said("4 thresholds, 2 data sets, 6 runs", out)
    for name, first in ("a", {"0000", "1111"}), ("b", {"1100", "0011"}):
        taken = {call.split()[2] for call in box.calls("") if call.startswith(f"call {name}")}
        check(taken == first | {"0101"}, f"{box.name}: {taken}")
        box.seen = 0
    tuning, log = box.tuning(), box.log()
    check([line.split("=")[0][-1] for line in tuning] == ["0", "1", "3"], f"{box.name}: {tuning}")
    (box.path / "p.sf.tuning.log").unlink()
    (box.path / "calls.log").unlink()
    box.sim(data, thresholds=4, nests=True, kill=[12, 37])
    for _ in range(2):
        box.tune(code=-9)
    box.tune()
    check(box.tuning() == tuning and box.log() == log, f"{box.name}: going on gives {box.tuning()}, {box.log()}")


@case
def what_loses_in_the_end_is_not_set(box):
    """Version 1 is fast as long as it is searched, and slow when it runs in turn with the untuned program."""
    box.sim({"a": {"pars": [10, 20], "seconds": [0.005, [0.0005] * 7 + [0.05] * 500, 0.001]}})
    out, _ = box.tune("--json", "found.json")
    found = json.loads((box.path / "found.json").read_text())
    check(found["withdrawn"] and box.tuning() == [], f"{box.name}: {box.tuning()}")
    check(all(t["chosen"] is None for t in found["thresholds"]), f"{box.name}: {found['thresholds']}")
    box.said("nothing is set", out)


@case
def what_gains_nothing_in_the_end_is_not_set(box):
    """Version 1 is fast as long as it is searched, and then as fast as the untuned program."""
    box.sim({"a": {"pars": [10, 20], "seconds": [0.005, [0.0005] * 7 + [0.005] * 500, 0.001]}})
    out, _ = box.tune("--json", "found.json")
    check(json.loads((box.path / "found.json").read_text())["withdrawn"] and box.tuning() == [], f"{box.name}: {box.tuning()}")
    box.said(r"^nothing is set: on no data set is the tuned program faster when both run in turn$", out)
    box.said(r"^  main.suff_outer_par_0 +unset ", out)
    box.said(r"^a +1.00 ms +1.00 ms +1.00x .*\(the same program\)$", out)


@case
def no_gain_is_shown_that_is_not_taken(box):
    """Faster on a in the end as well, but so much slower on b that nothing is set: the table speaks of what is written."""
    turns = [0.001] * 6 + [0.1] * 500
    box.sim({"a": {"pars": [10, 20], "seconds": [0.005, 0.0005, 0.001]}, "b": {"pars": [10, 20], "seconds": [0.005, turns, 0.001]}})
    out, _ = box.tune("--json", "found.json")
    check(json.loads((box.path / "found.json").read_text())["withdrawn"] and box.tuning() == [], f"{box.name}: {box.tuning()}")
    check(not re.search(r"^ +main\.\S+ +(\d+|never) ", out, re.M) and not re.search(r"([2-9]|\d\d+)\.\d\dx", out), f"{box.name}: {out}")


NOISY = [0.001, 0.0019, 0.0012, 0.0017, 0.0011, 0.0022, 0.0014]


@case
def a_busy_machine_is_told(box):
    """Times that vary by more than 20 % are warned of, by tune and bench; others, and the clock's whole microseconds, are not."""
    words = r"^minifut (tune|bench): warning: the machine is busy: times on 1 of 2 data sets are known to . \d+ % only"
    noisy = {"pars": [10, 20], "seconds": [NOISY, 0.1, 0.1]}
    quiet = {"pars": [10, 20], "seconds": [0.1, 0.1, [4e-6, 5e-6]]}
    box.sim({"a": {**noisy, "seconds": [0.1, 0.1, NOISY]}, "b": quiet})
    _, err = box.tune()
    box.said(words, err)
    box.bench(words)
    box.sim({"a": quiet, "b": quiet})
    _, err = box.tune("--fresh")
    check("busy" not in err, f"{box.name}: {err}")
    box.bench("^$")


@case
def a_tuning_that_changes_nothing_is_the_same_program(box):
    """A tuning file that sets nothing, or what makes no difference, has no speedup: times are of one measurement, or of both."""
    box.sim({"a": {"pars": [10, 20], "seconds": [0.1, 0.1, NOISY]}, "b": {"pars": [10, 70000], "seconds": [0.1, 0.001, 0.002]}})
    for text, same in (("", "ab"), ("main.suff_outer_par_0=5000\n", "ab"), ("main.suff_outer_par_1=90000\n", "a"),
                       ("main.suff_outer_par_0=1\n", "")):
        (box.path / "p.sf.tuning").write_text(text)
        out = box.bench("")
        rows = json.loads((box.path / "b.json").read_text())["datasets"]
        check("".join(name for name, row in rows.items() if row["same_program"]) == same, f"{box.name}: {text}: {rows}")
        for name, row in rows.items():
            is_same = row["untuned"] == row["tuned"]
            check(is_same == (name in same), f"{box.name}: {text}: {row}")
            box.said(rf"^{name} .* 1.00x  same program " if name in same else rf"^{name} .*\dx  [\d.]+ to [\d.]+ ", out)


@case
def data_sets_are_sent_once(box):
    box.sim()
    box.tune()
    check(sorted(box.calls("restore ")) == ["restore a", "restore b", "restore c"], f"{box.name}: sent again")
    box.seen = 0
    check(len(box.calls("start")) == 1, f"{box.name}: one server")


@case
def data_sets_at_the_same_time(box):
    """Each in a process of its own, which all find the same as one after the other, and never run at the same time."""
    box.sim()
    tuning, log, calls = reference(box)
    box.sim(turns=True)
    box.tune("--jobs", "3")
    new = box.calls("")
    check(box.tuning() == tuning and box.log() == log, f"{box.name}: {box.tuning()}, not {tuning}")
    check(new.count("start") == 4, f"{box.name}: {new.count('start')} processes")
    check("two at the same time" not in new, f"{box.name}: two at the same time")
    check(sorted(x for x in new if x.startswith("call ")) == sorted(calls), f"{box.name}: other measurements")
    box.tune("--jobs", "3")
    check(box.calls() == [], f"{box.name}: measured again")


@case
def failures_beside_others_are_looked_at_again(box):
    """What fails may do so for want of memory, which the others have: it counts only if it fails alone."""
    data = {**DATA, "b": {"pars": [100000, 200000], "seconds": [0.006, "refuse", 0.001]},
            "c": {"pars": [30, 60], "seconds": ["crash", 0.002, 0.003]}}
    box.sim(data)
    tuning, log, calls = reference(box)
    box.sim(data, turns=True)
    box.tune("--jobs", "3")
    check(box.tuning() == tuning and box.log() == log, f"{box.name}: {box.tuning()}, not {tuning}")
    more = collections.Counter(box.calls()) - collections.Counter(calls)
    check(more["call b 1"] > 0 and more["call c 0"] > 0, f"{box.name}: {more}")


def processes_in(folder):
    n = 0
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            n += path.resolve() == folder.resolve()
        except OSError:
            pass
    return n


@case
def all_end_at_the_same_time(box):
    """Ctrl-C ends all processes, and the same command goes on."""
    box.sim()
    tuning, _, calls = reference(box)
    box.sim(turns=True, sleeps=0.05)
    with subprocess.Popen([MINIFUT, "tune", "--skip-compilation", "--jobs", "3", "p.sf", "d"], cwd=box.path,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tuner:
        done = 0
        while tuner.poll() is None and done < len(calls) // 3:
            time.sleep(0.01)
            done += len(box.calls())
        tuner.send_signal(signal.SIGINT)
        _, err = tuner.communicate(timeout=60)
    box.said("interrupted", err)
    check(tuner.returncode != 0 and processes_in(box.path) == 0, f"{box.name}: processes are left")
    box.sim(turns=True)
    box.tune("--jobs", "3")
    check(box.tuning() == tuning, f"{box.name}: {box.tuning()}, not {tuning}")
    check(len(box.calls()) < len(calls), f"{box.name}: all was measured again")


@case
def killed_at_ten_moments(box):
    box.sim()
    tuning, log, calls = reference(box)
    step = len(calls) // 11
    kills = [step * (i + 1) + i % 3 for i in range(10)]
    box.sim(kill=kills)
    for _ in kills:
        box.tune(code=-9)
    box.tune()
    check(box.tuning() == tuning, f"{box.name}: {box.tuning()}, not {tuning}")
    check(box.log() == log, f"{box.name}: measured again: {box.log() - log}")
    # Of what was being measured when it was killed, the runs so far.
    again = len(box.calls()) - len(calls)
    check(0 <= again <= 10 * 7, f"{box.name}: {again} calls more")


@case
def lines_that_are_not_whole(box):
    box.sim()
    box.tune()
    tuning, log, n = box.tuning(), box.log(), len(box.calls())
    path = box.path / "p.sf.tuning.log"
    lines = path.read_bytes().splitlines(keepends=True)
    spoilt = lines[2].replace(b" ok ", b" cut ")
    path.write_bytes(b"".join(lines[:2]) + spoilt + b"\x00\xff nonsense\n\n" + b"".join(lines[3:-1]) + lines[-1][:-9])
    box.tune()
    # The last one was made as one of two.
    check(0 < len(box.calls()) <= 3 * 7 < n, f"{box.name}: other than three measurements made again")
    check(box.tuning() == tuning, f"{box.name}: another tuning")
    check(set(box.log()) >= set(log), f"{box.name}: not in the log: {set(log) - set(box.log())}")
    box.tune()
    check(box.calls() == [], f"{box.name}: the log is not mended")


@case
def what_changes_is_measured_again(box):
    box.sim()
    box.tune()
    n = len(box.calls())
    box.dataset("b", "\n")
    box.tune()
    calls = box.calls()
    check(calls and set(c.split()[1] for c in calls) == {"b"}, f"{box.name}: a data set: {calls}")
    with open(box.path / "p", "a") as f:
        f.write("# another program\n")
    box.tune()
    check(len(box.calls()) == n, f"{box.name}: a program")


@case
def interrupted(box):
    box.sim()
    tuning, log, calls = reference(box)
    first_of_b = next(i for i, c in enumerate(calls) if c.startswith("call b"))
    box.sim(interrupt=[first_of_b + 3])
    _, err = box.tune("--json", "r.json", "--report", "r.html", code=1)
    box.said("interrupted: the best so far is written to p.sf.tuning; the same command goes on", err)
    r = json.loads((box.path / "r.json").read_text())
    a, b, c = r["datasets"]
    chosen = [f"{x['name']}={x['chosen']}" for x in r["thresholds"] if x["chosen"] is not None]
    check(not r["complete"] and a["usable"] and a["best_us"] == 1000 and len(a["versions"]) == 3 and not c["usable"]
          and "tuned" not in a and chosen == box.tuning(), f"{box.name}: {r}")
    box.said("did not get to its end", (box.path / "r.html").read_text())
    best, _, _ = reference(box_of_a := Alone(box))
    box_of_a.close()
    check(box.tuning() == best, f"{box.name}: {box.tuning()} is not the best for a, {best}")
    box.tune()
    check(box.tuning() == tuning and box.log() == log, f"{box.name}: going on: {box.tuning()}, not {tuning}")


@case
def interrupted_at_once(box):
    box.sim(interrupt=[2])
    (box.path / "p.sf.tuning").write_text("main.suff_outer_par_0=7\n")
    _, err = box.tune(code=1)
    box.said("interrupted: p.sf.tuning is as it was", err)
    check(box.tuning() == ["main.suff_outer_par_0=7"], f"{box.name}: {box.tuning()}")


@case
def interrupted_in_the_first_data_set(box):
    box.sim({"a": DATA["a"]})
    _, _, calls = reference(box)
    first = {v: next(i for i, c in enumerate(calls) if c == f"call a {v}") for v in (0, 1)}
    check(first[1] < first[0], f"{box.name}: {calls}")
    box.sim({"a": DATA["a"]}, interrupt=[first[0] + 1])  # version 1, the best, is known
    _, err = box.tune(code=1)
    box.said("the best so far is written", err)
    check(box.tuning() and box.tuning()[-1] == "main.suff_outer_par_1=20", f"{box.name}: {box.tuning()}")


@case
def a_version_that_hangs(box):
    box.sim({**DATA, "c": {"pars": [30, 60], "seconds": [0.004, "hang", 0.003]}})
    _, err = box.tune("--timeout", "1")
    box.said("c: a version cannot be used: the run took too long", err)
    check(("c", "failed") in {(data[0], outcome) for data, _, outcome in box.log()}, f"{box.name}: {box.log()}")
    box.calls()
    box.tune("--timeout", "1")
    check(box.calls() == [], f"{box.name}: measured again")


class Alone:
    """The same with data set a only."""

    def __init__(self, box):
        self.tmp = tempfile.TemporaryDirectory()
        self.path, self.name = Path(self.tmp.name), box.name
        (self.path / "d").mkdir()
        shutil.copy(box.path / "sim.json", self.path)
        shutil.copy2(box.path / "d/a.in", self.path / "d")

    def close(self):
        self.tmp.cleanup()


@case
def versions_that_crash(box):
    for fault, said in (("crash", "the run ended the program"), ("refuse", "the run failed: out of memory")):
        (box.path / "p.sf.tuning.log").unlink(missing_ok=True)
        box.sim({**DATA, "a": {"pars": [10, 20], "seconds": [0.003, fault, 0.002]}})
        out, err = box.tune()
        box.said("a: a version cannot be used: " + said, err)
        box.said("written to", out)
        check(any(outcome == "failed" for _, _, outcome in box.log()), f"{box.name}: not in the log")
        box.calls()
        _, err = box.tune()
        box.said("a: a version cannot be used: " + said, err)
        check(box.calls() == [], f"{box.name}: {fault} is measured again")


@case
def data_sets_that_crash(box):
    crash = {"pars": [10, 20], "seconds": ["crash"] * 3}
    box.sim({"a": DATA["a"], "b": DATA["b"]})
    tuning, _, _ = reference(box)
    box.sim({**DATA, "c": crash})
    _, err = box.tune(code=1)
    box.said("no version runs on c: left out", err)
    check(box.tuning() == tuning, f"{box.name}: {box.tuning()}, not {tuning}")
    box.sim(crash_on_load=["c"])
    _, err = box.tune("--fresh", code=1)
    box.said("d/c.in: .*ended the program.*: left out", err)
    check(box.tuning() == tuning, f"{box.name}: while loading: {box.tuning()}, not {tuning}")


@case
def a_device_that_vanishes(box):
    box.sim()
    tuning, log, calls = reference(box)
    box.sim(vanish=[next(i for i, c in enumerate(calls) if c.startswith("call c"))])
    _, err = box.tune("--json", "r.json", code=1)
    check(json.loads((box.path / "r.json").read_text())["device"] == "a simulated device", f"{box.name}: r.json")
    box.said("the device is not there: the best so far is written to p.sf.tuning", err)
    (box.path / "vanished").unlink()
    box.tune()
    check(box.tuning() == tuning, f"{box.name}: when it is back: {box.tuning()}, not {tuning}")


@case
def the_final_check_is_what_is_reported(box):
    """Version 1 of `a`, its best but not that of all, takes 1.6 ms instead of 1 once the search is through with it."""
    data = {**DATA, "a": {"pars": [10, 20], "seconds": [0.003, [0.001] * 7 + [0.0016] * 500, 0.002]}}
    box.sim(data)
    out, _ = box.tune("--json", "r.json")
    r = json.loads((box.path / "r.json").read_text())
    a, b, c = r["datasets"]
    check((a["best_us"], a["regret"], a["tuned"]["median_us"]) == (1600, 0.25, 2000), f"{box.name}: {a}")
    check((b["regret"], c["regret"]) == (0, 0.5) and abs(r["tuned"] - (1.25 * 1.5) ** (1 / 3)) < 1e-3, f"{box.name}: {r}")
    box.said(r"^a +2.00 ms +2.00 ms +1.00x +25.0 %", out)
    box.said(f"^of each data set's own best time: untuned {r['untuned']:.2f}, tuned {r['tuned']:.2f}", out)
    turns = [x for x in box.calls() if x.startswith("call c")][-4:]  # c takes version 2, tuned or not
    check(set(turns) == {"call c 1", "call c 2"}, f"{box.name}: not in turn: {turns}")


@case
def wrong_results(box):
    box.sim({"a": {**DATA["a"], "wrong": [1]}})
    _, err = box.tune()
    box.said(r"a: a version cannot be used: wrong result 0: .*\n.*settings: .*\n.*bug of minifut, if no rounding .*please report", err)
    check(any(outcome == "wrong" for _, _, outcome in box.log()), f"{box.name}: not in the log")


@case
def an_objective_of_the_user(box):
    """What counts is whether times are below limits: 1.5 ms for `a`, 2.5 ms for others. `b` can only be if both others are not."""
    box.sim()
    (box.path / "w").write_text("b 7\n")
    limits = r"""awk -F'\t' '{ print > "told" } NF != 4 { exit 9 } $4 < 1000 { exit 9 }
                 $2 == "fail" || $2 > 2500 - 1000 * ($1 == "a") { late += $3 } END { print late + 0 }'"""
    box.tune("--objective", limits)
    told = (box.path / "told").read_text().splitlines()
    check(len(told) == 3 and told[0].startswith("a\t"), f"{box.name}: told {told}")
    met = {}
    for weights in (), ("--weights", "w"):
        box.tune("--objective", limits, *weights, "--json", "r.json")
        data = json.loads((box.path / "r.json").read_text())["datasets"]
        met[weights] = {d["name"]: d["tuned"]["median_us"] for d in data}
    check(met[()]["a"] < 1500 and met["--weights", "w"]["b"] < 2500, f"{box.name}: {met}")
    # So is a table of strategies by what they are worth to it; that may be negative.
    best = "awk '{ s += $2 } END { print s - 1e6 }'"
    box.tune("--strategy=all", "--objective", best, "--json", "r.json")
    all_by = [d["tuned"]["median_us"] for d in json.loads((box.path / "r.json").read_text())["datasets"]]
    check(sum(all_by) == 6000, f"{box.name}: {all_by}")
    # Without a gain for it, nothing is asked for.
    box.tune("--objective", "cat > told; echo 7")
    check(box.tuning() == [], f"{box.name}: {box.tuning()}")


@case
def objectives_that_fail(box):
    box.sim({"a": DATA["a"], "b": DATA["b"]})
    for objective, said in (("wurst", r"wurst: exit code 127; did you mean 'worst'"), ("true", "it prints '', not a number"),
                            ("echo 1 2", "it prints '1 2', not a number"), ("yes", "it prints more than a number"),
                            ("kill -9 $$", "it was ended by a signal"), ("sleep 60 & echo 1", "it takes longer than 0.5 s"),
                            ("echo nan", "it prints 'nan', not")):
        out, err = box.tune("--timeout", "0.5", "--objective", objective, code=1)
        box.said(said, err)
        check(box.calls() == [] and not out, f"{box.name}: {objective}: it goes on")
    # Later: what was measured is not lost, nor the old tuning.
    (box.path / "p.sf.tuning").write_text("main.suff_outer_par_0=7\n")
    _, err = box.tune("--objective", "if test -e asked; then exit 3; fi; touch asked; echo 1", code=1)
    box.said("exit code 3: p.sf.tuning is as it was; the same command goes on", err)
    check(box.tuning() == ["main.suff_outer_par_0=7"], f"{box.name}: {box.tuning()}")
    n = len(box.calls())
    box.tune("--objective", "awk '{ s += $2 } END { print s }'")
    check(0 < len(box.calls()) < n, f"{box.name}: measured again")


# Groups of 64 are best for a, which has no use for those of 1024; b does not care up to 128; more elements harm c.
SIZES = {"group_size": 256, "item_elems": 4}
GROUPS = {"512": 1.2, "1024": 2, "128": 0.8, "64": 0.6, "32": 0.7}
SIZED = {"a": {**DATA["a"], "by_size": {"group_size": GROUPS, "item_elems": {"8": 0.5, "2": 1.1}}},
         "b": {**DATA["b"], "by_size": {"group_size": {"512": 0.5}, "item_elems": {"8": 0.9}}},
         "c": {**DATA["c"], "by_size": {"item_elems": {"8": 1.3, "2": 1.3}}}}


@case
def sizes_that_suit_all(box):
    """A size is left for what gains somewhere and loses nowhere; what is twice or half of that is tried next."""
    box.sim(DATA)
    thresholds, _, _ = reference(box)
    box.sim(SIZED, sizes=SIZES)
    out, _ = box.tune("--json", "p.json", "--report", "p.html")
    check(box.tuning() == sorted([*thresholds, "main.group_size=64"]), f"{box.name}: {box.tuning()}")
    box.said(r"main.group_size +64   256 by default, 4 others tried\n  main.item_elems +unset   4 by default, 2 others tried$", out)
    found = json.loads((box.path / "p.json").read_text())
    check([(s["name"], s["default"], s["chosen"]) for s in found["sizes"]] ==
          [("main.group_size", 256, 64), ("main.item_elems", 4, None)] and not found["sizes_limited"], f"{box.name}: {found}")
    tuned = {d["name"]: d["tuned"]["median_us"] for d in found["datasets"]}
    check(tuned == {"a": 1200, "b": 1000, "c": 3000}, f"{box.name}: the final check has the sizes: {tuned}")
    check("group_size</th>" in (box.path / "p.html").read_text(), f"{box.name}: not on the page")
    box.calls()
    box.tune()
    check(box.calls() == [], f"{box.name}: measured again")
    check(box.tuning() == sorted([*thresholds, "main.group_size=64"]), f"{box.name}: then {box.tuning()}")


@case
def sizes_that_do_not_matter(box):
    """Sizes are tried whose kernels have more than 5 % of the time on a data set; what they have is asked until that is known."""
    group, elems = "group_size_kernel", "item_elems_kernel"
    for shares, tried, asked in (({"a": {group: 0.06, elems: 0.05, "other": 0.89}, "b": {"group": 1}, "c": {elems: 0.01, "firs": 1}}, [True, False], "abc"),
                                 ({"a": {group: 0.5, "first": 0.5}, "b": {}, "c": {}}, [True, True], "a")):
        box.sim(SIZED, sizes=SIZES, profile=shares)
        box.calls("")
        out, _ = box.tune("--fresh", "--json", "p.json")
        found = json.loads((box.path / "p.json").read_text())
        check([s["tried"] > 0 for s in found["sizes"]] == tried, f"{box.name}: {shares}: {found['sizes']}")
        check([x.split()[1] for x in box.calls("profile")] == list(asked), f"{box.name}: {shares}: not asked of {asked}")
        check(("takes no part in 5 % of the time" in out) == (False in tried), f"{box.name}: {out}")
    tuning = box.tuning()
    box.tune()
    check(box.calls() == [] and box.tuning() == tuning, f"{box.name}: measured again")


@case
def sizes_are_benched(box):
    """What the tuning file says of sizes counts for bench, and for the tuned program only."""
    box.sim(SIZED, sizes=SIZES)
    (box.path / "p.sf.tuning").write_text("main.group_size=64\nmain.nobody=3\n")
    box.bench("^(?!.*group_size).*no parameter main.nobody")
    rows = json.loads((box.path / "b.json").read_text())["datasets"]
    got = {name: (row["untuned"]["median_us"], row["tuned"]["median_us"]) for name, row in rows.items()}
    check(got == {"a": (2000, 1200), "b": (6000, 6000), "c": (3000, 3000)}, f"{box.name}: {got}")


@case
def sizes_are_left_alone(box):
    box.sim(SIZED, sizes=SIZES)
    (box.path / "p.sf.tuning").write_text("main.item_elems=2\n")
    box.tune("--only=thresholds")
    check(box.tuning()[0] == "main.item_elems=2" and "main.group_size" not in str(box.tuning()), f"{box.name}: {box.tuning()}")
    keys = {key[1] for key in box.log()}
    check(any(key.endswith("+0/2") for key in keys) and not any("64" in key for key in keys), f"{box.name}: {keys}")
    out, _ = box.tune("--seconds=0.001")
    box.said(r"^sizes \(0 runs, then time was up: --seconds\):\n  main.group_size +unset   256 by default$", out)
    check("main.item_elems" not in str(box.tuning()), f"{box.name}: thresholds are found with the defaults now: {box.tuning()}")
    _, err = box.tune("--only=nothing", code=2)
    box.said("only thresholds can be asked for, not 'nothing'", err)


@case
def sizes_with_faults(box):
    """What crashes or gives something wrong is not taken; it is in the log, and the rest is tuned."""
    for fault, outcome in (("crash", "failed"), ("wrong", "wrong")):
        data = {"a": {**DATA["a"], "by_size": {"group_size": {"512": fault, "128": 0.5}}}}
        box.sim(data, sizes=SIZES)
        _, err = box.tune("--fresh")
        check(box.tuning()[0] == "main.group_size=128", f"{box.name}: {fault}: {box.tuning()}")
        check(any(key[1].endswith("+512/0") and key[2] == outcome for key in box.log()), f"{box.name}: {fault}: not in the log")
        if fault == "wrong":
            box.said(r"a: group_size=512: wrong result 0: .*\n.*bug of minifut", err)


@case
def sizes_interrupted(box):
    """Killed or interrupted in the search for sizes, it writes the best so far, and goes on to the same end."""
    box.sim(SIZED, sizes=SIZES)
    tuning, log, calls = reference(box)
    box.sim(DATA)
    thresholds, _, first = reference(box)
    moments = range(len(first), len(calls) - 12, (len(calls) - len(first)) // 2)
    box.sim(SIZED, sizes=SIZES, kill=[moments[0]], interrupt=list(moments[1:]))
    box.tune(code=-9)
    for _ in moments[1:]:
        _, err = box.tune(code=1)
        box.said("interrupted: the best so far is written to p.sf.tuning", err)
        check(set(thresholds) <= set(box.tuning()), f"{box.name}: {box.tuning()}")
    box.tune()
    check(box.tuning() == tuning, f"{box.name}: {box.tuning()}, not {tuning}")
    check(box.log() == log, f"{box.name}: measured again: {box.log() - log}")


@case
def a_full_disk(box):
    box.sim()
    tuning, _, _ = reference(box)
    (box.path / "p.sf.tuning.log").symlink_to("/dev/full")
    _, err = box.tune()
    box.said("warning: cannot write p.sf.tuning.log: No space left", err)
    check(box.tuning() == tuning, f"{box.name}: {box.tuning()}, not {tuning}")
    (box.path / "p.sf.tuning.log").unlink()
    (box.path / "p.sf.tuning.log").mkdir()
    _, err = box.tune()
    box.said("warning: cannot use p.sf.tuning.log: Is a directory", err)


@case
def dry_run(box):
    box.sim()
    before = sorted(os.listdir(box.path))
    out, _ = box.tune("--dry-run")
    box.said("^main: 2 thresholds, 3 data sets\nmonotone: 9 runs(.|\n)*^0 measurements are in p.sf.tuning.log", out)
    check(box.calls() == [], f"{box.name}: calls")
    check(sorted(os.listdir(box.path)) == sorted(before + ["calls.log"]), f"{box.name}: left {os.listdir(box.path)}")
    box.tune()
    out, _ = box.tune("--dry-run")
    box.said(r"^[1-9]\d+ measurements are in p.sf.tuning.log", out)
    check("sizes" not in out, f"{box.name}: {out}")
    box.sim(sizes=SIZES)
    out, _ = box.tune("--dry-run")
    box.said(r"^then sizes, .*: at most 120 runs\n  main.group_size, by default 256\n  main.item_elems, by default 4$", out)
    check("sizes" not in box.tune("--dry-run", "--only=thresholds")[0], f"{box.name}: sizes that are left alone")


def main():
    names = sys.argv[2:]
    for f in cases:
        name = f.__name__.replace("_", " ")
        if names and not any(n in name for n in names):
            continue
        with tempfile.TemporaryDirectory() as tmp:
            box = Box(tmp)
            box.name = name
            f(box)
    sys.exit(summary())


if __name__ == "__main__":
    main()
