"""Futhark's own Python clients drive generated servers. usage: run.py MINIFUT BUILD_FOLDER"""
import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
from checks import check, need_modules, need_opencl, summary  # noqa: E402

need_modules("numpy", "futhark_data", "futhark_server", n=60)
import futhark_data  # noqa: E402
import numpy as np  # noqa: E402
from futhark_server import Failure, Server  # noqa: E402

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
        if cls.startswith((name.split(".")[1] + "(", "choice(")):
            continue  # a size, what a maker chooses
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
        test_choices(s, a @ b)
        try:
            s.cmd_set_tuning_param("nobody", "1")
            check(False, "an unknown parameter")
        except Failure:
            check(True, "")


def test_sizes(s, want):
    """Sizes are parameters, which tell their values; those that the entry does not set are the general ones."""
    sizes = [p for p in s.cmd_tuning_params("main") if not p.startswith(("main.suff", "main.choice"))]
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


def test_choices(s, want):
    """What makers choose is a parameter, too: kernels that are taken where they can run, and that are not."""
    choices = [p for p in s.cmd_tuning_params("main") if p.startswith("main.choice_")]
    check(len(choices) > 3 and all(s.cmd("tuning_param_class", p)[0].startswith("choice(") for p in choices), f"choices {choices}")
    for value in ("1", str(1 << 62), "0"):
        for name in choices:
            s.cmd_set_tuning_param(name, value)
        s.cmd_free("out")
        s.cmd_call("main", "out", "in0", "in1")
        check(np.allclose(s.get_value("out"), want, rtol=1e-4), f"choices {value}: result")


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
    # What the server does not read any more, the client may find when it closes the pipe only.
    with contextlib.suppress(BrokenPipeError), Server(binary) as s:
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
    """A call waits for its turn, which does not count as its time, and gives it back; a CPU that builds kernels has no turns."""
    path = build / "server" / "turns"
    path.touch()
    before = dict(os.environ)
    os.environ["MINIFUT_DRIVER"] = "native"
    takes_turns(binary, path)
    if need_opencl():
        os.environ["MINIFUT_DRIVER"] = "opencl"
        with Server(binary) as s:
            fails(s, "with what it runs them on", "turns", str(path))
        os.environ["MINIFUT_CODE"] = "gpu"
        takes_turns(binary, path)
    for name in ("MINIFUT_DRIVER", "MINIFUT_CODE"):
        os.environ.pop(name, None)
    os.environ.update(before)


def takes_turns(binary, path):
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


def test_records(binary):
    xs = np.array([3, 1, 2, 6], np.float32)
    with Server(binary) as s:
        check(set(s.cmd_entry_points()) == {"describe", "rescale", "weigh", "points", "spin", "weight"}, "entry points")
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


def test_named_fields(binary):
    """A field of an array of a declared type is an array of the type that the declaration says."""
    with Server(binary) as s:
        def fields(t):
            return sorted(line.split(" ", 1) for line in s.cmd_fields(f'"{t}"'))
        check(fields("body") == [["mark", "old: | new:"], ["pos", "v3"], ["vel", "v3"]], f"fields: {fields('body')}")
        check(fields("[]body") == [["mark", "[]old: | new:"], ["pos", "[]v3"], ["vel", "[]v3"]], f"fields: {fields('[]body')}")
        s.put_value("n", np.int64(3))
        s.cmd_call("bodies", "bs", "n")
        s.cmd_project("ps", "bs", "pos")
        s.cmd("project", "m", "bs", "mark")
        s.cmd_call("middle", "p", "ps")
        s.cmd("index", "mark", "m", "0")
        s.cmd("new", "b", "body", "mark", "p", "p")  # of parts of an array
        s.cmd_call("first", "q", "b")
        s.cmd_project("x", "q", "0")
        check(s.get_value("x") == 1, "a part of an element of an array's field")
        s.put_value("k", np.int32(6))
        s.cmd_call("half", "h", "k")
        s.cmd_call("double", "d", "h")
        check(s.get_value("d") == 6, "a sum with its constructors in another order")
        check(s.cmd("tuning_params", "block") == ["block"] and s.cmd("tuning_param_class", "block") == ["user"], "its parameter")
        for value, want in (("7", 7), ("0", 3)):
            s.cmd("set_tuning_param", "block", value)
            s.cmd_call("block", "got", "n")
            check(s.get_value("got") == want, f"block={value}")
            s.cmd_free("got")


