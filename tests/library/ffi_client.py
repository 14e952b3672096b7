"""PyPI's futhark-ffi, as it is, on the extensions that its generator built from types.sf and opaque.sf. usage: ffi_client.py FOLDER"""
import sys

import numpy as np
from futhark_ffi import Futhark

sys.path.insert(0, sys.argv[1])
import _opaque_sf  # noqa: E402
import _types_sf  # noqa: E402

sys.path.append(sys.argv[2])
from checks import check, summary  # noqa: E402

fut = Futhark(_types_sf, profiling=True, tuning={"sums.suff_outer_par_0": 1})
xs = np.arange(1000, dtype=np.float32)
check(np.array_equal(fut.from_futhark(fut.scale(np.float32(2), xs)), 2 * xs), "scale")
m = np.arange(12, dtype=np.float32).reshape(3, 4)
check(np.array_equal(fut.from_futhark(fut.sums(m)), m.sum(axis=1)), "sums")
res = fut.scalars(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10.5, False)
check(res == (2, 3, 4, 5, 6, 7, 8, 9, 10.5, 11.5, True), f"scalars: {res}")
bumped = fut.bump(fut.to_futhark(fut.types[fut.ffi.typeof("struct futhark_i32_1d *")], np.zeros(3, np.int32)), 1, 7)
check(fut.from_futhark(bumped).tolist() == [0, 7, 0], "bump")
try:
    fut.from_futhark(fut.pick(np.arange(3, dtype=np.int32), np.array([5], np.int64)))
    check(False, "pick: an index out of bounds is an error")
except ValueError as e:
    check("Error: Index [5] out of bounds for array of shape [3]" in str(e), f"pick: {e}")
check(fut.from_futhark(fut.pick(np.arange(3, dtype=np.int32), np.array([2, 0], np.int64))).tolist() == [2, 0], "pick")

# Opaque values: made, stored, restored by the functions of the header.
ffi, lib = fut.ffi, fut.lib
p = ffi.new("struct futhark_opaque_point **")
check(lib.futhark_new_opaque_point(fut.ctx, p, 3.0, 4.0) == 0, "new point")
data = bytes(fut.store_point(p[0]))
again = fut.restore_point(data)
y = ffi.new("float *")
check(lib.futhark_project_opaque_point_y(fut.ctx, y, again) == 0 and y[0] == 4.0, "a point stored and restored")
lib.futhark_free_opaque_point(fut.ctx, p[0])
check('"events"' in fut.report(), "report")

# Sums and abstract types, in arrays too.
fut = Futhark(_opaque_sf)
ffi, lib = fut.ffi, fut.lib
counters = fut.count(np.array([3, -1, 4], np.int32))
data = bytes(fut.store_arr1d_counter_t(counters))
check(fut.total(fut.restore_arr1d_counter_t(data)) == 7, "counters stored and restored")
try:
    fut.restore_shape(data)
    check(False, "counters are no shape")
except ValueError as e:
    check("failed to restore" in str(e), f"counters as a shape: {e}")
at, radius = ffi.new("struct futhark_opaque_point **"), ffi.new("float *")
shape = ffi.new("struct futhark_opaque_shape **")
check(lib.futhark_new_opaque_point(fut.ctx, at, 1.0, 2.0) == 0, "new point")
check(lib.futhark_new_opaque_shape_circle(fut.ctx, shape, at[0], 3.0) == 0, "new circle")
grown = fut.grow(2.0, shape[0])
lib.futhark_free_opaque_point(fut.ctx, at[0])
check(lib.futhark_destruct_opaque_shape_circle(fut.ctx, at, radius, grown) == 0 and radius[0] == 6, "destruct circle")
lib.futhark_free_opaque_point(fut.ctx, at[0])
lib.futhark_free_opaque_shape(fut.ctx, shape[0])
sys.exit(summary())
