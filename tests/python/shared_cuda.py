"""Memory shared by CUDA: with whoever has `__cuda_array_interface__`; with CuPy, PyTorch and JAX, where they are installed and there is a device
of NVIDIA's. In the suite a stand-in for libcuda takes its place (tests/runtime/cuda_on_opencl.c), and nobody else is asked.
usage: shared_cuda.py [--alone]    (with the package on Python's path)"""
import ctypes
import gc
import importlib.util

import sys
import threading
import weakref

import minifut
import numpy as np
from minifut import device

PROGRAM = """
entry up [n] (xs: [n]f32): [n]f32 = map (+ 1) xs
entry same [n] (xs: [n]f32): [n]f32 = xs
entry turned [n] [m] (xss: [n][m]i32): [m][n]i32 = transpose xss
entry swap [n] (xs: *[n]f32) (i: i64) (j: i64): *[n]f32 =
  let a = copy xs[i]
  let b = copy xs[j]
  in xs with [i] = b with [j] = a
entry paired [n] (xs: [n]f32): [n]{x: f32, y: f32} = map (\\x -> {x, y = x}) xs
entry swapped [n] (ps: *[n]{x: f32, y: f32}): *[n]{x: f32, y: f32} =
  let a = copy ps[0]
  let b = copy ps[n - 1]
  in ps with [0] = b with [n - 1] = a
"""


def check(ok, what):
    print("ok" if ok else "failed", what)
    assert ok, what


def has(name):
    there = importlib.util.find_spec(name) is not None
    print(name if there else f"there is no {name}")
    return there


class Other:
    """Another package's array, in memory of a kept one."""

    def __init__(self, kept, **more):
        self.kept, self.dtype, self.shape = kept, kept.dtype, kept.shape
        self.__cuda_array_interface__ = {**kept.__cuda_array_interface__, **more}


def by_hand(m):
    d = m.up.keep(np.arange(1000, dtype="f4"))
    about = d.__cuda_array_interface__
    check((about["shape"], about["typestr"], about["version"], about["strides"]) == ((1000,), "<f4", 3, None), "the interface")
    x = Other(d)
    check(m.up(x).tolist() == list(range(2, 1002)), "an array of others goes in")
    same = m.same.keep(m.same.keep(x))
    check(same.__cuda_array_interface__["data"][0] == about["data"][0], "without a copy, twice")
    alive = weakref.ref(x)
    del x, d
    gc.collect()
    m.up.keep(np.zeros(1000, "f4"))
    check(alive() and same.tolist() == list(range(1, 1001)), "and lives as long as a result lies in it")
    del same
    gc.collect()
    m.up(np.zeros(1, "f4"))
    check(not alive(), "no longer")
    y = m.turned.keep(np.arange(6, dtype="i4").reshape(2, 3))
    check(m.turned(Other(y)).tolist() == [[0, 1, 2], [3, 4, 5]] == m.turned(Other(y, strides=(8, 4))).tolist(), "of two dimensions")
    e = m.up.keep(np.arange(4, dtype="f4"))
    for wrong in (Other(e, strides=(8,), shape=(2,)), Other(e, typestr="<f8"), Other(e, data=(about["data"][0] + 4, False)), Other(y)):
        try:
            m.up(wrong)
            check(False, "refused")
        except (TypeError, minifut.Error) as error:
            check("parameter xs" in str(error), f"refused: {error}")
    check(m.swap(Other(e), 0, 3).tolist() == [4, 2, 3, 1] and e.tolist() == [1, 2, 3, 4], "what is not ours is not consumed")
    kept = m.same.keep(Other(e))
    check(m.swap(kept, 0, 3).tolist() == [4, 2, 3, 1] and e.tolist() == kept.tolist() == [1, 2, 3, 4], "nor what lies in its memory")
    pairs = m.paired.keep(m.same.keep(Other(e)))
    check(m.swapped(pairs).tolist() == [(4, 4), (2, 2), (3, 3), (1, 1)] and e.tolist() == pairs.x.tolist() == [1, 2, 3, 4], "nor a field of records that does")
    found = []
    thread = threading.Thread(target=lambda: found.append(m.up(np.arange(70_000, dtype="f4")).tolist()))
    thread.start()
    thread.join()
    check(found and found[0][-1] == 70_000, "another thread")
    check(e.__dlpack_device__() == (2, 0), "DLPack's device")
    python = ctypes.PyDLL(None)
    get = python.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = y.__dlpack__()
    t = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(device.Tensor)).contents
    fields = (t.data, t.device_type, t.ndim, t.code, t.bits, t.lanes, t.shape[:2])
    check(fields == (y.__cuda_array_interface__["data"][0], 2, 2, 0, 32, 1, [3, 2]), "DLPack's tensor")
    check(len(device.lent) == 1, "which is lent")
    del capsule, t
    gc.collect()
    check(not device.lent, "and comes back with a capsule that nobody took")
    capsule = e.__dlpack__()
    place = get(capsule, b"dltensor")
    rename = python.PyCapsule_SetName
    rename.restype, rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    rename(capsule, b"used_dltensor")
    del capsule
    check(len(device.lent) == 1, "but not with one that somebody did")
    t = ctypes.cast(place, ctypes.POINTER(device.Tensor))
    t.contents.deleter(t)
    check(not device.lent, "who gives it back")


