#!/usr/bin/env python3
"""Random well-typed IR programs: the interpreter must give the same before and after passes.

usage: ir_fuzz.py IR_MAIN [--passes=P,P..] [--seed=N] [--count=N]
       ir_fuzz.py IR_MAIN --minifut=BIN --to=PASS [--options=..] [--passes=P,P..] [--seed=N] [--count=N]
The second form runs the compiler's pipeline up to PASS, then the passes, then every threshold off and on.
A program that differs is left in the current folder as fuzz-SEED.ir. Programs that fail before the
passes are skipped (a failing statement that nobody needs may be removed)."""
import random
import subprocess
import sys
import tempfile

SCALARS = ["i32", "i64", "f32", "bool", "u8", "i8"]
INTS = ["i32", "i64", "u8", "i8"]


class Gen:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.k = 0
        self.out = []

    def name(self, base="v"):
        self.k += 1
        return f"{base}{self.k}x"

    # An environment: list of (name, elem, dims); dims are texts: "n", "m" or digits.
    def pick(self, env, elem, dims=()):
        c = [v for v, e, d in env if e == elem and d == tuple(dims)]
        return self.r.choice(c) if c and self.r.random() < 0.93 else None

    def const(self, t):
        r = self.r
        if t == "bool":
            return r.choice(["true", "false"])
        if t == "f32":
            return r.choice(["0.0f32", "1.0f32", "-0.0f32", "2.5f32", "-3.0f32", "f32.inf"])
        if t == "u8":
            return str(r.choice([0, 1, 2, 3, 7, 255])) + t
        return str(r.choice([0, 0, 1, 1, 2, 3, -1, -2, 5, 100])) + t

    def atom(self, env, t):
        return self.pick(env, t) or self.const(t)

    def array(self, env, L, elem, dims):
        v = self.pick(env, elem, dims)
        if v:
            return v
        v = self.name("a")
        if elem != "bool" and len(dims) == 1 and self.r.random() < 0.4 and elem != "f32":
            L.append(f"let {v}: {self.ty(elem, dims)} = iota {dims[0]} {self.atom(env, elem)} {self.const(elem)}")
        else:
            L.append(f"let {v}: {self.ty(elem, dims)} = replicate [{', '.join(dims)}] {self.atom(env, elem)}")
        env.append((v, elem, tuple(dims)))
        return v

    def ty(self, elem, dims):
        return "".join(f"[{d}]" for d in dims) + elem

    def dims(self, rank):
        return tuple(self.r.choice(["n", "n", "m", "2", "1"]) for _ in range(rank))

    def bind(self, env, L, elem, dims, exp, base="v"):
        v = self.name(base)
        L.append(f"let {v}: {self.ty(elem, dims)} = {exp}")
        env.append((v, elem, tuple(dims)))
        return v

    def position(self, env, L, d):
        """An index within 0..d-1 (all sizes are at least 1), often plainly so."""
        r = self.r.random()
        if r < 0.3:
            return "0"
        x = self.atom(env, "i64")
        if r < 0.5:
            y = self.bind(env, L, "i64", (), f"max.i64 {x} 0i64")
            last = self.bind(env, L, "i64", (), f"sub.i64 {d if not d.isdigit() else d + 'i64'} 1i64")
            return self.bind(env, L, "i64", (), f"min.i64 {y} {last}")
        return self.bind(env, L, "i64", (), f"mod.i64 {x} {d}{'i64' if d.isdigit() else ''}")

    # --- statements: each appends to L and env --------------------------------------------------
    def s_prim(self, env, L, depth):
        r = self.r
        t = r.choice(SCALARS)
        if t == "bool":
            op = r.choice(["land", "lor", "eq", "ne", "not"])
            args = [self.atom(env, t)] + ([] if op == "not" else [self.atom(env, t)])
            self.bind(env, L, t, (), f"{op}.bool {' '.join(args)}")
            return
        op = r.choice(["add", "sub", "mul", "min", "max", "lt", "le", "eq", "ne", "neg", "add", "sub"]
                      + (["and", "or", "xor", "shl", "shr", "abs", "sgn", "compl"] if t != "f32" else ["abs"]))
        arity = 1 if op in ("neg", "abs", "sgn", "compl") else 2
        args = " ".join(self.atom(env, t) for _ in range(arity))
        res = "bool" if op in ("lt", "le", "eq", "ne") else t
        self.bind(env, L, res, (), f"{op}.{t} {args}")

    def s_div(self, env, L, depth):
        t = self.r.choice(INTS)
        c = self.r.choice(["1", "2", "3", "7"]) + t
        self.bind(env, L, t, (), f"{self.r.choice(['div', 'mod', 'quot', 'rem'])}.{t} {self.atom(env, t)} {c}")

    def s_conv(self, env, L, depth):
        a, b = self.r.choice(INTS + ["bool"]), self.r.choice(INTS + ["f32"])
        self.bind(env, L, b, (), f"conv.{a}.{b} {self.atom(env, a)}")

    def s_index(self, env, L, depth):
        elem, dims = self.r.choice(SCALARS), self.dims(self.r.choice([1, 1, 2]))
        a = self.array(env, L, elem, dims)
        at, left = [], []
        for d in dims:
            k = self.r.random()
            if k < 0.6:
                at.append(self.position(env, L, d))
            elif k < 0.8:
                at.append(":")
                left.append(d)
            elif d.isdigit():
                at.append(f"{int(d) - 1}:{d}:-1")
                left.append(d)
            else:
                last = self.bind(env, L, "i64", (), f"sub.i64 {d} 1i64")
                at.append(f"{last}:{d}:-1")
                left.append(d)
        self.bind(env, L, elem, left, f"{a}[{', '.join(at)}]", "x")

    def s_view(self, env, L, depth):
        elem, dims = self.r.choice(SCALARS), self.dims(2)
        a = self.array(env, L, elem, dims)
        k = self.r.random()
        if k < 0.5:
            self.bind(env, L, elem, dims[::-1], f"rearrange (1, 0) {a}", "t")
        elif k < 0.7:
            self.bind(env, L, elem, dims, a, "al")
        else:
            self.bind(env, L, elem, dims, f"copy {a}", "c")

    def s_replicate(self, env, L, depth):
        elem, dims = self.r.choice(SCALARS), self.dims(self.r.choice([1, 2]))
        self.bind(env, L, elem, dims, f"replicate [{', '.join(dims)}] {self.atom(env, elem)}", "r")

    def s_iota(self, env, L, depth):
        elem, dims = self.r.choice(INTS), self.dims(1)
        start, stride = ("0", "1") if self.r.random() < 0.6 else ("3", "-2" if elem[0] == "i" else "2")
        self.bind(env, L, elem, dims, f"iota {dims[0]} {start}{elem} {stride}{elem}", "io")

    def s_update(self, env, L, depth):
        elem, dims = self.r.choice(SCALARS), self.dims(self.r.choice([1, 2]))
        a = self.array(env, L, elem, dims)
        c = self.name("c")
        L.append(f"let {c}: {self.ty(elem, dims)} = copy {a}")
        if len(dims) == 2 and self.r.random() < 0.5:
            val = self.array(env, L, elem, dims[1:])
            at = f"{self.position(env, L, dims[0])}, :"
        else:
            val = self.atom(env, elem)
            at = ", ".join(self.position(env, L, d) for d in dims)
        self.bind(env, L, elem, dims, f"update {c}[{at}] = {val}", "u")

    def s_concat(self, env, L, depth):
        elem = self.r.choice(SCALARS)
        a, b = self.array(env, L, elem, ("2",)), self.array(env, L, elem, ("1",))
        v = self.bind(env, L, elem, ("3",), f"concat 0 3 ({a}, {b})", "cc")
        self.bind(env, L, elem, (), f"{v}[{self.r.choice('012')}]")

    def s_lit(self, env, L, depth):
        elem = self.r.choice(SCALARS)
        self.bind(env, L, elem, ("2",), f"array {elem} [{self.atom(env, elem)}, {self.atom(env, elem)}]", "l")

    def s_assert(self, env, L, depth):
        x = self.atom(env, "i32")
        b = self.bind(env, L, "bool", (), f"le.i32 {x} 2147483647i32")
        L.append(f'let () = assert {b} "x = %d" ({x})')

    def some_types(self, n):
        ts = []
        for _ in range(n):
            rank = self.r.choice([0, 0, 0, 1])
            ts.append((self.r.choice(SCALARS), self.dims(rank)))
        return ts

    def value(self, env, L, t):
        return self.array(env, L, *t) if t[1] else self.atom(env, t[0])

    def body(self, env, depth, want):
        """A body of random statements with results of the wanted types."""
        env, L = list(env), []
        self.stms(env, L, depth, self.r.randint(1, 4))
        res = [self.value(env, L, t) for t in want]
        return "{ " + "\n".join(L) + f"\nin ({', '.join(res)}) }}"

    def s_if(self, env, L, depth):
        ts = self.some_types(self.r.randint(1, 3))
        c = self.atom(env, "bool")
        names = [self.name("f") for _ in ts]
        pat = ", ".join(f"{v}: {self.ty(*t)}" for v, t in zip(names, ts))
        L.append(f"let ({pat}) = if {c} then {self.body(env, depth - 1, ts)} else {self.body(env, depth - 1, ts)}")
        env += [(v, t[0], tuple(t[1])) for v, t in zip(names, ts)]

    def s_loop(self, env, L, depth):
        ts = self.some_types(self.r.randint(1, 3))
        inits = [self.value(env, L, t) for t in ts]
        ps, names, i = [self.name("p") for _ in ts], [self.name("q") for _ in ts], self.name("i")
        inner = env + [(v, t[0], tuple(t[1])) for v, t in zip(ps, ts)] + [(i, "i64", ())]
        bound = self.r.choice(["n", "m", "0i64", "1i64", "3i64"])
        params = ", ".join(f"{p}: {self.ty(*t)} = {a}" for p, t, a in zip(ps, ts, inits))
        pat = ", ".join(f"{v}: {self.ty(*t)}" for v, t in zip(names, ts))
        b = self.body(inner, depth - 1, ts)
        L.append(f"let ({pat}) = loop ({params}) for {i}: i64 < {bound} do {b}")
        env += [(v, t[0], tuple(t[1])) for v, t in zip(names, ts)]

    def s_fill(self, env, L, depth):
        """A loop that consumes its parameter."""
        elem, d = self.r.choice(SCALARS), self.r.choice(["n", "m"])
        a = self.array(env, L, elem, (d,))
        c, p, i, q = self.name("c"), self.name("p"), self.name("i"), self.name("q")
        L.append(f"let {c}: [{d}]{elem} = copy {a}")
        inner, M = env + [(i, "i64", ())], []
        self.stms(inner, M, depth - 1, 2)
        x = self.name("x")
        M.append(f"let {x}: {elem} = {p}[{self.position(inner, M, d)}]")
        inner.append((x, elem, ()))
        u = self.name("u")
        val = self.atom(inner, elem)
        M.append(f"let {u}: [{d}]{elem} = update {p}[{i}] = {val}")
        L.append(f"let {q}: [{d}]{elem} = loop ({p}: [{d}]{elem} = {c}) for {i}: i64 < {d} do {{ "
                 + "\n".join(M) + f"\nin {u} }}")
        env.append((q, elem, (d,)))

    def inputs(self, env, L, d, n):
        arrs, params = [], []
        for _ in range(n):
            elem, rest = self.r.choice(SCALARS), self.dims(self.r.choice([0, 0, 1]))
            arrs.append(self.array(env, L, elem, (d,) + rest))
            params.append((self.name("e"), elem, rest))
        return arrs, params

    def lam(self, params, body):
        return "\\(" + ", ".join(f"{v}: {self.ty(e, d)}" for v, e, d in params) + f") -> {body}"

    def s_map(self, env, L, depth):
        d = self.r.choice(["n", "m", "2"])
        arrs, params = self.inputs(env, L, d, self.r.randint(1, 3))
        ts = self.some_types(self.r.randint(1, 2))
        names = [self.name("m") for _ in ts]
        pat = ", ".join(f"{v}: {self.ty(t[0], (d,) + t[1])}" for v, t in zip(names, ts))
        b = self.body(env + params, depth - 1, ts)
        L.append(f"let ({pat}) = map {d} ({', '.join(arrs)}) {self.lam(params, b)}")
        env += [(v, t[0], (d,) + t[1]) for v, t in zip(names, ts)]

    def op(self, ts):
        """(acc.., x..) -> acc.. on scalars."""
        ps = [(self.name("o"), t, ()) for t in ts + ts]
        M, res = [], []
        for k, t in enumerate(ts):
            f = {"bool": ["land", "lor"], "f32": ["add", "max"]}.get(t, ["add", "min", "xor", "mul"])
            other = ps[len(ts) + k][0]
            v = self.name("o")
            M.append(f"let {v}: {t} = {self.r.choice(f)}.{t} {ps[k][0]} {other}")
            res.append(v)
        return self.lam(ps, "{ " + "\n".join(M) + f"\nin ({', '.join(res)}) }}")

    def s_reduce(self, env, L, depth):
        d = self.r.choice(["n", "m", "1", "2"])
        ts = [self.r.choice(SCALARS) for _ in range(self.r.randint(1, 2))]
        kind = self.r.choice(["reduce", "scan", "redomap", "scanomap"])
        nes = ", ".join(self.const(t) for t in ts)
        outer = () if kind.startswith("red") else (d,)
        types = [(t, outer) for t in ts]
        op = self.op(ts)
        if kind in ("reduce", "scan"):
            arrs = [self.array(env, L, t, (d,)) for t in ts]
            fn = ""
        else:
            arrs, params = self.inputs(env, L, d, self.r.randint(1, 2))
            extra = self.some_types(self.r.randint(0, 1))
            types += [(e, (d,) + r) for e, r in extra]
            fn = " fn " + self.lam(params, self.body(env + params, depth - 1, [(t, ()) for t in ts] + extra))
        names = [self.name("r") for _ in types]
        pat = ", ".join(f"{v}: {self.ty(*t)}" for v, t in zip(names, types))
        L.append(f"let ({pat}) = {kind} {d} ({', '.join(arrs)}) op {op} nes ({nes}){fn}")
        env += [(v, t[0], t[1]) for v, t in zip(names, types)]

    def s_scatter(self, env, L, depth):
        elem, d, w = self.r.choice(SCALARS), self.r.choice(["n", "m"]), self.r.choice(["n", "2"])
        a = self.array(env, L, elem, (d,))
        c, s = self.name("c"), self.name("s")
        L.append(f"let {c}: [{d}]{elem} = copy {a}")
        is_, vs = self.array(env, L, "i64", (w,)), self.array(env, L, elem, (w,))
        i, v = self.name("i"), self.name("v")
        L.append(f"let {s}: [{d}]{elem} = scatter {w} ({is_}, {vs}) into ({c}@1) "
                 f"\\({i}: i64, {v}: {elem}) -> {{ in ({i}, {v}) }}")
        env.append((s, elem, (d,)))

    def stms(self, env, L, depth, n):
        flat = [self.s_prim] * 5 + [self.s_div, self.s_conv, self.s_conv, self.s_index, self.s_index,
                self.s_index, self.s_view, self.s_replicate, self.s_iota, self.s_update, self.s_concat,
                self.s_lit, self.s_assert]
        deep = [self.s_if, self.s_if, self.s_loop, self.s_loop, self.s_fill, self.s_map, self.s_map,
                self.s_reduce, self.s_reduce, self.s_scatter]
        for _ in range(n):
            self.r.choice(flat + (deep if depth > 0 else []))(env, L, depth)

    def program(self):
        env = [("n", "i64", ()), ("m", "i64", ()), ("k", "i64", ()), ("x", "f32", ()), ("b", "bool", ()),
               ("j", "i32", ()), ("xss", "f32", ("n", "m")), ("is", "i64", ("n",)), ("bs", "bool", ("m",))]
        L = []
        self.stms(env, L, 3, self.r.randint(4, 12))
        res = [v for v, _, _ in self.r.sample(env, min(len(env), 8))]
        return ("dialect soac\nentry main [n, m] (xss: [n][m]f32, is: [n]i64, bs: [m]bool, k: i64, x: f32, "
                "b: bool, j: i32) = {\n" + "\n".join(L) + f"\nin ({', '.join(res)})\n}}\n")