def test_arrays_of_records(binary):
    with Server(binary) as s:
        points, none = s.cmd_inputs("weigh")
        check(s.cmd("kind", f'"{points}"') == ["array"] and none == "()", f"types: {points}, {none}")
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
        fails(s, "arrays of size", "zip", "bad", f'"{points}"', *("e" if f == "w" else f for f in order))
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
        fails(s, "arrays of size", "new", "bad", f'"{points}"', *("e" if f == "w" else f for f in order))
        fails(s, "Not a sum type", "variants", "f32")
        check(s.cmd("elemtype", f'"{points}"') == ["point"] and s.cmd("rank", f'"{points}"') == ["1"], "elements")
        check(s.cmd("shape", "ps") == ["2"], "shape")
        s.cmd("index", "p1", "ps", "1")
        s.cmd("project", "p1x", "p1", "x")
        check(s.get_value("p1x") == 2, "an element of an array of records")
        s.cmd("new_array", "three", f'"{points}"', "3", "p1", "p1", "p1")
        s.cmd_call("weigh", "again3", "three", "none")
        check(s.get_value("again3") == 18, "an array of records made of its elements")
        fails(s, "Empty line", "")


def construct(s):
    """Shapes by name: #circle, #empty, #line, #mark #small."""
    for name, value in (("x", np.float32(1)), ("y", np.float32(2)), ("r", np.float32(3)), ("label", np.int32(7))):
        s.put_value(name, value)
    s.cmd("new", "p", "point", "x", "y")
    s.cmd("new", "segment", "segment", "p", "label", "p")
    s.cmd("construct", "small", '"small: | large:i8"', "small")
    for variant, words in (("circle", ["p", "r"]), ("empty", []), ("line", ["segment"]), ("mark", ["small"])):
        s.cmd("construct", variant, "shape", variant, *words)


def test_sums(binary):
    with Server(binary) as s:
        check(s.cmd("variants", "shape") == ["circle", "- point", "- f32", "empty", "line", "- segment", "mark",
                                             "- small: | large:i8"], f"variants: {s.cmd('variants', 'shape')}")
        check([s.cmd("kind", t) for t in ("shape", "[]shape", "counter.t", "path", "two.t")] ==
              [["sum"], ["array"], ["sum"], ["sum"], ["record"]], "kinds")
        construct(s)
        check([s.cmd("variant", v) for v in ("circle", "empty", "mark")] == [["circle"], ["empty"], ["mark"]], "variant")
        s.cmd_call("grow", "grown", "r", "line")
        s.cmd("destruct", "grown", "grown_segment")
        check(s.cmd("type", "grown_segment") == ["segment"], "what a variant holds")
        s.cmd_project("to", "grown_segment", "to")
        s.cmd_project("to_y", "to", "y")
        check(s.get_value("to_y") == 6, "grow")
        s.put_value("steps", np.array([1, 2, 4], np.int32))
        s.put_value("yes", np.bool_(True))
        s.cmd("construct", "walk", "path", "steps", "steps", "yes")
        s.cmd_call("steps", "n", "sum", "walk")
        check((s.get_value("n"), s.get_value("sum")) == (3, 7), "an array in a sum")
        fails(s, "Not of type point: x", "construct", "bad", "shape", "circle", "x", "r")
        fails(s, "circle holds 2 values: got 1", "construct", "bad", "shape", "circle", "p")
        fails(s, "shape has no variant square", "construct", "bad", "shape", "square")
        fails(s, "Not a sum type: point", "construct", "bad", "point", "x")
        fails(s, "circle is circle, which holds 2 values: got 1 names", "destruct", "circle", "bad")
        fails(s, "already exists", "destruct", "circle", "x", "bad")
        fails(s, "Not a sum: p", "variant", "p")
        fails(s, "Not a record type: shape", "fields", "shape")
        fails(s, "Not a record type: []shape", "fields", "[]shape")


def test_arrays_of_sums(binary):
    with Server(binary) as s:
        construct(s)
        s.cmd("new_array", "all", "[]shape", "4", "circle", "empty", "line", "mark")
        check(s.cmd("shape", "all") == ["4"] and s.cmd("elemtype", "[]shape") == ["shape"], "shape and elemtype")
        s.cmd_call("grow_all", "grown", "r", "all")
        s.cmd("index", "first", "grown", "0")
        s.cmd("destruct", "first", "at", "radius")
        check(s.get_value("radius") == 9, "an element of the result")
        s.cmd("set", "grown", "empty", "0")
        s.cmd("index", "now", "grown", "0")
        check(s.cmd("variant", "now") == ["empty"], "set")
        s.cmd("index", "before", "all", "0")
        check(s.cmd("variant", "before") == ["circle"], "what was not set")
        fails(s, "Not of type shape: p", "set", "grown", "p", "0")
        fails(s, "out of bounds", "index", "bad", "grown", "4")
        fails(s, "Not an array of records", "zip", "bad", "[]shape", "p")


