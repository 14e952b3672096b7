"""Rounds of the generator (see gen.py): loops whose turns update what they carry in place and then map over it, as
eliminations, orthogonalisations, relaxations and sorts do. In a map they are what rule G7 interchanges.

A turn is a chain of steps: an update of a carried array (now and then under a condition, in a branch, or in a loop of its
own that takes the array over), a map over it, views, copies and sums of it that later steps use. `State` knows which names
share memory, so that what an update consumes is not used afterwards."""
from tree import Loop, N, arr, binop, call, is_arr, is_scalar, lit, row, tup, var


class State:
    """env: what may be used; now: the name of each carried array at this place; shares: view -> the array it is of."""

    def __init__(self, env, now, shares=None):
        self.env, self.now, self.shares = env, now, shares or {}

    def bind(self, name, t, of=None):
        shares = {**self.shares, name: self.shares.get(of, of)} if of else self.shares
        return State(self.env + [(name, t)], self.now, shares)

    def becomes(self, k, name, t, consumed):
        """The k-th carried array is now called `name`; with what it was before, its views are gone if it was consumed."""
        old, env = self.now[k][0], self.env
        if consumed:
            env = [(v, u) for v, u in env if v != old and self.shares.get(v) != old]
        now = self.now[:k] + [(name, t)] + self.now[k + 1:]
        return State(env + [(name, t)], now, self.shares)


