"""The compiler as a process, and what it built before: shared libraries by what they were made of."""
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

from .errors import CompileError, CompileWarning, Error

HERE = Path(__file__).resolve().parent
C_COMPILERS = ("cc", "gcc", "clang")


@functools.lru_cache(maxsize=None)
def command():
    """The path of `minifut`: $MINIFUT, the one of the package, that of the checkout that the package lies in, the one in $PATH."""
    places = [os.environ.get("MINIFUT"), HERE / "_compiler/minifut", HERE.parent.parent / "minifut", shutil.which("minifut")]
    for place in places:
        if place and os.access(place, os.X_OK) and os.path.isfile(place):
            return os.path.abspath(place)
    raise Error("the compiler is not there: neither $MINIFUT nor $PATH has a program `minifut`")


def c_compiler():
    """The C compiler's command, as `minifut compile` looks for it ($CC, cc), or one with another usual name."""
    chosen = os.environ.get("CC", "").split()
    for name in chosen[:1] or C_COMPILERS:
        if shutil.which(name):
            return name
    raise Error(f"there is no C compiler ({chosen[0] if chosen else ', '.join(C_COMPILERS)}): minifut writes programs in C, which gcc or clang "
                "compile (Debian, Ubuntu: apt-get install gcc libc6-dev). $CC names another one")


def run(args, folder=None, check=True, env=None):
    """Runs `minifut ARGS`; the finished process. With `check`, a failure is a CompileError with what was said."""
    done = subprocess.run([command(), *map(str, args)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, env=env,
                          encoding="utf-8", errors="replace")
    if check and done.returncode:
        raise CompileError(shown(done.stderr) or f"minifut {args[0]} ended with exit code {done.returncode}")
    return done


def shown(text):
    """What was said, with the names of texts for those of their files."""
    return re.sub(r"\.([^/\s:\"]+?)-minifut-\w{8}\.sf\b", r"\1.sf", text)


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(os.path.abspath(base), "minifut", "python")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        failed = None if os.access(folder, os.W_OK) else "it may not be written to"
    except OSError as e:
        failed = e.strerror
    if failed:
        raise Error(f"what is compiled cannot be kept in {folder}: {failed}. $XDG_CACHE_HOME names another place")
    return folder


def digest(*parts):
    h = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        h.update(b"%d:" % len(data))
        h.update(data)
    return h.hexdigest()


@functools.lru_cache(maxsize=None)
def made_by():
    """What else a library depends on: the compiler, and the processor that kernels are for."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    processor = {line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))}
    return digest(Path(command()).read_bytes(), platform.machine(), *sorted(processor))


class Source:
    """A program: a file, or a text, which becomes a file where the compiler needs one."""

    def __init__(self, path=None, text=None, name="program", folder=None):
        self.path, self.text = path and Path(path), text
        self.name = self.path.name if path else name + ".sf"
        # A link is a program by its own name, in its own folder.
        self.folder = Path(os.path.abspath(path)).parent if path else Path(folder or ".").resolve()
        if path and not self.path.is_file():
            raise FileNotFoundError(f"there is no program {path}")

    @contextmanager
    def file(self, text=None):
        """The file's folder and name. A text's is there meanwhile, where its imports are found; `text`: instead of the own one."""
        text = self.text if text is None else text
        if text is None:
            yield self.folder, self.path.name
            return
        with tempfile.TemporaryDirectory(prefix="minifut-") as own:
            file = self.beside_imports() if re.search(r'\bimport\s*"', text) else Path(own, self.name)
            try:
                file.write_text(text, encoding="utf-8")
                yield file.parent, file.name
            finally:
                file.unlink()

    def beside_imports(self):
        """A new file in the user's folder, hidden; `shown` knows its name."""
        try:
            handle, path = tempfile.mkstemp(".sf", f".{self.name[:-3]}-minifut-", self.folder)
        except OSError as e:
            raise Error(f"{self.name}: its imports are looked for in {self.folder}, where the compiler needs a file: {e.strerror}") from None
        os.close(handle)
        return Path(path)


def read_sources(folder, names):
    """The contents of files as digests; None if one cannot be read."""
    try:
        return {name: digest(Path(folder, name).read_bytes()) for name in names}
    except OSError:
        return None


class Built:
    """A shared library that is there: its folder, the manifest, the C text that it was made of."""

    def __init__(self, folder):
        self.library = str(folder / "program.so")
        self.manifest = json.loads((folder / "program.json").read_text(encoding="utf-8"))


def build(source, options=()):
    """The library of a program, from the cache if it was built before from the same files by the same compiler."""
    text = source.text
    state = (made_by(), os.environ.get("CC"), os.environ.get("CFLAGS"), *options)
    index = cache_folder() / f"{digest(*state, source.folder, source.name, text)}.index"
    known = load_index(index)
    if known and read_sources(source.folder, known["sources"]) == known["sources"] and Path(known["folder"], "program.json").exists():
        return Built(Path(known["folder"]))
    with source.file() as (folder, name):
        told = run(["sources", "--", name], folder)
        names = [n for n in told.stdout.split("\0") if n and (text is None or n != name)]
        sources = read_sources(folder, names) or {}
        home = cache_folder() / digest(*state, source.name, text, *sorted(sources.items()))
        if not (home / "program.json").exists():
            compile_to(home, folder, name, options, source)
    write_index(index, {"sources": sources, "folder": str(home)})
    return Built(home)


def load_index(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_index(path, what):
    """In one step, as others may read it meanwhile."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix="new-", delete=False) as new:
        new.write(json.dumps(what))
    os.replace(new.name, path)


def compile_to(home, folder, name, options, source):
    """Builds in a folder of its own, which becomes `home` unless another process was faster."""
    env = dict(os.environ)
    cc = c_compiler()
    if cc != "cc" and not env.get("CC"):
        env["CC"] = cc
    with tempfile.TemporaryDirectory(prefix="new-", dir=cache_folder()) as work:
        made = Path(work, "made")
        made.mkdir()
        done = run(["compile", "--shared", *options, "-o", made / "program", "--", name], folder, env=env)
        if done.stderr.strip():
            warnings.warn(shown(done.stderr).strip(), CompileWarning, stacklevel=5)
        for extra in ("program.c", "program.h"):
            (made / extra).unlink()
        try:
            os.rename(made, home)
        except OSError:
            if not (home / "program.json").exists():
                raise