INPUT = "[[1.5f32, -2f32], [0f32, 3.25f32], [4f32, 5f32]] [2i64, 0i64, -1i64] [true, false] 1i64 0.5f32 %s %si32\n"


def run(args, text):
    p = subprocess.run(args, input=text, capture_output=True, text=True)
    return p.returncode, p.stdout, p.stderr


def pipeline(tool, opts, path, text, before):
    """The first run that differs from `before`, else the last."""
    done = run([opts["minifut"], "ir", "--from=simplify", f"--to={opts['to']}", "--verify",
                *opts.get("options", "").split(), path], "")
    if done[0] != 0:
        return done
    with open(path + ".seg", "w") as f:
        f.write(done[1])
    for threshold in (1 << 40, 0, 3):
        after = run([tool, "run", f"--to={opts.get('passes', '')}", f"--threshold={threshold}", path + ".seg"],
                    text)
        if after[:2] != before[:2]:
            break
    return after


def main():
    opts = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    tool = [a for a in sys.argv[1:] if not a.startswith("--")][0]
    passes = opts.get("passes", "simplify,cse,hoist,simplify")
    seed, count = int(opts.get("seed", "1")), int(opts.get("count", "100"))
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as tmp:
        for s in range(seed, seed + count):
            path = f"{tmp}/fuzz.ir"
            with open(path, "w") as f:
                f.write(Gen(s).program())
            text = INPUT % (random.Random(s).choice(["true", "false"]), s % 7 - 3)
            before = run([tool, "run", path], text)
            if before[0] != 0:
                skipped += 1
                if before[0] == 4 or "error" in before[2]:
                    print(f"seed {s}: not run: {before[2][:300]}")
                continue
            if "minifut" in opts:
                after = pipeline(tool, opts, path, text, before)
            else:
                after = run([tool, "run", f"--to={passes}", path], text)
            if after[:2] == before[:2]:
                passed += 1
                continue
            failed += 1
            print(f"FAIL seed {s}: code {after[0]} {after[2][:400]}")
            with open(f"fuzz-{s}.ir", "w") as f:
                f.write(f"-- input: {text}" + open(path).read())
    print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
