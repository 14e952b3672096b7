"""Updates in place of the generator (see gen.py): of slices, through `with` and `let a[...] =`, and of fields.

The form of each dimension: "i" an index, ":" all, "::s" with a stride, "a:", ":b", "a:b", "a:b:s"; the letters stand for
expressions, which are kids of the node."""
from copy import deepcopy

from tree import Loop, N, arr, binop, call, is_arr, is_scalar, lit, row, var


class Updates:
    def part(self, dim, env, d):
        """(form, expressions, size of the part or None, [conditions]) of a slice of a dimension of size dim."""
        k = self.r.random()
        if k < 0.3:
            return "i", [self.inside(dim, lambda: self.position(env, dim, 2))], None, [self.above(dim)]
        if k < 0.4:
            return ":", [], dim, []
        if k < 0.5:
            return "::s", [lit("i64", -1)], dim, []
        w = self.r.choice([1, 1, 2, 3]) if self.chance(0.5) else self.a_size(env)
        step = self.r.choice([1, 1, 1, 2, 3, -1, -2])
        off = lit("i64", self.r.choice([0, 0, 1, 2])) if self.chance(0.6) else \
            binop("%", self.expr("i64", env, min(d - 1, 2)), lit("i64", self.r.choice([2, 3, 5])))
        if self.work > 1 and not self.fits(w):
            w = 1
        length = self.size_node(w) if abs(step) == 1 else binop("*", self.size_node(w), lit("i64", abs(step)))
        end = binop("+", off, length)
        conds = [binop("<=", end, self.size_node(dim), "bool")]
        if step < 0:
            one = lit("i64", 1)
            return ("a:b:s", [binop("-", end, one), binop("-", off, one), lit("i64", step)], w,
                    conds + [self.above(w)])
        if step == 1:
            return "a:b", [off, end], w, conds
        return "a:b:s", [off, end, lit("i64", step)], w, conds

    def above(self, dim):
        return binop(">", self.size_node(dim), lit("i64", 0), "bool")

    def region(self, t, env, d):
        """(forms, expressions, type of the part, conditions) of a part of an array of type t."""
        forms, exprs, dims, conds, u = [], [], [], [], t
        deep = self.r.choice([1, 1, 2, 3])
        while deep > 0 and not is_scalar(u) and is_arr(u):
            form, es, dim, cs = self.part(u[1], env, d)
            forms.append(form)
            exprs += es
            conds += [c for c in cs if not (c.op == "bin" and c.x == ">" and self.known_above(c.kids[0]))]
            if dim is not None:
                dims.append(dim)
            u, deep = row(u), deep - 1
        for dim in reversed(dims):
            u = arr(dim, u)
        return forms, exprs, u, conds

    def known_above(self, n):
        return n.x in self.positive if n.op == "var" else n.x > 0

    def conditional(self, conds, e, other):
        """e under all conditions, else the other."""
        if not conds:
            return e
        c = conds[0]
        for more in conds[1:]:
            c = binop("&&", c, more)
        return N("if", e.ty, [c, e, other])

    def part_dims(self, u):
        dims = []
        while not is_scalar(u) and is_arr(u):
            dims.append(u[1])
            u = row(u)
        return dims

    def new_value(self, u, env, d):
        """A value that shares nothing with an array in scope."""
        e = self.expr(u, env, d - 1)
        return call("copy", u, e) if is_arr(u) else e

    def a_set(self, t, env, d):
        """A part of an array replaced."""
        k = self.r.random()
        if k < 0.2:
            return self.set_rest(t, env, d)
        if k < 0.4:
            return self.let_set(t, env, d)
        forms, exprs, u, conds = self.region(t, env, d)
        if not self.fits(*self.part_dims(u)):
            return None
        a = self.fresh_array(t, env, d - 1)
        e = N("set", t, [a] + exprs + [self.expr(u, env, d - 1)], forms)
        return self.conditional(conds, e, self.leaf(t, env))

    def let_set(self, t, env, d):
        """let a = copy ... let a[...] = ... in ...; the new part may be computed from a."""
        name = self.fresh("up")
        forms, exprs, u, conds = self.region(t, env, d)
        if not self.fits(*self.part_dims(u)) or not (is_scalar(u) or is_arr(u)):
            return None
        a = self.fresh_array(t, env, d - 1)
        inner = env + [(name, t)]
        keep, self.recent = self.recent, name
        v = self.new_value(u, inner, d)
        body = self.expr(t, inner, d - 1) if self.chance(0.5) else var(name, t)
        self.recent = keep
        return self.conditional(conds, N("letset", t, [a] + exprs + [v, body], (name, forms)), self.leaf(t, env))

    def set_rest(self, t, env, d):
        """From some place on, or up to there: as many as there are."""
        lo, k, ys = self.fresh("lo"), self.fresh("k"), self.fresh("ys")
        at, dim = var(lo, "i64"), t[1]
        from_here = self.chance(0.5)
        src = self.expr(t, env, d - 1)
        some = N("sub", arr(k, row(t)), [src, at], ["a:" if from_here else ":b"])
        self.est[k] = self.estimate(dim)
        inner = env + [(lo, "i64"), (k, "i64"), (ys, arr(k, row(t)))]
        a = self.fresh_array(t, env, d - 1)
        if from_here and self.chance(0.3):  # backwards into the end
            forms, exprs = ["a:b:s"], [binop("-", self.size_node(dim), lit("i64", 1)), binop("-", at, lit("i64", 1)),
                                       lit("i64", -1)]
        else:
            forms, exprs = (["a:b"], [at, binop("+", at, var(k, "i64"))]) if from_here else ([":b"], [var(k, "i64")])
        new = self.expr(arr(k, row(t)), inner, d - 1)
        self.est.pop(k)
        e = N("set", t, [a] + exprs + [new], forms)
        e = N("letk", t, [some, e], (k, ("v", ys, arr(k, row(t)), True)))
        e = self.conditional([] if forms[0] != "a:b:s" else [self.above(dim)], e, self.leaf(t, env))
        place = binop("%", self.expr("i64", env, min(d - 1, 2)), binop("+", self.size_node(dim), lit("i64", 1)))
        return N("let", t, [place, e], ("v", lo, "i64", False))

    def a_sweep(self, t, env, d):
        """A loop that writes parts of an array in place."""
        p, i = self.fresh("acc"), self.fresh("ix")
        turns = self.r.choice([1, 2, 4, 8])
        if not self.fits(t[1], turns):
            return None
        init = self.fresh_array(t, env, d - 1)
        inner = env + [(i, "i64"), (p, t)]

        def make():
            forms, exprs, u, conds = self.region(t, inner, d)
            if not self.fits(*self.part_dims(u)) or not (is_scalar(u) or is_arr(u)):
                return var(p, t)
            e = N("set", t, [var(p, t)] + exprs + [self.new_value(u, inner, d)], forms)
            return self.conditional(conds, e, var(p, t))
        return N("loop", t, [init, lit("i64", turns), self.in_loop(turns, make)],
                 Loop("for", ("v", p, t, False), i))

    def a_rows(self, t, env, d):
        """A loop that writes three rows of an array of arrays in each turn, each made of those before, often in the same place."""
        u, p, i = row(t), self.fresh("acc"), self.fresh("ix")
        turns = self.r.choice([1, 2, 4])
        if not self.fits(*self.part_dims(t), turns):
            return None
        init = self.fresh_array(t, env, d - 1)
        keep = self.recent

        def places(inner):
            first = self.position(inner, t[1], 2)
            return [first] + [deepcopy(first) if self.chance(0.6) else self.position(inner, t[1], 2) for _ in range(2)]

        def make():
            inner = env + [(i, "i64")]
            ats, steps, array = places(inner), [], p
            for k, at in enumerate(ats):  # the first may be made of the array, too, which is then consumed
                w = self.fresh("ys")
                steps.append((w, u, self.new_value(u, inner + [(p, t)] if k == 0 else inner, d)))
                inner.append((w, u))
                self.recent = w
                if k < len(ats) - 1:
                    after = self.fresh("acc")
                    steps.append((after, t, N("set", t, [var(array, t), at, var(w, u)], ["i"])))
                    array = after
            body = N("set", t, [var(array, t), ats[-1], var(w, u)], ["i"])
            for name, of, e in reversed(steps):
                body = N("let", t, [e, body], ("v", name, of, False))
            return body
        e = self.guarded([t[1]], lambda: N("loop", t, [init, lit("i64", turns), self.in_loop(turns, make)],
                                           Loop("for", ("v", p, t, False), i)), t, env, d)
        self.recent = keep
        return e

    def record_with(self, t, env, d):
        """A record with another value for a field, or for a field of a field."""
        u, path = t, []
        while True:
            f, u = self.r.choice(u[1:])
            path.append(f)
            if is_scalar(u) or u[0] != "rec" or self.chance(0.3):
                break
        return N("recwith", t, [self.expr(t, env, d - 1), self.expr(u, env, d - 1)], tuple(path))
