"""Tables and plots of the suite's results: FOLDER/PROGRAM.json to MODE.json (in the form of `futhark bench --json`),
tables.md and figures like 2, 7 and 8 of the PPoPP'19 paper. Used by suite.py."""
import json
import re
from math import log10
from pathlib import Path
from statistics import median

MODES = ["moderate", "full", "untuned", "tuned"]
COLORS = {"moderate": "#888888", "full": "#c08030", "untuned": "#4080c0", "tuned": "#208040"}
# What belongs to the results in a folder, not to the report on them.
OURS = {f"{mode}.json" for mode in MODES}


def load(folder):
    files = sorted(p for p in Path(folder).glob("*.json") if p.name not in OURS)
    return {p.stem: json.loads(p.read_text()) for p in files}


def time_of(datasets, name, mode):
    """Median in microseconds; None if there is none."""
    times = datasets.get(name, {}).get(mode, {}).get("runtimes")
    return median(times) if times else None


def spread(times):
    """Between the quartiles of the times, relative to their median."""
    times = sorted(times)
    return (times[len(times) * 3 // 4] - times[len(times) // 4]) / median(times)


def bench_json(results, mode):
    """The form of `futhark bench --json`."""
    out = {}
    for program, r in results.items():
        sets = {}
        for name, modes in r["datasets"].items():
            m = modes.get(mode, {})
            if "runtimes" in m:
                sets[name] = {"runtimes": [round(t) for t in m["runtimes"]], "bytes": {}}
            elif "error" in m:
                sets[name] = m["error"]
        if sets:
            out[f"{program}.sf"] = {"datasets": sets}
    return out


# --- Table ----------------------------------------------------------------------------------------------------------


def order(name):
    """Training sets last; numbers by value."""
    return (name.startswith("train"), [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", name)])


def micro(t):
    return "-" if t is None else f"{t:.0f}"


def group_share(m):
    """The kernels of work-group versions among those that take most time."""
    names = [k for k, _ in m.get("kernels", []) if "intra" in k]
    return ", ".join(names)


def row(program, name, datasets):
    times = {mode: time_of(datasets, name, mode) for mode in MODES}
    failed = [mode for mode in MODES if "error" in datasets[name].get(mode, {})]
    cells = ["FAILED" if mode in failed else micro(times[mode]) for mode in MODES]
    best = min((m for m in MODES if times[m]), key=times.get, default=None)
    tuned = times["tuned"]
    speedup = f"{times['moderate'] / tuned:.2f}" if tuned and times["moderate"] else "-"
    loss = "-"
    if tuned:
        loss = f"{tuned / times[best]:.2f}"
        if best != "tuned":
            loss += f" ±{sum(spread(datasets[name][mode]['runtimes']) for mode in ('tuned', best)):.2f}"
    kernels = group_share(datasets[name].get("tuned", {}))
    return f"| {program} | {name} | " + " | ".join(cells) + f" | {speedup} | {loss} | {kernels} |"


def tables(results):
    lines = ["# Results", "",
             "Microseconds, medians; transfers and kernel builds excluded; results checked. *Speedup*: moderate / tuned. "
             "*Loss*: tuned / best of the four, with the spread of these two (between quartiles, relative). *Work-groups*: "
             "level-0 kernels among the four that take most time when tuned. train-*: the data sets tuned on.", "",
             "| program | data set | " + " | ".join(MODES) + " | speedup | loss | work-groups |",
             "|---|---|" + "---|" * (len(MODES) + 3)]
    for program, r in results.items():
        lines += [row(program, n, r["datasets"]) for n in sorted(r["datasets"], key=order)]
    errors = [f"- {program} {n}, {mode}: {m['error']}" for program, r in results.items()
              for n, modes in r["datasets"].items() for mode, m in modes.items() if "error" in m]
    errors += [f"- {program}, tuning: {r['tuning']['error']}" for program, r in results.items()
               if "error" in r.get("tuning", {})]
    if errors:
        lines += ["", "## Failures", "", *errors]
    return "\n".join(lines) + "\n"


# --- Plots ----------------------------------------------------------------------------------------------------------


def text(x, y, s, anchor="middle", size=11, turn=0):
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{turned}>{s}</text>'


def line(x1, y1, x2, y2, color="#cccccc"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">'
            f'<rect width="{width}" height="{height}" fill="white"/>' + "\n".join(parts) + "</svg>\n")


def legend(x, y, modes):
    parts = []
    for k, mode in enumerate(modes):
        parts.append(f'<rect x="{x + 90 * k}" y="{y - 9}" width="10" height="10" fill="{COLORS[mode]}"/>')
        parts.append(text(x + 90 * k + 14, y, mode, "start"))
    return parts


def bars(title, groups, modes):
    """Speedups over moderate: groups of (label, {mode: speedup}); bars above `top` are cut and carry their number."""
    left, bottom, high, wide = 45, 90, 200, 18
    width = left + sum(len(modes) * wide + 16 for _ in groups) + 20
    values = [v for _, s in groups for v in s.values()]
    top = min(max([2.0, *values]), 6.0)
    base = 40 + high
    parts = [text(width / 2, 18, title, size=13), *legend(left, 34, modes)]
    for k in range(int(top) + 1):
        y = base - high * k / top
        parts += [line(left, y, width - 10, y, "#000000" if k == 1 else "#dddddd"), text(left - 6, y + 4, k, "end")]
    x = left + 10
    for label, s in groups:
        for k, mode in enumerate(modes):
            v = s.get(mode)
            if v is None:
                continue
            h = high * min(v, top) / top
            at = x + k * wide
            parts.append(f'<rect x="{at}" y="{base - h:.1f}" width="{wide - 3}" height="{h:.1f}" fill="{COLORS[mode]}"/>')
            parts.append(text(at + wide / 2 - 1, base - h - 3, f"{v:.1f}", size=8))
        parts.append(text(x + len(modes) * wide / 2, base + 14, label, "end", 10, -35))
        x += len(modes) * wide + 16
    return svg(width, base + bottom, parts)


def speedups(datasets, name, modes):
    base = time_of(datasets, name, "moderate")
    times = {mode: time_of(datasets, name, mode) for mode in modes}
    return {mode: base / t for mode, t in times.items() if base and t}


def figure_speedups(results, title, programs, modes):
    groups = []
    for program in programs:
        datasets = results.get(program, {}).get("datasets", {})
        for name in sorted(datasets, key=order):
            s = speedups(datasets, name, modes)
            if s and not name.startswith("train"):
                groups.append((f"{program} {name}", s))
    return bars(title, groups, modes) if groups else None


def figure_matmul(results, k):
    """Time over n for 2^n x 2^m, m = k - 2n, logarithmic."""
    datasets = results.get("matmul", {}).get("datasets", {})
    points = {}
    for name in datasets:
        m = re.fullmatch(rf"(?:train-)?k{k}n(\d+)", name)
        for mode in MODES:
            t = time_of(datasets, name, mode) if m else None
            if t:
                points.setdefault(mode, []).append((int(m.group(1)), t))
    if not points:
        return None
    left, top, wide, high = 60, 50, 420, 240
    times = [t for ps in points.values() for _, t in ps]
    low, decades = 1.0, 1
    while low * 10 <= min(times):
        low *= 10
    while low * 10**decades < max(times):
        decades += 1
    last = max(1, max(n for ps in points.values() for n, _ in ps))
    at_x = lambda n: left + wide * n / last
    at_y = lambda t: top + high * (1 - log10(t / low) / decades)
    title = f"matrix products 2^n x 2^({k}-2n) by its transposed shape"
    parts = [text(left + wide / 2, 18, title, size=13), *legend(left, 36, points)]
    for d in range(decades + 1):
        y = at_y(low * 10**d)
        parts += [line(left, y, left + wide, y), text(left - 6, y + 4, f"{low * 10**d:.0f} us", "end")]
    for n in range(last + 1):
        parts.append(text(at_x(n), top + high + 16, n))
    for mode, ps in points.items():
        path = " ".join(f"{at_x(n):.1f},{at_y(t):.1f}" for n, t in sorted(ps))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[mode]}" stroke-width="2"/>')
    return svg(left + wide + 20, top + high + 30, parts)


def write(folder):
    folder = Path(folder)
    results = load(folder)
    for mode in MODES:
        out = bench_json(results, mode)
        if out:
            (folder / f"{mode}.json").write_text(json.dumps(out, indent=1))
    (folder / "tables.md").write_text(tables(results))
    others = [p for p in results if p not in ("matmul", "LocVolCalib")]
    figures = {"figure7.svg": figure_speedups(results, "LocVolCalib: speedup over moderate flattening", ["LocVolCalib"],
                                              MODES),
               "figure8.svg": figure_speedups(results, "Speedup over moderate flattening", others, ["untuned", "tuned"]),
               "figure2-k20.svg": figure_matmul(results, 20), "figure2-k25.svg": figure_matmul(results, 25)}
    for name, picture in figures.items():
        if picture:
            (folder / name).write_text(picture)
