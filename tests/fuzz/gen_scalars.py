"""Scalars of the generator (see gen.py): s_FORM makes an expression of a scalar type, or None."""
from tree import FLOATS, INTS, SIGNED, N, arr, binop, call, is_arr, is_scalar, lit, row, var


class Scalars:
    def scalar_expr(self, t, env, d):
        forms = [("leaf", 2), ("op", 5), ("index", 4), ("reduce", 3), ("convert", 2), ("fold", 1)]
        if t == "bool":
            forms = [("leaf", 2), ("compare", 5), ("logic", 2), ("index", 2), ("all", 2), ("reduce", 1)]
        if t in FLOATS:
            forms = [("leaf", 2), ("op", 4), ("index", 3), ("convert", 3), ("reduce", 2)]
        if t == "i64":
            forms += [("size", 1), ("lengths", 1)]
        if self.plain:
            forms = [f for f in forms if f[0] in ("leaf", "op", "convert", "compare", "logic")]
        elif self.work > 1:
            forms = forms + [("call", 2)]
        form = self.weighted(forms)
        e = getattr(self, "s_" + form)(t, env, d)
        return e if e else self.leaf(t, env)

    def s_call(self, t, env, d):
        return self.a_call(t, env, d)

    def s_leaf(self, t, env, d):
        return self.leaf(t, env)

    def s_size(self, t, env, d):
        return self.size_node(self.a_size(env))

    def s_lengths(self, t, env, d):
        c = self.arrays(env, lambda u: True)
        return call("length", "i64", self.r.choice(c)) if c else None

    def s_op(self, t, env, d):
        r = self.r
        a = self.expr(t, env, d - 1)
        if t in FLOATS:
            op = r.choice(["+", "-", "min", "max", "neg", "half", "floor"])
            if op == "neg":
                return N("neg", t, [a])
            if op == "half":
                return binop("*", a, lit(t, r.choice([0.5, 2.0])))
            if op == "floor":
                return call(f"{t}.{r.choice(['floor', 'abs', 'ceil'])}", t, a)
            b = self.expr(t, env, d - 1)
            return binop(op, a, b) if op in "+-" else call(f"{t}.{op}", t, a, b)
        op = r.choice(["+", "+", "-", "*", "min", "max", "/", "%", "//", "%%", "&", "|", "^", "<<", ">>", "neg", "not",
                       "abs", "sgn", "**"])
        if op in ("neg", "not"):
            return N(op, t, [a])
        if op in ("abs", "sgn"):
            return call(f"{t}.{op}", t, a)
        if op in ("<<", ">>"):
            return binop(op, a, lit(t, r.randint(0, INTS[t] - 1)) if self.chance(0.6)
                         else binop("&", self.expr(t, env, d - 1), lit(t, 7)))
        if op == "**":
            return binop(op, a, lit(t, r.randint(0, 3)))
        if op in ("/", "%", "//", "%%"):
            b = lit(t, r.choice([1, 2, 3, 7, 10, -1 if t in SIGNED else 5])) if self.plain or self.chance(0.6) \
                else binop("|", self.expr(t, env, d - 1), lit(t, 1))
            return binop(op, a, b)
        b = self.expr(t, env, d - 1)
        return call(f"{t}.{op}", t, a, b) if op in ("min", "max") else binop(op, a, b)

    def s_compare(self, t, env, d):
        if not self.plain and self.chance(0.35 if self.sums else 0.05):
            return self.s_equal(t, env, d)
        numbers = [t for t in self.abstract if t[1] in self.numeric and not self.plain]
        if numbers and self.chance(0.5):
            u = numbers[0]
            return binop(self.r.choice(["<", "<=", "=="]), self.expr(u, env, d - 1), self.expr(u, env, d - 1), "bool")
        u = self.scalar()
        if u == "bool":
            return binop(self.r.choice(["==", "!="]), self.expr(u, env, d - 1), self.expr(u, env, d - 1))
        return binop(self.r.choice(["<", "<=", ">", ">=", "==", "!="]), self.expr(u, env, d - 1),
                     self.expr(u, env, d - 1), "bool")

    def s_logic(self, t, env, d):
        if self.chance(0.2):
            return N("not", "bool", [self.expr("bool", env, d - 1)])
        return binop(self.r.choice(["&&", "||"]), self.expr("bool", env, d - 1), self.expr("bool", env, d - 1))

    def s_convert(self, t, env, d):
        if t in FLOATS:
            u = self.r.choice(["i8", "u8", "i16", "bool"] + ([o for o in FLOATS if o != t]))
            if u == "f64":
                u = "u16"
        elif self.chance(0.25):  # there and back: rounded, beyond the type
            f, u = self.r.choice(FLOATS), self.r.choice(list(INTS))
            return call(f"{t}.{f}", t, call(f"{f}.{u}", f, self.expr(u, env, d - 1)))
        else:
            u = self.r.choice([s for s in INTS if s != t] + ["bool"] + (["f32"] if self.floats else []))
        return call(f"{t}.{u}", t, self.expr(u, env, d - 1))

    def position(self, env, dim, d):
        """An index within dim, known to be positive here."""
        known = [v for v, t in env if t == "i64" and self.bound.get(v) == dim]
        if known and self.chance(0.75):
            i = var(self.r.choice(known), "i64")
            if self.chance(0.3):
                return binop("-", binop("-", self.size_node(dim), lit("i64", 1)), i)
            return i
        if self.chance(0.15):
            return lit("i64", self.r.randrange(dim)) if isinstance(dim, int) else lit("i64", 0)
        return binop("%", self.expr("i64", env, d - 1), self.size_node(dim))

    def guarded(self, dims, make, t, env, d):
        """make() under the condition that the sizes are positive, where that is not known."""
        unknown = [x for x in dict.fromkeys(dims) if not (x in self.positive or (isinstance(x, int) and x > 0))]
        if any(x == 0 for x in unknown):
            return None
        keep = set(self.positive)
        self.positive |= set(unknown)
        e = make()
        self.positive = keep
        for x in unknown:
            c = binop(self.r.choice([">", "!="]), self.size_node(x), lit("i64", 0), "bool")
            e = N("if", t, [c, e, self.leaf(t, env)])
        return e

    def s_index(self, t, env, d):
        """An element of an array in scope, or of one made for it."""
        c = self.arrays(env, lambda u: row(u) == t or (not is_scalar(row(u)) and is_arr(row(u)) and row(row(u)) == t))
        if c and self.chance(0.85):
            a = self.r.choice(c)
        else:
            dim = self.a_size(env)
            if not self.fits(dim):
                return None
            a = self.expr(arr(dim, t), env, d - 1)
        dims = [a.ty[1]] + ([row(a.ty)[1]] if row(a.ty) != t else [])

        def make():
            return N("index", t, [a] + [self.position(env, x, min(d, 2)) for x in dims])
        return self.guarded(dims, make, t, env, d)

    def source(self, env, d, test=lambda t: True):
        """Some array to consume: one in scope or a new one."""
        c = self.arrays(env, lambda u: test(u) and self.fits(u[1]))
        recent = [a for a in c if a.x == self.recent]
        if recent and self.chance(0.6):
            return recent[0]
        if c and self.chance(0.75):
            return self.r.choice(c[-8:])
        for _ in range(4):
            dim = self.a_size(env)
            if self.fits(dim):
                t = arr(dim, self.elem_type(env))
                if test(t):
                    return self.expr(t, env, d - 1)
        if c:
            return self.r.choice(c)
        t = arr(self.r.choice([1, 2, 3]), "i32")
        return self.leaf(t, env)

    def mapped(self, t, env, d):
        """An array with elements of type t over a source in scope: (size, node)."""
        k = self.r.random()
        if k < 0.25:
            c = self.arrays(env, lambda u: row(u) == t and self.fits(u[1]))
            if c:
                return self.r.choice(c)
        src = self.source(env, d)
        return self.map_over(arr(src.ty[1], t), env, d, [src])

    def small_float(self, t, e):
        """An i8 as a float; f16 has few digits, of which sums of a few hundred must not run out."""
        return call(f"{t}.i8", t, binop("%", e, lit("i8", 8)) if t == "f16" else e)

    def s_reduce(self, t, env, d):
        if t in FLOATS and self.chance(0.5):  # a sum of small integers
            src = self.source(env, d)
            f = self.inside(src.ty[1], lambda: self.lam([row(src.ty)], env, lambda e: self.small_float(t, self.expr("i8", e, d - 1)),
                         self.estimate(src.ty[1])))
            return call("reduce", t, N("op", t, x=self.operator(t, sums=True)),
                        call("map", arr(src.ty[1], t), f, src))
        return self.reduction(t, env, d)

    def reduction(self, t, env, d):
        o = self.operator(t)
        if o is None:
            return None
        node = N("op", t, x=o)
        k = self.r.random()
        if k < 0.25:
            src = self.source(env, d)
            f = self.inside(src.ty[1], lambda: self.lam([row(src.ty)], env, lambda e: self.block(t, e, d - 1, self.r.choice([0, 0, 1])),
                         self.estimate(src.ty[1])))
            return call("redomap", t, node, f, src)
        a = self.mapped(t, env, d)
        if t in INTS and k < 0.4:
            return call(self.r.choice(["sum", "product", "minimum", "maximum"]), t, a)
        name = "reduce_comm" if o.comm and self.chance(0.3) else "reduce"
        return call(name, t, node, a)

    def tuple_reduce(self, t, env, d):
        return self.reduction(t, env, d)

    def s_fold(self, t, env, d):
        src = self.source(env, d)
        size = self.estimate(src.ty[1])
        if size > 64:
            return None
        name = self.r.choice(["foldl", "foldr"])
        ts = [t, row(src.ty)] if name == "foldl" else [row(src.ty), t]
        f = self.lam(ts, env, lambda e: self.expr(t, e, d - 1), size)
        return call(name, t, f, self.expr(t, env, d - 1), src)

    def s_all(self, t, env, d):
        src = self.source(env, d)
        f = self.inside(src.ty[1], lambda: self.lam([row(src.ty)], env,
                        lambda e: self.expr("bool", e, d - 1), self.estimate(src.ty[1])))
        return call(self.r.choice(["all", "any"]), "bool", f, src)
