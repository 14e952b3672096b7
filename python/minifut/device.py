"""Values that stay on the device: arrays, with the interfaces by which others see their memory, and all that is opaque."""
import ctypes
from math import prod

import numpy as np

from .errors import ArgumentValueError, RunError
from .library import POINTER

CPU, CUDA = 1, 2  # DLDeviceType


class Kept:
    """An object of a library's, which is freed with it. `owners`: whose memory it may lie in."""

    def __init__(self, cx, kind, pointer, owners=()):
        self.cx, self.type, self.raw, self.owners, self.consumed, self.exported = cx, kind, pointer, tuple(owners), False, False

    def pointer(self, where="this value"):
        self.cx.alive()
        if self.consumed:
            raise ArgumentValueError(f"{where}: a call has consumed this value: its parameter is unique ({self.type.name} with a star). "
                                     "Pass a copy, or use the result of that call")
        return self.raw

    def __del__(self):
        try:
            self.cx.drop(self.type.free, self.raw)
        except (AttributeError, TypeError):  # Python ends, or it was never made
            pass

    def do(self, function, *args):
        with self.cx.lock:
            return function(self.cx, *args)

    def copy(self):
        """Another value on the device that is equal to this one."""
        from .values import Call
        with self.cx.lock:
            call, pointer = Call(), None
            try:
                pointer = self.type.into(self.cx, self.get(), "copy", call)
            finally:
                for free, part in call.made:  # what it was made of
                    if part != pointer:
                        free(self.cx.ptr, part)
            return type(self)(self.cx, self.type, pointer)

    __copy__ = copy

    def __deepcopy__(self, memo):
        return self.copy()


class DeviceValue(Kept):
    """A sum, or an array of records or sums, on the device."""

    def get(self):
        """The value in Python."""
        pointer = self.pointer()
        return self.do(self.type.fetch, pointer)

    @property
    def shape(self):
        if not hasattr(self.type, "rank"):
            raise AttributeError(f"a value of type {self.type.name} has no shape")
        return self.type.shape_of(self.cx, self.pointer())

    def __len__(self):
        if not hasattr(self.type, "rank"):
            raise TypeError(f"a value of type {self.type.name} has no length")
        return self.shape[0]

    def __bool__(self):
        return not hasattr(self.type, "rank") or len(self) > 0

    def __getattr__(self, name):
        """Of an array of records a field, an array on the device."""
        kind = self.__dict__.get("type")
        if name not in getattr(kind, "fields", ()):
            raise AttributeError(f"there is no {name}" + (f" in a value of type {kind.name}" if kind else ""))
        from .values import Call
        k = kind.fields.index(name)
        with self.cx.lock:
            call = Call()
            call.owners, call.foreign = list(self.owners), bool(self.owners)
            return kind.part(self.cx, kind.project[k], kind.parts[k], self.pointer(), call)

    def __repr__(self):
        return f"<{self.type.name} on {self.cx.driver}>"

    def __reduce__(self):
        raise TypeError("a value on a device is not for other processes: pickle what .get() gives")


