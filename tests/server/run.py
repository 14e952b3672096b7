"""Futhark's own Python clients drive generated servers. usage: run.py MINIFUT BUILD_FOLDER"""
import fcntl
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

try:
    import futhark_data
    from futhark_server import Failure, Server
except ImportError as e:
    print(f"skipped: {e}; it comes from PyPI")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
from checks import check, summary  # noqa: E402

NEVER, ALWAYS = 1 << 60, 1


def compiled(minifut, build, source):
    binary = build / "server" / Path(source).stem
    # As Futhark's clients expect it, the program is a server without being asked to.
    binary.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([minifut, "compile", "--server", "-o", str(binary), str(ROOT / source)], check=True)
    return str(binary)


def thresholds(s, entry):
    """{name: [(ancestor, outcome)]}"""
    res = {}
    for line in s.cmd_tuning_params(entry):
        name = line
        cls = s.cmd_tuning_param_class(name)
        cls = cls[0] if isinstance(cls, list) else cls
        if cls.startswith(name.split(".")[1] + "("):
            continue  # a size
        check(cls.startswith("threshold(") and cls.endswith(")"), f"{name}: class {cls}")
        path = cls[len("threshold("):-1].split(",", 1)[1].split()
        res[name] = [(p.lstrip("!"), not p.startswith("!")) for p in path]
    return res


def versions(params):
    yield "last", {name: NEVER for name in params}
    for name, path in params.items():
        s = {p: NEVER for p in params}
        s.update({a: ALWAYS if taken else NEVER for a, taken in path})
        s[name] = ALWAYS
        yield name, s


def run_versions(s, entry, inputs, n_thresholds, want):
    for i, v in enumerate(inputs):
        s.put_value(f"in{i}", v)
    params = thresholds(s, entry)
    check(len(params) == n_thresholds, f"{entry}: {len(params)} thresholds, not {n_thresholds}")
    for label, settings in versions(params):
        for name, value in settings.items():
            s.cmd_set_tuning_param(name, str(value))
        lines = s.cmd_call(entry, "out", *[f"in{i}" for i in range(len(inputs))])
        check(any(line.startswith("runtime:") for line in lines), f"{label}: run time")
        got = s.get_value("out")
        check(got.shape == want.shape and np.allclose(got, want, rtol=1e-4, atol=1e-5), f"{label}: result")
        s.cmd_free("out")


def test_matmul(binary):
    rng = np.random.default_rng(5)
    a, b = rng.random((17, 40), np.float32), rng.random((40, 9), np.float32)
    with Server(binary) as s:
        check(s.cmd_entry_points() == ["main"], "entry points")
        check(s.cmd_inputs("main") == ["[][]f32", "[][]f32"], "inputs")
        run_versions(s, "main", [a, b], 4, a @ b)
        s.put_value("bad", rng.random((3, 3), np.float32))
        try:
            s.cmd_call("main", "out", "in0", "bad")
            check(False, "sizes that do not agree")
        except Failure as e:
            check("main" in str(e), f"message about sizes: {e}")
        s.cmd_call("main", "out", "in0", "in1")  # still alive
        check(np.allclose(s.get_value("out"), a @ b, rtol=1e-4), "a call after a failure")
        test_sizes(s, a @ b)
        try:
            s.cmd_set_tuning_param("nobody", "1")
            check(False, "an unknown parameter")
        except Failure:
            check(True, "")


def test_sizes(s, want):
    """Sizes are parameters, which tell their values; those that the entry does not set are the general ones."""
    sizes = [p for p in s.cmd_tuning_params("main") if not p.startswith("main.suff")]
    check(sizes == ["main.group_size", "main.num_groups", "main.item_elems", "main.tile_groups"], f"sizes {sizes}")
    for name in sizes:
        before = s.cmd("tuning_param_value", name)
        s.cmd_set_tuning_param(name.replace("main.", "default_"), "3")
        check(s.cmd("tuning_param_value", name) == ["3"], f"{name}: the general size")
        s.cmd_set_tuning_param(name, "2")
        check(s.cmd("tuning_param_value", name) == ["2"], f"{name}: its own")
        s.cmd_free("out")
        s.cmd_call("main", "out", "in0", "in1")
        check(np.allclose(s.get_value("out"), want, rtol=1e-4), f"{name}: result")
        s.cmd_set_tuning_param(name, "0")
        s.cmd_set_tuning_param(name.replace("main.", "default_"), "0")
        check(s.cmd("tuning_param_value", name) == before, f"{name}: back again")


