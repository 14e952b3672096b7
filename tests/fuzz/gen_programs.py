"""Whole programs of the generator (see gen.py): entry points, what must fail, inputs."""
from oracle import limits
from gen_sums import plain, settle
from library import LIBRARY
from modules import definitions
from tree import FLOATS, INTS, Def, Loop, N, Program, arr, binop, call, free, is_arr, is_scalar, lit, parts, pat_vars, row, tup, type_sizes, var

SIZES = [0, 1, 1, 2, 3, 3, 4, 5, 7, 8, 16, 17, 31, 33, 64, 65, 127, 300, 1025]


class Programs:
    sizes_tried = SIZES

    def entry(self, name, of):
        """An entry point, of so many."""
        r = self.r
        sizes = ["n", "m", "l"][:r.choice([1, 2, 2, 3])]
        sizes = [f"{s}{self.fresh('')}" for s in sizes]
        self.est = {}
        budget = 1000 if self.ragged else 6000
        for s in sizes:
            self.est[s] = r.choice([z for z in self.sizes_tried if z <= max(8, budget)])
            budget //= max(1, self.est[s])
        params, used = self.table_params(sizes) if self.ragged else [], set()
        est, env = dict(self.est), [(s, "i64") for s in sizes]
        used |= set().union(*[type_sizes(p[2]) for p in params])
        for k in range(r.randint(2, 5)):
            t = self.param_type(sizes, env)
            p = ("v", self.fresh("a"), t, True)
            params.append(p)
            used |= type_sizes(t)
        for s in sizes:
            if s not in used:
                params.append(("v", self.fresh("a"), arr(s, self.scalar()), True))
        env += [v for p in params for v in pat_vars(p)] + [(s, "i64") for s in self.globals]
        self.est.update(self.globals)
        body = self.entry_body(env, r.choice([2, 3, 3, 4]), r.randint(1, 2) if self.ragged else r.randint(2, 6 if of == 1 else 3), [])
        return Def(name, sizes, params, body, entry=True,
                   show_result=self.chance(0.7) and not self.hidden), est

    def entry_body(self, env, d, n, made):
        """Definitions, then some of them as results."""
        if n > 0:
            e = self.feature(env, d) if self.chance(0.9 if self.ragged else 0.7 if self.modules else 0.5) else None
            if e is None:
                e = self.expr(self.a_type(env), env, d)
            u = e.ty
            p = self.pattern(u, "v", annotate=self.chance(0.3))
            body = self.entry_body(env + pat_vars(p), d, n - 1, made + pat_vars(p))
            return N("let", body.ty, [e, body], p)
        picked = self.r.sample(made, min(len(made), self.r.randint(2, 4)))
        if made[-1] not in picked:
            picked.append(made[-1])
        kids = [self.observed(var(v, u)) if self.chance(0.8) or not plain(u) else self.expr(u, env, 2) for v, u in picked]
        if self.fails:
            kids.append(self.failing(env))
        elif self.chance(0.15):  # a result whose size shows at run time
            src = self.source(env, 2, plain)
            k = self.fresh("k")
            self.hidden = True
            p = self.inside(src.ty[1], lambda: self.lam([row(src.ty)], env,
                            lambda e: self.expr("bool", e, 2), self.estimate(src.ty[1])))
            kids.append(call("filter", arr(k, row(src.ty)), p, src))
        return kids[0] if len(kids) == 1 else N("tuple", tup(*[k.ty for k in kids]), kids)

    def feature(self, env, d):
        """A histogram, an update, rounds of updates or an irregular piece, at the top or in one or two maps; or None."""
        depth = self.r.choice([0, 0, 0, 1, 2] if self.ragged else [0, 1, 1, 1, 2, 2])
        kinds = ["hist", "hist", "update", "irregular", "irregular", "rounds", "rounds", "rounds"] + (["member"] * 6 + ["held"]) * self.modules + \
            ["ragged"] * 24 * self.ragged
        return self.nest(depth, env, self.r.choice(kinds), d)

    def nest(self, depth, env, kind, d):
        if depth == 0:
            return getattr(self, "f_" + kind)(env, d)
        c = self.arrays(env, lambda u: self.fits(u[1]))
        dim = self.r.choice(c).ty[1] if c else self.a_size(env)
        srcs = self.arrays(env, lambda u: u[1] == dim)
        if not self.fits(dim):
            return None
        src = self.r.choice(srcs) if srcs else call("iota", arr(dim, "i64"), self.size_node(dim))
        made = []

        def body(inner):
            made.append(self.nest(depth - 1, inner, kind, d))
            return made[0] or lit("bool", False)
        srcs = [src]
        if self.chance(0.7) and src.x != "iota":  # so that every thread knows its number
            srcs.append(call("iota", arr(dim, "i64"), self.size_node(dim)))
        f = self.inside(dim, lambda: self.lam([row(s.ty) for s in srcs], env, body, self.estimate(dim)))
        if not made[0]:
            return None
        return call("map" if len(srcs) == 1 else "map2", arr(dim, made[0].ty), f, *srcs)

    def f_hist(self, env, d):
        """Into bins of one to three dimensions; elements of one or several scalars, often of less than a word, or arrays."""
        dims = [self.a_size(env) for _ in range(self.r.choice([1, 1, 2, 3]))]
        u = self.r.choice(["i8", "u8", "i16", "u16", "bool"]) if self.chance(0.35) else self.scalar()
        k = self.r.random()
        if k < 0.25:
            u = tup(u, u if self.chance(0.5) else self.scalar())
        elif k < 0.35:
            u = ("rec", ("a", u), ("b", self.scalar()))
        elif k < 0.5:
            u = arr(self.a_size(env), u)
        t = u
        for x in reversed(dims):
            t = arr(x, t)
        if not self.fits(*self.part_dims(t)):
            return None
        return self.histogram(t, dims, u, env, min(d, 3))

    def f_update(self, env, d):
        t = arr(self.a_size(env), self.elem_type(env))
        if self.chance(0.15):
            return self.record_with(("rec", ("a", t), ("b", self.scalar())), env, min(d, 3))
        if not self.fits(*self.part_dims(t)):
            return None
        if is_arr(row(t)) and self.chance(0.4):
            return self.a_rows(t, env, min(d, 3))
        return self.r.choice([self.a_set, self.let_set, self.a_sweep, self.a_fill])(t, env, min(d, 3))

    def f_irregular(self, env, d):
        if self.chance(0.6):
            return self.irregular(self.r.choice(["i32", "i64", "u8"]), env, min(d, 3))
        t = self.scalar()
        if self.chance(0.3):
            t = arr(self.a_size(env), t)
            if not self.fits(t[1]):
                return None
        return self.existential(t, env, min(d, 3)) if self.chance(0.7) else self.carried(t, env, min(d, 3))

    def bad_size(self, env):
        """An array that cannot be: of a negative size, or of more bytes than can be counted; perhaps in a map."""
        u, k = self.r.choice(["i32", "i64", "u64", "u32"]), self.fresh("k")
        small = self.expr("i64", env, 1)
        small = binop("%", small, lit("i64", 5))
        self.hidden = True
        if self.chance(0.4):
            big = lit("i64", self.r.choice([1 << 61, (1 << 62) - 1, 1 << 62, (1 << 62) + 1, (1 << 63) - 5]))
            return call("replicate", arr(k, u), binop("+", big, small) if self.chance(0.5) else big, self.literal(u))
        below = binop("-", small, lit("i64", self.r.choice([5, 6, 7, 1 << 31, 1 << 33, 1 << 62])))
        form = self.r.choice(["replicate", "iota", "tabulate", "in a map"])
        if form == "iota":
            return call("iota", arr(k, "i64"), below)
        if form == "tabulate":
            return call("tabulate", arr(k, u), below, self.index_lam([1], env, lambda e: self.leaf(u, e)))
        if form == "replicate":
            return call("replicate", arr(k, u), below, self.literal(u))
        self.hidden = False
        count = self.r.choice([1, 3])
        src = call("iota", arr(count, "i64"), lit("i64", count))
        made = call("replicate", arr(k, u), below, self.literal(u))
        op = N("op", u, x=self.operator(u))
        f = self.lam([row(src.ty)], env, lambda e: call("reduce", u, op, made), self.estimate(src.ty[1]))
        return call("map", arr(src.ty[1], u), f, src)

    def failing(self, env):
        """A value that cannot be computed on some input."""
        if self.chance(0.3):
            return self.bad_size(env)
        c = [a for a in self.arrays(env, lambda u: is_scalar(row(u)) and self.fits(u[1]))]
        if not c or self.chance(0.15):
            return N("assert", "i64", [binop("<", self.expr("i64", env, 2), lit("i64", limits("i64")[0]), "bool"),
                                       self.expr("i64", env, 1)])
        a = self.r.choice(c)
        t, dim, off = row(a.ty), a.ty[1], self.r.choice([0, 1, 5])
        beyond = binop("+", self.size_node(dim), lit("i64", off))
        k = self.r.random()
        if k < 0.1:
            ones = call("replicate", arr(2, t), lit("i64", 2), self.literal(t))
            start = binop("-", beyond, lit("i64", 1))
            return N("set", a.ty, [call("copy", a.ty, a), start, binop("+", start, lit("i64", 2)), ones], ["a:b"])
        if k < 0.25:
            return N("index", t, [a, beyond if self.chance(0.7) else lit("i64", -1 - off)])
        if k < 0.4:
            return N("with", a.ty, [call("copy", a.ty, a), beyond, self.expr(t, env, 1)])
        if k < 0.5:
            return binop("/", self.expr("i64", env, 1), binop("*", self.size_node(dim), lit("i64", 0)))
        f = self.index_lam([dim], env, lambda e: N(
            "index", t, [a, binop("+", var(e[-1][0], "i64"), lit("i64", 1 + off))]))
        if k < 0.7 and t in INTS:  # inside a reduction
            return call("redomap", t, N("op", t, x=self.operator(t)), f,
                        call("iota", arr(dim, "i64"), self.size_node(dim)))
        if k < 0.85:  # in a loop
            i = self.fresh("ix")
            return N("loop", t, [self.literal(t), self.size_node(dim), N("index", t, [a, binop("+", var(i, "i64"), lit("i64", 1))])],
                     Loop("for", ("v", self.fresh("acc"), t, False), i))
        return call("tabulate", a.ty, self.size_node(dim), f)

    def param_type(self, sizes, env):
        k = self.r.random()
        if k < 0.2:
            return self.scalar()
        t = self.scalar()
        if k > 0.8:
            t = tup(self.scalar(), self.scalar())
        elif k > 0.72:
            t = ("rec", ("a", self.scalar()), ("b", self.scalar()))
        first = self.r.choice(sizes) if self.chance(0.92) else self.r.choice([1, 3])
        if self.chance(0.35):
            second = self.r.choice(sizes) if self.chance(0.8) else self.r.choice([2, 3])
            if max(1, self.est.get(first, 3)) * max(1, self.est.get(second, 3)) <= 6000:
                t = arr(second, t)
                if self.chance(0.2) and self.est.get(first, 3) * self.est.get(second, 3) <= 600:
                    t = arr(3, t)
        return arr(first, t)

    def value(self, t, sizes):
        r = self.r
        if is_arr(t):
            return [self.value(row(t), sizes) for _ in range(t[1] if isinstance(t[1], int) else sizes[t[1]])]
        if not is_scalar(t):
            return tuple(self.value(u, sizes) for u in parts(t))
        if t == "bool":
            return r.random() < 0.5
        if t in FLOATS:
            return float(r.randint(-9, 9)) + r.choice([0, 0, 0.5])
        lo, hi = limits(t)
        v = r.choice([r.randint(-9, 20), r.randint(0, 5), r.randint(-9, 20), r.randint(lo, hi), hi, lo])
        return v if lo <= v <= hi else r.randint(0, 9)

    def inputs(self, d, est):
        """Values for the sizes of the first input, then small ones."""
        out = []
        others = {s: self.r.choice([z for z in (0, 1, 2, 3, 5) if z <= max(2, est[s])]) for s in est}
        few = {s: self.r.choice([z for z in (0, 1, 4, 6) if z <= max(4, est[s])]) for s in est}
        for sizes in (est, others, few) if self.ragged else (est, others):
            sizes = {**sizes, **{t.many: sizes[t.n] + 1 for t in self.tables.values() if t.many in sizes}}
            out.append((d.name, sizes, [self.table_value(self.tables[v], sizes) if v in self.tables else self.value(t, sizes)
                                        for p in d.params for v, t in pat_vars(p)]))
        return out

    def entry_names(self):
        return ["main", "second", "third"][:self.r.choice([1, 1, 1, 1] + [2, 2, 3] * (not self.ragged))]

    def program(self):
        """One entry point, or some that share functions."""
        names = self.entry_names()
        items, inputs = [], []
        for name in names:
            before = len(self.functions)
            self.bound, self.positive, self.locals, self.hidden = {}, set(), [], False
            d, est = self.entry(name, len(names))
            items += self.functions[before:] + [d]
            inputs += self.inputs(d, est)
        items = [self.settled(d) if isinstance(d, Def) else d for d in items]
        used = set().union(*[free(d.body) for d in definitions(items)])
        sums = [x for d in self.declared for x in [d, self.overs.get(d.name)] if x]
        items = [h for h in LIBRARY if h.name in used] + sums + items
        return Program(self.wrapped(items) if self.modules else items, inputs, self.fails)

    def settled(self, d):
        """A definition that says fewer types."""
        return d.with_body(settle(self.r, d.body, d.show_result, {f.name for f in self.callables}))
