"""Programs with derivatives (see gen.py): Smooth(seed).program(), an entry point whose numbers are mostly f64, out of
functions that are smooth almost everywhere and stay bounded; derivatives.py puts derivatives of it around it.

Where a function has kinks (min, abs, branches), inputs at random and literals that are no round numbers keep away from them."""
import gen
import operators
from gen_sums import plain
from tree import INTS, N, Op, arr, binop, call, is_arr, is_scalar, lit, parts, row, tup, type_text, var

F = "f64"
WEIGHTS = [(F, 30), ("i64", 4), ("i32", 2), ("bool", 2), ("u8", 1)]
SIZES = [0, 1, 2, 3, 3, 4, 5, 7, 8, 16, 33]
LIMIT = 600  # evaluations of one expression
ONE = {"sin": 5, "cos": 4, "tanh": 2, "atan": 2, "squash": 4, "bell": 1, "log": 1, "root": 1, "abs": 1, "neg": 1, "half": 2, "cube": 1}
TWO = {"+": 6, "-": 4, "*": 6, "/": 2, "min": 2, "max": 2, "hypot": 1, "pow": 1, "atan2": 1}


def active(t):
    """Has a type numbers with derivatives?"""
    return t == F if is_scalar(t) else active(row(t)) if is_arr(t) else any(map(active, parts(t)))


def untold(*args):
    raise ValueError("the oracle knows no derivatives")


def smooth_op(text, neutral, comm=True):
    return Op(text, neutral, untold, untold, comm)


def smooth(r, t, own=operators.none):
    """An operator on type t that has derivatives where it has floats; or None."""
    if t == F:
        return smooth_op(*r.choice([("(+)", "0f64")] * 4 + [
            ("(*)", "1f64"), ("(*)", "1f64"), ("f64.min", "f64.inf"), ("f64.max", "(-f64.inf)"), ("(\\x (y: f64) -> y + x)", "0f64"),
            ("(\\x (y: f64) -> if x < y then y else x)", "f64.lowest"), ("(\\x (y: f64) -> x + y + 0.125 * x * y)", "0f64"),
            ("(\\x (y: f64) -> (x + y) / (1 + 0.01 * x * y))", "0f64")]))
    if is_scalar(t):
        return operators.scalar(r, t, False)
    if is_arr(t):
        inner = smooth(r, row(t), own)
        if inner is None:
            return None
        return smooth_op(f"(\\xs ys -> map2 {inner.text} xs ys)" if r.random() < 0.5 else f"(map2 {inner.text})",
                         f"(replicate {operators.dim_text(t[1])} {inner.neutral})", inner.comm)
    if t[0] in ("abs", "sum"):
        return operators.operator(r, t, own=own)
    special = on_several(r, t) if t[0] == "tup" and r.random() < 0.6 else None
    return special or on_parts(r, t, own)


def on_several(r, t):
    """Operators that need all components."""
    ts = t[1:]
    if ts == (F, F):
        return r.choice([
            smooth_op("(\\(a1, b1) (a2, b2) -> (a1 * a2 - b1 * b2, a1 * b2 + b1 * a2))", "(1f64, 0f64)"),
            smooth_op("(\\(a1, b1) (a2, b2) -> (a1 * a2, a2 * b1 + b2))", "(1f64, 0f64)", False),
            smooth_op("(\\(s1, p1) (s2, p2) -> (s1 + s2, p1 + p2 + 0.1 * s1 * s2))", "(0f64, 0f64)"),
            smooth_op("(\\(v1, w1) (v2, w2) -> if v1 < v2 then (v1, w1) else (v2, w2))", "(f64.inf, 0f64)")])
    if ts[0] == F and len(ts) == 2 and ts[1] in INTS:
        return smooth_op("(\\(v1, i1) (v2, i2) -> if v1 > v2 || (v1 == v2 && i1 <= i2) then (v1, i1) else (v2, i2))",
                         f"(f64.lowest, {ts[1]}.highest)")
    if ts == ("bool", F):
        return smooth_op("(\\(f1, v1) (f2, v2) -> (f1 || f2, if f2 then v2 else v1 + v2))", "(false, 0f64)", False)
    if ts == (F, F, F):
        return smooth_op("(\\(a1, b1, c1) (a2, b2, c2) -> (a1 * a2, a1 * b2 + b1 * c2, c1 * c2))", "(1f64, 0f64, 1f64)", False)
    return None


