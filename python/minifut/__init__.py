"""Programs of minifut from Python: `m = minifut.load("k.sf")`, then `m.main(x, 3)` with arrays of NumPy.

load(path)      compiles a program, or takes it from the cache
compile(text)   the same of a text
stub(path)      writes type stubs of a program
%load_ext minifut  in IPython: %%minifut cells, %minifut_tune
"""
from .compiler import Source
from .device import DeviceArray, DeviceValue
from .errors import ArgumentTypeError, ArgumentValueError, CompileError, CompileWarning, Error, OutOfMemory, RunError
from .module import Module
from .module import build as _build
from .values import Variant
from .version import __version__

__all__ = ["load", "compile", "stub", "Module", "DeviceArray", "DeviceValue", "Variant", "Error", "CompileError", "CompileWarning", "RunError",
           "OutOfMemory", "ArgumentTypeError", "ArgumentValueError", "__version__"]


def load(path, *, device=None, threads=None, tuning=None, params=None, flatten=None, strict_math=False, fast_math=False):
    """The program in a file, compiled.

    device       "native" (the processor, by threads), "opencl", "cuda", or part of a device's name; default: the best GPU,
                 else the processor
    threads      of the processor; default: as many as may run at once
    tuning       a file of `minifut tune`
    params       {name: value} of tuning parameters
    flatten      "incremental" (default), "moderate", "full", "outer"
    strict_math  no functions of vectors and no fused products on processors
    fast_math    products of f32 by matrix units, which take 11 bits of them
    """
    return _build(Source(path=path), device, threads, tuning, params, flatten, strict_math, fast_math)


def compile(text, name="program", *, folder=None, device=None, threads=None, tuning=None, params=None, flatten=None, strict_math=False,
            fast_math=False):
    """The program with this text, compiled; messages call it NAME.sf, its imports are found in `folder` (default: the current one).
    The rest as for `load`."""
    return _build(Source(text=text, name=name, folder=folder), device, threads, tuning, params, flatten, strict_math, fast_math)


def stub(path, to=None):
    """Writes type stubs of the program in a file, NAME.pyi beside it unless `to` says where. The path."""
    return load(path).stub(to)


def load_ipython_extension(shell):
    """For %load_ext minifut."""
    from .notebook import register
    register(shell)
