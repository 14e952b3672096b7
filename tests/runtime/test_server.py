"""Drives the demo server with the futhark-server and futhark-data packages.
Usage: test_server.py PROGRAM TMPDIR"""
import json
import sys

import futhark_data
import numpy as np
from futhark_server import Failure, Server

passed = failed = 0


def check(ok, what):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print("FAIL server:", what)


def fails(what, want, f, *args):
    try:
        f(*args)
        check(False, what + ": no failure")
    except Failure as e:
        check(want in str(e), "%s: %s" % (what, e))


def test_facts(s):
    check(s.cmd_entry_points() == ["main", "bump", "turn", "same", "unit", "swap"], "entry_points")
    check(s.cmd_types() == ["i32", "i64", "[]i32", "stats", "[]f32", "[][]f64", "()"], "types")
    check(s.cmd_inputs("main") == ["[]i32", "i32"], "inputs")
    check(s.cmd_inputs("bump") == ["*[]f32"], "consumed inputs")
    check(s.cmd_output("main") == ["*([]i32, stats)"], "output of several results")
    check(s.cmd_output("turn") == ["*[][]f64"], "output")
    check(s.cmd("outputs", "main") == ["*[]i32", "*stats"], "outputs")
    check(s.cmd("attributes", "main") == ["demo"], "attributes")
    check([s.cmd("kind", t)[0] for t in ("i32", "[]i32", "stats", "\"([]i32, stats)\"")]
          == ["primitive", "array", "record", "record"], "kind")
    check(s.cmd("rank", "[][]f64") == ["2"] and s.cmd("elemtype", "[][]f64") == ["f64"], "rank")
    check(s.cmd_fields("stats") == ["lo i32", "total i64"], "fields")
    check(s.cmd_fields("\"([]i32, stats)\"") == ["0 []i32", "1 stats"], "fields of a tuple")
    check(s.cmd_tuning_params("main") ==
          ["main.suff_outer_par_0", "main.suff_intra_par_1"], "tuning_params")
    check(s.cmd_tuning_param_class("main.suff_outer_par_0") == "threshold(def, )", "class")
    fails("an unknown entry", "Unknown entry point: nobody", s.cmd_inputs, "nobody")
    fails("an unknown type", "Unknown type: nobody", s.cmd_fields, "nobody")
    fails("an unknown command", "Unknown command: dance", s.cmd, "dance")
    fails("too few words", "needs at least", s.cmd, "rename", "x")


def test_call(s):
    s.put_value("xs", np.array([3, 1, 2], dtype=np.int32))
    s.put_value("k", np.int32(5))
    out = s.cmd_call("main", "r", "xs", "k")
    check(any(l.startswith("runtime: ") for l in out), "runtime")
    check("Compared main.suff_outer_par_0 <= 3: false." in out, "the log of a call: %s" % out)
    ys, lo, total = s.get_value("r")
    check(list(ys) == [15, 5, 10] and lo == 5 and total == 30, "results of main")
    check(s.cmd("type", "r") == ["([]i32, stats)"], "type of a tuple")
    s.cmd_project("st", "r", "1")
    s.cmd_project("lo", "st", "lo")
    check(s.get_value("lo") == 5, "project")
    s.put_value("t", np.int64(77))
    s.cmd("new", "st2", "stats", "lo", "t")
    check(s.get_value("st2") == (5, 77), "new")
    s.cmd("call", "main", "ys2", "st3", "xs", "k")
    check(list(s.get_value("ys2")) == [15, 5, 10], "a variable for each result")
    check(s.cmd("shape", "ys2") == ["3"], "shape")
    s.cmd("index", "y1", "ys2", "1")
    check(s.get_value("y1") == 5, "index")
    fails("index out of bounds", "out of bounds", s.cmd, "index", "y9", "ys2", "3")
    fails("an existing variable", "Variable already exists: r", s.cmd_call, "main", "r", "xs", "k")
    fails("an unknown variable", "Unknown variable: zs", s.cmd_call, "main", "q", "zs", "k")
    fails("a wrong type", "expected []i32, got i32", s.cmd_call, "main", "q", "k", "k")
    fails("a result twice", "Variable already exists: q", s.cmd, "call", "main", "q", "q", "xs", "k")
    fails("too many words", "takes 2 arguments", s.cmd_call, "main", "a", "b", "c", "xs", "k", "k")
    s.cmd_rename("r", "r2")
    s.cmd_free("r2", "ys2")
    fails("a freed variable", "Unknown variable: r2", s.cmd_store, "/dev/null", "r2")
    s.put_value("empty", np.zeros((0,), dtype=np.int32))
    s.cmd_call("main", "re", "empty", "k")
    check(s.get_value("re")[0].shape == (0,), "an empty array")


