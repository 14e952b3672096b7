#!/usr/bin/env python3
"""minifut pkg: packages from a git server that runs here, and from a mirror.

usage: run.py MINIFUT [CASE...]

Each case makes repositories, and a project of its own. The server speaks git's protocol for HTTP; git is told to ask it for what
would be at https://github.com/.
"""
import http.server
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
from checks import check, need, summary  # noqa: E402

MINIFUT = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "minifut")
HOST = "github.com"
CASES = []


def case(f):
    CASES.append(f)
    return f


class Server(http.server.ThreadingHTTPServer):
    """git http-backend on the repositories of a folder; `stalls`: it answers nothing, until it is let go."""
    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.asked, self.stalls, self.go = folder, 0, False, threading.Event()
        self.began = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # a client that went away


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self):
        self.server.asked += 1
        self.server.began.set()
        if self.server.stalls:
            self.server.go.wait(20)
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = {**os.environ, "GIT_PROJECT_ROOT": str(self.server.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
               "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        out = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(rest)

    do_GET = do_POST = answer


class Box:
    """A folder with repositories, a project, a cache, and a user whose git asks the server."""

    def __init__(self, tmp, server):
        self.root, self.server = Path(tmp), server
        self.project, self.mirror = self.root / "project", self.root / "mirror"
        for folder in (self.project, self.mirror, self.root / "home"):
            folder.mkdir()
        self.root.chmod(0o755)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.root / "home"), "XDG_CACHE_HOME": str(self.root / "cache"),
                    "TMPDIR": str(self.root), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
                    **{name: os.environ[name] for name in ["ASAN_OPTIONS"] if name in os.environ}}
        for who in ("AUTHOR", "COMMITTER"):
            self.env |= {f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@b", f"GIT_{who}_DATE": "2020-02-03T04:05:06Z"}
        (self.root / "home/.gitconfig").write_text(
            f'[url "http://127.0.0.1:{server.server_address[1]}/"]\n\tinsteadOf = https://\n[init]\n\tdefaultBranch = main\n')
        server.folder, server.asked, server.stalls = self.mirror, 0, False
        server.go.clear()
        server.began.clear()

    def git(self, repository, *args, **more):
        r = subprocess.run(["git", *args], cwd=repository, env=self.env, capture_output=True, text=True, **more)
        assert r.returncode == 0, r.stderr
        return r.stdout.strip()

    def release(self, name, version, requires="", files=None, package=None):
        """A version of the package github.com/NAME (version None: a commit alone); its commit."""
        repository = self.mirror / HOST / name.partition("@")[0]
        if not repository.exists():
            repository.mkdir(parents=True)
            self.git(repository, "init", "-q")
            (repository / "README.md").write_text("not of the package\n")
        folder = repository / "lib" / HOST / name
        shutil.rmtree(repository / "lib", ignore_errors=True)
        folder.mkdir(parents=True)
        for path, text in (files or {"x.fut": f"def version = \"{version}\"\n"}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        (repository / "futhark.pkg").write_text(f"package {package or f'{HOST}/{name}'}\n\nrequire {{\n{requires}}}\n")
        self.git(repository, "add", "-A")
        self.git(repository, "commit", "-q", "--allow-empty", "-m", f"{version}")
        if version:
            self.git(repository, "tag", f"v{version}")
        return self.git(repository, "rev-parse", "HEAD")

    def pkg(self, args, code=0, err="", out="", mirror=True, **more):
        """Runs a command in the project: exit code, what standard error and output have to contain."""
        env = {**self.env, **({"MINIFUT_MIRROR": str(self.mirror)} if mirror else {}), **more.pop("env", {})}
        r = subprocess.run([MINIFUT, "pkg", *(args.split() if isinstance(args, str) else args)], cwd=self.project, env=env,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **more)
        check(r.returncode == code, f"pkg {args}: exit code {r.returncode}, not {code}\n{r.stdout}{r.stderr}")
        check(re.search(err, r.stderr, re.S) if err else r.stderr == "", f"pkg {args}: says {r.stderr!r}, not {err!r}")
        check(re.search(out, r.stdout, re.S), f"pkg {args}: prints {r.stdout!r}, not {out!r}")
        return r.stdout

    def put(self, path, text):
        path = self.project / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def require(self, *lines):
        self.put("futhark.pkg", "require {\n" + "".join(f"  {line}\n" for line in lines) + "}\n")

    def manifest(self):
        return (self.project / "futhark.pkg").read_text()

    def state(self):
        """All files of the project, but for the record of what is in lib/."""
        return {str(p.relative_to(self.project)): p.readlink() if p.is_symlink() else p.read_text()
                for p in sorted(self.project.rglob("*")) if (p.is_symlink() or p.is_file()) and p.name != ".minifut-packages"}

    def versions(self):
        """The versions of the packages in lib/, as their files say."""
        return {path[len(f"lib/{HOST}/"):-len("/x.fut")]: text.split('"')[1]
                for path, text in self.state().items() if path.startswith(f"lib/{HOST}/") and path.endswith("/x.fut")}


@case
def first_steps(box):
    """add, sync, remove, versions; over the network, then without it."""
    one = box.release("u/a", "0.1.0")
    two = box.release("u/a", "0.2.0", files={"x.fut": 'def version = "0.2.0"\n', "deep/y.fut": "def y = 1\n"})
    box.git(box.mirror / HOST / "u/a", "tag", "v0.3.0-rc1")
    box.git(box.mirror / HOST / "u/a", "tag", "nonsense")
    box.pkg("versions github.com/u/a", out=r"^0\.1\.0\n0\.2\.0\n$", mirror=False)
    box.pkg("add github.com/u/a", mirror=False, out='github.com/u/a 0.2.0\nimport "lib/github.com/u/a/x"\n$')
    check(box.manifest() == f"require {{\n  github.com/u/a 0.2.0 #{two}\n}}\n", f"futhark.pkg: {box.manifest()}")
    check(box.state().keys() == {"futhark.pkg", "lib/github.com/u/a/x.fut", "lib/github.com/u/a/deep/y.fut"}, f"files: {box.state()}")
    asked = box.server.asked
    shutil.rmtree(box.project / "lib")
    box.pkg("sync", mirror=False)
    box.pkg("check", mirror=False, out="github.com/u/a 0.2.0")
    check(box.server.asked == asked, "what was fetched is not fetched again")
    check(box.versions() == {"u/a": "0.2.0"}, f"lib/: {box.versions()}")
    box.pkg("add github.com/u/a 0.1.0", mirror=False, out="0.1.0 instead of 0.2.0")
    check(box.manifest() == f"require {{\n  github.com/u/a 0.1.0 #{one}\n}}\n", f"futhark.pkg: {box.manifest()}")
    check(box.state().keys() == {"futhark.pkg", "lib/github.com/u/a/x.fut"}, f"a file of the other version went: {box.state()}")
    box.pkg("sync", mirror=False, out="^lib/ has already")
    box.pkg("remove github.com/u/b", 1, "does not require github.com/u/b; did you mean 'github.com/u/a'", mirror=False)
    box.pkg("remove github.com/u/a", mirror=False)
    check(box.state() == {"futhark.pkg": "require {\n}\n"} and not (box.project / "lib").exists(), f"nothing is left: {box.state()}")
    three = box.release("u/a", "0.3.0")
    box.pkg("add --offline github.com/u/a", mirror=False, out="0.2.0")
    box.pkg("upgrade", mirror=False, out="github.com/u/a 0.2.0 => 0.3.0")
    check(three in box.manifest() and box.versions() == {"u/a": "0.3.0"}, f"upgraded: {box.state()}")
    box.pkg("upgrade", mirror=False, out="nothing to upgrade")
    box.release("u/a", "0.4.0")
    box.require("github.com/u/a 0.4.0")
    box.pkg("sync", mirror=False)
    check(box.versions() == {"u/a": "0.4.0"}, "a version that the copy does not have yet is fetched")


@case
def addresses(box):
    """Packages by the addresses of their repositories."""
    box.release("u/a", "1.0.0")
    for address in ("https://github.com/u/a", "https://github.com/u/a.git", "git@github.com:u/a.git", "ssh://git@github.com/u/a/", "github.com/u/a/"):
        box.pkg(["add", address], out="github.com/u/a 1.0.0")
        check(re.findall(r"\S*/\S*", box.manifest()) == ["github.com/u/a"], f"{address}: {box.manifest()}")
    for address in ("../a/b", "github.com/../a", "github.com//a", "/etc/passwd", "github.com/u/a b", "github.com/-u/a", "ext::sh -c x/y", "--upload-pack=x/y", "a"):
        box.pkg(["add", "--", address], 1, "is no path of a package: it")
    check(box.versions() == {"u/a": "1.0.0"}, f"lib/: {box.versions()}")


@case
def minimal_versions(box):
    """Of a diamond, the newest version that somebody asks for, and no newer one; what only an older one needs is left out."""
    for v in ("1.0.0", "1.1.0", "1.2.0", "1.3.0"):
        box.release("u/d", v, requires="  github.com/u/old 1.0.0\n" if v == "1.0.0" else "")
    box.release("u/old", "1.0.0")
    box.release("u/b", "1.0.0", requires="  github.com/u/d 1.1.0\n")
    box.release("u/c", "1.0.0", requires="  -- why\n  github.com/u/d 1.2.0\n")
    box.require("github.com/u/a 1.0.0", "github.com/u/b 1.0.0", "github.com/u/c 1.0.0", "github.com/u/d 1.0.0")
    box.release("u/a", "1.0.0", requires="  github.com/u/d 1.0.0\n")
    before = box.manifest()
    box.pkg("sync", out="github.com/u/d 1.2.0")
    check(box.versions() == {"u/a": "1.0.0", "u/b": "1.0.0", "u/c": "1.0.0", "u/d": "1.2.0"}, f"lib/: {box.versions()}")
    check(box.manifest() == before, "sync leaves futhark.pkg")
    box.pkg("remove github.com/u/c")
    check(box.versions() == {"u/a": "1.0.0", "u/b": "1.0.0", "u/d": "1.1.0"}, f"without one side: {box.versions()}")
    box.put("p.fut", 'import "lib/github.com/u/d/x"\nentry main : [5]u8 = version\n')
    r = subprocess.run([MINIFUT, "run", "--text", "p.fut"], cwd=box.project, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check(r.stdout.strip() == "1.1.0", f"a program with it: {r}")


@case
def circles(box):
    """Packages may require each other, and the project itself, but not themselves."""
    box.release("u/a", "1.0.0", requires="  github.com/u/b 1.0.0\n")
    box.release("u/b", "1.0.0", requires="  github.com/u/a 1.0.0\n  github.com/u/own 3.0.0\n")
    box.put("futhark.pkg", "package github.com/u/own\nrequire { github.com/u/a 1.0.0 }\n")
    box.put("lib/github.com/u/own/mine.fut", "def mine = 1\n")
    box.pkg("sync")
    check(box.versions() == {"u/a": "1.0.0", "u/b": "1.0.0"}, f"lib/: {box.versions()}")
    check("lib/github.com/u/own/mine.fut" in box.state(), "the project's own files stay")
    box.put("futhark.pkg", "package github.com/u/own\nrequire {\n  github.com/u/own 1.0.0\n}\n")
    box.pkg("sync", 1, r"^futhark.pkg:3:3: error: the package requires itself\n.*\^~+\n$")


@case
def major_versions(box):
    """Versions from 2 on are other packages, PATH@2."""
    box.release("u/a", "1.0.0")
    box.release("u/a@2", "2.0.0")
    box.release("u/a@2", "2.1.0")
    box.release("u/new@3", "3.0.0")
    box.pkg("add github.com/u/a", out="1.0.0")
    box.pkg("add github.com/u/a@2", out="2.1.0")
    check(box.versions() == {"u/a": "1.0.0", "u/a@2": "2.1.0"}, f"lib/: {box.versions()}")
    box.pkg("upgrade", out="nothing")
    box.pkg("versions github.com/u/a@2", out=r"^2\.0\.0\n2\.1\.0\n$")
    box.pkg("add github.com/u/a 2.0.0", 1, "2.0.0 is not of the package github.com/u/a, but of github.com/u/a@2")
    box.pkg("add github.com/u/new", 1, "has no versions; those from 3.0.0 on are of the package github.com/u/new@3")
    box.git(box.mirror / HOST / "u/a", "tag", "v2.2.0", "v1.0.0")
    box.pkg("add github.com/u/a@2 2.2.0", 1, "has no folder lib/github.com/u/a@2.*it says that it is the package github.com/u/a\n")


@case
def commits(box):
    """Packages without releases: versions that stand for commits."""
    first = box.release("u/a", None, files={"x.fut": 'def version = "first"\n'})
    box.pkg("add github.com/u/a", mirror=False)
    check(box.manifest() == f"require {{\n  github.com/u/a 0.0.0-20200203040506+{first}\n}}\n", f"futhark.pkg: {box.manifest()}")
    box.pkg("upgrade", out="nothing", mirror=False)
    box.env["GIT_COMMITTER_DATE"] = "2021-02-03T04:05:06+01:00"
    second = box.release("u/a", None, files={"x.fut": 'def version = "second"\n'})
    box.pkg("upgrade", mirror=False)
    check(f"0.0.0-20210203030506+{second}" in box.manifest() and box.versions() == {"u/a": "second"}, f"upgraded: {box.state()}")
    box.pkg(f"add github.com/u/a {first[:9]}", mirror=False)
    check(first in box.manifest() and box.versions() == {"u/a": "first"}, f"an older one: {box.state()}")
    box.pkg("add github.com/u/a abcdef0123", 1, "has no commit abcdef0123", mirror=False)
    box.pkg("add github.com/u/a main", 1, "neither a version X.Y.Z nor the hash of a commit", mirror=False)
    box.release("u/a", "0.1.0")
    box.pkg("upgrade", mirror=False, out="=> 0.1.0")
    box.require("github.com/u/a 0.0.0-20200203040506+main")
    box.pkg("sync", 1, r"^futhark.pkg:2:3: error: `main` is not the hash of a commit\n")


@case
def wrong_hash(box):
    """A tag that was moved: expected and got; what is in the cache is asked before the network, not trusted after it."""
    old = box.release("u/a", "1.0.0")
    box.pkg("add github.com/u/a", mirror=False)
    state = box.state()
    new = box.release("u/a", None, files={"x.fut": 'def version = "evil"\n'})
    box.git(box.mirror / HOST / "u/a", "tag", "-f", "v1.0.0", new)
    box.pkg("sync", mirror=False, out="already")
    box.pkg("sync", 1, f"^futhark.pkg:2:3: error: github.com/u/a 1.0.0 is not what it was: its commit should be {old}, and is {new}\n.*\\^~+\n"
            ".*`minifut pkg add github.com/u/a 1.0.0` takes what is there now")
    box.pkg("upgrade", 1, "is not what it was", mirror=False)
    box.pkg("sync", 1, "is not what it was", mirror=False)
    check(box.state() == state, f"nothing has changed: {box.state()}")
    box.release("u/b", "1.0.0", requires=f"  github.com/u/a 1.0.0 #{old}\n")
    box.require("github.com/u/b 1.0.0")
    box.pkg("sync", 1, f"^github.com/u/b 1.0.0: futhark.pkg:4:3: error: .*should be {old}")
    box.pkg("add github.com/u/a 1.0.0", out="github.com/u/a 1.0.0")
    check(box.versions()["u/a"] == "evil", "but what the user has said goes")


@case
def not_to_be_had(box):
    """Missing tags, repositories, folders, networks, git itself."""
    for v in ("1.0.0", "1.1.0"):
        box.release("u/a", v)
    box.require("-- comment", "github.com/u/a 1.0.3")
    state = box.state()
    box.pkg("sync", 1, r"^futhark.pkg:3:3: error: github.com/u/a has no version 1.0.3: its repository has no tag v1.0.3\n.*\^~+\n"
            ".*it has 1.0.0, 1.1.0\n.*the next one is 1.1.0\n")
    box.require("github.com/u/nothing 1.0.0")
    box.pkg("sync", 1, r"^futhark.pkg:2:3: error: the mirror has no repository .*/github.com/u/nothing")
    box.pkg("sync", 1, r"^futhark.pkg:2:3: error: cannot fetch https://github.com/u/nothing\n.*git says: .*--mirror", mirror=False)
    box.pkg("sync --offline", 1, r"^futhark.pkg:2:3: error: github.com/u/nothing has not been fetched before", mirror=False)
    check(not list((box.root / "cache").rglob("minifut-tmp*")), "nothing is left in the cache")
    (box.root / "none").mkdir()
    box.pkg("sync", 1, r"^futhark.pkg:2:3: error: .*git, which fetches packages, cannot be run: No such file", mirror=False,
            env={"PATH": str(box.root / "none")})
    box.git(box.mirror, "init", "-q", "--bare", "github.com/u/empty")
    box.pkg("add github.com/u/empty", 1, "cannot fetch", mirror=False)
    box.pkg("add github.com/u/empty", 1, "has no commit")
    plain = box.mirror / HOST / "u/plain"
    box.require("-- comment")
    box.release("u/plain", "1.0.0", package="github.com/u/other", files={"x.fut": ""})
    box.git(plain, "mv", "lib/github.com/u/plain", "lib/github.com/u/other")
    box.git(plain, "commit", "-qm", "moved")
    box.git(plain, "tag", "v1.1.0")
    box.git(plain, "rm", "-q", "futhark.pkg")
    box.git(plain, "commit", "-qm", "no package")
    box.git(plain, "tag", "v1.2.0")
    box.pkg("add github.com/u/plain 1.1.0", 1, "1.1.0 has no folder lib/github.com/u/plain.*says that it is the package github.com/u/other\n")
    box.pkg("add github.com/u/plain 1.2.0", 1, "1.2.0 is no package: its repository has no file futhark.pkg")
    box.pkg("add github.com/u/a 1.9.0", 1, "has no version 1.9.0")
    box.put("futhark.pkg", state["futhark.pkg"])
    check(box.state() == state, f"nothing has changed: {box.state()}")
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    server.server_close()
    (box.root / "home/.gitconfig").write_text(f'[url "http://127.0.0.1:{port}/"]\n\tinsteadOf = https://\n')
    box.pkg("versions github.com/u/a", 1, "cannot fetch https://github.com/u/a\n.*git says: .*\n.*--offline", mirror=False)


@case
def interrupted(box):
    """A signal while git fetches, a killed one, a full disk: all is as it was, and nothing is left."""
    box.release("u/a", "1.0.0")
    box.release("u/b", "1.0.0", files={"x.fut": "-- " + "long " * 2000})
    box.pkg("add github.com/u/a")
    state = box.state()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        box.server.stalls = True
        box.server.began.clear()
        p = subprocess.Popen([MINIFUT, "pkg", "add", "github.com/u/b"], cwd=box.project, env=box.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        check(box.server.began.wait(20), "it has begun to fetch")
        p.send_signal(sig)
        out = p.communicate(timeout=20)[0]
        check(p.returncode == -sig, f"ended by {sig.name}: {p.returncode} {out}")
        check(box.state() == state and not list(box.project.glob("minifut-tmp*")), f"after {sig.name}: {box.state()}")
        box.server.stalls = False
        box.server.go.set()
    full = {"preexec_fn": lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))}
    box.pkg("add github.com/u/b", 1, "cannot make a new folder lib: File too large", **full)
    check(box.state() == state and not list(box.project.glob("minifut-tmp*")), f"full disk: {os.listdir(box.project)}")
    box.put("minifut-tmp-stale1/lib/x", "left by a process that was killed")
    box.put("minifut-tmp-stale1/.minifut-lock", "")
    box.pkg("add github.com/u/b", mirror=False)
    check(not list(box.project.glob("minifut-tmp*")) and not list((box.root / "cache").rglob("minifut-tmp*")), "what was left is removed")
    box.git(box.mirror, "config", "--global", "user.x", "y")
    hook = {"GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere", "GIT_INDEX_FILE": "/nowhere"}
    box.pkg("sync", env=hook, out="already")


@case
def side_by_side(box):
    """Several commands at once in a project: one after the other, in an empty folder, too."""
    names = ["u/a", "u/b", "u/c", "u/d"]
    for name in names:
        box.release(name, "1.0.0")
    env = {**box.env, "MINIFUT_MIRROR": str(box.mirror)}
    running = [subprocess.Popen([MINIFUT, "pkg", "add", f"{HOST}/{name}"], cwd=box.project, env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for name in names]
    for p in running:
        _, err = p.communicate(timeout=60)
        check(p.returncode == 0 and err in ("", "minifut pkg: waits for another one in this folder\n"), f"add beside others: {p.returncode} {err}")
    text = (box.project / "futhark.pkg").read_text()
    check(all(name in text and (box.project / "lib" / HOST / name / "x.fut").is_file() for name in names), f"add beside others: {text}")


@case
def read_only(box):
    """Folders that one may not write."""
    box.release("u/a", "1.0.0")
    box.release("u/a", "1.1.0")
    box.pkg("add github.com/u/a 1.0.0")
    state = box.state()
    lib = box.project / "lib"
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    if user:
        box.project.chmod(0o777)
        os.chmod(lib, 0o755)
    else:
        lib.chmod(0o555)
    box.pkg("upgrade", 1, "(cannot replace lib|cannot write futhark.pkg): (Permission denied|Operation not permitted)", **user)
    check(box.state() == state and not list(box.project.glob("minifut-tmp*")), f"lib/ is read-only: {box.state()}")
    box.pkg("sync", out="already", **user)
    box.project.chmod(0o755 if user else 0o555)
    box.pkg("upgrade", 1, "cannot make a new folder lib: Permission denied", **user)
    box.project.chmod(0o755)
    lib.chmod(0o755)
    check(box.state() == state, f"the project is read-only: {box.state()}")


@case
def files_of_users(box):
    """What is in lib/ and of no package is kept; files of packages that were changed by hand are not written over."""
    box.release("u/a", "1.0.0", files={"x.fut": 'def version = "1.0.0"\n', "gone.fut": "def gone = 1\n"})
    box.release("u/a", "1.1.0")
    box.pkg("add github.com/u/a 1.0.0")
    mine = {"lib/mine.fut": "def mine = 1\n", "lib/github.com/me/own/o.fut": "def own = 1\n", "lib/github.com/u/a/note.txt": "why\n"}
    for path, text in mine.items():
        box.put(path, text)
    (box.project / "lib/empty/folder").mkdir(parents=True)
    (box.project / "lib/link.fut").symlink_to("mine.fut")
    box.pkg("upgrade", out="and 4 files of no package, kept")
    state = box.state()
    check(mine.items() <= state.items() and box.versions() == {"u/a": "1.1.0"}, f"kept: {state}")
    check("lib/github.com/u/a/gone.fut" not in state, "a file of the older version went")
    check((box.project / "lib/empty/folder").is_dir() and (box.project / "lib/link.fut").is_symlink(), "folders and links stay")
    box.put("lib/github.com/u/a/x.fut", "changed\n")
    changed = box.state()
    box.pkg("sync", 1, "lib/github.com/u/a/x.fut is not as a package has brought it, .*--force")
    box.pkg("add github.com/u/a 1.0.0", 1, "--force")
    check(box.state() == changed, "nothing was written over")
    box.pkg("sync --force")
    check(box.state() == state, f"by force: {box.state()}")
    box.put("lib/github.com/u/a/x.fut", "changed\n")
    box.pkg("remove github.com/u/a", out="kept")
    check(box.state()["lib/github.com/u/a/x.fut"] == "changed\n", "what was changed is the user's")
    # A package where another tool has put one: no record, other contents, but such that its repository knows them.
    shutil.rmtree(box.project / "lib")
    box.put("lib/github.com/u/a/x.fut", 'def version = "1.0.0"\n')
    box.put("lib/github.com/u/a/gone.fut", "def gone = 1\n")
    box.pkg("add github.com/u/a")
    check(box.versions() == {"u/a": "1.1.0"} and "lib/github.com/u/a/gone.fut" not in box.state(), f"without a record: {box.state()}")
    # A link in the place of a package, and of lib/ itself.
    shutil.rmtree(box.project / "lib/github.com/u/a")
    box.put("elsewhere/x.fut", "mine\n")
    (box.project / "lib/github.com/u/a").symlink_to("../../../elsewhere")
    box.pkg("sync", 1, "lib/github.com/u/a is not as")
    box.pkg("sync --force")
    check(box.state()["elsewhere/x.fut"] == "mine\n" and box.versions() == {"u/a": "1.1.0"}, f"nothing is written through a link: {box.state()}")
    shutil.move(box.project / "lib", box.root / "real")
    (box.project / "lib").symlink_to("../real")
    box.pkg("add github.com/u/a 1.0.0")
    check((box.project / "lib").is_symlink() and "1.0.0" in (box.root / "real/github.com/u/a/x.fut").read_text(), "lib/ may be a link")


def tree(box, repository, *entries):
    """The hash of a tree as git itself would not make it: (mode, name, hash)."""
    raw = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(of) for mode, name, of in entries)
    r = subprocess.run(["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"], input=raw, cwd=repository, env=box.env, capture_output=True)
    return r.stdout.decode().strip()


@case
def hostile(box):
    """Links, paths that lead elsewhere, weird names, repositories within: nothing of such a package is taken."""
    box.release("u/evil", "1.0.0")
    repository = box.mirror / HOST / "u/evil"
    box.pkg("add github.com/u/evil 1.0.0")
    state = box.state()
    pkg = "package github.com/u/evil\nrequire {}\n"
    bad = [("120000", "x.fut", "a link"), ("160000", "sub", "no file"), ("100644", "a\nb.fut", "a character of code 10"),
           ("100644", "\x1b[31m.fut", "code 27"), ("100644", "a\\b.fut", "code 92"), ("100644", ".git", "keeps for itself"),
           ("100644", "..", "lead elsewhere"), ("40000", "..", "lead elsewhere"), ("40000", ".", "lead elsewhere"), ("40000", ".GIT", "keeps for itself")]
    x, manifest = (box.git(repository, "hash-object", "-w", "--stdin", input=text) for text in ("x", pkg))
    inner = tree(box, repository, ("100644", "escaped.fut", x))
    for n, (mode, name, why) in enumerate(bad, 1):
        top = tree(box, repository, (mode, name, inner if mode == "40000" else x))
        for part in ("evil", "u", "github.com"):
            top = tree(box, repository, ("40000", part, top))
        top = tree(box, repository, ("100644", "futhark.pkg", manifest), ("40000", "lib", top))
        box.git(repository, "tag", f"v1.{n}.0", box.git(repository, "commit-tree", "-m", "x", top))
        box.pkg(f"add github.com/u/evil 1.{n}.0", 1, f"the package github.com/u/evil is refused: its file `[ -~]*` is .*{why}")
    check(box.state() == state, f"nothing of them is there: {box.state()}")
    box.release("u/b", "1.0.0", requires="  github.com/../../../etc 1.0.0\n")
    box.pkg("add github.com/u/b", 1, "^github.com/u/b 1.0.0: futhark.pkg:4:3: error: `github.com/../../../etc` is no path of a package: it has a part `..`\n")
    check(box.state() == state, f"nor of that: {box.state()}")


@case
def manifests(box):
    """futhark.pkg: comments, layout, what is wrong with one; init."""
    wrong = [("require {\n  github.com/u/a 1.0\n}\n", "2:18", "expected a version"), ("require {\n  github.com/u/a\n  1.0.0\n}\n", "2:17", "expected a version"),
             ("require {\n  github.com/u/a 1.0.0\n", "3:1", "expected `}`"), ("requires\n", "1:8", "expected `{`"), ("pack x\n", "1:1", "expected `package PATH`"),
             ("package ../x\n", "1:9", "it has a part `..`"), ("require {\n  github.com/u/a 1.0.0 #\n}\n", "2:25", "expected the hash"),
             ("require {\n  github.com/u/a 01.0.0\n}\n", "2:18", "expected a version"), ("require {\n  github.com/u/a 1.0.0-rc1\n}\n", "2:18", "expected a version"),
             ("require {}\nx\n", "2:1", "expected nothing behind"), ("require {\n  € 1.0.0\n}\n", "2:3", "expected the path of a package"),
             ("require {\n  github.com/u/a 1.0.0x\n}\n", "2:23", "does not belong to a version")]
    for text, place, what in wrong:
        box.put("futhark.pkg", text)
        box.pkg("sync", 1, rf"^futhark.pkg:{place}: error: [^\n]*{re.escape(what)}.*\n +\^[~]*\n$")
        check(box.manifest() == text, f"what is wrong is left alone: {text}")
    box.put("futhark.pkg", "--top\n\n -- two \npackage   github.com/u/own/ -- own\nrequire{github.com/u/a 1.0.0 #abc1 github.com/u/b 0.0.0-20200101000000+abcdef012 -- b\n"
            "\t-- last\r\n}\n\n-- end")
    box.pkg("fmt")
    laid = ("--top\n-- two\npackage github.com/u/own\n\n-- own\nrequire {\n  github.com/u/a 1.0.0 #abc1\n  github.com/u/b 0.0.0-20200101000000+abcdef012\n  -- b\n"
            "  -- last\n}\n-- end\n")
    check(box.manifest() == laid, f"layout: {box.manifest()}")
    box.pkg("fmt")
    check(box.manifest() == laid, f"laid out again: {box.manifest()}")
    (box.project / "futhark.pkg").unlink()
    box.release("u/a", "1.0.0")
    for command in ("sync", "check", "fmt", "upgrade", "remove github.com/u/a"):
        box.pkg(command, 1, "there is no futhark.pkg here, nor above")
    box.pkg("init github.com/u/own")
    check(box.manifest() == "package github.com/u/own\n\nrequire {\n}\n" and (box.project / "lib/github.com/u/own").is_dir(), "a package of one's own")
    box.pkg("create github.com/u/own", 1, "there is a futhark.pkg already")
    box.pkg("check", 1, r"^futhark.pkg:1:9: error: there is no .fut or .sf file in lib/github.com/u/own")
    box.put("lib/github.com/u/own/o.fut", "def o = 1\n")
    box.put("futhark.pkg", box.manifest().replace("require {\n", "require {\n  -- twice\n  github.com/u/a 0.9.0\n  github.com/u/a 1.0.0\n"))
    box.pkg("check", 0, "^futhark.pkg:5:3: warning: `github.com/u/a` is required once more below", out="github.com/u/a 1.0.0")
    (box.project / "deep/er").mkdir(parents=True)
    r = subprocess.run([MINIFUT, "pkg", "sync", "--mirror", "../../../mirror"], cwd=box.project / "deep/er", env=box.env, capture_output=True, text=True)
    check(r.returncode == 0 and box.versions() == {"u/a": "1.0.0"} and "in ../../" in r.stdout, f"from a folder below: {r}")


@case
def command_line(box):
    for args, code, err in (("", 2, "usage: minifut pkg"), ("snyc", 2, "did you mean 'sync'"), ("add", 2, "which package"), ("sync x", 2, "takes no argument 'x'"),
                            ("--offline", 2, "which command"), ("sync --mirrow x", 2, "did you mean '--mirror'"), ("fmt --force", 2, "unknown option"),
                            ("add ../x", 1, "is no path of a package"), ("init ../x", 1, "is no path of a package")):
        box.pkg(args, code, err)
    box.pkg("--help", out="upgrade .*--mirror")
    box.pkg("add --help", out="--mirror")
    check(not os.listdir(box.project), f"nothing was made: {os.listdir(box.project)}")


@case
def imports(box):
    """What the compiler says of packages that are not there."""
    box.release("u/a", "1.0.0", files={"x.fut": 'import "../b/x"\n'})
    box.require("github.com/u/a 1.0.0")
    box.put("src/p.fut", 'import "lib/github.com/u/a/x"\nimport "lib/github.com/u/c/x"\n')

    def says(*what):
        r = subprocess.run([MINIFUT, "check", "src/p.fut"], cwd=box.project, capture_output=True, text=True)
        check(r.returncode == 1 and all(w in r.stderr for w in what), f"{what}: {r.stderr}")
    says("`minifut pkg sync` fetches the package github.com/u/a\n", "`minifut pkg add github.com/u/c` fetches the package\n")
    box.pkg("sync")
    says("lib/github.com/u/a/x.fut:1:1: error", "`minifut pkg sync` fetches the package github.com/u/b\n")
    box.put("src/p.fut", 'import "lib/github.com/u/a/y"\n')
    says("the package github.com/u/a is there, without such a file")
    box.put("futhark.pkg", "require { oh\n")
    box.put("src/p.fut", 'import "lib/github.com/u/c/x"\n')
    says("`minifut pkg add github.com/u/c` fetches the package\n")


def main():
    names = sys.argv[2:]
    cases = [f for f in CASES if not names or f.__name__ in names]
    if need("git", len(cases)):
        server = Server(None)
        for f in cases:
            with tempfile.TemporaryDirectory() as tmp:
                began = time.monotonic()
                f(Box(tmp, server))
                if os.environ.get("TIMES"):
                    print(f"{f.__name__}: {time.monotonic() - began:.1f} s")
    sys.exit(summary())


if __name__ == "__main__":
    main()