def test_stored_sizes(binary, build):
    """Arrays of records inside of records: data whose parts have other sizes do not become one."""
    path = str(build / "server/stored")

    def array(name, values):
        return b"b\2" + bytes([values.ndim]) + name.rjust(4) + np.array(values.shape, np.int64).tobytes() + values.tobytes()

    with Server(binary) as s:
        cloud = s.cmd_inputs("weight")[0]
        for n, name in ((2, "good"), (1, "bad")):
            parts = {"label": array(b"i32", np.array(7, np.int32)),
                     "points": array(b"i32", np.arange(n, dtype=np.int32)) + array(b"f32", np.array([1.5, 2], np.float32))}
            with open(path, "wb") as f:
                f.write(b"".join(parts[k] for k in sorted(parts)))
            if n == 2:
                s.cmd_restore(path, (name, f'"{cloud}"'))
                s.cmd_call("weight", "sum", name)
                check(s.get_value("sum") == 9, "a record of arrays of records that was stored")
            else:
                fails(s, "arrays of size 1 and 2", "restore", path, name, f'"{cloud}"')


def test_stored(binary, build):
    """Opaque values of all kinds come back as they were stored; other data does not become one."""
    path = str(build / "server/stored")

    def again(name, type_name):
        before = s.get_value_bytes(name)
        s.cmd_store(path, name)
        s.cmd_restore(path, (name + "_again", f'"{type_name}"'))
        check(s.get_value_bytes(name + "_again") == before, f"{type_name} stored and restored")
        return before

    def refused(data, type_name, why):
        with open(path, "wb") as f:
            f.write(data)
        fails(s, f"Failed to restore variable bad: {why}", "restore", path, "bad", f'"{type_name}"')

    with Server(binary) as s:
        construct(s)
        s.put_value("is", np.array([3, -1, 4], np.int32))
        s.cmd_call("count", "cs", "is")
        s.cmd("index", "c", "cs", "0")
        s.cmd("new", "two", "two.t", *counters_of_two(s))
        s.cmd("new_array", "all", "[]shape", "2", "mark", "circle")
        circle, counters = again("circle", "shape"), again("cs", "[]counter.t")
        arrays = again("all", "[]shape")
        for name, type_name in (("mark", "shape"), ("c", "counter.t"), ("two", "two.t"), ("small", "small: | large:i8")):
            again(name, type_name)
        s.cmd_call("total", "sum", "cs_again")
        check(s.get_value("sum") == 7, "an abstract value that was stored")
        refused(counters, "[]shape", f"{path}: byte")
        refused(circle, "counter.t", f"{path}: byte")
        refused(circle, "[]shape", f"{path}: byte")
        refused(circle[:-1], "shape", f"{path}: byte")
        refused(circle[:7] + b"\4" + circle[8:], "shape", "shape: a number is that of no variant")
        refused(circle[:7] + b"\xff" + circle[8:], "shape", "shape: a number is that of no variant")
        refused(arrays[:16] + b"\5" + arrays[17:], "[]shape", "shape: a number is that of no variant")
        one = arrays.index(b"b\2\1", 1)  # the second component, of one element instead of two
        refused(arrays[:7] + b"\1" + bytes(7) + arrays[15:16] + arrays[one:], "[]shape", "[]shape: arrays of size 1 and 2")


def counters_of_two(s):
    """Fields of two.t, whose types have no name but their structure."""
    s.cmd("new", "unit", '"()"')
    s.cmd("construct", "never", '"#counted i32 () | #never ()"', "never", "unit")
    s.put_value("k", np.int32(5))
    s.cmd("construct", "counted", '"#counted i32 () | #never ()"', "counted", "k", "unit")
    return ["never", "counted"]


def inspections(s):
    """How often it was found how long rows are, and where shares begin."""
    events = json.loads(s.cmd("report")[0])["events"]
    return [sum(e["runs"] for e in events if re.match(kind, e["name"])) for kind in (r"segred_(arriving_)?(sums|twice)_\d", "row_tiles")]


def sums_of(offs, values):
    return [sum(values[a:b]) for a, b in zip(offs, offs[1:])]


