#!/usr/bin/env python3
"""Builds the wheel, as pip asks for it (PEP 517 and 660), by make and Python alone: what pip would have to get for a build, a
machine without a network has not.
    python3 python/backend.py FOLDER     the wheel in FOLDER, as `make wheel` does; prints its path"""
import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/minifut"
# What a machine may lack that can run a C compiler.
CARRIED = re.compile(r"lib(?:cjson|md)\.so")


def version():
    return (ROOT / "VERSION").read_text().strip()


INFO = f"minifut-{version()}.dist-info"


def project(field):
    """A field of pyproject.toml: Python 3.9 has no reader of such files."""
    return re.search(rf'^{field} = (.*)$', (ROOT / "pyproject.toml").read_text(), re.M)[1]


def tag():
    return "py3-none-" + re.sub(r"\W", "_", sysconfig.get_platform())


def metadata():
    requires = "".join(f"Requires-Dist: {r}\n" for r in re.findall(r'"([^"]+)"', project("dependencies")))
    return (f"Metadata-Version: 2.1\nName: minifut\nVersion: {version()}\nSummary: {project('description').strip(chr(34))}\nLicense: ISC\n"
            f"Requires-Python: {project('requires-python').strip(chr(34))}\n{requires}Description-Content-Type: text/markdown\n\n"
            + (ROOT / "docs/python.md").read_text(encoding="utf-8"))


def dist_info(pure):
    """The files of minifut-VERSION.dist-info, without RECORD."""
    return {"METADATA": metadata(), "WHEEL": f"Wheel-Version: 1.0\nGenerator: minifut\nRoot-Is-Purelib: {str(pure).lower()}\nTag: {tag()}\n",
            "entry_points.txt": "[console_scripts]\nminifut = minifut.command:main\n", "licenses/LICENSE": (ROOT / "LICENSE").read_text()}


def make(*targets):
    done = subprocess.run(["make", "--no-print-directory", f"-j{os.cpu_count()}", *targets], cwd=ROOT, stdout=sys.stderr)
    if done.returncode:
        raise SystemExit("make failed: the compiler is built by gcc or clang, flex and bison, with cJSON and libmd; `make prerequisites` "
                         "installs them")


def carried(program):
    """The shared libraries that go with the compiler."""
    for line in subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
        m = re.match(r"\s*(\S+) => (\S+)", line)
        if m and CARRIED.match(m[1]):
            yield m[1], Path(m[2])


def licence(library):
    """The file with the licence of a shared library that the wheel carries, where the system's packages say it: Debian's do."""
    if shutil.which("dpkg-query"):
        said = subprocess.run(["dpkg-query", "-S", f"*/{library}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        for package in re.findall(r"^([^:,\s]+)(?::\S+)?: ", said, re.M):
            text = Path("/usr/share/doc", package, "copyright")
            if text.exists():
                return text
    print(f"the wheel carries {library}, whose licence was not found: add it before you give the wheel to others", file=sys.stderr)
    return None


def compiler(work):
    """{place in the wheel: file} of the compiler and what it needs: it looks for libraries and the runtime beside itself."""
    build = ROOT / os.environ.get("BUILD", "build")
    program = Path(work, "minifut")
    make("prerequisites")
    # A link of its own, to look for shared libraries beside itself.
    make(f"BIN={program}", "LDFLAGS=-Wl,-rpath,'$$ORIGIN' -Wl,--disable-new-dtags", str(program))
    if shutil.which("strip"):
        subprocess.run(["strip", program], check=True)
    digest = subprocess.run(["sh", "runtime/bundle.sh", "--digest"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    archives = [build / f"libminifut_{kind}-{digest}.a" for kind in ("rt", "so")]
    libraries = dict(carried(program))
    files = {"minifut": program, **libraries, **{a.name: a for a in archives}, "VERSION": ROOT / "VERSION"}
    texts = {f"{INFO}/licenses/{name}.txt": text for name in libraries if (text := licence(name))}
    return {**{f"minifut/_compiler/{name}": path for name, path in files.items()}, **texts}


def write_wheel(folder, files, pure=False):
    """A wheel of {place: file or text}; its name."""
    files = {**files, **{f"{INFO}/{name}": text for name, text in dist_info(pure).items()}}
    name, record = f"minifut-{version()}-{tag()}.whl", []
    Path(folder).mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(Path(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for place, what in files.items():
            data = what.encode() if isinstance(what, str) else what.read_bytes()
            mode = 0o644 if isinstance(what, str) else what.stat().st_mode & 0o777
            entry = zipfile.ZipInfo(place, (2020, 1, 1, 0, 0, 0))  # the same files, the same wheel
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{place},sha256={digest},{len(data)}")
        z.writestr(zipfile.ZipInfo(f"{INFO}/RECORD", (2020, 1, 1, 0, 0, 0)), "\n".join([*record, f"{INFO}/RECORD,,", ""]))
    return name


# --- What pip calls ---

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as work:
        own = {f"minifut/{p.name}": p for p in sorted(PACKAGE.iterdir()) if p.suffix == ".py" or p.name == "py.typed"}
        return write_wheel(wheel_directory, {**own, **compiler(work)})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The package where it is, with the compiler of the checkout."""
    make("minifut")
    return write_wheel(wheel_directory, {"minifut.pth": f"{ROOT}/python\n"})


def build_sdist(sdist_directory, config_settings=None):
    name = f"minifut-{version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    with tarfile.open(Path(sdist_directory, name + ".tar.gz"), "w:gz") as t:
        for path in filter(None, listed):
            if (ROOT / path).exists():
                t.add(ROOT / path, f"{name}/{path}")
        info = metadata().encode()
        entry = tarfile.TarInfo(f"{name}/PKG-INFO")
        entry.size = len(info)
        t.addfile(entry, io.BytesIO(info))
    return name + ".tar.gz"


if __name__ == "__main__":
    print(Path(sys.argv[1], build_wheel(sys.argv[1])))
