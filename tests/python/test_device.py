"""Arrays that stay on the device, and calls in all ways: many, from threads, in forks, that fail."""
import copy
import ctypes
import gc
import multiprocessing
import os
import pickle
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import minifut
import numpy as np
import pytest

HERE = Path(__file__).resolve().parent


def test_keep(kinds):
    d = kinds.ints.keep([1, 2, 3])
    assert isinstance(d, minifut.DeviceArray) and (d.shape, d.dtype, d.ndim, d.size, d.nbytes, len(d)) == ((3,), np.int32, 1, 3, 12, 3)
    assert np.asarray(d).tolist() == d.get().tolist() == d.tolist() == list(d) == [2, 3, 4] and "(3,)" in repr(d) and "shape" in d._repr_html_()
    assert kinds.ints(d).tolist() == [3, 4, 5] and kinds.ints.keep(kinds.ints.keep(d)).tolist() == [4, 5, 6]
    assert d[0] == 2 and d[-1] == 4 and d[1:].tolist() == [3, 4] and isinstance(d[0], np.int32)
    with pytest.raises(IndexError):
        d[3]
    assert np.add(d, 1).tolist() == [3, 4, 5] and np.asarray(d, "f8").dtype == np.float64 and d.copy().tolist() == [2, 3, 4]
    assert pickle.loads(pickle.dumps(d)).tolist() == [2, 3, 4]
    x = kinds.turned.keep(np.arange(6, dtype="f4").reshape(2, 3))
    assert x[2, 1] == 5 and x.shape == (3, 2) and kinds.turned(x).shape == (2, 3)
    empty = kinds.ints.keep([])
    assert empty.shape == (0,) and np.asarray(empty).size == 0 and kinds.ints(empty).size == 0
    with pytest.raises(minifut.ArgumentTypeError, match=r"floats: parameter xs: \[\]f32 is wanted, DeviceArray of int32 of shape \(3,\) was given"):
        kinds.floats(d)
    n, xs, b = kinds.several.keep(d, 1)
    assert (n, b) == (3, True) and xs.tolist() == [3, 4, 5]


def test_views(kinds):
    """On the processor NumPy sees the memory itself, for as long as it looks."""
    d = kinds.ints.keep(np.arange(1000, dtype="i4"))
    x = np.asarray(d)
    assert np.shares_memory(x, np.asarray(d)) and not x.flags.writeable and not np.shares_memory(x, d.get())
    assert np.from_dlpack(d).tolist() == x.tolist() and d.__dlpack_device__() == (1, 0)
    assert not hasattr(d, "__cuda_array_interface__")
    del d
    gc.collect()
    for _ in range(50):  # nobody else gets the memory meanwhile
        kinds.ints.keep(np.zeros(1000, "i4"))
    assert x.tolist() == list(range(1, 1001))


def test_consumed(kinds):
    d = kinds.ints.keep([0, 1, 2])
    assert kinds.swap(d, 0, 2).tolist() == [3, 2, 1]
    for use in (lambda: kinds.ints(d), lambda: d.get(), lambda: np.asarray(d), lambda: kinds.swap(d, 0, 1)):
        with pytest.raises(minifut.ArgumentValueError, match="has consumed this value"):
            use()
    assert "consumed" in repr(d)
    ps = kinds.points.keep([{"x": 1, "y": 2}, {"x": 3, "y": 4}])
    x = ps.x
    assert kinds.exchanged(ps, 0, 1).tolist() == [(4, 3), (2, 1)] and x.tolist() == [2, 4]
    for use in (lambda: kinds.points(ps), lambda: ps.get(), lambda: ps.x, lambda: ps.copy(), lambda: kinds.exchanged(ps, 0, 1)):
        with pytest.raises(minifut.ArgumentValueError, match="has consumed this value"):
            use()
    e = kinds.ints.keep([0, 1, 2])
    seen = np.asarray(e)
    assert kinds.swap(e, 0, 2).tolist() == [3, 2, 1] and seen.tolist() == [1, 2, 3] == kinds.ints([0, 1, 2]).tolist()  # what is looked at stays
    x = np.array([1, 2, 3], "i4")
    assert kinds.swap(x, 0, 2).tolist() == [3, 2, 1] and x.tolist() == [1, 2, 3]


