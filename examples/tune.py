#!/usr/bin/env python3
"""The tuner's loop in some 50 lines, over Futhark's server protocol:
    python3 examples/tune.py ./prog ENTRY a.in b.in > prog.tuning
Needs futhark-server and futhark-data from PyPI. `minifut tune` measures with more care, and chooses with more thought."""
import re
import sys

import futhark_data
from futhark_server import Server

ALWAYS, NEVER = 1, 1 << 62  # thresholds that every degree of parallelism reaches, and none


def forest(server, entry):
    """The thresholds in program order, each with its way from a root: [(ancestor, did its comparison hold?)]."""
    names = {}
    for name in server.cmd_tuning_params(entry):
        kind = "".join(server.cmd_tuning_param_class(name))  # threshold(DEFAULT, PATH)
        if kind.startswith("threshold("):
            path = kind[:-1].split(",", 1)[1].split()
            names[name] = [(step.lstrip("!"), step[0] != "!") for step in path]
    return names


def run(server, entry, n_inputs, settings):
    """Microseconds of the fastest of five runs, and the degrees of parallelism that were compared with thresholds."""
    for name, value in settings.items():
        server.cmd_set_tuning_param(name, str(value))
    times, outputs = [], [f"out{i}" for i in range(len(server.cmd("outputs", entry)))]
    for _ in range(5):
        said = "\n".join(server.cmd_call(entry, *outputs, *[f"in{i}" for i in range(n_inputs)]))
        server.cmd_free(*outputs)
        times.append(int(re.search(r"runtime: (\d+)", said)[1]))
    pars = {}
    for name, par in re.findall(r"Compared (\S+) <= (\d+): ", said):
        pars.setdefault(name, []).append(int(par))
    return min(times), pars


def tune(program, entry, files):
    """Of each threshold the values low < t <= high that choose the fastest version on every data set."""
    with Server(program, "--server", "-L") as server:
        paths = forest(server, entry)
        ranges = dict.fromkeys(paths, (0, NEVER))
        for file in files:
            with open(file, "rb") as f:
                inputs = list(futhark_data.load(f))
            for i, value in enumerate(inputs):
                server.put_value(f"in{i}", value)
            best = dict.fromkeys(paths, NEVER)
            for name in reversed(paths):  # what is below a threshold is at its best before it
                there = {**best, **{a: ALWAYS if held else NEVER for a, held in paths[name]}}
                off, pars = run(server, entry, len(inputs), {**there, name: NEVER})
                on, _ = run(server, entry, len(inputs), {**there, name: ALWAYS})
                low, high = ranges[name]
                if on < 0.98 * off:
                    best[name] = ALWAYS
                    ranges[name] = low, min([high, *pars.get(name, [])])
                elif off < 0.98 * on:
                    ranges[name] = max([low, *pars.get(name, [])]), high
            server.cmd_free(*[f"in{i}" for i in range(len(inputs))])
    return ranges


if __name__ == "__main__":
    for name, (low, high) in tune(sys.argv[1], sys.argv[2], sys.argv[3:]).items():
        if low >= high:
            print(f"-- {name}: no value suits all data sets")
        elif (low, high) != (0, NEVER):
            print(f"{name}={low + 1 if high == NEVER else high}")