class DeviceArray(Kept):
    """An array on the device. NumPy and others that take arrays read it as it is (np.asarray); on processors they see
    its memory, without a copy and not to be written to; on NVIDIA's devices by CUDA `__cuda_array_interface__` and `__dlpack__`
    do the same for CuPy, PyTorch, JAX and Numba."""

    def __init__(self, cx, kind, pointer, owners=()):
        super().__init__(cx, kind, pointer, owners)
        self.shape, self.dtype = kind.shape_of(cx, pointer), kind.dtype

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    device = property(lambda self: self.cx.device)

    def address(self):
        """Where the elements lie, in memory of the process or the device; None by OpenCL."""
        pointer = self.pointer()
        with self.cx.lock:
            self.cx.check(self.cx.library.context_sync(self.cx.ptr))
            place = self.type.values_raw(self.cx.ptr, pointer) if self.cx.driver != "opencl" else None
        self.exported = self.exported or place is not None
        return place

    def view(self, writable):
        return np.asarray(Memory(self, self.address(), writable))

    def __array__(self, dtype=None, copy=None):
        if self.cx.driver == "native" and not copy:
            x = self.view(False)
        elif copy is False:
            raise ValueError("the array is on a device: NumPy needs a copy of it")
        else:
            x = self.do(self.type.fetch, self.pointer())
        if dtype is None or np.dtype(dtype) == self.dtype:
            return x
        if copy is False:
            raise ValueError(f"an array of {np.dtype(dtype)} needs a copy of one of {self.dtype}")
        return x.astype(dtype)

    def get(self):
        """A copy, as an array of NumPy."""
        return self.do(self.type.fetch, self.pointer())

    numpy = get

    def __getitem__(self, at):
        index = at if isinstance(at, tuple) else (at,)
        if len(index) == self.ndim and all(isinstance(i, (int, np.integer)) for i in index):
            index = [int(i) + (n if i < 0 else 0) for i, n in zip(index, self.shape)]
            if not all(0 <= i < n for i, n in zip(index, self.shape)):
                raise IndexError(f"index {at} is out of bounds for an array of shape {self.shape}")
            place = np.empty((), self.dtype)
            pointer = self.pointer()
            with self.cx.lock:
                self.cx.check(self.type.index(self.cx.ptr, place.__array_interface__["data"][0], pointer, *index))
            return place[()]
        return np.asarray(self)[at]

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return iter(np.asarray(self))

    def tolist(self):
        return self.get().tolist()

    def __repr__(self):
        return f"<{self.type.name} of shape {self.shape} on {self.cx.driver}{': consumed' if self.consumed else ''}>"

    def _repr_html_(self):
        return f"<code>{self.type.name}</code> of shape {self.shape} on {self.cx.device.split(', ')[1] if self.cx.device else self.cx.driver}"

    def __reduce__(self):
        return np.array, (self.get(),)

    @property
    def __cuda_array_interface__(self):
        if self.cx.driver != "cuda":
            raise AttributeError("the array is not in memory of CUDA")
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address() if self.size else 0, False), "strides": None,
                "version": 3, "stream": None}

    def __dlpack_device__(self):
        return (CUDA, cuda_ordinal(self.address())) if self.cx.driver == "cuda" else (CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule of DLPack. All that was begun is done by then: the stream need not wait."""
        if self.cx.driver == "cuda" and not copy and (dl_device is None or dl_device[0] == CUDA):
            return capsule(self)
        if self.cx.driver == "native" and not copy:
            return self.view(True).__dlpack__()
        return self.get().__dlpack__()


class Memory:
    """Memory of an array for NumPy, which keeps the array alive."""

    def __init__(self, array, place, writable):
        self.array = array
        self.__array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (place or 0, not writable), "version": 3}


# --- Memory of CUDA, by other packages ---

def libcuda():
    return ctypes.CDLL("libcuda.so.1")


def cuda_ordinal(place):
    """The number of the device that an address is of."""
    ordinal, of_ordinal = ctypes.c_int(0), 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    if place:
        libcuda().cuPointerGetAttribute(ctypes.byref(ordinal), of_ordinal, ctypes.c_uint64(place))
    return ordinal.value


def wait_for(place):
    """Waits for what fills this memory, in its context: the thread's may be another one, or none. CUDA's code of a failure, or 0."""
    cuda, context, of_context = libcuda(), POINTER(), 1  # CU_POINTER_ATTRIBUTE_CONTEXT
    known = not cuda.cuPointerGetAttribute(ctypes.byref(context), of_context, ctypes.c_uint64(place)) and context.value
    if not known:  # memory of a pool has none
        return cuda.cuCtxSynchronize()
    failed = cuda.cuCtxPushCurrent_v2(context)
    if not failed:
        failed = cuda.cuCtxSynchronize()
        cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
    return failed


def shared(cx, kind, value, where, call):
    """The object around another package's array, whose memory it uses for this call; None if that cannot be."""
    about = value.__cuda_array_interface__
    shape, place = tuple(about["shape"]), about["data"][0]
    strides = tuple(np.cumprod((kind.dtype.itemsize,) + shape[:0:-1])[::-1]) if shape else ()
    if np.dtype(about["typestr"]) != kind.dtype or len(shape) != kind.rank or about.get("mask") is not None or not place or place % 128:
        return None
    if about.get("strides") is not None and tuple(about["strides"]) != strides:
        return None
    failed = wait_for(place)
    if failed:
        raise RunError(f"{where}: CUDA fails (cuCtxSynchronize: {failed})")
    pointer = cx.made(kind.new_raw(cx.ptr, place, *shape))
    call.made.append((kind.free, pointer))
    if call.unique:  # the call would write to it
        return kind.into(cx, kind.fetch(cx, pointer), where, call)
    call.owners.append(value)
    call.foreign = True
    return pointer


class Tensor(ctypes.Structure):
    """DLManagedTensor: DLTensor, and what frees it."""


Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(Tensor))
Tensor._fields_ = [("data", POINTER), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                   ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                   ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
                   ("context", POINTER), ("deleter", Deleter)]
CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
lent = {}  # by address: tensors that others have, with what they are of
python = ctypes.PyDLL(None)  # with functions whose types are ours alone to say


@Deleter
def _returned(tensor):
    lent.pop(ctypes.addressof(tensor.contents), None)


@ctypes.CFUNCTYPE(None, POINTER)
def _unused(capsule_pointer):
    """A capsule that nobody has taken."""
    valid, get = python.PyCapsule_IsValid, python.PyCapsule_GetPointer
    valid.argtypes, get.argtypes, get.restype = [POINTER, ctypes.c_char_p], [POINTER, ctypes.c_char_p], POINTER
    if valid(capsule_pointer, b"dltensor"):
        lent.pop(get(capsule_pointer, b"dltensor"), None)


def capsule(array):
    place = array.address()
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor = Tensor(place if array.size else None, CUDA, cuda_ordinal(place), array.ndim, CODES[array.dtype.kind], array.itemsize * 8, 1,
                    ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)), None, 0, None, _returned)
    lent[ctypes.addressof(tensor)] = (tensor, shape, array)
    new = python.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [POINTER, ctypes.c_char_p, POINTER]
    return new(ctypes.addressof(tensor), b"dltensor", ctypes.cast(_unused, POINTER))
