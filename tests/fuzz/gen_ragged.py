"""Irregular nests of the generator (see gen.py): rows of their own sizes, up to three levels of them, under regular
dimensions and around them.

A table is a parameter that says how the rows of an array lie: by offsets, by where they begin and end, or by their lengths
alone. What happens to a row is a chain of steps: g_FORM(t, env, level, n, d) makes one of them (another row out of it, an
array of its size, a number, rows inside, turns or a branch that only some elements take), then the n others; the last one
gathers a value of type t out of what there is. The sizes of rows have names that begin with a k (see gen_sized.py)."""
from tree import FLOATS, INTS, Loop, N, arr, binop, call, is_arr, is_scalar, lit, pat_vars, row, tup, var

DEEP = 3  # levels of rows


class Table:
    """How n rows lie in arrays of m elements; many: n + 1, size: of most rows. Forms: "offsets" [many], "spans"
    [n](begin, end), "lengths" [n], which lie nowhere."""

    def __init__(self, form, name, n, many, m, size):
        self.form, self.name, self.n, self.many, self.m, self.size = form, name, n, many, m, size

    def type(self):
        return arr(self.many, "i64") if self.form == "offsets" else arr(self.n, tup("i64", "i64") if self.form == "spans" else "i64")


class Ragged:
    # --- parameters --------------------------------------------------------------------------------
    def table_params(self, sizes):
        """Parameters that are tables, and arrays that their rows are of; `sizes` grows by those that tables have."""
        params, plain = [], list(sizes)
        for _ in range(self.r.choice([1, 1, 2])):
            n, m = self.r.choice(plain), self.r.choice(plain)
            form, many = self.r.choice(["offsets", "offsets", "spans", "lengths"]), self.fresh("q")
            table = Table(form, self.fresh("a"), n, many, m, max(1, self.est[m] // max(1, self.est[n])))
            if form == "offsets":
                self.est[many] = self.est[n] + 1
                sizes.append(many)
            self.tables[table.name] = table
            params.append(("v", table.name, table.type(), True))
            if form != "lengths":
                params.append(("v", self.fresh("a"), arr(m, self.piece([(s, "i64") for s in plain])), True))
        return params

    def piece(self, env):
        """The type of a row's elements: a number, some numbers, a few of them in an array."""
        u = self.scalar()
        k = self.r.random()
        if k < 0.6:
            return u
        if k < 0.75:
            return tup(u, u if self.chance(0.7) else self.scalar())
        if k < 0.85:
            return tup(self.scalar(), self.scalar(), self.scalar())
        few = [s for s in self.est if s[0] in "nml" and self.est[s] < 5 and (s, "i64") in env]
        return arr(self.r.choice([2, 3] + few), u)

    def table_value(self, table, sizes):
        """What a table holds for the sizes of an input."""
        n, m = sizes[table.n], sizes[table.m]
        offs = self.cuts(n, m)
        ends = list(zip(offs, offs[1:]))
        if table.form == "offsets":
            return offs
        if table.form == "lengths":
            ends = [hi - lo for lo, hi in ends]
        if table.form == "spans" and self.chance(0.5):
            self.r.shuffle(ends)
        return ends

    def cuts(self, n, m):
        """n + 1 offsets into m elements: rows of one length, of any, one with everything, most of them empty, none used."""
        form = self.r.choice(["even", "any", "any", "huge", "huge", "empty", "few"])
        if form == "even":
            inner = [m * i // max(1, n) for i in range(1, n)]
        elif form == "huge":  # beside empty ones
            at = self.r.randint(0, n)
            inner = [0 if i < at else m for i in range(1, n)]
        elif form == "few":
            some = [self.r.randint(0, m) for _ in range(2)] + [0]
            inner = sorted(self.r.choice(some) for _ in range(1, n))
        else:
            inner = sorted(self.r.randint(0, m) for _ in range(1, n))
        if form == "empty":
            return [inner[-1] if inner else 0] * (n + 1)
        return [self.r.choice([0, 0, inner[0]]) if inner else 0] + inner + [m if self.chance(0.7) or not inner else inner[-1]] * (n > 0)

    # --- rows --------------------------------------------------------------------------------------
    def tables_in(self, env):
        return [self.tables[v] for v, _ in env if v in self.tables]

    def rows_in(self, env):
        """The rows in scope, the latest last."""
        return [a for a in self.arrays(env, lambda u: isinstance(u[1], str) and u[1][0] == "k") if a.ty[1] in self.est]

    def some_row(self, env):
        c = self.rows_in(env)[-3:]
        return self.r.choice(c) if c else None

    def ends_of(self, table, i):
        """(first, one behind the last) of the i-th row of a table."""
        at = N("index", row(table.type()), [var(table.name, table.type()), i])
        if table.form == "lengths":
            return lit("i64", 0), at
        if table.form == "spans":
            return N("proj", "i64", [at], 0), N("proj", "i64", [at], 1)
        return at, N("index", "i64", [at.kids[0], binop("+", i, lit("i64", 1))])

    def table_row(self, k, u, env, d):
        """A row of a table, which will have size k: a part of an array, numbers, or what is made of each number; or None."""
        c = [t for t in self.tables_in(env) if t.n in self.positive and self.fits(t.size)]
        if not c:
            return None
        table = self.r.choice(c)
        i, (name, lo, hi) = self.position(env, table.n, 1), [self.fresh(x) for x in ("ix", "lo", "hi")]
        first, last = self.ends_of(table, var(name, "i64"))
        datas = self.arrays(env, lambda t: t[1] == table.m and row(t) == u) if table.form != "lengths" else []
        if datas and self.chance(0.6):
            e = N("sub", arr(k, u), [self.r.choice(datas), var(lo, "i64"), var(hi, "i64")], ["a:b"])
        else:
            e = self.of_numbers(k, u, var(lo, "i64"), var(hi, "i64"), table, env, d)
        for v, value in ((hi, last), (lo, first), (name, i)):
            e = N("let", e.ty, [value, e], ("v", v, "i64", False))
        return e, table.size

    def of_numbers(self, k, u, lo, hi, table, env, d):
        """lo ..< hi, or a map over it: each number is an index into the table's arrays."""
        if table.form == "lengths" and self.chance(0.5):
            numbers = call("iota", arr(k, "i64"), hi)
        else:
            numbers = N("range", arr(k, "i64"), [lo, hi])
        if u == "i64" and self.chance(0.3):
            return numbers
        j, size = self.fresh("ix"), table.size
        self.bound[j] = table.m
        body = self.inside(table.m, lambda: self.in_loop(size, lambda: self.block(
            u, env + [(j, "i64")], d - 1, self.r.choice([0, 0, 1]))))
        return call("map", arr(k, u), N("lam", ("fun",), [body], [("v", j, "i64", self.chance(0.3))]), numbers)

    def row_of(self, k, u, env, d):
        """Some row, an estimate of its size."""
        made = self.table_row(k, u, env, d) if self.chance(0.8) else None
        return made or self.sized(k, u, env, d)

    # --- nests -------------------------------------------------------------------------------------
    def f_ragged(self, env, d):
        """A map over the rows of a table or over some array, in which each element has rows of its own, with what is around it."""
        t, c, level = self.outcome(env), [x.n for x in self.tables_in(env) if self.fits(x.n)], self.r.choice([1, 2, 2, DEEP])
        if not c or self.chance(0.15):
            c = [a.ty[1] for a in self.arrays(env, lambda u: self.fits(u[1]) and self.estimate(u[1]) > 0)]
            if not c:
                return None
        n = self.r.choice(c)
        form = self.weighted([("nothing", 6), ("reduced", 2), ("scanned", 1), ("binned", 1), ("turned", 2)])
        if form == "turned" and self.fits(n, 3):
            return self.turned(arr(n, t), n, env, level, min(d, 3))
        e = self.nest_over(n, t, env, level, min(d, 3))
        o = self.operator(t)
        if form in ("reduced", "scanned") and o:
            return call("reduce", t, N("op", t, x=o), e) if form == "reduced" else call("scan", arr(n, t), N("op", t, x=o), e)
        if form == "binned" and o and o.comm:
            w = self.r.choice([1, 3])
            at = call("map", arr(n, "i64"), self.lam(["i64"], env, lambda inner: self.bin(w, inner, 2), self.estimate(n)),
                      call("iota", arr(n, "i64"), self.size_node(n)))
            return call("hist", arr(w, t), N("op", t, x=o), self.size_node(w), at, e)
        return e

    def nest_over(self, n, t, env, level, d):
        """A map over the numbers below n, or over an array of that size."""
        c = self.arrays(env, lambda u: u[1] == n)
        if c and self.chance(0.3):
            return self.mapped_rows(arr(n, t), self.r.choice(c), env, level, d)
        f = self.index_lam([n], env, lambda e: self.level(t, e, level, d))
        if self.chance(0.4):
            return call("tabulate", arr(n, t), self.size_node(n), f)
        return call("map", arr(n, t), f, call("iota", arr(n, "i64"), self.size_node(n)))

    def turned(self, t, n, env, level, d):
        """A loop around, whose turns see what the one before has made."""
        v, i, turns = self.fresh("st"), self.fresh("ix"), self.r.choice([1, 2, 3])
        body = self.in_loop(turns, lambda: self.nest_over(n, row(t), env + [(i, "i64"), (v, t)], level, d))
        return N("loop", t, [self.default(t), lit("i64", turns), body], Loop("for", ("v", v, t, self.chance(0.3)), i))

    def outcome(self, env):
        """The type of what is left of a row: numbers, or an array of a size that all have."""
        u = self.weighted([("i64", 4), ("i32", 4), ("u8", 2), ("bool", 1)])
        if self.chance(0.25):
            w = self.a_size([(s, "i64") for s in self.est if s[0] != "k" and (s, "i64") in env])
            if self.fits(w):
                return arr(w, u)
        return tup(u, self.r.choice(["i64", "i32"])) if self.chance(0.2) else u

    def mapped_rows(self, t, src, env, level, d):
        """A map over an array, each of its elements with rows of its own."""
        srcs = [src]
        if self.chance(0.5):
            srcs.append(call("iota", arr(src.ty[1], "i64"), self.size_node(src.ty[1])))
        f = self.inside(src.ty[1], lambda: self.lam([row(s.ty) for s in srcs], env, lambda e: self.level(row(t), e, level, d),
                                                    self.estimate(src.ty[1])))
        return call("map" if len(srcs) == 1 else "map2", t, f, *srcs)

    def level(self, t, env, level, d):
        """let [k] ys = a row in some steps."""
        u, k, v = self.piece(env), self.fresh("k"), self.fresh("ys")
        e, size = self.row_of(k, u, env, d)
        body = self.with_row(k, v, u, size, lambda: self.g_steps(
            t, env + [(k, "i64"), (v, arr(k, u))], level, self.r.choice([1, 2, 2, 3, 4]), d))
        return N("letk", t, [e, body], (k, ("v", v, arr(k, u), True)))

    def with_row(self, k, v, u, size, make):
        self.est[k] = size
        keep, self.recent = self.recent, v
        e = make()
        self.recent = keep
        self.est.pop(k)
        return e

    # --- steps -------------------------------------------------------------------------------------
    def g_steps(self, t, env, level, n, d):
        if n <= 0:
            return self.gathered(t, env, d)
        form = self.weighted([("row", 4), ("same", 4), ("number", 3), ("inner", 12 if level > 1 else 0), ("turns", 4), ("branch", 3),
                              ("bins", 2)])
        e = getattr(self, "g_" + form)(t, env, level, n - 1, d) if self.work < 4000 else None
        return e or self.g_steps(t, env, level, n - 1, d)

    def then_steps(self, value, t, env, level, n, d):
        """let v = value in the other steps."""
        v = self.fresh("v")
        keep, self.recent = self.recent, v if is_arr(value.ty) else self.recent
        body = self.g_steps(t, env + [(v, value.ty)], level, n, d)
        self.recent = keep
        return N("let", t, [value, body], ("v", v, value.ty, self.chance(0.2)))

    def g_row(self, t, env, level, n, d):
        """Another row: a part of it, what stays of it, some joined, one that a loop carries."""
        src = self.some_row(env)
        u = row(src.ty) if src and self.chance(0.6) else self.piece(env)
        k, v = self.fresh("k"), self.fresh("ys")
        e, size = self.row_of(k, u, env, min(d, 2))
        body = self.with_row(k, v, u, size, lambda: self.g_steps(t, env + [(k, "i64"), (v, arr(k, u))], level, n, d))
        return N("letk", t, [e, body], (k, ("v", v, arr(k, u), True)))

    def g_same(self, t, env, level, n, d):
        """An array of a row's size: mapped, scanned, updated in place, scattered, carried by a loop."""
        src = self.some_row(env)
        if not src or not self.fits(src.ty[1]):
            return None
        u = arr(src.ty[1], row(src.ty) if self.chance(0.5) else self.piece(env))
        form = self.r.choice([self.a_map, self.a_map, self.a_scan, self.a_scan, self.a_view, self.a_with, self.a_scatter, self.a_fill,
                              self.a_set, self.a_sweep, self.a_rounds, self.array_expr])
        e = form(u, env, min(d, 2))
        return self.then_steps(e, t, env, level, n, d) if e else None

    def g_number(self, t, env, level, n, d):
        u = self.piece(env)
        e = self.reduction(u, env, min(d, 2))
        return self.then_steps(e, t, env, level, n, d) if e else None

    def g_bins(self, t, env, level, n, d):
        """A histogram of a row, into as many bins as all have or as there are elements."""
        src = self.some_row(env)
        w = src.ty[1] if src and self.chance(0.3) else self.r.choice([1, 2, 3, 5])
        if not self.fits(w):
            return None
        e = self.histogram(arr(w, u := self.scalar()), [w], u, env, min(d, 2))
        return self.then_steps(e, t, env, level, n, d) if e else None

    def g_inner(self, t, env, level, n, d):
        """Rows in a row: an array of its size of what is left of them."""
        src = self.some_row(env)
        if not src or not self.fits(src.ty[1], 2):
            return None
        e = self.mapped_rows(arr(src.ty[1], self.outcome(env)), src, env, level - 1, min(d, 2))
        return self.then_steps(e, t, env, level, n, d)

    def g_branch(self, t, env, level, n, d):
        """One of two chains, as the element says."""
        u = self.outcome(env)
        kids = [self.g_steps(u, env, level - 1, self.r.choice([0, 1, 1, 2]), min(d, 2)) for _ in range(2)]
        e = N("if", u, [self.predicate(env, 2)] + kids)
        return self.then_steps(e, t, env, level, n, d)

    def g_turns(self, t, env, level, n, d):
        """A loop whose number of turns the element says; it carries numbers and arrays, of the row's size perhaps."""
        most, row_ = self.r.choice([2, 3, 5]), self.some_row(env)
        ts = [self.outcome(env) for _ in range(self.r.choice([1, 1, 2]))]
        if row_ and self.chance(0.3):
            ts.append(arr(row_.ty[1], self.r.choice(["i32", "i64"])))
        if not all(self.fits(*self.part_dims(u), most) for u in ts):
            return None
        pats, i = [("v", self.fresh("st"), u, not is_scalar(u) and self.chance(0.3)) for u in ts], self.fresh("ix")
        got = [("v", self.fresh("v"), u, False) for u in ts]
        carried = ts[0] if len(ts) == 1 else tup(*ts)
        init = self.gathered(carried, env, 1)
        inner = env + [(i, "i64")] + [v for p in pats for v in pat_vars(p)]
        body = self.in_loop(most, lambda: self.g_steps(carried, inner, level - 1, self.r.choice([1, 1, 2]), min(d, 2)))
        if self.chance(0.5):
            lp = N("loop", carried, [init, self.count(env, 2, most + 1), body], Loop("for", self.one_or_all(pats), i))
        else:
            lp = self.while_some(carried, pats, init, body, i, most, inner)
        rest = self.g_steps(t, env + [v for p in got for v in pat_vars(p)], level, n, d)
        return N("let", t, [lp, rest], self.one_or_all(got))

    def one_or_all(self, pats):
        return pats[0] if len(pats) == 1 else ("t", pats)

    def while_some(self, t, pats, init, body, i, most, env):
        """The loop while a condition of what it carries holds, `most` turns at most."""
        full = tup("i64", t)
        step = N("tuple", full, [binop("+", var(i, "i64"), lit("i64", 1)), body])
        going = binop("&&", binop("<", var(i, "i64"), lit("i64", most), "bool"), self.predicate(env, 2))
        lp = N("loop", full, [N("tuple", full, [lit("i64", 0), init]), going, step],
               Loop("while", ("t", [("v", i, "i64", True), self.one_or_all(pats)]), None))
        return N("proj", t, [lp], 1)

    # --- what is left ------------------------------------------------------------------------------
    def gathered(self, t, env, d):
        """A value of type t to which the latest row and other things contribute."""
        if is_scalar(t):
            return self.gathered_number(t, env, d)
        if t[0] == "tup":
            return N("tuple", t, [self.gathered(u, env, d) for u in t[1:]])
        k = self.r.random()
        if k < 0.35 and row(t) in INTS:
            e = self.histogram(t, [t[1]], row(t), env, min(d, 2))
            if e:
                return e
        if k < 0.7 and self.fits(t[1], 2):
            return call("tabulate", t, self.size_node(t[1]), self.index_lam([t[1]], env, lambda e: self.gathered(row(t), e, d)))
        return self.array_expr(t, env, min(d, 2))

    def gathered_number(self, t, env, d):
        if t in FLOATS or t == "bool":
            e = self.gathered_number("i64", env, d)
            return binop(self.r.choice(["<", "!="]), binop("%", e, lit("i64", 2)), lit("i64", 1), "bool")
        e = None
        for a in self.rows_in(env)[-2:]:
            if e is None or self.chance(0.5):
                x = self.digest(a, t)
                e = binop("+", binop("*", e, lit(t, 5)), x) if e else x
        others = [v for v in self.scalars(env)[-4:] if v.op == "var"]
        if others and (e is None or self.chance(0.6)):
            x = self.r.choice(others)
            x = x if x.ty == t else call(f"{t}.{x.ty}", t, x)
            e = binop(self.r.choice(["+", "-", "^"]), e, x) if e else x
        return e or self.expr(t, env, min(d, 2))