def test_failures(s):
    s.put_value("k13", np.int32(13))
    fails("a failure in a kernel", "Error: Index [5] out of bounds for array of shape [3].\ndemo.sf:3:9:\n",
          s.cmd_call, "main", "bad", "xs", "k13")
    s.put_value("k14", np.int32(14))
    fails("a failure on the host", "Error: k cannot be 14\ndemo.sf:2:1:", s.cmd_call, "main", "bad", "xs",
          "k14")
    s.cmd_call("main", "good", "xs", "k")
    check(list(s.get_value("good")[0]) == [15, 5, 10], "a call after failures")
    s.put_value("two", np.array([1, 2], dtype=np.int32))
    fails("sizes", "argument 2: expected an array of shape [3], got [2]", s.cmd_call, "same", "n",
          "xs", "two")


def test_consumption(s):
    s.put_value("fs", np.array([1.5, 2.5], dtype=np.float32))
    s.cmd_call("bump", "gs", "fs")
    check(list(s.get_value("gs")) == [2.5, 3.5], "bump")
    fails("a consumed variable", "Variable was consumed: fs", s.cmd_call, "bump", "hs", "fs")
    s.cmd_free("fs")


def test_units(s):
    check(s.cmd_inputs("unit") == ["i32", "()"] and s.cmd("outputs", "unit") == ["*()", "*i32"], "types of unit")
    check(s.cmd("kind", "()") == ["record"] and s.cmd_fields("()") == [], "the type ()")
    s.cmd("new", "u", "()")
    s.put_value("n", np.int32(4))
    s.cmd("call", "unit", "v", "m1", "n", "u")
    check(s.get_value("m1") == 5 and s.cmd("type", "v") == ["()"], "a call with ()")
    s.cmd("call", "unit", "w", "m5", "n", "v")
    fails("an unknown field", "No such field", s.cmd_project, "z", "v", "0")
    s.cmd_free("u", "v", "w", "n", "m1", "m5")


def test_aliases(s):
    for name in ("p", "q"):
        s.put_value(name, np.array([1, 2], dtype=np.float32))
    fails("one variable consumed twice", "Argument 1 of swap is consumed: p cannot be argument 2, too",
          s.cmd, "call", "swap", "a", "b", "p", "p")
    s.cmd("call", "swap", "a", "b", "p", "q")
    fails("a consumed variable", "Variable was consumed: p", s.cmd, "call", "swap", "c", "d", "p", "q")
    s.cmd_free("p", "q", "a", "b")


