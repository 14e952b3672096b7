# The picture of docs/derivatives.md: how the loss of network.sf falls, and how prices by calibration.sf come to those that are seen.
#
#     python3 examples/python/learning.py [PICTURE.svg]
#
# Needs minifut on the PATH, and no packages. The interpreter runs the programs, so that each machine draws the same picture.

# %%
import re
import subprocess
import sys
from math import log10
from pathlib import Path

here = Path(__file__).resolve().parent.parent
picture = Path(sys.argv[1] if len(sys.argv) > 1 else "learning.svg")


def run(program, entry, arguments):
    """All numbers that the entry point gives."""
    r = subprocess.run(["minifut", "run", "-e", entry, here / program], input=arguments, capture_output=True, text=True, check=True)
    return [float(number) for number in re.findall(r"(-?\d[\d.e+-]*)f\d\d", r.stdout)]


def literal(numbers):
    return "[" + ", ".join(repr(float(x)) for x in numbers) + "]"


# %% [markdown]
# ## Data
# The loss of each step, of its batch alone. Prices of options with strikes that are traded, and those of the model after some turns.

# %%
STEPS, BATCHES = 160, 4
losses = run("network.sf", "losses", f"{STEPS}i64")
means = [sum(losses[i:i + BATCHES]) / BATCHES for i in range(STEPS - BATCHES + 1)]

strikes = [0.7, 0.9, 1.1, 1.3]
seen = [0.3194, 0.1674, 0.0737, 0.0305]
between = [0.6 + 0.025 * k for k in range(33)]
models = {}
for turns in (0, 1, 2, 4):
    found = run("calibration.sf", "fit", f"{turns} 8i64 {literal(strikes)} {literal(seen)} [-1.0, 0.0, -1.0]")
    models[turns] = run("calibration.sf", "prices", f"8i64 {literal(between)} {literal(found[-3:])}")


# %% [markdown]
# ## Plot

# %%
COLOURS = ["#cbd5e0", "#90a4b8", "#63a4d8", "#2b6cb0"]
WIDE, HIGH, TOP, GAP = 330, 220, 40, 70


def text(x, y, words, anchor="middle", size=11):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def curve(points, colour, width=2):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def axes(left, title, below, xs, ys):
    """Title and scales; xs, ys: {what is written: where}."""
    bottom = TOP + HIGH
    parts = [text(left + WIDE / 2, TOP - 16, title, size=13), text(left + WIDE / 2, bottom + 36, below)]
    parts += [text(x, bottom + 17, words) for words, x in xs.items()]
    for words, y in ys.items():
        parts += [text(left - 7, y + 4, words, "end"), curve([(left, y), (left + WIDE, y)], "#e2e8f0", 1)]
    return parts


def of_network(left):
    def at(step, loss):
        return left + WIDE * step / STEPS, TOP + HIGH * (0.2 - log10(loss)) / 1.8

    parts = axes(left, "network.sf: loss", "steps", {str(s): at(s, 1)[0] for s in range(0, STEPS + 1, 40)},
                 {words: at(0, float(words))[1] for words in ("1", "0.3", "0.1", "0.03")})
    parts.append(curve([at(k, loss) for k, loss in enumerate(losses)], COLOURS[0], 1))
    parts.append(curve([at(k + BATCHES / 2, loss) for k, loss in enumerate(means)], COLOURS[3]))
    for k, (words, colour) in enumerate((("of each batch", COLOURS[0]), ("mean of four", COLOURS[3]))):
        y = TOP + 16 + 18 * k
        parts += [curve([(left + WIDE - 110, y - 4), (left + WIDE - 90, y - 4)], colour), text(left + WIDE - 84, y, words, "start")]
    return parts


def of_calibration(left):
    def at(strike, price):
        return left + WIDE * (strike - 0.6) / 0.8, TOP + HIGH * (1 - price / 0.5)

    parts = axes(left, "calibration.sf: price of an option", "strike", {str(s): at(s, 0)[0] for s in (0.6, 0.8, 1.0, 1.2, 1.4)},
                 {str(p): at(0.6, p)[1] for p in (0.0, 0.1, 0.2, 0.3, 0.4)})
    for k, (turns, prices) in enumerate(models.items()):
        y = TOP + 16 + 18 * k
        words = "at the start" if turns == 0 else f"after {turns} turn{'s' if turns > 1 else ''}"
        parts += [curve([at(*p) for p in zip(between, prices)], COLOURS[k])]
        parts += [curve([(left + WIDE - 110, y - 4), (left + WIDE - 90, y - 4)], COLOURS[k]), text(left + WIDE - 84, y, words, "start")]
    for x, y in (at(*p) for p in zip(strikes, seen)):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#c08030"/>')
    x, y = left + WIDE - 100, TOP + 16 + 18 * len(models)
    return parts + [f'<circle cx="{x:.1f}" cy="{y - 4:.1f}" r="4" fill="#c08030"/>', text(x + 16, y, "seen", "start")]


width, height = 2 * WIDE + 2 * GAP, HIGH + TOP + 50
parts = of_network(GAP * 0.7) + of_calibration(WIDE + GAP * 1.7)
picture.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">'
                   f'<rect width="{width}" height="{height}" fill="white"/>' + "\n".join(parts) + "</svg>\n")
print(f"written to {picture}")
