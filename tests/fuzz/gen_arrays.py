"""Arrays of the generator (see gen.py): a_FORM makes an expression of an array type, or None."""
from tree import Loop, N, arr, binop, call, is_arr, is_scalar, lit, pat_vars, row, tup, var


class Arrays:
    def array_expr(self, t, env, d):
        dim, u = t[1], row(t)
        if not self.fits(dim):
            return self.leaf(t, env)
        forms = [("leaf", 1), ("map", 8), ("tabulate", 3), ("replicate", 1), ("scan", 3), ("view", 2), ("with", 2),
                 ("scatter", 2), ("hist", 2), ("row", 1), ("take", 1), ("unzip", 1), ("fill", 2),
                 ("set", 3), ("sweep", 1), ("rounds", 1)]
        if self.helpers:
            forms += [("helper", 1)]
        if self.sums:
            forms += [("consumed", 1)]
        if not is_scalar(u) and is_arr(u):
            forms += [("transpose", 3), ("tabulate_2d", 1), ("scatter_2d", 1), ("rows_with", 1), ("hist_nd", 2)]
        if isinstance(dim, int) and 0 < dim <= 4:
            forms += [("literal", 2)]
        if isinstance(dim, int) and dim >= 2:
            forms += [("concat", 2)]
        e = getattr(self, "a_" + self.weighted(forms))(t, env, d)
        return e if e else self.leaf(t, env)

    def a_leaf(self, t, env, d):
        return self.leaf(t, env)

    def map_over(self, t, env, d, srcs):
        size = self.estimate(t[1])

        def make():
            f = self.lam([row(s.ty) for s in srcs], env, lambda e: self.block(
                row(t), e, d - 1, self.r.choice([0, 0, 1, 2])), size)
            return call("map" if len(srcs) == 1 else f"map{len(srcs)}", t, f, *srcs)
        return self.inside(t[1], make)

    def a_map(self, t, env, d):
        srcs = []
        for _ in range(self.r.choice([1, 1, 1, 2, 2, 3])):
            c = self.arrays(env, lambda u: u[1] == t[1])
            if c and self.chance(0.8):
                srcs.append(self.r.choice(c))
            else:
                srcs.append(self.expr(arr(t[1], self.elem_type(env)), env, d - 1))
        if len(srcs) == 2 and self.chance(0.2):
            pair = tup(row(srcs[0].ty), row(srcs[1].ty))
            srcs = [call("zip", arr(t[1], pair), *srcs)]
        return self.map_over(t, env, d, srcs)

    def index_lam(self, dims, env, make):
        """A function of indices within dims."""
        names = [self.fresh("ix") for _ in dims]
        for v, x in zip(names, dims):
            self.bound[v] = x
        count = 1
        for x in dims:
            count *= max(1, self.estimate(x))
        work, self.work = self.work, self.work * count
        keep = set(self.positive)
        self.positive |= set(dims)
        body = make(env + [(v, "i64") for v in names])
        self.positive = keep
        self.work = work
        return N("lam", ("fun",), [body], [("v", v, "i64", self.chance(0.3)) for v in names])

    def a_tabulate(self, t, env, d):
        f = self.index_lam([t[1]], env, lambda e: self.block(row(t), e, d - 1, self.r.choice([0, 0, 1])))
        if self.chance(0.5):
            return call("tabulate", t, self.size_node(t[1]), f)
        return call("map", t, f, call("iota", arr(t[1], "i64"), self.size_node(t[1])))

    def a_tabulate_2d(self, t, env, d):
        dims = [t[1], row(t)[1]]
        if not self.fits(*dims):
            return None
        f = self.index_lam(dims, env, lambda e: self.expr(row(row(t)), e, d - 1))
        return call("tabulate_2d", t, *[self.size_node(x) for x in dims], f)

    def a_replicate(self, t, env, d):
        return call("replicate", t, self.size_node(t[1]), self.expr(row(t), env, d - 1))

    def a_scan(self, t, env, d):
        o = self.operator(row(t), sums=False)
        if o is None:
            return None
        node = N("op", row(t), x=o)
        if self.chance(0.3):
            srcs = self.arrays(env, lambda u: u[1] == t[1])
            if srcs:
                src = self.r.choice(srcs)
                f = self.inside(t[1], lambda: self.lam([row(src.ty)], env,
                                lambda e: self.expr(row(t), e, d - 1), self.estimate(t[1])))
                return call("scanomap", t, node, f, src)
        return call("scan", t, node, self.expr(t, env, d - 1))

    def a_view(self, t, env, d):
        sized = [(m, sig) for m, sig in self.containers if sig.sized]
        if sized and self.chance(0.4):
            m, sig = self.r.choice(sized)
            return call(f"{m}.to", t, self.expr(sig.type(m, [t[1]], row(t)), env, d - 1))
        a = self.expr(t, env, d - 1)
        k = self.r.random()
        if k < 0.4:
            return call("reverse", t, a)
        if k < 0.8:
            return call("rotate", t, self.expr("i64", env, 1), a)
        return N("cast", t, [N("slice", t, [a], "::-1")])

    def a_transpose(self, t, env, d):
        flipped = arr(row(t)[1], arr(t[1], row(row(t))))
        if not self.fits(row(t)[1], t[1]):
            return None
        u = row(row(t))
        if not is_scalar(u) and is_arr(u) and self.chance(0.6):
            perm = self.r.sample(range(3), 3)
            dims = [t[1], row(t)[1], u[1]]
            src = [0, 0, 0]
            for k, p in enumerate(perm):
                src[p] = dims[k]
            s = arr(src[0], arr(src[1], arr(src[2], row(u))))
            return call("rearrange", t, N("perm", ("fun",), x=tuple(perm)), self.expr(s, env, d - 1))
        if self.helpers and self.chance(0.2):  # a function of the columns
            f = self.lam([arr(t[1], u)], env, lambda e: self.expr(arr(t[1], u), e, d - 1), self.estimate(row(t)[1]))
            return call("along", t, f, self.expr(t, env, d - 1))
        return call("transpose", t, self.expr(flipped, env, d - 1))

    def fresh_array(self, t, env, d):
        """An array that may be consumed."""
        a = self.expr(t, env, d)
        return call("copy", t, a)

    def a_with(self, t, env, d):
        def make():
            a = self.fresh_array(t, env, d - 1)
            at, u = [self.position(env, t[1], min(d, 2))], row(t)
            if not is_scalar(u) and is_arr(u) and self.chance(0.6) and (
                u[1] in self.positive or (isinstance(u[1], int) and u[1] > 0)):
                at.append(self.position(env, u[1], min(d, 2)))
                u = row(u)
            return N("with", t, [a] + at + [self.expr(u, env, d - 1)])
        return self.guarded([t[1]], make, t, env, d)

    def a_fill(self, t, env, d):
        """A loop that writes an array in place."""
        p, i = self.fresh("acc"), self.fresh("ix")
        turns = t[1] if self.chance(0.7) else self.r.choice([0, 1, 3])
        if not self.fits(t[1], turns) or self.estimate(turns) > 80:
            return None
        if turns == t[1]:
            self.bound[i] = t[1]
        inner = env + [(i, "i64"), (p, t)]
        work, self.work = self.work, self.work * max(1, self.estimate(turns))
        init = self.fresh_array(t, env, d - 1)

        def make():
            at = self.position(inner, t[1], 2)
            val = self.expr(row(t), inner, d - 1)
            if not is_scalar(row(t)):
                val = call("copy", row(t), val)
            return N("with", t, [var(p, t), at, val])

        def body():
            unknown = not (t[1] in self.positive or (isinstance(t[1], int) and t[1] > 0))
            if not unknown:
                return make()
            keep = set(self.positive)
            self.positive.add(t[1])
            e = make()
            self.positive = keep
            return N("if", t, [binop(">", self.size_node(t[1]), lit("i64", 0), "bool"), e, var(p, t)])
        b = self.inside(t[1], body) if turns == t[1] else body()
        self.work = work
        return N("loop", t, [init, self.size_node(turns), b], Loop("for", ("v", p, t, False), i))

    def a_scatter(self, t, env, d):
        if not is_scalar(row(t)) and not is_arr(row(t)) and self.chance(0.5):
            return None
        w = self.a_size(env)
        if not self.fits(w):
            return None
        # Distinct places: i * a + b is injective; some are out of bounds.
        i = self.fresh("ix")
        e = var(i, "i64")
        k = self.r.random()
        if k < 0.3:
            e = binop("-", binop("-", self.size_node(w), lit("i64", 1)), e)
        elif k < 0.7:
            e = binop(
                "+", binop("*", e, lit("i64", self.r.choice([1, 2, 3, -1]))), lit("i64", self.r.choice([0, 1, -1, 2])))
        at = call(
    "map", arr(
        w, "i64"), N(
            "lam", ("fun",), [e], [
                ("v", i, "i64", False)]), call(
                    "iota", arr(
                        w, "i64"), self.size_node(w)))
        return call("scatter", t, self.fresh_array(t, env, d - 1), at, self.expr(arr(w, row(t)), env, d - 1))

    def a_scatter_2d(self, t, env, d):
        """Along a diagonal: distinct places."""
        w = self.a_size(env)
        if not self.fits(w):
            return None
        i = self.fresh("ix")
        pair = N("tuple", tup("i64", "i64"), [binop("+", var(i, "i64"),
                 lit("i64", self.r.choice([0, 1, -1]))), var(i, "i64")])
        at = call("map", arr(w, tup("i64", "i64")), N("lam", ("fun",), [pair], [("v", i, "i64", False)]),
                  call("iota", arr(w, "i64"), self.size_node(w)))
        return call("scatter_2d", t, self.fresh_array(t, env, d - 1), at, self.expr(arr(w, row(row(t))), env, d - 1))

    def a_rows_with(self, t, env, d):
        """A column replaced."""
        u = row(row(t))

        def make():
            a = self.fresh_array(t, env, d - 1)
            return N("colwith", t, [a, self.position(env, row(t)[1], 2), self.expr(arr(t[1], u), env, d - 1)])
        return self.guarded([row(t)[1]], make, t, env, d)

    def a_row(self, t, env, d):
        """A row of a matrix."""
        c = self.arrays(env, lambda u: row(u) == t)
        if c and self.chance(0.7):
            a = self.r.choice(c)
        else:
            dim = self.a_size(env)
            if not self.fits(dim, t[1]):
                return None
            a = self.expr(arr(dim, t), env, d - 1)
        return self.guarded([a.ty[1]], lambda: N("index", t, [a, self.position(env, a.ty[1], 2)]), t, env, d)

    def a_take(self, t, env, d):
        """The first elements of something longer."""
        if not self.fits(t[1], 2):
            return None
        extra = self.r.choice([1, 2, 5])
        k = self.fresh("k")
        a = call("concat", arr(k, row(t)), self.expr(t, env, d - 1), self.leaf(arr(extra, row(t)), env))
        if self.chance(0.5):
            return call("take", t, self.size_node(t[1]), a)
        lo = self.r.randint(0, extra)
        hi = binop("+", self.size_node(t[1]), lit("i64", lo))
        return N("cast", t, [N("slice", t, [a, lit("i64", lo), hi], "{}:{}")])

    def a_unzip(self, t, env, d):
        other = self.elem_type(env)
        first = self.chance(0.5)
        pair = tup(row(t), other) if first else tup(other, row(t))
        both = tup(*[arr(t[1], u) for u in pair[1:]])
        return N("proj", t, [call("unzip", both, self.expr(arr(t[1], pair), env, d - 1))], 0 if first else 1)

    def a_literal(self, t, env, d):
        return N("arrlit", t, [self.expr(row(t), env, d - 1) for _ in range(t[1])])

    def a_concat(self, t, env, d):
        k = self.r.randint(1, t[1] - 1)
        parts = [self.expr(arr(k, row(t)), env, d - 1), self.expr(arr(t[1] - k, row(t)), env, d - 1)]
        # Said, as it may be what a loop starts with: `2 + 2` is not the text `4`, so such a loop's size would vary.
        return N("cast", t, [binop("++", *parts, t=t) if self.chance(0.5) else call("concat", t, *parts)])

    def a_helper(self, t, env, d):
        srcs = self.arrays(env, lambda u: u[1] == t[1])
        if not is_scalar(row(t)) and is_arr(row(t)) and self.fits(t[1], row(t)[1]) and self.chance(0.6):
            a = self.source(env, d, lambda u: u[1] == t[1]) if srcs else None
            b = self.arrays(env, lambda u: u[1] == row(t)[1])
            if a and a.ty[1] == t[1] and b:
                b = self.r.choice(b)
                f = self.lam([row(a.ty), row(b.ty)], env, lambda e: self.expr(row(row(t)), e, d - 1),
                             self.estimate(t[1]) * self.estimate(row(t)[1]))
                return call("outer", t, f, a, b)
        if not srcs:
            return None
        a = self.r.choice(srcs)
        i, p = self.fresh("ix"), self.pattern(row(a.ty))
        self.bound[i] = t[1]
        work, self.work = self.work, self.work * max(1, self.estimate(t[1]))
        body = self.inside(t[1], lambda: self.expr(row(t), env + [(i, "i64")] + pat_vars(p), d - 1))
        self.work = work
        return call("mapi", t, N("lam", ("fun",), [body], [("v", i, "i64", False), p]), a)