def on_parts(r, t, own):
    """Component by component."""
    ops = [smooth(r, u, own) for u in parts(t)]
    if None in ops:
        return None
    if t[0] == "rec":
        inner = ", ".join(f"{f} = {o.text} x.{f} y.{f}" for (f, _), o in zip(t[1:], ops))
        text = f"(\\(x: {type_text(t)}) (y: {type_text(t)}) -> {{{inner}}})"
        neutral = "{" + ", ".join(f"{f} = {o.neutral}" for (f, _), o in zip(t[1:], ops)) + "}"
    else:
        xs, ys = [[f"{v}{i}" for i in range(len(ops))] for v in "xy"]
        text = f"(\\({', '.join(xs)}) ({', '.join(ys)}) -> ({', '.join(f'{o.text} {x} {y}' for o, x, y in zip(ops, xs, ys))}))"
        neutral = "(" + ", ".join(o.neutral for o in ops) + ")"
    return smooth_op(text, neutral, all(o.comm for o in ops))


class Smooth(gen.Gen):
    sizes_tried = SIZES

    def __init__(self, seed):
        super().__init__(seed)
        self.fails, self.floats = False, True
        self.ragged = self.chance(0.1)
        self.sums = self.chance(0.25)
        self.modules = self.chance(0.1)

    def entry_names(self):
        return ["main"]

    # --- scalars ---------------------------------------------------------------------------------
    def scalar(self):
        return self.weighted(WEIGHTS)

    def fits(self, *ds):
        w = self.work
        for d in ds:
            w *= max(1, self.estimate(d))
        return w <= LIMIT

    def number(self, lo, hi):
        return lit(F, round(self.r.uniform(lo, hi), 4))

    def literal(self, t):
        return self.number(-2, 2) if t == F else super().literal(t)

    def convert_leaf(self, t, env):
        if t == F and self.chance(0.6):
            return self.literal(t)
        return super().convert_leaf(t, env)

    def scalar_expr(self, t, env, d):
        if t in INTS and not self.plain and self.chance(0.08):  # constant almost everywhere
            return call(f"{t}.f64", t, binop("*", self.expr(F, env, d - 1), self.number(2, 9)))
        if t != F:
            return super().scalar_expr(t, env, d)
        forms = [("leaf", 2), ("op", 9)]
        if not self.plain:
            forms += [("index", 5), ("reduce", 5), ("product", 1), ("window", 2), ("dot", 1), ("convert", 1), ("fold", 1)]
        if self.work > 1 and not self.plain:
            forms += [("call", 2)]
        e = getattr(self, "s_" + self.weighted(forms))(t, env, d)
        return e if e else self.leaf(t, env)

    def s_convert(self, t, env, d):
        if t == F:
            u = self.r.choice(["i8", "u8", "bool"])
            return binop("*", call(f"f64.{u}", F, self.expr(u, env, d - 1)), self.number(0, 0.1))
        return super().s_convert(t, env, d)

    def s_op(self, t, env, d):
        if t != F:
            return super().s_op(t, env, d)
        a = self.expr(F, env, d - 1)
        if self.chance(0.4):
            return self.of_one(self.weighted(ONE.items()), a)
        return self.of_two(self.weighted(TWO.items()), a, self.expr(F, env, d - 1))

    def of_one(self, op, a):
        def shared(make):
            """make() of a variable."""
            x = self.fresh("x")
            return N("let", F, [a, make(var(x, F))], ("v", x, F, False))

        def above(v):
            """A number of at least one."""
            return binop("+", lit(F, 1.0), binop("*", v, v))
        if op == "neg":
            return N("neg", F, [a])
        if op == "half":
            return binop("*", a, self.number(-0.9, 0.9))
        if op == "squash":
            return shared(lambda v: binop("/", v, above(v)))
        if op == "bell":
            return shared(lambda v: call("f64.exp", F, binop("-", lit(F, 0.25), binop("*", v, v))))
        if op == "cube":
            return binop("**", call("f64.sin", F, a), lit(F, 3.0))
        if op in ("log", "root"):
            return shared(lambda v: call("f64.log" if op == "log" else "f64.sqrt", F, above(v)))
        return call(f"f64.{op}", F, a)

    def of_two(self, op, a, b):
        if op in "+-":
            return binop(op, a, b)
        if op == "*":
            return binop("*", a, call("f64.sin", F, b) if self.chance(0.7) else b)
        if op == "/":
            return binop("/", a, binop("+", lit(F, 1.5), call("f64.cos", F, b)))
        if op == "pow":
            return binop("**", binop("+", lit(F, 1.5), call("f64.cos", F, a)), call("f64.sin", F, b))
        if op == "atan2":
            return call("f64.atan2", F, a, binop("+", lit(F, 1.5), call("f64.sin", F, b)))
        if op == "hypot":
            return call("f64.hypot", F, a, binop("+", lit(F, 1.5), call("f64.sin", F, b)))
        return call(f"f64.{op}", F, a, b)

    def s_reduce(self, t, env, d):
        if t != F:
            return super().s_reduce(t, env, d)
        e = self.reduction(t, env, d)
        return self.bounded(e) if e and self.chance(0.6) else e

    def bounded(self, e):
        """Of the smallest of no elements, which is infinite, the sine is no number: no derivative of what uses it is one, even times 0."""
        ops = [k.x for k in e.kids if k.op == "op"]
        return call("f64.tanh" if any("inf" in o.neutral for o in ops) else "f64.sin", F, e)

    def s_product(self, t, env, d):
        """A product of numbers around 1, few of which may be zero."""
        src = self.source(env, d)
        f = self.inside(src.ty[1], lambda: self.lam([row(src.ty)], env, lambda e: self.around_one(e, d), self.estimate(src.ty[1])))
        op = N("op", F, x=smooth_op("(*)", "1f64"))
        if self.chance(0.4):
            return call("redomap", F, op, f, src)
        made = call("map", arr(src.ty[1], F), f, src)
        if self.chance(0.3):
            return call("f64.product", F, made)
        if self.chance(0.4):
            made = call("scan", made.ty, op, made)
            op = N("op", F, x=smooth_op("(+)", "0f64"))
        return call("reduce", F, op, made)

    def s_window(self, t, env, d):
        """A reduction over neighbours in an array."""
        c = self.arrays(env, lambda u: row(u) == F and self.fits(u[1]))
        if not c:
            return None
        a, far, i, k, step = self.r.choice(c), self.r.choice([1, 1, 2]), self.fresh("ix"), self.fresh("k"), self.r.choice([1, 1, 1, 2])
        names = [self.fresh("x") for _ in range(2)]
        count = binop("/", binop("-", self.size_node(a.ty[1]), lit("i64", far)), lit("i64", step))
        self.est[k] = max(0, self.estimate(a.ty[1]) - far) // step

        def at(off):
            place = var(i, "i64") if step == 1 else binop("*", var(i, "i64"), lit("i64", step))
            return N("index", F, [a, binop("+", place, lit("i64", off)) if off else place])
        body = self.in_loop(self.est[k], lambda: self.expr(F, env + [(i, "i64")] + [(x, F) for x in names], min(d - 1, 3)))
        for x, off in zip(names, (far, 0)):
            body = N("let", F, [at(off), body], ("v", x, F, False))
        f = N("lam", ("fun",), [body], [("v", i, "i64", False)])
        made = call("map", arr(k, F), f, call("iota", arr(k, "i64"), count))
        self.est.pop(k)
        e = call("reduce", F, N("op", F, x=self.operator(F)), made)
        e = self.bounded(e) if "inf" in e.kids[0].x.neutral else e
        enough = binop(">=", self.size_node(a.ty[1]), lit("i64", far), "bool")
        return N("if", F, [enough, e, self.leaf(F, env)])

    def s_dot(self, t, env, d):
        """The product of two arrays of one size."""
        c = self.arrays(env, lambda u: row(u) == F and self.fits(u[1]))
        if not c:
            return None
        a = self.r.choice(c)
        b = self.r.choice([b for b in c if b.ty == a.ty]) if self.chance(0.6) else self.expr(a.ty, env, d - 1)
        return call("f64.sum", F, call("map2", a.ty, N("sec", ("fun",), x="*"), a, b))

    def around_one(self, env, d):
        e = binop("+", lit(F, 1.0), binop("*", self.number(0.1, 0.6), call("f64.sin", F, self.expr(F, env, d - 1))))
        zero = binop("*", lit(F, 0.0), self.leaf(F, env))
        return N("if", F, [self.expr("bool", env, 1), e, zero]) if self.chance(0.15) else e

    def operator(self, t, sums=False):
        return smooth(self.r, t, self.abstract_op)

    def a_scan(self, t, env, d):
        e = super().a_scan(t, env, d)
        if e and row(t) == F and self.chance(0.5):
            e = call("map", t, self.lam([F], env, lambda inner: call("f64.sin", F, self.whole(inner)), self.estimate(t[1])), e)
        return e

    def small_floats(self, t, env, d):
        return self.expr(t, env, d - 1)

    # --- what the outside sees -------------------------------------------------------------------
    def digest(self, e, t):
        if t == F and is_scalar(e.ty) and e.ty == F:
            return e
        if t == F and is_arr(e.ty):
            x = self.fresh("x")
            f = N("lam", ("fun",), [self.digest(var(x, row(e.ty)), t)], [("v", x, row(e.ty), True)])
            return call("redomap", t, N("op", t, x=smooth_op("(+)", "0f64")), f, e)
        return super().digest(e, t)

    def observed(self, e):
        if plain(e.ty) or is_arr(e.ty) or e.ty[0] in ("tup", "rec"):
            return super().observed(e)
        return self.digest(e, F)

    def gathered_number(self, t, env, d):
        return self.expr(t, env, min(d, 2)) if t == F else super().gathered_number(t, env, d)

    def expr(self, t, env, d):
        """Some loops become nests for their derivatives."""
        e = super().expr(t, env, d)
        if e.op == "loop" and self.chance(0.3):
            e.x.strips = self.r.choice([2, 2, 3])
        return e

    def entry_body(self, env, d, n, made):
        if n > 0:
            return super().entry_body(env, d, n, made)
        numbers = [(v, u) for v, u in made if active(u)] if all(plain(u) for _, u in made) else made
        picked = self.r.sample(numbers, min(len(numbers), self.r.randint(1, 3)))
        if made[-1] in numbers and made[-1] not in picked:
            picked.append(made[-1])
        kids = [self.observed(var(v, u)) for v, u in picked]
        if self.chance(0.5) or not any(active(k.ty) for k in kids):
            kids.append(self.reduction(F, env, 3) or self.expr(F, env, 3))
        return kids[0] if len(kids) == 1 else N("tuple", tup(*[k.ty for k in kids]), kids)

    def param_type(self, sizes, env):
        """Mostly of floats."""
        for _ in range(5):
            t = super().param_type(sizes, env)
            if active(t):
                break
        return t

    def value(self, t, sizes):
        if t == F:
            return round(self.r.uniform(-2, 2), 3)
        return super().value(t, sizes)