class Rounds:
    def a_rounds(self, t, env, d):
        """An array that a loop updates and maps over."""
        if not is_scalar(row(t)) and not is_arr(row(t)):
            return None
        e = self.rounds([t] + self.carried_types(t, env), env, d)
        return e if e is None or e.ty == t else N("proj", t, [e], 0)

    def f_rounds(self, env, d):
        for _ in range(4):
            t = self.scalar()
            for _ in range(self.r.choice([1, 2, 2, 2])):
                t = arr(self.a_size(env) if self.chance(0.9) else self.r.choice([2, 3, 4]), t)
            e = self.rounds([t] + self.carried_types(t, env), env, min(d, 3))
            if e:
                return e
        return None

    def carried_types(self, t, env):
        """Of what is carried beside an array: of the same type (to swap with), of the same length, scalars."""
        u = self.scalar()
        return self.r.choice([[], [], [], [t], [u], [arr(t[1], u)], [t, u], [arr(self.a_size(env), u)]])

    def rounds(self, ts, env, d):
        """loop (x1, .., xn) = .. for i < .. do ..: a tuple if there are several; None if it would take too long."""
        dims = [x for t in ts for x in self.part_dims(t)]
        turns, bound = self.some_turns(env, dims)
        if 0 in dims or not all(self.fits(*self.part_dims(t), turns, 2) for t in ts) or turns > 40:
            return None
        inits = [self.fresh_array(t, env, d - 1) if is_arr(t) else self.expr(t, env, d - 1) for t in ts]
        return self.round_loop(ts, inits, bound, turns, env, d)

    def some_turns(self, env, dims):
        """(estimate, bound) of a loop that does not turn if one of the sizes is 0."""
        sizes = [x for x in dict.fromkeys(dims) if not isinstance(x, int)]
        if sizes and self.chance(0.4):
            bound, turns = self.size_node(sizes[0]), self.estimate(sizes[0])
            sizes = sizes[1:]
        elif self.chance(0.25):
            turns = self.r.choice([2, 3, 4])
            bound = self.count(env, 2, turns + 1)
        else:
            turns = self.r.choice([1, 2, 2, 3, 5])
            bound = lit("i64", turns)
        for x in sizes:
            bound = call("i64.min", "i64", bound, self.size_node(x))
        return turns, bound

    def round_loop(self, ts, inits, bound, turns, env, d):
        names, i = [self.fresh("st") for _ in ts], self.fresh("ix")
        dims = {x for t in ts for x in self.part_dims(t)}
        self.bound[i] = ts[0][1] if bound.op == "var" and bound.x == ts[0][1] else None
        st = State(env + [(i, "i64")] + list(zip(names, ts)), list(zip(names, ts)))
        keep = set(self.positive)
        self.positive |= dims
        body = self.in_loop(turns, lambda: self.steps(self.r.choice([1, 2, 3, 3, 4]), st, d))
        self.positive = keep
        pats = [("v", v, t, not is_arr(t) and self.chance(0.3)) for v, t in zip(names, ts)]
        if len(ts) == 1:
            return N("loop", ts[0], [inits[0], bound, body], Loop("for", pats[0], i))
        all_ = tup(*ts)
        if self.chance(0.25):
            return self.while_loop(all_, pats, inits, bound, body, i)
        return N("loop", all_, [N("tuple", all_, inits), bound, body], Loop("for", ("t", pats), i))

    def while_loop(self, t, pats, inits, bound, body, i):
        """The same as a while loop with a counter; its value without the counter."""
        full, done, out = tup(*t[1:], "i64"), self.fresh("st"), self.fresh("st")
        parts = [N("proj", u, [var(done, t)], k) for k, u in enumerate(t[1:])]
        step = N("tuple", full, parts + [binop("+", var(i, "i64"), lit("i64", 1))])
        lp = N("loop", full, [N("tuple", full, inits + [lit("i64", 0)]), binop("<", var(i, "i64"), bound, "bool"),
                              N("let", full, [body, step], ("v", done, t, False))],
               Loop("while", ("t", pats + [("v", i, "i64", True)]), None))
        got = N("tuple", t, [N("proj", u, [var(out, full)], k) for k, u in enumerate(t[1:])])
        return N("let", t, [lp, got], ("v", out, full, False))

    # --- a turn ----------------------------------------------------------------------------------
    def steps(self, n, st, d):
        """n steps, then the next values."""
        if n == 0:
            return self.next_values(st, d)
        form = self.weighted([("update", 6), ("mapped", 3), ("view", 5), ("number", 3), ("copied", 2), ("exchange", 4), ("inner", 1),
                              ("branch", 2)])
        k = self.r.choice([k for k, (_, t) in enumerate(st.now) if is_arr(t)])
        keep, self.recent = self.recent, st.now[k][0]
        e = getattr(self, "r_" + form)(n - 1, k, st, d)
        self.recent = keep
        return e if e else self.steps(n - 1, st, d)

    def then(self, n, value, name, st, d):
        """let name = value in the other steps, for which st holds."""
        body = self.steps(n, st, d)
        return N("let", body.ty, [value, body], ("v", name, value.ty, self.chance(0.2)))

    def new_part(self, k, st, d):
        """(forms, expressions, new value, conditions) of an update of the k-th array: of a row or an element, or any part."""
        t = st.now[k][1]
        if self.chance(0.6):
            forms, exprs, u, conds = ["i"], [self.position(st.env, t[1], 2)], row(t), []
        else:
            forms, exprs, u, conds = self.region(t, st.env, min(d, 2))
        if not self.fits(*self.part_dims(u)) or not (is_scalar(u) or is_arr(u)):
            return None
        return forms, exprs, self.new_value(u, st.env, d), conds

    def r_update(self, n, k, st, d):
        (old, t), new = st.now[k], self.fresh("st")
        part = self.new_part(k, st, d)
        if not part:
            return None
        forms, exprs, v, conds = part
        after = st.becomes(k, new, t, True)
        if self.chance(0.15):  # by some threads, or in some turns
            conds = conds + [self.expr("bool", st.env, min(d - 1, 2))]
        if conds:
            e = N("set", t, [var(old, t)] + exprs + [v], forms)
            return self.then(n, self.conditional(conds, e, var(old, t)), new, after, d)
        body = self.steps(n, after, d)
        return N("letset", body.ty, [var(old, t)] + exprs + [v, body], (new, forms))

    def r_mapped(self, n, k, st, d):
        (old, t), new = st.now[k], self.fresh("st")
        return self.then(n, self.over(t, old, st, d), new, st.becomes(k, new, t, False), d)

    def over(self, t, name, st, d):
        """A map over an array and others of that length, the number of the element perhaps among them."""
        a, numbers = var(name, t), call("iota", arr(t[1], "i64"), self.size_node(t[1]))
        if not is_scalar(row(t)) and self.chance(0.5) and self.fits(t[1], row(t)[1]):
            return self.on_rows(t, [a, numbers], st, d)
        srcs = [a, numbers] if self.chance(0.4) else [a]
        if self.chance(0.3):
            srcs.append(self.r.choice(self.arrays(st.env, lambda u: u[1] == t[1])))
        return self.map_over(t, st.env, min(d, 3), srcs)

    def on_rows(self, t, srcs, st, d):
        """Some rows stay, the others are mapped over: which ones, all threads know or each for itself."""
        x, i = self.fresh("x"), self.fresh("ix")
        turn = [v for v, u in st.env if u == "i64" and v.startswith("ix")]
        inner = st.env + [(x, row(t)), (i, "i64")]
        at = var(turn[-1], "i64") if self.chance(0.6) else self.expr("i64", inner if self.chance(0.3) else st.env, 1)
        c = binop(self.r.choice(["==", "<", "!=", ">"]), var(i, "i64"), at, "bool")
        work, self.work = self.work, self.work * max(1, self.estimate(t[1]))
        kids = [call("copy", row(t), var(x, row(t))), self.map_over(row(t), inner, min(d, 2), [var(x, row(t))])]
        self.work = work
        body = N("if", row(t), [c] + (kids if self.chance(0.5) else kids[::-1]))
        pats = [("v", x, row(t), self.chance(0.3)), ("v", i, "i64", False)]
        return call("map2", t, N("lam", ("fun",), [body], pats), *srcs)

    def r_view(self, n, k, st, d):
        """A row, a column, a part or another order: no copy."""
        (old, t), name = st.now[k], self.fresh("vw")
        form = self.r.choice(["row", "row", "column", "reverse", "part", "transpose"])
        a = var(old, t)
        flat = is_scalar(row(t))
        if form == "row" and not flat:
            e = N("index", row(t), [a, self.position(st.env, t[1], 2)])
        elif form == "column" and not flat:
            e = N("sub", arr(t[1], row(row(t))), [a, self.position(st.env, row(t)[1], 2)], [":", "i"])
        elif form == "transpose" and not flat:
            e = call("transpose", arr(row(t)[1], arr(t[1], row(row(t)))), a)
        elif form == "part":
            e = N("cast", t, [N("slice", t, [a], "::-1")])
        else:
            e = call("reverse", t, a)
        return self.then(n, e, name, st.bind(name, e.ty, old), d)

    def r_number(self, n, k, st, d):
        """A scalar of what is there now."""
        u, name = self.scalar(), self.fresh("v")
        e = self.reduction(u, st.env, min(d, 2)) if self.chance(0.5) and u != "bool" else self.expr(u, st.env, min(d, 2))
        return self.then(n, e, name, st.bind(name, u), d) if e else None

    def r_copied(self, n, k, st, d):
        """A copy, which survives updates."""
        (old, t), name = st.now[k], self.fresh("cp")
        e = var(old, t) if self.chance(0.5) or is_scalar(row(t)) else \
            N("index", row(t), [var(old, t), self.position(st.env, t[1], 2)])
        return self.then(n, call("copy", e.ty, e), name, st.bind(name, e.ty), d)

    def r_exchange(self, n, k, st, d):
        """Two rows or elements change places, or one takes the other's."""
        (old, t), both = st.now[k], self.chance(0.7)
        places = [(self.fresh("at"), self.position(st.env, t[1], 2)) for _ in range(2)]
        at = [var(v, "i64") for v, _ in places]
        kept, mid, new = self.fresh("cp"), self.fresh("st"), self.fresh("st")

        def part(a, i):
            e = N("index", row(t), [var(a, t), i])
            return e if is_scalar(row(t)) else call("copy", row(t), e)
        for v, _ in places:
            st = st.bind(v, "i64")
        st = st.bind(kept, row(t))
        one = st.becomes(k, mid, t, True)
        after = one.becomes(k, new, t, True) if both else one
        rest = self.steps(n, after, d)
        if both:
            rest = N("letset", rest.ty, [var(mid, t), at[1], var(kept, row(t)), rest], (new, ["i"]))
        rest = N("letset", rest.ty, [var(old, t), at[0], part(old, at[1]), rest], (mid, ["i"]))
        rest = N("let", rest.ty, [part(old, at[0]), rest], ("v", kept, row(t), False))
        for v, e in places:
            rest = N("let", rest.ty, [e, rest], ("v", v, "i64", False))
        return rest

    def r_inner(self, n, k, st, d):
        """A loop that takes the array over."""
        (old, t), new = st.now[k], self.fresh("st")
        turns = self.r.choice([1, 2, 3])
        if d < 2 or not self.fits(*self.part_dims(t), turns, 2):
            return None
        without = st.becomes(k, new, t, True).env[:-1]
        e = self.round_loop([t], [var(old, t)], lit("i64", turns), turns, without, d - 1)
        return self.then(n, e, new, st.becomes(k, new, t, True), d)

    def r_branch(self, n, k, st, d):
        """Updated on one side, mapped over or left alone on the other."""
        (old, t), new = st.now[k], self.fresh("st")
        part = self.new_part(k, st, d)
        if not part:
            return None
        forms, exprs, v, conds = part
        e = self.conditional(conds, N("set", t, [var(old, t)] + exprs + [v], forms), var(old, t))
        other = self.over(t, old, st, d) if self.chance(0.7) else var(old, t)
        kids = [e, other] if self.chance(0.5) else [other, e]
        e = N("if", t, [self.expr("bool", st.env, min(d - 1, 2))] + kids)
        return self.then(n, e, new, st.becomes(k, new, t, True), d)

    def next_values(self, st, d):
        """Each carried array as it is now or mapped over, perhaps in the place of another of its type; scalars."""
        order = list(range(len(st.now)))
        if self.chance(0.3):
            order = [next((j for j in self.r.sample(order, len(order)) if st.now[j][1] == t), k)
                     for k, (_, t) in enumerate(st.now)]
        used, kids = set(), []
        for j in order:
            name, t = st.now[j]
            if not is_arr(t):
                kids.append(self.expr(t, st.env, min(d, 2)))
            elif j not in used and self.chance(0.4):
                kids.append(call("reverse", t, var(name, t)) if self.chance(0.15) else var(name, t))
            else:
                kids.append(self.over(t, name, st, d))
            used.add(j)
        return kids[0] if len(kids) == 1 else N("tuple", tup(*[t for _, t in st.now]), kids)
