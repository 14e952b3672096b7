#!/usr/bin/env python3
"""Random programs through flattening and the code generator, against the interpreter.

usage: tests/gen/fuzz.py [--seed=N] [--count=N] [--flatten=MODE] [--pocl]

Each program runs with all thresholds out of reach and with all of them met, as on a GPU, under oclgrind, which also
finds data races (--pocl: on the default device instead, as it is). A program that differs is left as
fuzz-SEED.ir in the current folder. MINIFUT names the compiler (./minifut)."""
import math, os, random, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/unit"))
import ir_fuzz

MINIFUT = os.path.abspath(os.environ.get("MINIFUT", os.path.join(ROOT, "minifut")))
NEUTRAL = {"add": "0", "xor": "0", "mul": "1", "land": "true", "lor": "false"}
LOWEST = {"min": {"i8": "127", "u8": "255", "i32": "2147483647", "i64": "9223372036854775807"}}


class Gen(ir_fuzz.Gen):
    """Operators with neutral elements; scatters that write each place once."""

    def op(self, ts):
        ps = [(self.name("o"), t, ()) for t in ts + ts]
        M, res, self.nes = [], [], []
        for k, t in enumerate(ts):
            f = self.r.choice({"bool": ["land", "lor"], "f32": ["add", "max"]}.get(t, ["add", "min", "xor", "mul"]))
            if f == "max":
                ne = "-f32.inf"
            elif f in LOWEST:
                ne = LOWEST[f][t] + t
            else:
                ne = NEUTRAL[f] + ("" if t == "bool" else ".0f32" if t == "f32" else t)
            self.nes.append(ne)
            v = self.name("o")
            M.append("let %s: %s = %s.%s %s %s" % (v, t, f, t, ps[k][0], ps[len(ts) + k][0]))
            res.append(v)
        return self.lam(ps, "{ " + "\n".join(M) + "\nin (%s) }" % ", ".join(res))

    def s_reduce(self, env, L, depth):
        d = self.r.choice(["n", "m", "1", "2"])
        ts = [self.r.choice(ir_fuzz.SCALARS) for _ in range(self.r.randint(1, 2))]
        kind = self.r.choice(["reduce", "scan", "redomap", "scanomap"])
        outer = () if kind.startswith("red") else (d,)
        types = [(t, outer) for t in ts]
        oper = self.op(ts)
        nes = ", ".join(self.nes)
        fn = ""
        if kind in ("reduce", "scan"):
            arrs = [self.array(env, L, t, (d,)) for t in ts]
        else:
            arrs, params = self.inputs(env, L, d, self.r.randint(1, 2))
            extra = self.some_types(self.r.randint(0, 1))
            types += [(e, (d,) + r) for e, r in extra]
            fn = " fn " + self.lam(params, self.body(env + params, depth - 1, [(t, ()) for t in ts] + extra))
        names = [self.name("r") for _ in types]
        pat = ", ".join("%s: %s" % (v, self.ty(*t)) for v, t in zip(names, types))
        L.append("let (%s) = %s %s (%s) op %s nes (%s)%s" % (pat, kind, d, ", ".join(arrs), oper, nes, fn))
        env += [(v, t[0], t[1]) for v, t in zip(names, types)]

    def s_scatter(self, env, L, depth):
        elem, d, w = self.r.choice(ir_fuzz.SCALARS), self.r.choice(["n", "m"]), self.r.choice(["n", "2"])
        a = self.array(env, L, elem, (d,))
        c, s, p = self.name("c"), self.name("s"), self.name("p")
        L.append("let %s: [%s]%s = copy %s" % (c, d, elem, a))
        L.append("let %s: [%s]i64 = iota %s %s %s" % (p, w, w, self.const("i64"), self.r.choice(["1i64", "2i64", "-1i64"])))
        vs = self.array(env, L, elem, (w,))
        i, v = self.name("i"), self.name("v")
        L.append("let %s: [%s]%s = scatter %s (%s, %s) into (%s@1) \\(%s: i64, %s: %s) -> { in (%s, %s) }"
                 % (s, d, elem, w, p, vs, c, i, v, elem, i, v))
        env.append((s, elem, (d,)))


def words(text):
    return re.findall(r"[\[\](),]|[^\s\[\](),]+", text)


def same(a, b):
    x, y = words(a), words(b)
    if len(x) != len(y):
        return False
    for p, q in zip(x, y):
        if p == q:
            continue
        if not (p.endswith("f32") and q.endswith("f32")):
            return False
        try:
            if not math.isclose(float(p[:-3]), float(q[:-3]), rel_tol=1e-3, abs_tol=1e-4):
                return False
        except ValueError:
            return False
    return True


def run(cmd, text="", env=None):
    try:
        p = subprocess.run(cmd, input=text, capture_output=True, text=True, timeout=200,
                           env=dict(os.environ, **(env or {})))
    except subprocess.TimeoutExpired:
        return 1, "", "timeout"
    return p.returncode, p.stdout, p.stderr


def check(tmp, seed, mode, pocl):
    """None if all is well or the program is not fit, else what is wrong."""
    path, exe, log = tmp + "/fuzz.ir", tmp + "/fuzz", tmp + "/log"
    with open(path, "w") as f:
        f.write(Gen(seed).program())
    text = ir_fuzz.INPUT % (random.Random(seed).choice(["true", "false"]), seed % 7 - 3)
    want = run([MINIFUT, "run", "--from=simplify", path], text)
    if want[0] != 0:
        return "skip"
    built = run([MINIFUT, "compile", "--from=simplify", "--flatten=" + mode, "-o", exe, path])
    if built[0] == 3:
        return "limit " + built[2].split("\n")[0][-150:]
    if built[0] != 0:
        return "compile: " + built[2][:600]
    for threshold in ("1000000000", "0"):
        cmd, env = [exe, "--default-threshold=" + threshold], {}
        if not pocl:
            cmd = ["oclgrind", "--data-races", "--log", log] + cmd + ["--default-group-size=4", "--default-num-groups=2"]
            env = {"MINIFUT_CODE": "gpu"}
        got = run(cmd, text, env)
        said = open(log).read().strip() if os.path.exists(log) else ""
        if said:
            os.remove(log)
        if got[0] != 0 or not same(want[1], got[1]) or said:
            return "threshold %s:\n  want %s\n  got  %s %s %s" % (threshold, want[1][:500], got[1][:500], got[2][:300], said[:500])
    return None


def main():
    opts = dict((a[2:].split("=", 1) + [""])[:2] for a in sys.argv[1:])
    seed, count = int(opts.get("seed", "1")), int(opts.get("count", "50"))
    passed = failed = skipped = limits = 0
    with tempfile.TemporaryDirectory() as tmp:
        for s in range(seed, seed + count):
            wrong = check(tmp, s, opts.get("flatten", "incremental"), "pocl" in opts)
            if wrong is None:
                passed += 1
            elif wrong == "skip":
                skipped += 1
            elif wrong.startswith("limit"):
                limits += 1
                print("seed %d: %s" % (s, wrong))
            else:
                failed += 1
                print("FAIL seed %d: %s" % (s, wrong), flush=True)
                with open("fuzz-%d.ir" % s, "w") as f:
                    f.write(Gen(s).program())
    print("%d skipped, %d limits" % (skipped, limits))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
