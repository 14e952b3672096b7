"""Programs made of sources: by the compiler to C, by the C compiler to binaries. Used by suite.py and
primitives/run.py."""
import os
import subprocess

# Of pipeline/binary.c.
KERNELS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]


def shell(cmd, limit=None, **more):
    """(exit code, standard output, standard error); a time limit exceeded is exit code 124."""
    try:
        r = subprocess.run([str(c) for c in cmd], capture_output=True, timeout=limit, **more)
        return r.returncode, r.stdout, r.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return 124, b"", f"more than {limit} s"


def emit_c(minifut, source, flattening, target):
    """Writes the C file of a program in a flattening mode; raises RuntimeError with the compiler's message."""
    code, text, message = shell([minifut, "compile", "--emit=c", f"--flatten={flattening}", source])
    if code:
        raise RuntimeError(message)
    target.write_bytes(text)


def build_c(c, portable=False):
    """The binary beside a C file, made if it is older, with kernels for CPUs as `minifut compile` has them made (portable:
    with --portable, for other machines). CFLAGS and LDLIBS come last. Raises RuntimeError with the C compiler's message."""
    binary = c.with_suffix("")
    if not binary.exists() or binary.stat().st_mtime < c.stat().st_mtime:
        cc, flags, libraries = (os.environ.get(name, or_else).split() for name, or_else in
                                [("CC", "cc"), ("CFLAGS", ""), ("LDLIBS", "")])
        here = [] if portable else ["-march=native"]
        code, _, message = shell([*cc, "-std=gnu11", *KERNELS, *here, "-s", *flags, "-o", binary, c, "-lm", "-ldl",
                                  "-lpthread", *libraries])
        if code:
            raise RuntimeError(message)
    return binary
