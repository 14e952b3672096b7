# What versions and tuning gain: a notebook in a Python file. Editors that know cells (`# %%`) run it piece by piece; as a script:
#
#     python3 examples/python/speedups.py [PICTURE.png]
#
# Needs minifut on the PATH, and numpy, matplotlib, futhark-server and futhark-data from PyPI.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import futhark_data
import matplotlib
from futhark_server import Server

matplotlib.use("Agg")  # in a notebook, leave this line out
import matplotlib.pyplot as plt

here = Path(__file__).resolve().parent
program = here.parent / "matmul.sf"
picture = Path(sys.argv[1] if len(sys.argv) > 1 else "speedups.png")
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Data
# Matrix products of about as many operations each, in different shapes: which version of the program is best depends on them.

# %%
shapes = {"square": (128, 128, 128), "long rows": (2, 262144, 4), "outer": (1024, 2, 1024), "one row": (1, 4096, 512)}
data = folder / "data"
data.mkdir()
for name, (n, m, p) in shapes.items():
    with open(data / f"{name.replace(' ', '_')}.in", "wb") as f:
        subprocess.run(["minifut", "dataset", "-b", "-g", f"[{n}][{m}]f32", "-g", f"[{m}][{p}]f32"], stdout=f, check=True)

# %% [markdown]
# ## Compile and tune
# The tuner writes the thresholds beside the program, so the program is copied first.

# %%
source = folder / program.name
source.write_text(program.read_text())
subprocess.run(["minifut", "tune", "-q", "--only=thresholds", source, data], check=True)
tuning = {}
for line in Path(f"{source}.tuning").read_text().splitlines():
    name, equals, value = line.split("--")[0].partition("=")
    if equals:
        tuning[name.strip()] = int(value)

# %% [markdown]
# ## Measure
# One server runs each data set under four settings by turns; the best of ten runs counts. The first two are what a compiler does that
# makes one version: outermost parallelism only, or all there is.


# %%
def settings_of(server):
    names = [n for n in server.cmd_tuning_params("main") if "".join(server.cmd_tuning_param_class(n)).startswith("threshold(")]
    return {
        "outermost only": {n: 1 for n in names},
        "all parallel": {n: 1 << 62 for n in names},
        "untuned": {n: 0 for n in names},  # 0: the default
        "tuned": {n: tuning.get(n, 0) for n in names},
    }


def microseconds(server, n_inputs):
    for line in server.cmd_call("main", "out", *[f"in{i}" for i in range(n_inputs)]):
        if line.startswith("runtime: "):
            server.cmd_free("out")
            return int(line.split()[1])


def measure(server, file, turns=10):
    """Microseconds under each of the settings."""
    settings = settings_of(server)
    with open(file, "rb") as f:
        inputs = list(futhark_data.load(f))
    for i, value in enumerate(inputs):
        server.put_value(f"in{i}", value)
    times = {what: [] for what in settings}
    for turn in range(turns + 1):  # the first one builds kernels
        for what, values in settings.items():
            for name, value in values.items():
                server.cmd_set_tuning_param(name, str(value))
            us = microseconds(server, len(inputs))
            if turn:
                times[what].append(us)
    server.cmd_free(*[f"in{i}" for i in range(len(inputs))])
    return {what: min(us) for what, us in times.items()}


with Server(str(source.with_suffix("")), "--server") as server:
    times = {name: measure(server, data / f"{name.replace(' ', '_')}.in") for name in shapes}
for name, us in times.items():
    print(f"{name:10}", *[f"{what} {t} us, {t / us['tuned']:.2f}x" for what, t in us.items()], sep="   ")

# %% [markdown]
# ## Plot

# %%
colours = {"outermost only": "#cbd5e0", "all parallel": "#90a4b8", "untuned": "#63a4d8", "tuned": "#2b6cb0"}
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for k, (what, colour) in enumerate(colours.items()):
    at = [place + 0.2 * k - 0.3 for place in range(len(times))]
    left.bar(at, [us[what] / 1000 for us in times.values()], 0.19, label=what, color=colour)
    right.bar(at, [us[what] / us["tuned"] for us in times.values()], 0.19, color=colour)
left.set(title=f"{program.name}: time", ylabel="milliseconds", yscale="log")
right.set(title="... as a multiple of the tuned one", yscale="log")
right.axhline(1, color="#4a5568", linewidth=0.8)
left.legend(fontsize=8)
for axes in (left, right):
    axes.set_xticks(range(len(times)), [f"{name}\n{' x '.join(map(str, shape))}" for name, shape in shapes.items()], fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(picture, dpi=110)
print(f"written to {picture}")