def test_kept(binary, kept, teams):
    """What was found of an argument is not found again before it is another one, or after a failure."""
    with Server(binary, "-P") as s:
        s.cmd_set_tuning_param("sums.suff_outer_par_0", str(NEVER))
        count = 0

        def sums(name, offs, more):
            nonlocal count
            s.cmd_call("sums", "r", name, "values")
            count += more if kept else 1
            got = list(s.get_value("r"))
            s.cmd_free("r")
            check(got == sums_of(offs, values), f"{got} of {offs}")
            check(inspections(s) == [count, count if teams else 0], f"{inspections(s)} inspections, not {count}")

        values = [float(i % 7) for i in range(1000)]
        some, other = [0, 20, 20, 500, 1000], [0, 999, 1000]
        s.put_value("values", np.array(values, np.float32))
        for name, offs in (("some", some), ("other", other)):
            s.put_value(name, np.array(offs, np.int64))
        for k in range(3):
            sums("some", some, k == 0)
        for k in range(3):
            sums("other", other, k == 0)
        sums("some", some, 0)
        s.put_value("at", np.int64(1))
        s.put_value("end", np.int64(10))
        s.cmd_call("moved", "changed", "some", "at", "end")
        some[1] = 10
        sums("changed", some, 1)
        sums("changed", some, 0)
        s.cmd("set", "changed", "end", "2")
        some[2] = 10
        sums("changed", some, 1)
        s.cmd_call("twice", "a", "b", "changed", "values", "at", "at")
        check([list(s.get_value(x)) for x in "ab"] == [sums_of(some, values), sums_of([0, 1, *some[2:]], values)], "changed in between")
        count += 2
        check(inspections(s)[0] == count, f"{inspections(s)[0]} inspections, not {count}: of an argument that the entry changes")
        s.put_value("wrong", np.array([0, 5, 2000], np.int64))
        for _ in range(2):
            fails(s, "out of bounds", "call", "sums", "never", "wrong", "values")
        count = inspections(s)[0]
        sums("other", other, 1)
        sums("other", other, 0)


def test_kept_everywhere(minifut, build):
    binary = compiled(minifut, build, "tests/server/kept.sf")
    before = dict(os.environ)
    for driver in ("native", "opencl") if need_opencl() else ("native",):
        for kept in "01":
            os.environ.update({"MINIFUT_DRIVER": driver, "MINIFUT_CODE": "gpu" if driver == "opencl" else "", "MINIFUT_KEPT": kept})
            test_kept(binary, kept == "1", driver == "opencl")
    for name in ("MINIFUT_DRIVER", "MINIFUT_CODE", "MINIFUT_KEPT"):
        os.environ.pop(name, None)
        if name in before:
            os.environ[name] = before[name]


def test_many_variants(minifut, build):
    """As many variants as there may be."""
    source, n = build / "server/many.sf", 256
    cases = " ".join(f"case #v{i:03} y -> y + {i}" for i in range(n))
    source.write_text(f"type many = {' | '.join(f'#v{i:03} i32' for i in range(n))}\n"
                      f"entry number (m: many) : i32 = match m {cases}\n"
                      "entry last (x: i32) : many = if x < 0 then #v043 x else #v255 x\n")
    with Server(compiled(minifut, build, str(source))) as s:
        s.put_value("x", np.int32(7))
        s.cmd_call("last", "m", "x")
        s.cmd("construct", "built", "many", "v250", "x")
        for name, variant, want in (("m", "v255", 262), ("built", "v250", 257)):
            s.put_value_bytes(s.get_value_bytes(name), (name + "_back", "many"))
            check(s.cmd("variant", name + "_back") == [variant], f"{name} is {variant}")
            s.cmd_call("number", name + "_number", name + "_back")
            check(s.get_value(name + "_number") == want, f"the number of {variant}")


def test_command(minifut, build):
    """On the command line a sum is not read, and of a result that is one the type is printed; the interpreter shows it."""
    binary = str(build / "server/opaque-command")
    source = str(ROOT / "tests/library/opaque.sf")
    subprocess.run([minifut, "compile", "-o", binary, source], check=True)
    for command in ([binary, "-e"], [minifut, "run", "-e"]):
        def run(entry, given):
            words = [*command, entry] + ([source] if command[0] == minifut else [])
            r = subprocess.run(words, input=given, capture_output=True, text=True)
            return r.returncode, r.stdout, r.stderr
        shown = "[#counted 1i32 (), #counted 2i32 ()]" if command[0] == minifut else "#<opaque []counter.t>"
        check(run("count", "[1, 2]") == (0, shown + "\n", ""), f"count: {run('count', '[1, 2]')}")
        code, out, err = run("grow", "1f32 2i8")
        check(code == 1 and not out and "argument 2 (s: shape) cannot be read: it is or holds a sum" in err, f"grow: {err}")
        check(run("from_both", "1f32 2f32 3") == (0, "1.0f32\n2.0f32\n3i32\n", ""), f"from_both: {run('from_both', '1f32 2f32 3')}")


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
    test_stored_sizes(stats, build)
    test_endless_launch(stats)
    test_turns(stats, build)
    opaque = compiled(minifut, build, "tests/library/opaque.sf")
    test_named_fields(compiled(minifut, build, "tests/library/names.sf"))
    test_sums(opaque)
    test_arrays_of_sums(opaque)
    test_stored(opaque, build)
    test_kept_everywhere(minifut, build)
    test_many_variants(minifut, build)
    test_command(minifut, build)
    test_notebook(minifut, build)
    sys.exit(summary())


if __name__ == "__main__":
    main()
