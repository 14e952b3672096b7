"""The shared library of types.sf by ctypes alone. usage: ctypes_client.py FOLDER TESTS"""
import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int64, c_void_p

import numpy as np

sys.path.append(sys.argv[2])
from checks import check, summary  # noqa: E402

lib = ctypes.CDLL(f"{sys.argv[1]}/libtypes.so")
for name in ("futhark_context_config_new", "futhark_context_new", "futhark_new_f32_1d", "futhark_context_get_error"):
    getattr(lib, name).restype = c_void_p
lib.futhark_get_tuning_param_name.restype = c_char_p
cfg = c_void_p(lib.futhark_context_config_new())
ctx = c_void_p(lib.futhark_context_new(cfg))
check(not lib.futhark_context_get_error(ctx), "context")
data = np.arange(10, dtype=np.float32)
xs = c_void_p(lib.futhark_new_f32_1d(ctx, data.ctypes.data_as(POINTER(c_float)), c_int64(10)))
ys = c_void_p()
check(lib.futhark_entry_scale(ctx, byref(ys), c_float(3), xs) == 0, "scale")
out = np.zeros(10, np.float32)
check(lib.futhark_values_f32_1d(ctx, ys, out.ctypes.data_as(POINTER(c_float))) == 0, "values")
check(np.array_equal(out, 3 * data), "scale's result")
check(lib.futhark_get_tuning_param_count() > 0 and b"." in lib.futhark_get_tuning_param_name(0), "tuning parameters")
lib.futhark_free_f32_1d(ctx, xs)
lib.futhark_free_f32_1d(ctx, ys)
lib.futhark_context_free(ctx)
lib.futhark_context_config_free(cfg)
sys.exit(summary())