def test_kept_values(kinds):
    p = kinds.points.keep([{"x": 1, "y": 2}, {"x": 3, "y": 4}])
    assert isinstance(p, minifut.DeviceValue) and p.shape == (2,) and len(p) == 2 and p.x.tolist() == [2, 4] and p.get()["y"].tolist() == [1, 3]
    assert kinds.points(p).tolist() == [(1, 2), (3, 4)] and kinds.points({"x": p.x, "y": p.y}).tolist() == [(1, 2), (3, 4)]
    with pytest.raises(AttributeError, match="no z"):
        p.z
    s = kinds.grown.keep(2, ("path", [1, 2]))
    assert s.get().v0.tolist() == [2, 4] and kinds.grown(2, s).v0.tolist() == [4, 8]
    with pytest.raises(minifut.ArgumentTypeError, match="points"):
        kinds.points(s)
    assert kinds.moved.keep({"x": 1, "y": 2}, 1) == (2.0, 1.0)
    signs = kinds.signs.keep([-1, 1])
    assert kinds.size(signs) == 2 and signs.shape == (2,) and signs.get()[0].v0 == -1


def test_between_programs(kinds):
    """What another program keeps goes through the host."""
    other = minifut.compile("""
entry main [n] (xs: [n]i32): i32 = i32.sum xs
entry ones (n: i64): [n]i32 = replicate n 1
entry pair [n] (p: (i32, [n]i32)): i32 = p.0 + i32.sum p.1
""", device="native")
    assert other.main(kinds.ints.keep([1, 2, 3])) == 9 and other.pair((1, kinds.ints.keep([1, 2, 3]))) == 10
    found = []

    def there_and_back():
        for _ in range(200):
            found.append(other.main(kinds.ints.keep([1])) + kinds.ints(other.ones.keep(1))[0])
    threads = [threading.Thread(target=there_and_back, daemon=True) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert found == [4] * 400  # and no thread waits for another one for ever


def test_failures(kinds):
    with pytest.raises(minifut.RunError) as e:
        kinds.at([1, 2], 5)
    assert "Index [5] out of bounds for array of shape [2]." in str(e.value) and "kinds.sf:" in str(e.value) and "^" in str(e.value)
    assert isinstance(e.value, RuntimeError) and isinstance(e.value, minifut.Error)
    with pytest.raises(minifut.RunError, match="out of bounds"):
        kinds.kernel_fails([1, 2], [0, 9])
    d = kinds.kernel_fails.keep([1, 2], [0, 1])
    assert d.tolist() == [1, 2] and kinds.at([1, 2], 1) == 2  # all is well again
    with pytest.raises(AttributeError, match="no entry point there; it has"):
        kinds.there
    with pytest.raises(minifut.RunError, match="device"):
        minifut.compile("entry main (x: i32) = x", device="no such thing").main(1)
    with pytest.raises(minifut.ArgumentValueError, match="tuning parameter"):
        minifut.compile("entry main (x: i32) = x", params={"zzz": 1}).main(1)


def resident():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_many_calls(kinds):
    """100,000 of them: memory does not grow; failed calls, kept arrays and records too."""
    x = np.ones(100, "f4")
    p = {"x": 1, "y": 2}

    def some(n):
        for k in range(n):
            kinds.dot(x, x)
            if k % 50 == 0:
                kinds.points([p])
                kinds.floats(kinds.floats.keep(x))
                kinds.grown(1, ("path", [1, 2]))
                with pytest.raises(minifut.RunError):
                    kinds.at([1], 2)
    some(5000)
    before = resident()
    some(95000)
    assert resident() - before < 4e6


def test_overhead(kinds):
    """What a call costs beside the calls of the library that it makes."""
    x = np.ones(100, "f4")
    entry = kinds.dot.__wrapped_entry__
    cx, (t, u) = kinds._context(), entry.inputs

    def bare():
        a, b = t.new(cx.ptr, x.ctypes.data, 100), u.new(cx.ptr, x.ctypes.data, 100)
        place = ctypes.c_float()
        entry.call(cx.ptr, ctypes.byref(place), a, b)
        t.free(cx.ptr, a)
        u.free(cx.ptr, b)

    def least(f):
        """Of many, as other work runs beside it: nanoseconds of processor time."""
        times = []
        for _ in range(60):
            start = time.thread_time_ns()
            for _ in range(50):
                f()
            times.append((time.thread_time_ns() - start) / 50)
        return min(times)
    own, whole = least(bare), least(lambda: kinds.dot(x, x))
    print(f"a call takes {whole / 1e3:.1f} us, of the library {own / 1e3:.1f} us")
    assert whole - own < 50e3


def test_threads(kinds):
    wrong = []

    def work(k):
        x = np.full(50, k, "i4")
        for _ in range(200):
            if kinds.ints(kinds.ints.keep(x)).tolist() != [k + 2] * 50:
                wrong.append(k)
            try:
                kinds.at([1], k + 7)
                wrong.append("no failure")
            except minifut.RunError as e:
                if f"[{k + 7}]" not in str(e):
                    wrong.append(str(e))  # another thread's message
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def in_child(f):
    """What f gives in a forked child."""
    here, there = multiprocessing.get_context("fork").Pipe()

    def run():
        try:
            there.send(f())
        except BaseException as e:
            there.send(e)
    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    assert here.poll(60), "the child does not answer"
    found = here.recv()
    process.join()
    return found


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork(kinds):
    d = kinds.ints.keep(np.arange(5, dtype="i4"))
    big = np.ones(3_000_000, "f4")  # the pool of threads works on it
    assert kinds.dot(big, big) == 3_000_000
    assert in_child(lambda: kinds.dot(big, big)) == 3_000_000
    assert in_child(lambda: in_child(lambda: kinds.ints([1]).tolist())) == [2]
    found = in_child(lambda: kinds.ints(d))
    assert isinstance(found, minifut.RunError) and "before the process was forked" in str(found)
    assert isinstance(in_child(lambda: d.get()), minifut.RunError)
    assert kinds.ints(d).tolist() == [2, 3, 4, 5, 6]  # the parent's is as it was
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0


def test_cuda(tmp_path):
    """Memory of CUDA, for which OpenCL stands in."""
    built = subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", HERE.parent / "runtime/cuda_on_opencl.c", "-lOpenCL"],
                           capture_output=True, text=True)
    if built.returncode:
        pytest.skip("CL/cl.h (opencl-headers)")
    r = subprocess.run([sys.executable, HERE / "shared_cuda.py", "--alone"], capture_output=True, text=True, timeout=300,
                       env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(HERE.parent.parent / "python")})
    if "no OpenCL device found" in r.stderr:
        pytest.skip("an OpenCL device")
    assert r.returncode == 0 and r.stdout.endswith("all is well\n"), r.stdout + r.stderr


