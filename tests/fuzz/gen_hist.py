"""Histograms of the generator (see gen.py): `hist`, `reduce_by_index` and its forms in two and three dimensions.

Bins are as many as the result says: none, one, few or many. Indices may all meet in one bin, spread, and lie out of
bounds on both sides, or all out of bounds, which may be known. Operators are associative and commutative, so that the order does not matter."""
from tree import FLOATS, INTS, N, arr, binop, call, is_arr, is_scalar, lit, row, tup


class Hists:
    def bin(self, dim, env, d):
        """An index for a dimension, or nearly."""
        k = self.r.random()
        n = self.size_node(dim)
        if k < 0.1:  # everything in one bin, or in none
            return self.r.choice([lit("i64", 0), lit("i64", 0), lit("i64", self.r.randint(0, 5)), lit("i64", -1), n])
        if k < 0.15:  # everything behind the last bin, as ranges tell
            some = call("u8.i64", "u8", self.expr("i64", env, d - 1))
            return binop("+", call("i64.u8", "i64", some), n)
        if k < 0.2:  # few bins
            return binop("%", self.expr("i64", env, d - 1), lit("i64", 2))
        shift = self.r.choice([0, 0, 1, 2])
        over = binop("+", n, lit("i64", 1 + shift))
        return binop("-", binop("%", self.expr("i64", env, d - 1), over), lit("i64", shift))

    def bins(self, dims, src, env, d):
        """[w] indices for all dimensions, computed from an array."""
        w = src.ty[1]
        u = "i64" if len(dims) == 1 else tup(*["i64"] * len(dims))

        def make(e):
            at = [self.bin(x, e, d) for x in dims]
            return at[0] if len(at) == 1 else N("tuple", u, at)
        f = self.inside(w, lambda: self.lam([row(src.ty)], env, make, self.estimate(w)))
        return call("map", arr(w, u), f, src)

    def small_floats(self, t, env, d):
        """Floats whose sums are exact: 8-bit integers."""
        if is_arr(t):
            dims, u = [], t
            while not is_scalar(u):
                dims.append(u[1])
                u = row(u)
            ints = "i8"
            for x in reversed(dims):
                ints = arr(x, ints)
            return self.to_floats(self.expr(ints, env, d - 1), t)
        return self.small_float(t, self.expr("i8", env, d - 1))

    def to_floats(self, e, t):
        """An array of i8 as one of floats."""
        if is_scalar(t):
            return self.small_float(t, e)
        f = self.lam([row(e.ty)], [], lambda inner: self.to_floats(self.whole(inner), row(t)), self.estimate(t[1]))
        return call("map", t, f, e)

    def whole(self, env):
        name, t = env[-1]
        return N("var", t, x=name)

    def histogram(self, t, dims, u, env, d):
        """Of elements u into the bins `dims`; t is the type of all bins."""
        sums = u in FLOATS and self.chance(0.6)
        o = self.operator(u, sums=sums)
        if o is None or not o.comm:
            return None
        src = self.source(env, d)
        w = src.ty[1]
        at = self.bins(dims, src, env, d)
        values = self.small_floats(arr(w, u), env, d) if sums else self.values(arr(w, u), src, env, d)
        op = N("op", u, x=o)
        if len(dims) == 1 and self.chance(0.3):
            return call("hist", t, op, self.size_node(dims[0]), at, values)
        dest = call("copy", t, self.small_floats(t, env, d)) if sums else self.fresh_array(t, env, d - 1)
        name = "reduce_by_index" + ("" if len(dims) == 1 else f"_{len(dims)}d")
        return call(name, t, dest, op, at, values)

    def values(self, t, src, env, d):
        """Often from the array that gives the indices, so that all is one loop."""
        if row(t) in INTS and self.chance(0.15):
            f = self.inside(t[1], lambda: self.lam([row(src.ty)], env, lambda e: self.irregular(row(t), e, min(d - 1, 2)),
                                                   self.estimate(t[1])))
            return call("map", t, f, src)
        return self.map_over(t, env, d, [src]) if self.chance(0.5) else self.expr(t, env, d - 1)

    def a_hist(self, t, env, d):
        return self.histogram(t, [t[1]], row(t), env, d)

    def a_hist_nd(self, t, env, d):
        dims, u = [t[1]], row(t)
        while not is_scalar(u) and is_arr(u) and len(dims) < 3:
            dims.append(u[1])
            u = row(u)
        return self.histogram(t, dims, u, env, d)
