"""Memory shared with CuPy, PyTorch and JAX, on a device of NVIDIA's; in no suite: run.py has no such device.
usage: cuda.py    (with the package on Python's path; each of the others where it is installed)"""
import gc
import importlib.util

import minifut
import numpy as np

PROGRAM = """
entry up [n] (xs: [n]f32): [n]f32 = map (+ 1) xs
entry same [n] (xs: [n]f32): [n]f32 = xs
entry turned [n] [m] (xss: [n][m]i32): [m][n]i32 = transpose xss
entry swap [n] (xs: *[n]f32) (i: i64) (j: i64): *[n]f32 =
  let a = copy xs[i]
  let b = copy xs[j]
  in xs with [i] = b with [j] = a
"""


def check(ok, what):
    print("ok" if ok else "failed", what)
    assert ok, what


def has(name):
    there = importlib.util.find_spec(name) is not None
    print(name if there else f"there is no {name}")
    return there


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
    for name, f in (("cupy", by_cupy), ("torch", by_torch), ("jax", by_jax)):
        if has(name):
            f(m)
    print("all is well")


main()