def test_opencl():
    """The same by OpenCL, where there is a device."""
    try:
        m = minifut.compile("entry main [n] (xs: [n]f32): [n]f32 = map (+ 1) xs", device="opencl")
        m.device
    except minifut.RunError as e:
        pytest.skip(f"an OpenCL device: {e}")
    d = m.main.keep(np.arange(4, dtype="f4"))
    assert m.driver == "opencl" and m.main(d).tolist() == [2, 3, 4, 5] and np.asarray(d).tolist() == [1, 2, 3, 4]
    assert np.from_dlpack(d).tolist() == [1, 2, 3, 4] and d[2] == 3
    found = in_child(lambda: m.main([1]))
    assert isinstance(found, minifut.RunError) and "spawn" in str(found)


def test_copied(kinds):
    """By Python's module `copy`: what is on the device stays there, what cannot change is its own copy."""
    d, ps = kinds.ints.keep([0, 1]), kinds.points.keep([{"x": 1, "y": 2}])
    shape = kinds.types.shape
    s = kinds.grown.keep(2, ("path", [1, 2]))
    for x in d, ps, s:
        for y in copy.copy(x), copy.deepcopy(x), x.copy():
            assert y is not x and type(y) is type(x) and str(y.get()) == str(x.get())
    assert kinds.exchanged(copy.copy(ps), 0, 0).tolist() == ps.get().tolist() == [(2, 1)] and kinds.swap(copy.deepcopy(d), 0, 1).tolist() == [2, 1]
    v = s.get()
    w = copy.deepcopy(v)
    w.v0[0] = 7
    assert isinstance(w, shape.path) and v.v0.tolist() == [2, 4] and copy.copy(v) == v and isinstance(copy.copy(v), shape.path)
    assert s and d and ps and not kinds.points.keep([])
    with pytest.raises(TypeError, match="has no length"):
        len(s)