def test_example(binary, build):
    """examples/tune.py: a tuner of its own, whose file the program takes."""
    rng = np.random.default_rng(7)
    shapes, files = {"wide": (2, 3000, 2), "tall": (300, 4, 200)}, []
    for name, (n, m, p) in shapes.items():
        files.append(build / "server" / f"{name}.in")
        with open(files[-1], "wb") as f:
            for shape in ((n, m), (m, p)):
                futhark_data.dump(rng.random(shape, np.float32), f, binary=True)
    r = subprocess.run([sys.executable, str(ROOT / "examples/tune.py"), binary, "main", *map(str, files)],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    check(r.returncode == 0, f"examples/tune.py: {r.stderr[-500:]}")
    lines = r.stdout.splitlines()
    shaped = re.compile(r"main\.suff_(outer|intra)_par_[0-3]=[1-9]\d*|-- main\.suff\S+: no value suits all data sets")
    check(lines and all(shaped.fullmatch(line) for line in lines), f"examples/tune.py wrote {lines}")
    tuning = build / "server/example.tuning"
    tuning.write_text(r.stdout)
    a, b = rng.random((17, 40), np.float32), rng.random((40, 9), np.float32)
    with Server(binary, "--tuning", str(tuning)) as s:
        s.put_value("in0", a)
        s.put_value("in1", b)
        s.cmd_call("main", "out", "in0", "in1")
        check(np.allclose(s.get_value("out"), a @ b, rtol=1e-4), "a result under the example's tuning")


def test_digest(s):
    """Digests are the same for the same values only, the last bytes of uneven lengths among them."""
    def digest(*arrays):
        names = [f"digested{i}" for i in range(len(arrays))]
        for name, a in zip(names, arrays):
            s.put_value(name, a)
        lines = s.cmd("digest", *names)
        for name in names:
            s.cmd_free(name)
        return lines[0]

    xss = np.arange(3 * 13, dtype=np.int32).reshape(3, 13)
    first = digest(xss)
    check(re.fullmatch("[0-9a-f]{64}", first), f"digest {first}")
    check(digest(xss.copy()) == first, "equal values have another digest")
    others = [xss.reshape(13, 3), xss[:, :12].copy()]
    for at in [(0, 0), (1, 6), (2, 12)]:
        others.append(xss.copy())
        others[-1][at] += 1
    found = [digest(x) for x in others] + [digest(xss, xss), digest(others[-1], xss), digest(xss, others[-1])]
    check(len({first, *found}) == 1 + len(found), f"digests of different values: {found}")
    fails(s, "Unknown variable: nothing", "digest", "nothing")


def test_mapscan(binary):
    rng = np.random.default_rng(6)
    xss = rng.integers(-5, 5, (9, 33), np.int32)
    want = xss.copy()
    for _ in range(64):
        want = np.cumsum(want + np.arange(9, dtype=np.int32)[:, None], axis=1, dtype=np.int32)
    with Server(binary) as s:
        run_versions(s, "main", [xss], 3, want)
        s.cmd_free("in0")
        test_digest(s)
        test_time_limit(s, xss, want)


def test_parts(s):
    """A call tells how long the versions under each threshold took, which is no more than all of it."""
    fails(s, "time_parts is on or off", "time_parts", "maybe")
    names = [name for name in s.cmd_tuning_params("main") if re.search("suff_(outer|intra)", name)]
    s.cmd_set_tuning_param("main.suff_loop_0", str(ALWAYS))  # steps in one launch have no parts
    for part, value in [(0, ALWAYS), (len(names) - 1, NEVER)]:
        for name in names:
            s.cmd_set_tuning_param(name, str(value))
        s.cmd("time_parts", "on")
        lines = s.cmd_call("main", "timed", "xss")
        s.cmd("time_parts", "off")
        s.cmd_free("timed")
        parts = {w[1]: float(w[2]) for w in map(str.split, lines) if w[0] == "part:"}
        total = next(float(w[1]) for w in map(str.split, lines) if w[0] == "runtime:")
        check(set(parts) <= set(names), f"parts of {parts}")
        check(max(parts, key=parts.get) == names[part], f"the longest part of {parts}, {value}")
        check(0.5 * total <= sum(parts.values()) <= total + 1, f"{parts} in {total} us")
    for command, loop, why in [("on", NEVER, "parts of steps in one launch"), ("off", ALWAYS, "parts that nobody asked for")]:
        s.cmd_set_tuning_param("main.suff_loop_0", str(loop))
        s.cmd("time_parts", command)
        lines = s.cmd_call("main", "timed", "xss")
        check(not any(line.startswith("part:") for line in lines), f"{why}: {lines}")
        s.cmd_free("timed")


def test_time_limit(s, xss, want):
    """A call that takes too long fails, and what it was to work on is still there."""
    s.put_value("xss", xss)
    s.cmd("time_limit", "1")
    fails(s, "the time limit is 1e-06 s", "call", "main", "out", "xss")
    for words in (("time_limit", "soon"), ("time_limit", "-1")):
        fails(s, "A time limit is a number of microseconds", *words)
    s.cmd("time_limit", "600000000")
    s.cmd_call("main", "out", "xss")
    check(np.array_equal(s.get_value("out"), want), "a call within its time limit")
    s.cmd("time_limit", "0")
    s.cmd_call("main", "again", "xss")
    check(np.array_equal(s.get_value("again"), want), "a call without time limit")
    test_parts(s)
    check(len(s.cmd("device")[0].split(", ")) >= 4, "the device")


def test_endless_launch(binary):
    """A launch that goes on beyond the time limit ends the server, which says so. Building does not count."""
    with Server(binary) as s:
        for name, value in ("few", 10), ("more", 20), ("many", (1 << 31) - 1):
            s.put_value(name, np.int64(value))
        s.cmd_call("spin", "out", "few")
        s.cmd("time_limit", "100000")
        s.cmd_call("spin", "again", "more")
        fails(s, "in a launch that went on", "call", "spin", "never", "many")
        try:
            s.cmd_entry_points()
            check(False, "the server is still there")
        except Exception:  # of the client, or of the pipe
            check(True, "the server is gone")


def test_turns(binary, build):
    """A call waits for its turn, which does not count as its time, and gives it back; a CPU has no turns."""
    path = build / "server" / "turns"
    path.touch()
    with Server(binary) as s:
        fails(s, "with what it runs them on", "turns", str(path))
    os.environ["MINIFUT_CODE"] = "gpu"
    with Server(binary) as s, open(path) as turn:
        s.put_value("few", np.int64(10))
        fails(s, "No such file", "turns", str(path) + "-not")
        s.cmd("turns", str(path))
        fcntl.flock(turn, fcntl.LOCK_EX)
        others = threading.Timer(0.3, fcntl.flock, (turn, fcntl.LOCK_UN))
        others.start()
        start = time.monotonic()
        lines = s.cmd_call("spin", "out", "few")
        took = time.monotonic() - start
        us = [int(line.split()[1]) for line in lines if line.startswith("runtime:")]
        check(took >= 0.3 and us and us[0] <= 1e6 * (took - 0.25), f"waiting for a turn: {took} s, {lines}")
        fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        s.cmd("turns")
        s.cmd_call("spin", "more", "few")  # though others have the turn
        check(np.array_equal(s.get_value("out"), s.get_value("more")), "with and without turns")
    del os.environ["MINIFUT_CODE"]


def test_records(binary):
    xs = np.array([3, 1, 2, 6], np.float32)
    with Server(binary) as s:
        check(set(s.cmd_entry_points()) == {"describe", "rescale", "weigh", "points", "spin"}, "entry points")
        s.put_value("xs", xs)
        s.cmd_call("describe", "res", "xs")
        result = s.cmd_output("describe")[0].lstrip("*")
        fields = [line.split(" ", 1) for line in s.cmd_fields(f'"{result}"')]  # the name has spaces
        check(len(fields) == 2, f"fields of the result: {fields}")
        for name, _ in fields:
            s.cmd_project("part" + name, "res", name)
        for field, want in (("least", 1), ("most", 6), ("mean", 3)):
            s.cmd_project("v", "part" + fields[0][0], field)
            check(s.get_value("v") == np.float32(want), f"field {field}")
            s.cmd_free("v")
        check(np.allclose(s.get_value("part" + fields[1][0]), xs - 3), "the array of the tuple")
        s.cmd("copy", "ys", "xs")
        s.cmd("copy", "record", "part" + fields[0][0])
        s.cmd_call("rescale", "out", "part" + fields[0][0], "xs")
        check(np.allclose(s.get_value("out"), [0, 0, 0.2, 1]), "a record as argument")
        try:
            s.get_value("xs")
            check(False, "a consumed argument can still be read")
        except Failure:
            check(True, "")
        check(np.array_equal(s.get_value("ys"), xs), "a copy of what was consumed")
        s.cmd_call("rescale", "out2", "record", "ys")
        check(np.allclose(s.get_value("out2"), [0, 0, 0.2, 1]), "copies as arguments")
        fails(s, "Variable was consumed: ys", "copy", "zs", "ys")
        fails(s, "Variable already exists: out", "copy", "out", "out2")


def fails(s, want, *words):
    try:
        s.cmd(*words)
        check(False, f"{words}: no failure")
    except Failure as e:
        check(want in str(e), f"{words}: {e}")


def test_arrays_of_records(binary):
    with Server(binary) as s:
        points, none = s.cmd_inputs("weigh")
        check(s.cmd("kind", f'"{points}"') == ["opaque"] and none == "()", f"types: {points}, {none}")
        s.cmd("new", "none", '"()"')
        for name, value in (("x0", np.float32(1.5)), ("x1", np.float32(2)), ("w0", np.int32(4)), ("w1", np.int32(3))):
            s.put_value(name, value)
        fields = dict(line.split(" ", 1) for line in s.cmd_fields(f'"{points}"'))
        check(fields == {"x": "[]f32", "w": "[]i32"}, f"fields: {fields}")
        order = [line.split(" ", 1)[0] for line in s.cmd_fields(f'"{points}"')]
        s.cmd("new_array", "x", "[]f32", "2", "x0", "x1")
        s.cmd("new_array", "w", "[]i32", "2", "w0", "w1")
        s.cmd("new_array", "e", "[]i32", "0")
        check(list(s.get_value("x")) == [1.5, 2] and s.get_value("e").shape == (0,), "new_array")
        s.cmd("zip", "ps", f'"{points}"', *order)
        s.cmd_call("weigh", "sum", "ps", "none")
        check(s.get_value("sum") == 12, "the sum")
        s.cmd("set", "x", "x1", "0")  # what was zipped keeps its elements
        check(list(s.get_value("x")) == [2, 2], "set")
        s.cmd_call("weigh", "again", "ps", "none")
        check(s.get_value("again") == 12, "the sum after set")
        s.cmd_call("points", "qs", "x")
        s.cmd("unzip", "qs", *("q" + f for f in order))
        check(list(s.get_value("qx")) == [2, 2] and list(s.get_value("qw")) == [0, 1], "unzip")
        fails(s, "2 elements", "zip", "bad", f'"{points}"', *("e" if f == "w" else f for f in order))
        fails(s, "3 values", "new_array", "bad", "[]f32", "2", "x0", "x1", "x0")
        fails(s, "Not of type f32: w0", "new_array", "bad", "[]f32", "1", "w0")
        fails(s, "Not a size", "new_array", "bad", "[]f32", "-1")
        fails(s, "0 values", "new_array", "bad", "[]f32", "9223372036854775807")
        fails(s, "Not an array type", "new_array", "bad", "f32", "x0")
        fails(s, "out of bounds", "set", "x", "x1", "2")
        fails(s, "Not of type f32", "set", "x", "w0", "0")
        fails(s, "already exists", "unzip", "qs", "u", "u")
        fails(s, "2 fields", "unzip", "qs", "u")
        fails(s, "Not an array of records", "unzip", "x", "u")
        fails(s, "Not a sum type", "variants", "f32")
        fails(s, "Empty line", "")


def test_notebook(minifut, build):
    """examples/python/speedups.py: rows for all its data sets, and a picture that is not blank."""
    try:
        import matplotlib.image
    except ImportError:
        print("not run: examples/python/speedups.py needs matplotlib")
        return
    picture = build / "server/speedups.png"
    picture.unlink(missing_ok=True)
    path = f"{Path(minifut).parent}:{os.environ['PATH']}"
    r = subprocess.run([sys.executable, ROOT / "examples/python/speedups.py", picture], capture_output=True, text=True,
                       env={**os.environ, "PATH": path})
    check(r.returncode == 0, f"speedups.py: {r.stderr[-800:]}")
    rows = re.findall(r"(?m)^.{10} {3}(?:(?:outermost only|all parallel|untuned) \d+ us, [\d.]+x {3}){3}tuned \d+ us, 1\.00x$", r.stdout)
    check(len(rows) == 4, f"speedups.py prints {r.stdout}")
    pixels = matplotlib.image.imread(picture) if picture.exists() else np.zeros((1, 1, 3))
    check(pixels.shape[0] > 300 and pixels[..., :3].std() > 0.05, f"speedups.py draws {pixels.shape}, {pixels.std()}")


def main():
    minifut, build = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    matmul = compiled(minifut, build, "examples/matmul.sf")
    test_matmul(matmul)
    test_example(matmul, build)
    test_mapscan(compiled(minifut, build, "examples/mapscan.sf"))
    stats = compiled(minifut, build, "tests/server/stats.sf")
    test_records(stats)
    test_arrays_of_records(stats)
    test_endless_launch(stats)
    test_turns(stats, build)
    test_notebook(minifut, build)
    sys.exit(summary())


if __name__ == "__main__":
    main()
