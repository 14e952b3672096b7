#!/usr/bin/env python3
"""Several hosts on one machine: tests/ranks/hosts.py MINIFUT. Each is a namespace with a network device, name and processes of its
own, and what they send goes through a switch in this process, which can be slow, lose some of it, or lose a host; so that ranks and the
daemons of Open MPI speak TCP as between machines. All of it is in namespaces that end with this process."""
import fcntl
import heapq
import os
import random
import selectors
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
from checks import check, need, skip, summary  # noqa: E402
from mpi import HERE, MPICC, MPIRUN, Job, run  # noqa: E402

CASES = 18
HOSTS = 3
INSIDE = "MINIFUT_TESTS_INSIDE"
NETWORK = "10.77.0"
# Who has heard nothing for 2 s asks three times, and holds the other for lost after 3 s more.
KEEPALIVE = [word for name, value in (("time", 2), ("intvl", 1), ("probes", 3)) for word in ("--mca", f"oob_tcp_keepalive_{name}", value)]
# Open MPI's ssh: a shell in a host's namespaces.
AGENT = """#!/bin/sh
pid=$(cat "%s/$1.pid")
shift
exec nsenter --net=/proc/$pid/ns/net --uts=/proc/$pid/ns/uts --mount=/proc/$pid/ns/mnt --pid=/proc/$pid/ns/pid_for_children sh -c "$*"
"""


class Switch(threading.Thread):
    """Passes frames on between the hosts' devices."""

    def __init__(self, n):
        super().__init__(daemon=True)
        self.delay, self.loss, self.lost = 0.0, 0.0, set()
        self.frames = [[0] * n for _ in range(n)]
        self.dice = random.Random(1)
        self.taps = [self.tap(k) for k in range(n)]

    @staticmethod
    def tap(k):
        TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 2, 0x1000
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", f"tap{k}".encode(), IFF_TAP | IFF_NO_PI))
        return fd

    def send(self, source, frame):
        """To the host whose device it is for, whose number ends the address; to all if to none."""
        to = frame[5] if frame[:5] == b"\2\0\0\0\0" else None
        for k, fd in enumerate(self.taps):
            if k != source and to in (None, k) and not self.lost & {k, source}:
                self.frames[source][k] += 1
                try:
                    os.write(fd, frame)
                except OSError:
                    pass  # it is down

    def run(self):
        waiting, n = [], 0
        with selectors.DefaultSelector() as ready:
            for k, fd in enumerate(self.taps):
                ready.register(fd, selectors.EVENT_READ, k)
            while True:
                for key, _ in ready.select(max(0, waiting[0][0] - time.monotonic()) if waiting else 1):
                    try:
                        frame = os.read(key.fd, 65536)
                    except OSError:
                        continue
                    if self.dice.random() >= self.loss:
                        n += 1
                        heapq.heappush(waiting, (time.monotonic() + self.delay, n, key.data, frame))
                while waiting and waiting[0][0] <= time.monotonic():
                    _, _, source, frame = heapq.heappop(waiting)
                    self.send(source, frame)


class Host:
    """A namespace of its own for names, network, and all processes but the first host's, which starts the others'."""

    def __init__(self, k, place):
        self.address = f"{NETWORK}.{k + 1}"
        self.process = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                                         "sh", "-c", f"hostname host{k + 1} && echo && exec sleep infinity"], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.inside = ["nsenter", *(f"--{name}=/proc/{self.process.pid}/ns/{name}" for name in ("net", "uts"))]
        (place / f"{self.address}.pid").write_text(str(self.process.pid))
        subprocess.run(["ip", "link", "set", f"tap{k}", "netns", str(self.process.pid)], check=True)
        for words in (["link", "set", "lo", "up"], ["link", "set", f"tap{k}", "address", f"02:00:00:00:00:{k:02x}"],
                      ["addr", "add", f"{self.address}/24", "dev", f"tap{k}"], ["link", "set", f"tap{k}", "up"]):
            subprocess.run([*self.inside, "ip", *words], check=True)

    def end(self):
        self.process.kill()
        self.process.wait()


