"""How the tests on several ranks start programs, by the MPI whose compiler and launcher $MPICC and $MPIRUN are."""
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

from checks import MPI

HERE = Path(__file__).resolve().parent
MPICC = os.environ.get("MPICC", "mpicc")
MPIRUN = os.environ.get("MPIRUN", "mpirun")
MARK = "MINIFUT_TESTS_JOB"  # in the environment of all processes of a job
RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")  # ... of a rank, by Open MPI or MPICH


def run(*command, text="", limit=120, **env):
    return subprocess.run([str(c) for c in command], input=text, capture_output=True, text=True, timeout=limit,
                          env={**os.environ, **MPI, **env})


class Job:
    """A launcher and its ranks, which can be found and ended one by one."""

    def __init__(self, words, text="", stdin=None, stdout=subprocess.PIPE, launcher=(MPIRUN,), **env):
        self.mark = uuid.uuid4().hex
        self.process = subprocess.Popen([*launcher, *map(str, words)], stdin=stdin or subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE,
                                        env={**os.environ, **MPI, MARK: self.mark, **env}, start_new_session=True)
        self.text = None if stdin else text.encode()

    def processes(self):
        """Numbers of its processes, with what their environments say."""
        there = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            env = dict(w.decode(errors="replace").split("=", 1) for w in words if b"=" in w)
            if env.get(MARK) == self.mark:
                there[int(place.name)] = env
        return there

    def wait_for_all(self, ranks, program):
        """Until all have joined: from then on the last one's output goes nowhere."""
        last = self.wait_for(ranks - 1, program)
        while self.process.poll() is None:
            try:
                if Path(f"/proc/{last}/fd/1").resolve() == Path("/dev/null"):
                    return
            except OSError:
                return
            time.sleep(0.01)

    def wait_for(self, rank, program):
        """The number of the process in which a rank runs the program."""
        while self.process.poll() is None:
            for pid, env in self.processes().items():
                try:
                    ours = Path(f"/proc/{pid}/exe").resolve() == Path(program).resolve()
                except OSError:
                    continue
                if ours and str(rank) in (env.get(name) for name in RANK):
                    return pid
            time.sleep(0.01)
        return None

    def end(self, limit=60):
        """The launcher's code, output and messages, and the processes that stay when it has ended; code None: it did not."""
        try:
            out, err = self.process.communicate(self.text, timeout=limit)
            code = self.process.returncode
        except subprocess.TimeoutExpired:
            code = out = err = None
        left = self.processes()
        for _ in range(100):  # who was killed may still be ending
            left = left and code is not None and (time.sleep(0.1), self.processes())[1]
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        if code is None:
            out, err = self.process.communicate()
        return code, (out or b"").decode(errors="replace"), err.decode(errors="replace"), list(left or ())