def by_cupy(m):
    import cupy
    d = m.up.keep(np.arange(1000, dtype="f4"))
    c = cupy.asarray(d)
    check(c.data.ptr == d.__cuda_array_interface__["data"][0] and float(c[7]) == 8, "CuPy sees a kept array's memory")
    x = cupy.arange(100_000, dtype="f4") * 2
    check(m.up(x)[5] == 11, "an array of CuPy goes in")
    kept = m.same.keep(x)
    address = kept.__cuda_array_interface__["data"][0]
    check(address == x.data.ptr, "without a copy")
    del x
    gc.collect()
    cupy.zeros(100_000, dtype="f4")
    check(kept[3] == 6, "and lives as long as a result lies in it")
    y = cupy.arange(6, dtype="i4").reshape(2, 3)
    check(m.turned(y).tolist() == y.T.tolist() and m.turned(y.T.copy()).tolist() == y.tolist(), "of two dimensions")
    for wrong in (y.T, cupy.arange(3, dtype="f8"), cupy.arange(100, dtype="f4")[1:]):
        try:
            (m.turned if wrong.ndim == 2 else m.up)(wrong)
            check(False, f"refused: {wrong.dtype}")
        except TypeError as e:
            check("parameter xs" in str(e), f"refused: {e}")
    z = cupy.from_dlpack(m.up.keep(np.zeros(10, "f4")))
    check(float(z.sum()) == 10, "by DLPack")
    e = m.up.keep(np.arange(4, dtype="f4"))
    seen = cupy.asarray(e)
    check(m.swap(e, 0, 3).tolist() == [4, 2, 3, 1] and seen.tolist() == [1, 2, 3, 4], "what is looked at is not consumed")
    own = cupy.arange(4, dtype="f4")
    check(m.swap(own, 0, 3).tolist() == [3, 1, 2, 0] and own.tolist() == [0, 1, 2, 3], "nor is what is not ours")


def by_torch(m):
    import torch
    t = torch.arange(5000, dtype=torch.float32, device="cuda") * 3
    check(m.up(t)[4] == 13, "a tensor goes in")
    d = m.up.keep(t)
    back = torch.from_dlpack(d)
    check(back.data_ptr() == d.__cuda_array_interface__["data"][0] and float(back[4]) == 13 and back.device.type == "cuda", "and comes out by DLPack")
    del d
    gc.collect()
    m.up(np.zeros(5000, "f4"))
    check(float(back[4]) == 13, "and keeps the memory")
    check(float(torch.as_tensor(m.up.keep(t), device="cuda")[0]) == 1, "by __cuda_array_interface__")


def by_jax(m):
    import jax
    d = m.up.keep(np.arange(100, dtype="f4"))
    x = jax.dlpack.from_dlpack(d)
    check(float(x.sum()) == 5050, "an array of JAX by DLPack")
    y = jax.numpy.arange(256, dtype="float32")
    check(m.up(y)[255] == 256, "and back")


def main():
    m = minifut.compile(PROGRAM, device="cuda")
    print(m.device, m.driver)
    check(m.driver == "cuda", "the driver")
    d = m.up.keep(np.arange(3, dtype="f4"))
    check(m.up(d).tolist() == [2, 3, 4] and np.asarray(d).tolist() == [1, 2, 3] and d[1] == 2, "kept arrays")
    by_hand(m)
    for name, f in () if "--alone" in sys.argv else (("cupy", by_cupy), ("torch", by_torch), ("jax", by_jax)):
        if has(name):
            f(m)
    print("all is well")


main()