class Cluster:
    def __init__(self, place):
        self.switch = Switch(HOSTS)
        self.hosts = [Host(k, place) for k in range(HOSTS)]
        self.switch.start()
        agent = place / "agent"
        agent.write_text(AGENT % place)
        agent.chmod(0o755)
        net = f"{NETWORK}.0/24"
        self.launcher = [*self.hosts[0].inside, MPIRUN, "-np", str(HOSTS), "--host", ",".join(h.address for h in self.hosts),
                         "--mca", "plm_rsh_agent", str(agent), "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                         "--mca", "btl_tcp_if_include", net, "--mca", "oob_tcp_if_include", net, *map(str, KEEPALIVE)]

    def job(self, *words, text):
        return Job(words, text=text, launcher=self.launcher)


def same_results(cluster, program, what, size):
    """Sums, prefixes, gathered arrays and halos are what one rank finds."""
    for entry, text in (("maps", f"[{', '.join(f'{i}i64' for i in range(size))}] 5i64"),
                        ("prefixes", f"[{', '.join(str(i % 7) for i in range(size))}]"),
                        ("line", f"[{', '.join(f'{i % 9}f64' for i in range(size))}] 5i64")):
        alone = run(program, "-e", entry, text=text)
        check(alone.returncode == 0, alone.stderr)
        code, out, err, left = cluster.job(program, "-e", entry, "--param", f"{entry}.suff_dist_0=1", text=text).end(120)
        check(code == 0 and out == alone.stdout and not left, f"{what}: {entry}: {code}, {left}, {err}")


def lost(cluster, program, what, meanwhile):
    """Something happens while all compute: the job ends, with a code, and without processes left anywhere."""
    job = cluster.job(program, "-e", "steps", "--param", "steps.suff_dist_0=1", text="[1i64, 2i64, 3i64, 4i64] 1000000000000i64")

    def act():
        job.wait_for_all(HOSTS, program)
        time.sleep(1)
        began[0] = time.monotonic()
        meanwhile(job)
    began = [time.monotonic()]
    other = threading.Thread(target=act)
    other.start()
    code, out, err, left = job.end(60)
    other.join()
    print(f"{what}: {time.monotonic() - began[0]:.1f} s, code {code}")
    check(code not in (None, 0) and out == "" and err != "" and not left, f"{what}: {code}, {left}, {out}, {err}")


def tests(minifut, place):
    program = place / "parts"
    built = run(minifut, "compile", "--mpi", "-o", program, HERE / "parts.sf", CFLAGS="-O1")
    check(built.returncode == 0, built.stderr)
    cluster = Cluster(place)
    switch = cluster.switch
    same_results(cluster, program, "three hosts", 30000)
    check(all(n > 10 for s, row in enumerate(switch.frames) for k, n in enumerate(row) if k != s), f"frames: {switch.frames}")
    switch.delay, switch.loss = 0.005, 0.01
    same_results(cluster, program, "a slow network that loses some", 3000)
    switch.delay, switch.loss = 0, 0
    code, out, err, left = cluster.job(program, "-e", "fails", "--param", "fails.suff_dist_0=1", text="[0i64, 1i64, 2i64, 9i64]").end()
    check(code == 1 and out == "" and not left and err.count("Index [9] out of bounds") == 1, f"a failure on a host: {code}, {left}, {err}")

    def kill(job):
        os.kill(job.wait_for(1, program), 9)
    lost(cluster, program, "a rank on another host is killed", kill)

    def cut(job):
        switch.lost = {HOSTS - 1}
    lost(cluster, program, "a host is cut off", cut)
    switch.lost = set()

    def off(job):
        switch.lost = {HOSTS - 1}
        cluster.hosts[-1].end()
    lost(cluster, program, "a host is switched off", off)


def main():
    minifut = Path(sys.argv[1]).resolve()
    if INSIDE in os.environ:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        with tempfile.TemporaryDirectory() as place:
            os.environ["TMPDIR"] = place  # Open MPI's files are of who it takes us for
            tests(minifut, Path(place))
        sys.exit(summary())
    tools = all([need(tool, CASES) for tool in (MPICC, MPIRUN, "unshare", "nsenter", "ip")])
    if tools and "Open MPI" not in run(MPIRUN, "--version").stdout:
        skip("an mpirun of Open MPI", CASES)
    elif tools:
        new = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--net", "--mount", "--pid", "--fork", "--kill-child",
               "--mount-proc"]
        tried = run(*new, "sh", "-c", "ip link set lo up && ip tuntap add tap0 mode tap")
        if tried.returncode == 0:
            sys.exit(subprocess.run([*new, sys.executable, __file__, *sys.argv[1:]], env={**os.environ, INSIDE: "1"}).returncode)
        skip(f"namespaces with network devices ({tried.stderr.strip().splitlines()[-1]})", CASES)
    sys.exit(summary())


main()
