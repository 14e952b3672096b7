"""What the programs of two commits took, beside one another, as tables. Used by suite.py and primitives/run.py.

A row is a dictionary: what was measured ("program", "dataset", "mode"), and for each of the SIDES {"runtimes": [...]}
or {"error": ...}."""
import json
from math import exp, inf, log
from pathlib import Path

from turns import ROUNDS, round_of

SIDES = ("old", "new")
# What a row may be slower without being listed.
SLOWER = 1.03


def middle(times):
    """The mean of the middle half: as robust as the median, and finer than the whole microseconds of programs."""
    times = sorted(times)
    cut = len(times) // 4
    half = times[cut:len(times) - cut]
    return sum(half) / len(half)


def time_of(row, side):
    """Microseconds; None if it failed or is not there."""
    times = row.get(side, {}).get("runtimes")
    return middle(times) if times else None


def ratio(row):
    """Of new to old; None if one of them failed."""
    old, new = (time_of(row, side) for side in SIDES)
    return new / old if old and new else None


def round_ratios(row):
    """The ratio in each of the rounds in which both ran: how sure it is."""
    old, new = (row[side]["runtimes"] for side in SIDES)
    rounds = [(old[round_of(k, len(old))], new[round_of(k, len(new))]) for k in range(ROUNDS)]
    return [middle(n) / middle(o) for o, n in rounds if o and n and middle(o)]


def name_of(row):
    return " ".join([row["program"], row["dataset"], row["mode"]])


def short(t):
    return f"{t:.0f}" if t >= 100 else f"{t:.1f}"


def micro(row, side):
    t = time_of(row, side)
    if t is None:
        return "FAILED" if "error" in row.get(side, {}) else "-"
    return short(t)


def cells(row):
    """Columns HEADER of a row."""
    r = ratio(row)
    some = round_ratios(row) if r else []
    return [*(micro(row, side) for side in SIDES), f"{r:.3f}" if r else "-",
            f"{min(some):.2f}-{max(some):.2f}" if some else "-"]


HEADER = ["old", "new", "new / old", "in rounds"]


def grid(header, lines):
    """A table in Markdown, aligned for people who read it as text."""
    wide = [max(map(len, column)) for column in zip(header, *lines)]
    pad = lambda cells: "| " + " | ".join(c.ljust(w) if k < 2 else c.rjust(w)
                                          for k, (c, w) in enumerate(zip(cells, wide))) + " |"
    rule = "|" + "|".join("-" * (w + 2) for w in wide) + "|"
    return "\n".join([pad(header), rule, *map(pad, lines)])


def geomean(rows):
    ratios = [r for r in map(ratio, rows) if r]
    return exp(sum(map(log, ratios)) / len(ratios)) if ratios else None


def by_mode(rows):
    modes = dict.fromkeys(row["mode"] for row in rows)
    return {mode: [row for row in rows if row["mode"] == mode] for mode in modes}


def failures(rows):
    """[(row, side)] of what failed."""
    return [(row, side) for row in rows for side in SIDES if "error" in row.get(side, {})]


def summary(rows):
    """Geometric means, the rows that became slower, the failures."""
    failed = "\n".join(f"- {name_of(row)}, {side} FAILED: {row[side]['error']}" for row, side in failures(rows))
    lines = []
    for mode, some in by_mode(rows).items():
        if geomean(some):
            lines.append(f"{mode}: geometric mean {geomean(some):.3f} of {sum(map(bool, map(ratio, some)))} rows")
    if not lines:
        return failed
    slower = sorted((row for row in rows if (ratio(row) or 0) > SLOWER), key=ratio, reverse=True)
    lines.append(f"slower by more than {100 * (SLOWER - 1):.0f} %: {len(slower)} rows")
    lines += [f"- {name_of(row)}: {ratio(row):.3f}" for row in slower]
    return "\n".join([*lines, failed])


def table(rows):
    """All rows and their summary."""
    lines = [[row["program"], row["dataset"], row["mode"], *cells(row)] for row in rows]
    return grid(["program", "data set", "mode", *HEADER], lines) + "\n\n" + summary(rows)


def add_options(p):
    """Options of what compares two commits."""
    p.add_argument("--json", type=Path, help="keep the rows there")
    p.add_argument("--again", choices=["all", "slower"],
                   help="measure rows of the JSON file again: all, or those that became slower")
    p.add_argument("--budget", type=float, default=inf, help="seconds after which nothing is begun")


class Rows:
    """Rows in a JSON file (none if the path is None), written after each. What is there already is kept; `again`: "all"
    or "slower" rows are not."""

    def __init__(self, path, sides=SIDES, again=None):
        self.path, self.sides, self.again = path and Path(path), sides, again
        old = self.path and self.path.exists() and again != "all"
        self.rows = json.loads(self.path.read_text())["rows"] if old else []

    def has(self, program, dataset, mode):
        """Whether all sides of a row are measured and need not be again."""
        rows = [r for r in self.rows if (r["program"], r["dataset"], r["mode"]) == (program, dataset, mode)]
        return any(all(time_of(row, side) for side in self.sides)
                   and not (self.again == "slower" and (ratio(row) or 0) > SLOWER) for row in rows)

    def add(self, row):
        """Takes the place of what was measured before."""
        at = next((k for k, r in enumerate(self.rows) if name_of(r) == name_of(row)), len(self.rows))
        self.rows[at:at + 1] = [row]
        if self.path:
            half = self.path.with_suffix(".half")
            half.write_text(json.dumps({"rows": self.rows}))
            half.rename(self.path)
