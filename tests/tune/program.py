#!/usr/bin/env python3
"""A program with simulated times, which speaks the server protocol as compiled ones do: what the tuner's tests tune.

Beside it, sim.json says what it is: for each data set (its input is the data set's name, as bytes) the degree of
parallelism that each threshold is compared with, and the seconds of each version; the default of each size, and by what
a data set's seconds are multiplied for which value; and what goes wrong. With `nests`, each threshold is
that of a nest: the seconds of its version, and of what else runs there. calls.log gets a line for everything worth counting."""
import fcntl
import json
import os
import signal
import struct
import sys
import time
from pathlib import Path

HERE = Path(sys.argv[0]).resolve().parent
SIM = json.loads((HERE / "sim.json").read_text())
DEFAULT = 32768
THRESHOLDS = [f"main.suff_outer_par_{i}" for i in range(SIM["thresholds"])]  # asked one after the other
SIZES = {f"main.{name}": default for name, default in SIM.get("sizes", {}).items()}
FACTS = {"entry_points": ["main"], "inputs": ["[]u8"], "outputs": ["i64"], "tuning_params": [*THRESHOLDS, *SIZES],
         "device": ["a simulated device"]}
settings = dict.fromkeys(FACTS["tuning_params"], 0)
variables = {}
limit, last = 0, ""  # the last call's data set
parts = False
turns = None


def note(*words):
    with open(HERE / "calls.log", "a") as f:
        f.write(" ".join(words) + "\n")


def happens(what):
    """Is this call the one at which that is to happen? Only once each."""
    n = (HERE / "calls.log").read_text().count("call ")
    if n not in SIM.get(what, []) or (HERE / f"{what}{n}").exists():
        return False
    (HERE / f"{what}{n}").touch()
    return True


def say(*lines):
    sys.stdout.write("".join(line + "\n" for line in lines))


def fail(*lines):
    say("%%% FAILURE", *lines)


def restore(path, name, _type):
    raw = Path(path).read_bytes()
    name_of = raw[15:].decode()  # b, version, rank, type, one size
    note("restore", name_of)
    if name_of in SIM.get("crash_on_load", []):
        sys.exit(1)
    variables[name] = name_of


def by_sizes(data):
    """What the sizes make of a data set's seconds: a factor, or a fault."""
    factor, faults = 1, []
    for name in SIZES:
        effect = data.get("by_size", {}).get(name.split(".")[1], {}).get(str(settings[name]), 1)
        if isinstance(effect, str):
            faults.append(effect)
        else:
            factor *= effect
    return factor, faults


def compare(i, data):
    threshold, par = settings[THRESHOLDS[i]] or DEFAULT, data["pars"][i]
    say(f"Compared {THRESHOLDS[i]} <= {par}: {'true' if threshold <= par else 'false'}.")
    return threshold <= par


def one_of_all(data):
    """The version taken, and its seconds."""
    version = 0
    while version < len(THRESHOLDS) and not compare(version, data):
        version += 1
    return version, data["seconds"][version]


def nests(data):
    """The outcomes, and the seconds of all nests."""
    outcomes = "".join("1" if compare(i, data) else "0" for i in range(len(THRESHOLDS)))
    seconds = [nest[outcome == "0"] for nest, outcome in zip(data["nests"], outcomes)]
    for threshold, part in zip(THRESHOLDS, seconds if parts else []):
        say(f"part: {threshold} {part * 1e6:.3f}")
    return outcomes, sum(seconds)


def call(_entry, out, arg):
    global last
    last = name = variables[arg]
    data = SIM["data"][name]
    version, seconds = nests(data) if "nests" in data else one_of_all(data)
    if turns:
        fcntl.flock(turns, fcntl.LOCK_EX)
    note("call", name, str(version))
    if (HERE / "on_device").exists():
        note("two at the same time")
    (HERE / "on_device").touch()
    time.sleep(SIM.get("sleeps", 0))
    try:
        run(name, data, version, seconds, out)
    finally:
        (HERE / "on_device").unlink(missing_ok=True)
        if turns:
            fcntl.flock(turns, fcntl.LOCK_UN)


def run(name, data, version, seconds, out):
    if happens("kill"):
        os.kill(os.getppid(), signal.SIGKILL)
        sys.exit(1)
    if happens("interrupt"):
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)
    if happens("vanish"):
        (HERE / "vanished").touch()
        sys.exit(1)
    factor, faults = by_sizes(data)
    if faults and faults[0] != "wrong":
        seconds = faults[0]
    if seconds == "crash":
        sys.exit(1)
    if seconds == "hang":
        time.sleep(60)
    if seconds == "refuse":
        return fail("out of memory")
    if isinstance(seconds, list):
        seconds = seconds[(HERE / "calls.log").read_text().count(f"call {name} {version}\n") % len(seconds)]
    seconds *= factor
    if limit and seconds > limit:
        say(f"stopped: {limit * 1e6:.0f}")
        fail("the time limit")
        if not SIM.get("endless"):
            return
        print("%%% OK", flush=True)  # it cannot leave the launch, and ends
        sys.exit(1)
    variables[out] = 7 if version in data.get("wrong", []) or "wrong" in faults else 5
    say(f"runtime: {seconds * 1e6:.0f}")


def take_turns(args):
    """A lock on the file, held by whoever is on the device."""
    global turns
    if turns:
        turns.close()
    turns = open(args[0]) if args else None


def store(path, name):
    Path(path).write_bytes(b"b\x02\x00 i64" + struct.pack("<q", variables[name]))


def command(words):
    global limit, parts
    name, args = words[0], words[1:]
    if name == "call":
        call(*args)
    elif name == "restore":
        restore(*args)
    elif name == "store":
        store(*args)
    elif name == "digest":
        say(" ".join(str(variables[v]) for v in args))
    elif name == "free":
        for v in args:
            variables.pop(v)
    elif name == "set_tuning_param":
        settings[args[0]] = int(args[1])
    elif name == "time_limit":
        limit = int(args[0]) * 1e-6
    elif name == "turns" and SIM.get("turns"):
        take_turns(args)
    elif name in ("clear", "pause_profiling", "unpause_profiling") and "profile" in SIM:
        variables.clear() if name == "clear" else None
    elif name == "profile" and "profile" in SIM:
        note("profile", last)
        for kernel, seconds in SIM["profile"][last].items():
            say(f"3 {3 * seconds * 1e9:.0f} 0 0 {kernel}\tp.sf:1:1")
    elif name == "tuning_param_value":
        say(str(settings[args[0]] or SIZES[args[0]]))
    elif name == "tuning_param_class" and args[0] in SIZES:
        say(args[0].split(".")[1] + f"(first {args[0][5:]}_kernel last)")
    elif name == "time_parts":
        parts = args[0] == "on"
    elif name == "tuning_param_class" and args[0] not in THRESHOLDS:
        fail(f"Unknown tuning parameter: {args[0]}")
    elif name == "tuning_param_class":
        at = 0 if SIM.get("nests") else THRESHOLDS.index(args[0])
        say(f"threshold(def, {' '.join('!' + t for t in THRESHOLDS[:at])})")
    elif name in FACTS:
        say(*FACTS[name])
    else:
        fail("Unknown command: " + name)


def main():
    if (HERE / "vanished").exists():
        sys.exit("the device is not there")
    note("start")
    print("%%% OK", flush=True)
    for line in sys.stdin:
        command([w.strip('"') for w in line.split()])
        print("%%% OK", flush=True)


main()
