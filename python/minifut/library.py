"""A program's shared library by ctypes, and the context in which its calls run."""
import ctypes
import os
import threading
from collections import deque

from .compiler import shown
from .errors import ArgumentValueError, Error, OutOfMemory, RunError

POINTER = ctypes.c_void_p
OUT_OF_MEMORY = 3  # FUTHARK_OUT_OF_MEMORY
DRIVERS = ("native", "opencl", "cuda")

# How many forks lie between this process and the one that loaded the module: threads and devices do not survive them.
forks = 0
locks = {}


def lock(name):
    """A lock of this process: a child must not wait for what a thread of its parent held."""
    return locks.setdefault(name, threading.Lock())


def _forked():
    global forks
    forks += 1
    locks.clear()


os.register_at_fork(after_in_child=_forked)

# What all libraries have, by result and parameters; the rest of the names stands in a manifest.
COMMON = {
    "context_config_new": (POINTER, []),
    "context_config_free": (None, [POINTER]),
    "context_config_set_device": (None, [POINTER, ctypes.c_char_p]),
    "context_config_set_num_threads": (None, [POINTER, ctypes.c_int]),
    "context_config_set_cache_file": (None, [POINTER, ctypes.c_char_p]),
    "context_config_set_tuning_param": (ctypes.c_int, [POINTER, ctypes.c_char_p, ctypes.c_size_t]),
    "context_new": (POINTER, [POINTER]),
    "context_free": (None, [POINTER]),
    "context_sync": (ctypes.c_int, [POINTER]),
    "context_get_error": (POINTER, [POINTER]),
    "context_get_device": (POINTER, [POINTER]),
    "context_get_command_queue": (POINTER, [POINTER]),
    "context_load_tuning": (ctypes.c_int, [POINTER, ctypes.c_char_p]),
    "context_clear_caches": (ctypes.c_int, [POINTER]),
    "get_tuning_param_count": (ctypes.c_int, []),
    "get_tuning_param_name": (ctypes.c_char_p, [ctypes.c_int]),
    "get_tuning_param_class": (ctypes.c_char_p, [ctypes.c_int]),
}
libc = ctypes.CDLL(None)
libc.free.argtypes = [POINTER]
libc.free.restype = None


class Library:
    """The functions of one library."""

    def __init__(self, path):
        try:
            self.dll = ctypes.CDLL(path)
        except OSError as e:
            raise Error(f"the library that was built cannot be loaded: {e}") from None
        for name, (result, parameters) in COMMON.items():
            setattr(self, name, self.function("futhark_" + name, result, parameters))

    def function(self, name, result, parameters):
        f = getattr(self.dll, name)
        f.restype, f.argtypes = result, parameters
        return f

    def tuning_params(self):
        """{name: class} of the program's tuning parameters."""
        return {self.get_tuning_param_name(i).decode(): self.get_tuning_param_class(i).decode() for i in range(self.get_tuning_param_count())}


def taken_text(pointer):
    """A string that is ours to free."""
    if not pointer:
        return ""
    text = ctypes.string_at(pointer).decode("utf-8", "replace")
    libc.free(pointer)
    return text


class Context:
    """An open device. One thread at a time calls the library in it. What is no longer needed is freed by the next call:
    Python drops objects at any time, in any thread."""

    def __init__(self, library, device=None, threads=None, tuning=None, params=None):
        self.library, self.forks, self.lock, self.dead, self.ptr = library, forks, threading.RLock(), deque(), None
        name = None if device in DRIVERS else device
        driver = device if device in DRIVERS else None
        self.open(driver, name, threads, params, None)
        if self.driver != "native" and "Portable Computing Language" not in self.device:
            kernels = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "minifut")
            self.close()  # such drivers build kernels anew in each process, if nobody keeps them
            self.open(driver, name, threads, params, kernels)
        if tuning:
            self.load_tuning(tuning)

    def open(self, driver, name, threads, params, kernels):
        lib = self.library
        config = lib.context_config_new()
        if not config:
            raise OutOfMemory("out of memory")
        if name:
            lib.context_config_set_device(config, name.encode())
        if threads:
            lib.context_config_set_num_threads(config, threads)
        if kernels:
            lib.context_config_set_cache_file(config, os.fsencode(kernels))
        for param, value in (params or {}).items():
            if lib.context_config_set_tuning_param(config, param.encode(), value):
                lib.context_config_free(config)
                raise ArgumentValueError(f"the program has no tuning parameter {param!r}")
        with lock("environment"):  # where the runtime looks for the driver
            before = os.environ.get("MINIFUT_DRIVER")
            if driver:
                os.environ["MINIFUT_DRIVER"] = driver
            try:
                self.ptr = lib.context_new(config)
            finally:
                if driver and before is None:
                    del os.environ["MINIFUT_DRIVER"]
                elif driver:
                    os.environ["MINIFUT_DRIVER"] = before
        self.config = config
        error = taken_text(lib.context_get_error(self.ptr)) if self.ptr else "out of memory"
        if error:
            self.close()
            raise RunError(error.strip())
        self.device = taken_text(lib.context_get_device(self.ptr))
        opencl = lib.context_get_command_queue(self.ptr)
        self.driver = "native" if self.device.startswith("minifut, native") else "opencl" if opencl else "cuda"

    def close(self):
        if self.ptr:
            self.library.context_free(self.ptr)
        self.library.context_config_free(self.config)  # after the context
        self.ptr = self.config = None

    def load_tuning(self, path):
        with self.lock:
            self.check(self.library.context_load_tuning(self.ptr, os.fsencode(path)))

    def check(self, code):
        """Raises what a call that gave this code says, if it is none of success."""
        if not code:
            return
        text = shown(taken_text(self.library.context_get_error(self.ptr)).strip()) or "the call failed"
        if code == OUT_OF_MEMORY:
            raise OutOfMemory(text)
        text = text[len("Error: "):] if text.startswith("Error: ") else text
        if "entry point arguments have invalid sizes" in text:
            raise ArgumentValueError(text.split("\n", 1)[-1])
        raise RunError(text)

    def made(self, pointer):
        """A function's result, if it made something."""
        if not pointer:
            self.check(1)
        return pointer

    def sync(self):
        with self.lock:
            self.check(self.library.context_sync(self.ptr))

    def alive(self):
        if self.forks != forks:
            raise RunError("this value was made before the process was forked: its device belongs to the parent. Make it again here, "
                           "or pass NumPy arrays to the child")

    def drop(self, free, pointer):
        """Frees an object, now or with the next call."""
        if self.forks == forks and self.ptr:
            self.dead.append((free, pointer))
            self.bury()

    def bury(self):
        if self.dead and self.lock.acquire(blocking=False):
            try:
                while self.dead:
                    free, pointer = self.dead.popleft()
                    free(self.ptr, pointer)
            except IndexError:  # another thread was faster
                pass
            finally:
                self.lock.release()

    def __del__(self):
        try:
            if self.ptr and self.forks == forks:
                while self.dead:
                    free, pointer = self.dead.popleft()
                    free(self.ptr, pointer)
                self.close()
        except (AttributeError, TypeError):  # Python ends
            pass