def test_files(s, tmp):
    m = np.arange(6, dtype=np.float64).reshape(2, 3)
    with open(tmp + "/a b.txt", "w") as f:
        f.write("-- a comment\n[[0, 1, 2], [3, 4, 5]]\n")
    s.cmd("restore", "\"" + tmp + "/a b.txt\"", "a", "[][]f64")
    s.cmd_call("turn", "b", "a")
    check((s.get_value("b") == m.T).all(), "turn")
    with open(tmp + "/two", "wb") as f:
        f.write(futhark_data.dumpb(m))
        f.write(futhark_data.dumpb(np.int32(7)))
    s.cmd_restore(tmp + "/two", ("m", "[][]f64"), ("seven", "i32"))
    check(s.get_value("seven") == 7, "two values in a file")
    fails("data left over", "data after the 1 expected values", s.cmd_restore, tmp + "/two",
          ("m2", "[][]f64"))
    fails("a wrong element type", "expected []i32, got a binary [][]f64", s.cmd_restore,
          tmp + "/two", ("m3", "[]i32"))
    fails("a missing file", "cannot read", s.cmd_restore, tmp + "/none", ("m4", "i32"))
    fails("an unwritable file", "cannot write", s.cmd_store, tmp + "/none/x", "m")
    fails("a full disk", "cannot write /dev/full: No space left", s.cmd_store, "/dev/full", "m")
    fails("a full disk, little", "cannot write /dev/full: No space left", s.cmd_store, "/dev/full", "seven")


def test_tuning(s):
    s.cmd_set_tuning_param("main.suff_outer_par_0", "3")
    out = s.cmd_call("main", "t1", "xs", "k")
    check("Compared main.suff_outer_par_0 <= 3: true." in out, "a threshold takes effect at once")
    report = json.loads("\n".join(s.cmd_report()))
    check(report["comparisons"] == [{"name": "main.suff_outer_par_0", "value": 3, "threshold": 3,
                                     "result": True, "count": 1}], "comparisons in the report")
    s.cmd_set_tuning_param("main.suff_outer_par_0", "100")
    s.cmd_set_tuning_param("main.suff_intra_par_1", "1")
    out = s.cmd_call("main", "t2", "xs", "k")
    check("Compared main.suff_intra_par_1 <= 3: true." in out, "the local version")
    s.cmd_set_tuning_param("default_shared_memory", "64")
    out = s.cmd_call("main", "t3", "xs", "k")
    check(any(l.startswith("Refused scale_local: needs ") and
              l.endswith("the device offers 64.") for l in out), "refused: %s" % out)
    out = s.cmd_call("main", "t4", "xs", "k")
    check(not any(l.startswith("Refused") for l in out), "refused is said once")
    check(list(s.get_value("t4")[0]) == [15, 5, 10], "the next version gives the results")
    fails("an unknown parameter", "unknown tuning parameter: x", s.cmd_set_tuning_param, "x", "1")
    fails("a value that is none", "needs an integer", s.cmd_set_tuning_param,
          "main.suff_outer_par_0", "many")
    for value in ("9223372036854775808", "-9223372036854775809", "99999999999999999999"):
        fails("a value out of range", "out of range: " + value, s.cmd_set_tuning_param,
              "main.suff_outer_par_0", value)
    fails("a negative value", "cannot be negative", s.cmd_set_tuning_param, "main.suff_outer_par_0", "-1")


def test_profile(s):
    names = [e["name"] for e in json.loads(s.cmd_report()[0])["events"]]
    check("scale" in names and "stats" in names, "kernels in the profile")
    s.cmd_clear()
    check(json.loads(s.cmd_report()[0])["events"] == [], "clear")
    s.cmd_pause_profiling()
    s.put_value("k", np.int32(5))
    check(json.loads(s.cmd_report()[0])["events"] == [], "pause_profiling")
    s.cmd_unpause_profiling()
    s.put_value("xs", np.array([3, 1, 2], dtype=np.int32))
    s.cmd_call("main", "r", "xs", "k")
    check(json.loads(s.cmd_report()[0])["events"] != [], "unpause_profiling")


def main(program, tmp):
    with Server(program, "--server", "-L", "-P") as s:
        test_facts(s)
        test_call(s)
        test_failures(s)
        test_consumption(s)
        test_units(s)
        test_aliases(s)
        test_files(s, tmp)
        test_tuning(s)
        test_profile(s)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
