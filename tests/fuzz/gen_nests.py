"""Nests over arrays that lie in different orders (see gen.py): Nests(seed).program(). What is aimed at: in which order threads go through
a nest, how arrays lie, sums of a loop's turns, and kernels that share or tile what reductions read.

All arrays are over a few sizes, each of which is a dimension at most once, so that any two can be read side by side in some order: `to`
makes a view in the order that is wanted, and `nest` maps over those that have a dimension and leaves the others alone. A step adds an
array to those that are there. Floats are small whole numbers where they are used (`number`), so that no sum of them is rounded."""
import gen
import operators
from tree import FLOATS, Def, Loop, N, arr, binop, call, lit, pat_vars, tup, type_sizes, var

LIMIT, MOST_DIMS = 6000, 4
STEPS = [("mapped", 5), ("scanned", 3), ("summed", 4), ("product", 6), ("table", 3), ("rows", 4), ("updated", 2), ("view", 4),
         ("carried", 4), ("turns", 9), ("chosen", 1)]


def shape(dims, u):
    for d in reversed(dims):
        u = arr(d, u)
    return u


class Array:
    """An expression, its dimensions, the type of its elements."""

    def __init__(self, e, dims, u):
        self.e, self.dims, self.u = e, tuple(dims), u


class Nests(gen.Gen):
    def __init__(self, seed, ranks=0):
        super().__init__(seed)
        self.ranks = ranks  # that the program is for
        self.fails = self.helpers = self.ragged = self.sums = self.modules = False
        self.floats = self.chance(0.5)
        self.main = self.r.choice(["f32", "f32", "f64"] if self.floats else ["i32", "i32", "i64"])
        self.arrays_made = []
        self.lets = []  # [(pattern, value)] of the entry point so far

    def entry_names(self):
        return ["main"]

    def fits(self, *ds):
        w = self.work
        for d in ds:
            w *= max(1, self.estimate(d))
        return w <= LIMIT

    def element(self):
        return self.main if self.chance(0.8) else self.r.choice(["i32", "i64", "u8", "i16"] + ["f32"] * self.floats)

    # --- numbers ---------------------------------------------------------------------------------
    def number(self, e, t):
        """A number as one of type t; floats are whole and small."""
        u = e.ty
        if u in FLOATS and (u != t or e.op != "lit"):
            near = call(f"{u}.max", u, lit(u, -8.0), call(f"{u}.min", u, lit(u, 8.0), e))
            e = call(f"{u}.floor", u, near)
        if t in FLOATS and u not in FLOATS:
            e = e if u == "i8" else call(f"i8.{u}", "i8", e)
            return call(f"{t}.i8", t, binop("%", e, lit("i8", 8)))
        return e if u == t else call(f"{t}.{u}", t, e)

    def mix(self, es, t):
        """A number of type t out of all of these, in any order."""
        es = self.r.sample(es, len(es))
        out = self.number(es[0], t)
        for e in es[1:]:
            op = self.r.choice("+-*" if t in FLOATS else "+-*^")
            out = binop(op, self.number(out, t) if op == "*" else out, self.number(e, t))
        k = self.r.random()
        if k < 0.3:
            out = binop("+", out, self.literal(t) if t not in FLOATS else lit(t, float(self.r.randint(-3, 3))))
        elif k < 0.4:
            least = lit(t, 1.0 if t in FLOATS else 1)
            out = N("if", t, [binop("<", self.number(es[0], t), least, "bool"), out, least])
        return out

    def literal(self, t):
        return lit(t, float(self.r.randint(-3, 3)) if t in FLOATS else self.r.randint(1, 9))

    def an_operator(self, t):
        """An operator that no device rounds."""
        return N("op", t, x=self.operator(t, sums=self.main in FLOATS and self.chance(0.6)))

    # --- arrays ----------------------------------------------------------------------------------
    def pick(self, test=lambda a: True):
        c = [a for a in self.arrays_made if test(a)]
        return self.r.choice(c[-5:] if self.chance(0.6) else c) if c else None

    def shuffled(self, dims):
        return tuple(self.r.sample(list(dims), len(dims)))

    def over(self, depth, dims, u, e, make):
        """make(row, its dimensions) for each row of e below so many dimensions, as nested maps."""
        if depth == 0:
            return make(e, dims)
        x = self.fresh("x")
        inner = self.over(depth - 1, dims[1:], u, var(x, shape(dims[1:], u)), make)
        return call("map", arr(dims[0], inner.ty), N("lam", ("fun",), [inner], [("v", x, shape(dims[1:], u), self.chance(0.3))]), e)

    def to(self, a, want):
        """The array with its dimensions in this order."""
        e, dims = a.e, list(a.dims)
        if len(dims) == 3 and tuple(dims) != tuple(want) and self.chance(0.3):
            perm = tuple(dims.index(d) for d in want)
            return Array(call("rearrange", shape(want, a.u), N("perm", ("fun",), x=perm), e), want, a.u)
        for k, d in enumerate(want):
            for j in range(dims.index(d), k, -1):
                def turned(row, ds):
                    return call("transpose", shape((ds[1], ds[0]) + tuple(ds[2:]), a.u), row)
                e = self.over(j - 1, tuple(dims), a.u, e, turned)
                dims[j - 1], dims[j] = dims[j], dims[j - 1]
        return Array(e, want, a.u)

    def along(self, a, dims):
        """The array with its dimensions in the order that they have in dims."""
        return self.to(a, tuple(d for d in dims if d in a.dims))

    def nest(self, dims, srcs, make):
        """Maps over dims; make(arrays) is the body, of what is left of the sources, whose dimensions are in the order of dims."""
        if not dims:
            return make(srcs)
        d, here = dims[0], [s for s in srcs if s.dims[:1] == dims[:1]]
        names = {id(s): self.fresh("x") for s in here}
        inside = [Array(var(names[id(s)], shape(s.dims[1:], s.u)), s.dims[1:], s.u) if id(s) in names else s for s in srcs]
        args, pats = [s.e for s in here], [("v", names[id(s)], shape(s.dims[1:], s.u), self.chance(0.2)) for s in here]
        if not here or self.chance(0.1):
            i = self.fresh("ix")
            args.append(call("iota", arr(d, "i64"), self.size_node(d)))
            pats.append(("v", i, "i64", False))
            if self.chance(0.5):
                inside = inside + [Array(var(i, "i64"), (), "i64")]
        body = self.nest(dims[1:], inside, make)
        return call("map" if len(args) == 1 else f"map{len(args)}", arr(d, body.ty), N("lam", ("fun",), [body], pats), *args)

    def scalars(self, srcs):
        return [s.e for s in srcs if not s.dims]

    def add(self, e, dims, u):
        name = self.fresh("v")
        self.lets.append((("v", name, e.ty, self.chance(0.3)), e))
        self.arrays_made.append(Array(var(name, e.ty), dims, u))

    def add_several(self, e, dims, us):
        """The results of a nest that has several, each as an array."""
        name = self.fresh("v")
        self.lets.append((("v", name, e.ty, False), e))
        for k, u in enumerate(us):
            got = self.over(len(dims), dims, tup(*us), var(name, e.ty), lambda row, ds, k=k, u=u: N("proj", u, [row], k))
            self.add(got, dims, u)

    # --- steps: each adds arrays, or none if there are none to make them of ------------------------
    def step_mapped(self):
        a, u = self.pick(), self.element()
        dims = a.dims if self.chance(0.5) else self.shuffled(a.dims)
        others = [self.pick(lambda b: set(b.dims) <= set(dims)) for _ in range(self.r.choice([0, 1, 1, 2]))]
        srcs = [self.along(b, dims) for b in [a] + others]
        if self.chance(0.75):
            return self.add(self.nest(dims, srcs, lambda ss: self.mix(self.scalars(ss), u)), dims, u)
        us = (u, self.element())
        e = self.nest(dims, srcs, lambda ss: N("tuple", tup(*us), [self.mix(self.scalars(ss), t) for t in us]))
        return self.add_several(e, dims, us)

    def step_scanned(self):
        """Along one dimension, elements or rows."""
        a = self.pick()
        dims, deep = self.shuffled(a.dims), 2 if len(a.dims) > 1 and self.chance(0.3) else 1
        rows, u = dims[len(dims) - deep:], a.u
        op = self.an_operator(shape(rows[1:], u))

        def scan(ss):
            made = ss[0].e
            if u in FLOATS:
                made = self.over(deep, rows, u, made, lambda x, _: self.number(x, u))
            return call("scan", made.ty, op, made)
        if op.x is not None:
            self.add(self.nest(dims[:len(dims) - deep], [self.to(a, dims)], scan), dims, u)

    def reduced(self, d, srcs, us):
        """A reduction over d of what is left of the sources, with so many results."""
        t = us[0] if len(us) == 1 else tup(*us)
        op = self.an_operator(t)
        made = self.nest((d,), srcs, lambda ss: self.mix(self.scalars(ss), us[0]) if len(us) == 1 else
                         N("tuple", t, [self.number(self.mix(self.scalars(ss), u), u) for u in us]))
        if len(us) == 1 and us[0] in FLOATS:
            made.kids[0].kids[0] = self.number(made.kids[0].kids[0], us[0])
        e = call("reduce_comm" if op.x.comm and self.chance(0.3) else "reduce", t, op, made)
        if self.chance(0.2) and len(us) == 1 and us[0] not in FLOATS:  # more than the reduction in the body
            e = self.mix([e] + (self.scalars(srcs) or [self.literal(us[0])]), us[0])
        return e

    def step_summed(self):
        a = self.pick(lambda a: len(a.dims) > 1) or self.pick()
        self.sums_of([a] + [self.pick(lambda b: set(b.dims) <= set(a.dims)) for _ in range(self.r.choice([0, 1, 1]))])

    def step_product(self):
        """Of two arrays, or three, that share a dimension or do not: all pairs, matrix products, of many matrices."""
        a = self.pick(lambda a: len(a.dims) == 2) or self.pick()
        b = self.pick(lambda b: not set(a.dims) <= set(b.dims) and not set(b.dims) <= set(a.dims)) or \
            self.pick(lambda b: set(b.dims) != set(a.dims)) or self.pick()
        self.sums_of([a, b] + [self.pick() for _ in range(self.chance(0.15))])

    def sums_of(self, srcs):
        all_ = {d for s in srcs for d in s.dims}
        k = self.r.choice(sorted(all_))
        dims = self.shuffled(sorted(all_ - {k}))
        if not dims or len(all_) > MOST_DIMS or not self.fits(*all_):
            return
        us = (self.element(),) if self.chance(0.7) else (self.element(), self.element())
        e = self.nest(dims, [self.along(s, dims + (k,)) for s in srcs], lambda ss: self.reduced(k, ss, us))
        if len(us) == 1:
            self.add(e, dims, us[0])
        else:
            self.add_several(e, dims, us)

    def step_table(self):
        """By indices, in an order of their own, of neighbours too."""
        a, u = self.pick(), self.element()
        dims = self.shuffled(a.dims)
        srcs = [a] + [self.pick(lambda b: set(b.dims) <= set(dims)) for _ in range(self.r.choice([0, 1, 1]))]
        at = {d: self.fresh("ix") for d in dims}

        def read(b, beside=None):
            places = [binop("-", var(at[d], "i64"), lit("i64", 1)) if d == beside else var(at[d], "i64") for d in b.dims]
            return N("index", b.u, [b.e] + places)
        es = [read(b) for b in srcs]
        if self.chance(0.5):
            d = self.r.choice(a.dims)
            es.append(N("if", a.u, [binop(">", var(at[d], "i64"), lit("i64", 0), "bool"), read(a, d), self.literal(a.u)]))
        e = self.mix(es, u)
        for d in reversed(dims):
            f = N("lam", ("fun",), [e], [("v", at[d], "i64", self.chance(0.2))])
            e = call("tabulate", arr(d, e.ty), self.size_node(d), f)
        self.add(e, dims, u)

    def step_rows(self):
        """Rows that threads consume: each a loop's, or an update."""
        a = self.pick(lambda a: len(a.dims) > 1)
        if not a:
            return
        dims = self.shuffled(a.dims)
        deep = 2 if len(dims) > 2 and self.chance(0.3) else 1
        outer, rows = dims[:len(dims) - deep], dims[len(dims) - deep:]
        other = self.pick(lambda b: set(b.dims) <= set(outer))
        srcs = [self.to(a, dims)] + ([self.along(other, dims)] if other and self.chance(0.6) else [])
        self.add(self.nest(outer, srcs, lambda ss: self.consumed(rows, a.u, ss)), dims, a.u)

    def consumed(self, rows, u, srcs):
        t, d, i, acc = shape(rows, u), rows[0], self.fresh("ix"), self.fresh("acc")
        more, inner = self.scalars(srcs[1:]), shape(rows[1:], u)

        def new(here, before):
            """The part at one place, of what is there and what is before it."""
            if len(rows) == 1:
                return self.mix([here, before] + more, u)
            parts = [Array(e, rows[1:], u) for e in (here, before)]
            return self.nest(rows[1:], parts, lambda ss: self.mix(self.scalars(ss) + more, u))

        def at(place):
            return N("index", inner, [var(acc, t), place])
        start = call("copy", t, srcs[0].e)
        if self.chance(0.4):  # an update of one place
            place = lit("i64", 0) if self.chance(0.5) else binop("-", self.size_node(d), lit("i64", 1))
            if self.chance(0.5):
                start = self.over(len(rows), rows, u, srcs[0].e, lambda x, _: self.mix([x] + more, u))
            body = N("letset", t, [var(acc, t), place, new(at(lit("i64", 0)), at(place)), var(acc + "u", t)], (acc + "u", ["i"]))
            e = N("let", t, [start, body], ("v", acc, t, False))
            return N("if", t, [binop(">", self.size_node(d), lit("i64", 0), "bool"), e, srcs[0].e])
        turn = var(i, "i64")
        before = N("if", inner, [binop(">", turn, lit("i64", 0), "bool"), at(binop("-", turn, lit("i64", 1))), at(turn)])
        body = N("with", t, [var(acc, t), turn, new(at(turn), before)])
        return N("loop", t, [start, self.size_node(d), body], Loop("for", ("v", acc, t, False), i))

    def step_updated(self):
        """The whole array, row by row or in one place."""
        a = self.pick()
        dims = self.shuffled(a.dims)
        b = self.to(a, dims)
        self.add(self.consumed(dims[-2:] if len(dims) < 3 else dims, a.u, [b]) if len(dims) < 4 else b.e, dims, a.u)

    def step_view(self):
        a = self.pick()
        depth = self.r.randrange(len(a.dims))
        d, rest = a.dims[depth], a.dims[depth:]
        form = self.r.choice(["order", "order", "reverse", "rotate", "strided", "replicate", "replicate"])
        if form == "order":
            want = self.shuffled(a.dims)
            return self.add(self.to(a, want).e, want, a.u)
        if form == "replicate":
            new = [s for s in self.est if s not in a.dims and self.fits(s, *a.dims)]
            if not new or len(a.dims) == MOST_DIMS:
                return None
            new = self.r.choice(new)
            e = self.over(depth, a.dims, a.u, a.e, lambda x, ds: call("replicate", shape((new,) + tuple(ds), a.u), self.size_node(new), x))
            return self.add(e, a.dims[:depth] + (new,) + a.dims[depth:], a.u)
        by = lit("i64", self.r.choice([1, 2, -1])) if self.chance(0.6) else self.size_node(self.r.choice(sorted(self.est)))

        def viewed(x, ds):
            t = shape(rest, a.u)
            if form == "reverse":
                return call("reverse", t, x)
            return call("rotate", t, by, x) if form == "rotate" else N("cast", t, [N("slice", t, [x], "::-1")])
        return self.add(self.over(depth, a.dims, a.u, a.e, viewed), a.dims, a.u)

    def step_carried(self):
        """A loop that maps over what it carries, in whatever order it lies."""
        a = self.pick()
        dims = self.shuffled(a.dims)
        b = self.pick(lambda b: set(b.dims) <= set(dims))
        two = self.chance(0.4)
        names, i, t = [self.fresh("st"), self.fresh("st")][:1 + two], self.fresh("ix"), shape(dims, a.u)
        now = [Array(var(v, t), dims, a.u) for v in names]

        def turn():
            order, x = self.shuffled(dims), now[0]
            if self.chance(0.3):
                x = Array(call("reverse", t, x.e), dims, a.u)
            srcs = [self.along(y, order) for y in [x] + now[1:] + [b]]
            inner = len(order) if self.chance(0.6) else len(order) - 1

            def body(ss):
                if inner == len(order):
                    return self.mix(self.scalars(ss), a.u)
                op = N("op", a.u, x=self.operator(a.u, sums=True))
                row = self.nest(order[-1:], ss, lambda xs: self.number(self.mix(self.scalars(xs), a.u), a.u))
                return call("scan", row.ty, op, row)
            return self.to(Array(self.nest(order[:inner], srcs, body), order, a.u), dims).e
        init, nexts = self.to(a, dims).e, [turn()] + ([now[0].e] if two else [])
        bound = lit("i64", self.r.choice([1, 2, 3]))
        if not two:
            return self.add(N("loop", t, [init, bound, nexts[0]], Loop("for", ("v", names[0], t, False), i)), dims, a.u)
        all_ = tup(t, t)
        e = N("loop", all_, [N("tuple", all_, [init, init]), bound, N("tuple", all_, nexts)],
              Loop("for", ("t", [("v", v, t, False) for v in names]), i))
        return self.add(N("proj", t, [e], self.r.randrange(2)), dims, a.u)

    def step_turns(self):
        """A loop that adds a product to what it carries, in each turn, of rows that are there and of what it makes."""
        a = self.pick(lambda a: len(a.dims) > 1)
        if not a:
            return
        n = self.r.choice(a.dims)
        b = self.pick(lambda b: n in b.dims and len(b.dims) > 1) or a
        if self.chance(0.5):
            b = a
        rest = [tuple(d for d in self.shuffled(x.dims) if d != n) for x in (a, b)]
        dims = tuple(dict.fromkeys(rest[0] + rest[1]))
        common = [d for d in dims if d in rest[0] and d in rest[1]]
        k = self.r.choice(common) if common and len(dims) > 1 and self.chance(0.8) else None
        out = self.shuffled([d for d in dims if d != k])
        if k and self.chance(0.7):  # as adjoints have it: matrices of which each has its rows along k
            rest = [(k,) + tuple(d for d in r if d != k) for r in rest]
            out = tuple(dict.fromkeys(rest[0][1:] + rest[1][1:]))
        if len(dims) >= MOST_DIMS or not self.fits(n, *dims):
            return
        u, i = self.main, self.fresh("ix")
        rows = [self.to(x, (n,) + r) for x, r in zip((a, b), rest)]
        whole = [self.fresh("all"), self.fresh("all")]
        for v, x in zip(whole, rows):
            self.lets.append((("v", v, x.e.ty, False), x.e))
        last = binop("-", binop("-", self.size_node(n), lit("i64", 1)), var(i, "i64"))
        turn = last if self.chance(0.4) else var(i, "i64")
        st, acc, made = self.fresh("st"), self.fresh("acc"), self.fresh("v")
        t_st, t_acc = shape(rest[1], u), shape(out, u)
        read = [N("index", shape(r, x.u), [var(v, x.e.ty), turn]) for v, x, r in zip(whole, rows, rest)]
        now = self.nest(rest[1], [Array(read[1], rest[1], b.u), Array(var(st, t_st), rest[1], u)],
                        lambda ss: self.number(self.mix(self.scalars(ss), u), u))
        srcs = [self.along(Array(read[0], rest[0], a.u), out + (k,)), self.along(Array(var(made, t_st), rest[1], u), out + (k,))]

        def part(ss):
            one = [self.number(e, u) for e in self.scalars(ss)[:2]]
            return binop("*", *one) if len(one) == 2 else one[0]

        def product(ss):
            if k is None:
                return part(ss)
            op = N("op", u, x=operators.scalar(self.r, u, True))
            made = self.nest((k,), ss, part)
            pair, f = made.kids[1:], made.kids[0]
            if len(pair) != 2 or self.chance(0.2):
                return call("reduce", u, op, made)
            f = N("lam", ("fun",), f.kids, [("t", f.x)])
            return call("redomap", u, op, f, call("zip", arr(k, tup(*[p.ty[2] for p in pair])), *pair))
        added = self.nest(out, [Array(var(acc, t_acc), out, u), Array(self.nest(out, srcs, product), out, u)],
                          lambda ss: binop("+", ss[0].e, ss[1].e))
        all_ = tup(t_acc, t_st)
        zeros = [lit(u, 0.0 if u in FLOATS else 0)] * 2
        for j, ds in enumerate((out, rest[1])):
            for d in reversed(ds):
                zeros[j] = call("replicate", arr(d, zeros[j].ty), self.size_node(d), zeros[j])
        after = var(made, t_st)
        if self.chance(0.9):  # so that what the sum is of may be kept
            after = self.nest(rest[1], [Array(after, rest[1], u)], lambda ss: binop("-", self.literal(u), self.number(ss[0].e, u)))
        body = N("let", all_, [now, N("tuple", all_, [added, after])], ("v", made, t_st, False))
        e = N("loop", all_, [N("tuple", all_, zeros), self.size_node(n), body],
              Loop("for", ("t", [("v", acc, t_acc, False), ("v", st, t_st, False)]), i))
        name = self.fresh("v")
        self.lets.append((("v", name, all_, False), e))
        for j, ds in enumerate((out, rest[1])):
            if ds:
                self.add(N("proj", shape(ds, u), [var(name, all_)], j), ds, u)

    def step_chosen(self):
        a = self.pick()
        b = self.pick(lambda b: set(b.dims) == set(a.dims) and b.u == a.u)
        c = binop("<", self.size_node(self.r.choice(sorted(self.est))), lit("i64", self.r.choice([1, 3, 4])), "bool")
        self.add(N("if", a.e.ty, [c, a.e, self.to(b, a.dims).e]), a.dims, a.u)

    # --- the program -----------------------------------------------------------------------------
    def entry(self, name, of):
        sizes = [f"{s}{self.fresh('')}" for s in ["n", "m", "k", "l"][:self.r.choice([2, 3, 3, 3, 4])]]
        self.est, room = {}, 1500
        for s in sizes:
            self.est[s] = self.r.choice([z for z in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 65) if z * 2 <= max(8, room)])
            room //= self.est[s]
        params = []
        while len(params) < self.r.choice([2, 3, 3, 4]) or {d for p in params for d in type_sizes(p[2])} < set(sizes):
            dims = self.shuffled(sizes)[:self.r.choice([1, 2, 2, 2, 3, 3])]
            params.append(("v", self.fresh("a"), shape(dims, self.element()), True))
            self.arrays_made.append(Array(var(params[-1][1], params[-1][2]), dims, self.base(params[-1][2])))
        est, given = dict(self.est), len(params)
        for _ in range(self.r.randint(3, 9)):
            getattr(self, "step_" + self.weighted(STEPS))()
        made = self.arrays_made[given:] or self.arrays_made
        kids = [a.e for a in self.r.sample(made, min(len(made), self.r.randint(1, 3)))]
        if made[-1].e not in kids:
            kids.append(made[-1].e)
        body = kids[0] if len(kids) == 1 else N("tuple", tup(*[k.ty for k in kids]), kids)
        for p, e in reversed(self.lets):
            body = N("let", body.ty, [e, body], p)
        return Def(name, sizes, params, body, entry=True, show_result=self.chance(0.7)), est

    def inputs(self, d, est):
        """For several ranks: rows for none of them, for one, for all but one, for each, and one more."""
        if not self.ranks:
            return super().inputs(d, est)
        few = (0, 1, self.ranks - 1, self.ranks, self.ranks + 1)
        tried = [{s: self.r.choice(few[k > 0:]) for s in est} for k in range(3)]
        return [(d.name, sizes, [self.value(t, sizes) for p in d.params for _, t in pat_vars(p)]) for sizes in tried]

    @staticmethod
    def base(t):
        while not isinstance(t, str):
            t = t[2]
        return t
