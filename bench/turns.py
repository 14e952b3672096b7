"""Programs measured beside one another: all of them run as servers and take turns of some calls, so that what else the
machine does, and a change of the device's clock, hits all alike. Used by suite.py and primitives/run.py."""
from server import Server, ServerError

# Turns that the programs take while one thing is measured.
ROUNDS = 4


class Fleet:
    """Servers of programs {name: (binary, options)}: started when first needed, and again after a failure. Use as a
    context: they are stopped in the end. `limit`: seconds that a command of a server may take."""

    def __init__(self, programs, limit):
        self.programs, self.limit, self.running = programs, limit, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in list(self.running):
            self.drop(name)

    def server(self, name):
        if name not in self.running:
            binary, options = self.programs[name]
            self.running[name] = Server(binary, options, self.limit)
        return self.running[name]

    def drop(self, name):
        if name in self.running:
            self.running.pop(name).stop()


def add_options(p, runs, seconds, least):
    """Options of what measures programs: the device, and how often they run."""
    p.add_argument("-d", "--device")
    p.add_argument("--runs", type=int, default=runs, help="of one program on one input (default: %(default)s)")
    p.add_argument("--seconds", type=float, default=seconds, help="for these runs, if slow (default: %(default)s)")
    p.add_argument("--least", type=int, default=least, help="runs, however slow (default: %(default)s)")
    p.set_defaults(rounds=ROUNDS)
    p.add_argument("--limit", type=float, default=120, help="seconds for one run (default: %(default)s)")


def device_options(a):
    """What a program takes for the device that was asked for."""
    return ["-d", a.device] if a.device else []


def round_of(k, n, rounds=ROUNDS):
    """Those of n calls that are made in round k of so many."""
    return slice(n * k // rounds, n * (k + 1) // rounds)


def first_calls(server, load, wrong, seconds):
    """Microseconds of a call with inputs loaded and the result checked."""
    load(server)
    time = server.call()  # builds kernels, too
    error = wrong(server.results())
    if error:
        raise ServerError(error)
    return time if time > 1e6 * seconds else server.call()


def measure(a, fleet, load, wrong):
    """Times of the programs on one input: {name: {"runtimes": [...]} or {"error": ...}}. load(server): gives a server
    its input. wrong(results): None or what is wrong with them. a: the options above. Slow programs run less often than
    a.runs: for a.seconds, but at least a.least times."""
    res, counts = {}, {}
    for name in fleet.programs:
        try:
            time = first_calls(fleet.server(name), load, wrong, a.seconds)
            counts[name] = max(a.least, min(a.runs, int(1e6 * a.seconds / max(time, 1))))
            res[name] = {"runtimes": [] if counts[name] else [time]}
        except (ServerError, OSError) as e:
            fleet.drop(name)
            res[name] = {"error": str(e)}
    for k in range(a.rounds):
        for name in list(counts) if k % 2 == 0 else reversed(list(counts)):
            calls = range(counts[name])[round_of(k, counts[name], a.rounds)]
            try:
                if calls and "runtimes" in res[name]:
                    server = fleet.server(name)
                    server.call()  # the device comes from another program
                    res[name]["runtimes"] += [server.call() for _ in calls]
            except ServerError as e:
                fleet.drop(name)
                res[name] = {"error": str(e)}
    return res


def joined(first, second):
    """The times of two calls of measure, as of one; what failed in either has failed."""
    def both(a, b):
        failed = [t for t in (a, b) if "error" in t]
        return failed[0] if failed else {"runtimes": a["runtimes"] + b["runtimes"]}
    return {name: both(first[name], second[name]) for name in first}
