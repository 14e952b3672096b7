"""What the runners in Python share: checks, what is skipped and why, and the lines that sum them up."""
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig

passed = failed = 0
lacking = {}


def check(ok, what):
    global passed, failed
    passed += bool(ok)
    failed += not ok
    if not ok:
        print("failed:", what)


def scalar_types():
    """The scalar types of the language: bool, then those of numbers."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(root, "common", "scalars.def"), encoding="utf-8") as f:
        return re.findall(r'^ *X\(\w+, +\w+, +"(\w+)"', f.read(), re.M)


def skip(want, n=1):
    """n tests are skipped for want of something."""
    lacking[want] = lacking.get(want, 0) + n


def need(tool, n=1):
    """Is there a program? Else the n tests that need it are skipped."""
    there = shutil.which(tool) is not None
    if not there:
        skip(tool, n)
    return there


# More ranks than processors, by whoever this is; names of Open MPI's series 4 and 5. What is measured is not speed: unoptimised
# programs are built in a quarter of the time.
MPI = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "MINIFUT_DRIVER": "native", "CFLAGS": os.environ.get("CFLAGS", "-O0")}

OPENCL = "an OpenCL device"


@functools.cache
def has_opencl():
    """Is there such a device?"""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    minifut = os.path.abspath(os.environ.get("MINIFUT", os.path.join(root, "minifut")))
    r = subprocess.run([minifut, "devices"], env={**os.environ, "MINIFUT_DRIVER": "opencl"}, capture_output=True, text=True)
    return " platform " in r.stdout


def need_opencl(n=1):
    """Is there one? Else the n tests that need it are skipped."""
    if not has_opencl():
        skip(OPENCL, n)
    return has_opencl()


def has_header(name):
    r = subprocess.run([os.environ.get("CC", "cc"), "-E", "-"], input=f"#include <{name}>\n", capture_output=True, text=True)
    return r.returncode == 0


def need_header(name, package, n=1):
    """Has the C compiler a header? Else the n tests that need it are skipped."""
    there = has_header(name)
    if not there:
        skip(f"{name} ({package})", n)
    return there


def lacks_opencl():
    """What a program that calls OpenCL itself needs and is not there, or None."""
    return "CL/cl.h (opencl-headers)" if not has_header("CL/cl.h") else OPENCL if not has_opencl() else None


def need_modules(*names, n=1):
    """Ends the suite, its n tests skipped, if a module of Python is missing."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            skip(f"{name} (PyPI)", n)
            sys.exit(summary())


def builds_modules():
    """What it takes to build a module for Python with futhark-ffi and is not there, or None."""
    if importlib.util.find_spec("futhark_ffi") is None:
        return "futhark_ffi (PyPI)"
    header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
    return None if os.path.exists(header) else "Python.h (python3-dev)"


# What a tuning says as the machine is slow at the moment, or other work runs beside it: nothing to look at.
TIMELY = (r"^\[\d+/\d+\] .*: trying .* gone.*\r?\n",
          r"^minifut tune: warning: on \d+ data sets? the tuned program is slower than the untuned one\r?\n",
          r"^minifut (?:tune|bench): warning: the machine is busy: .*\r?\n")


def timeless(said):
    """What a command said, without that."""
    for pattern in TIMELY:
        said = re.sub(pattern, "", said, flags=re.M)
    return said


def ending(passed, failed):
    """The last lines of a suite: what it lacked, and its sums."""
    for want, n in lacking.items():
        print(f"skipped for want of {want}: {n}")
    skipped = sum(lacking.values())
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


def summary():
    """The last lines, and the exit status."""
    ending(passed, failed)
    return failed > 0
