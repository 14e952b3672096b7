"""Arrays of the generator whose sizes only the program knows (see gen.py).

sized(k, u, env, d) makes an expression of type [k]u, where k is a name that a `let [k]` or a loop gives to its size, and
an estimate of the size. z_FORM makes one, or None. Inside a map these are the irregular pieces: each thread has sizes of
its own."""
from oracle import wrap
from tree import FLOATS, Loop, N, Op, arr, binop, call, is_arr, is_scalar, lit, pat_vars, row, tup, var

MOST = 40  # elements of an array that a loop makes longer


class Sized:
    def sized(self, k, u, env, d):
        """An array of elements u whose size will be called k."""
        forms = [("filter", 4), ("slice", 3), ("drop", 1)]
        if d > 0:
            forms += [("tabulate", 6), ("concat", 3), ("choice", 1), ("mapped", 2), ("replicate", 2), ("partition", 1),
                      ("view", 1), ("scan", 1), ("update", 1), ("grow", 3)]
            forms += [("held", 4)] * any(sig.sized for _, sig in self.containers)
        if u == "i64":
            forms += [("iota", 8)]
        for _ in range(4):
            made = getattr(self, "z_" + self.weighted(forms))(k, u, env, d)
            if made:
                return made
        return self.z_filter(k, u, env, d)

    def varying(self, env):
        """An i64 computed from what was bound last: inside a map, every thread has its own."""
        c = self.scalars(env)[-3:]
        if not c:
            return self.literal("i64")
        e = self.r.choice(c)
        return e if e.ty == "i64" else call(f"i64.{e.ty}", "i64", e)

    def predicate(self, env, d):
        """Which elements stay: what was bound last decides, or anything."""
        if self.chance(0.4):
            return self.expr("bool", env, min(d - 1, 2))
        e = binop("+", self.varying(env), self.varying(env))
        m = self.r.choice([2, 3, 5])
        return binop(self.r.choice(["<", ">", "!="]), binop("%", e, lit("i64", m)), lit("i64", self.r.randint(0, m - 1)), "bool")

    def count(self, env, d, most):
        """A number below `most`, which may vary with everything in scope; the compiler sees no bound in most forms."""
        e = self.expr("i64", env, min(d - 1, 2))
        if self.chance(0.7):
            e = binop("+", e, self.varying(env))
        if most > 2 and self.chance(0.5):
            n = self.r.choice([2, 3, 5])
            table = N("arrlit", arr(n, "i64"), [lit("i64", self.r.randrange(most)) for _ in range(n)])
            return N("index", "i64", [table, binop("%", e, lit("i64", n))])
        if most > 4 and self.chance(0.4):
            i, p = self.fresh("ix"), self.fresh("acc")
            step = binop("%", binop("+", binop("*", var(p, "i64"), lit("i64", 5)), var(i, "i64")), lit("i64", most))
            return N("loop", "i64", [binop("%", e, lit("i64", most)), lit("i64", self.r.choice([1, 2, 3])), step],
                     Loop("for", ("v", p, "i64", False), i))
        return binop("%", e, lit("i64", most))

    def with_elements(self, u, env, d):
        """An array of elements u: of a size that has a name or is a number."""
        c = self.arrays(env, lambda t: row(t) == u and self.fits(t[1]))
        if c and self.chance(0.8):
            return self.r.choice(c[-4:])
        dim = self.a_size(env)
        if not self.fits(dim):
            dim = self.r.choice([1, 2, 3])
        return self.expr(arr(dim, u), env, d - 1)

    def named(self, u, env, d, use):
        """let [k] ys = some array of unknown size in use(environment, ys, its estimate)."""
        k, v = self.fresh("k"), self.fresh("ys")
        e, size = self.sized(k, u, env, d)
        t = arr(k, u)
        self.est[k] = size
        body, out = use(env + [(k, "i64"), (v, t)], var(v, t), size)
        self.est.pop(k)
        return N("letk", body.ty, [e, body], (k, ("v", v, t, True))), out

    def z_filter(self, k, u, env, d):
        src = self.with_elements(u, env, d)
        dim = src.ty[1]
        p = self.inside(dim, lambda: self.lam([u], env, lambda e: self.predicate(e, d), self.estimate(dim)))
        return call("filter", arr(k, u), p, src), self.estimate(dim)

    def z_partition(self, k, u, env, d):
        f, size = self.z_filter(k, u, env, d)
        both = tup(arr(k, u), arr(self.fresh("k"), u))
        return N("proj", arr(k, u), [N("call", both, f.kids, "partition")], self.r.choice([0, 1])), size

    def z_slice(self, k, u, env, d):
        """a[lo:hi:step], or a part of a row or a column of a matrix."""
        c = self.arrays(env, lambda t: not is_scalar(row(t)) and is_arr(row(t)) and row(row(t)) == u and
                        self.fits(t[1], row(t)[1]) and (t[1] in self.positive) and row(t)[1] in self.positive)
        if c and self.chance(0.5):
            a = self.r.choice(c)
            at = self.r.randrange(2)
            dims = [a.ty[1], row(a.ty)[1]]
            spec, exprs, lets, size = self.window(dims[at], env, d)
            other = self.position(env, dims[1 - at], 2)
            specs = [spec, "i"] if at == 0 else ["i", spec]
            kids = exprs + [other] if at == 0 else [other] + exprs
            e = N("sub", arr(k, u), [a] + kids, specs)
        else:
            a = self.with_elements(u, env, d)
            spec, exprs, lets, size = self.window(a.ty[1], env, d)
            e = N("sub", arr(k, u), [a] + exprs, [spec])
        for name, value in reversed(lets):
            e = N("let", e.ty, [value, e], ("v", name, "i64", False))
        return e, size

    def window(self, dim, env, d):
        """(form, its expressions, [(name, value)] that they use, estimate) of a slice within dim."""
        lo, hi = self.fresh("lo"), self.fresh("hi")
        one, n = lit("i64", 1), self.size_node(dim)
        start = binop("%", self.varying(env), binop("+", n, one))
        length = binop("%", self.expr("i64", env, min(d - 1, 2)), binop("+", binop("-", n, var(lo, "i64")), one))
        step, size = self.r.choice([1, 1, 2, 3]), self.estimate(dim)
        lets = [(lo, start)]
        if self.chance(0.3):
            return "a:" if self.chance(0.5) else ":b", [var(lo, "i64")], lets, size
        lets.append((hi, binop("+", var(lo, "i64"), length)))
        if step > 1:
            return "a:b:s", [var(lo, "i64"), var(hi, "i64"), lit("i64", step)], lets, -(-size // step)
        if self.chance(0.3):  # backwards
            down = [binop("-", var(x, "i64"), one) for x in (hi, lo)]
            return "a:b:s", down + [lit("i64", -1)], [(lo, start), lets[1]], size
        return "a:b", [var(lo, "i64"), var(hi, "i64")], lets, size

    def z_drop(self, k, u, env, d):
        a = self.with_elements(u, env, d)
        n = binop("%", self.expr("i64", env, min(d - 1, 2)), binop("+", self.size_node(a.ty[1]), lit("i64", 1)))
        return call(self.r.choice(["drop", "take"]), arr(k, u), n, a), self.estimate(a.ty[1])

    def z_iota(self, k, u, env, d):
        most = self.r.choice([1, 3, 7, 20])
        return call("iota", arr(k, u), self.count(env, d, most)), most

    def z_replicate(self, k, u, env, d):
        most = self.r.choice([2, 4, 9])
        return call("replicate", arr(k, u), self.count(env, d, most), self.expr(u, env, d - 1)), most

    def z_tabulate(self, k, u, env, d):
        most = self.r.choice([2, 4, 9, 20])
        if not self.fits(most):
            return None
        f = self.lam(["i64"], env, lambda e: self.block(u, e, d - 1, self.r.choice([0, 0, 1])), most)
        n = self.count(env, d, most)
        if self.chance(0.5):
            return call("tabulate", arr(k, u), n, f), most
        return call("map", arr(k, u), f, call("iota", arr(k, "i64"), n)), most

    def z_concat(self, k, u, env, d):
        parts, size = [], 0
        for _ in range(2):
            if self.chance(0.5):
                e, s = self.sized(self.fresh("k"), u, env, d - 1)
            elif self.chance(0.5):
                s = self.r.choice([1, 2])
                e = self.expr(arr(s, u), env, d - 1)
            else:
                e = self.with_elements(u, env, d)
                s = self.estimate(e.ty[1])
            parts.append(e)
            size += s
        if not self.fits(size):
            return None
        if self.chance(0.5):
            return binop("++", *parts, t=arr(k, u)), size
        return call("concat", arr(k, u), *parts), size

    def z_choice(self, k, u, env, d):
        (a, n), (b, m) = [self.sized(k, u, env, d - 1) for _ in range(2)]
        return N("if", arr(k, u), [self.expr("bool", env, min(d - 1, 2)), a, b]), max(n, m)

    def z_mapped(self, k, u, env, d):
        def use(e, ys, size):
            f = self.inside(ys.ty[1], lambda: self.lam(
                [row(ys.ty)], e, lambda i: self.block(u, i, d - 1, self.r.choice([0, 0, 1])), size))
            return call("map", arr(k, u), f, ys), size
        return self.named(self.elem_type(env), env, d - 1, use)

    def z_view(self, k, u, env, d):
        def use(e, ys, size):
            if self.chance(0.5):
                return call("reverse", arr(k, u), ys), size
            return call("rotate", arr(k, u), self.expr("i64", e, 1), ys), size
        return self.named(u, env, d - 1, use)

    def z_scan(self, k, u, env, d):
        o = self.operator(u)
        if o is None:
            return None
        return self.named(u, env, d - 1, lambda e, ys, size: (
            call("scan", arr(k, u), N("op", u, x=o), ys), size))

    def z_update(self, k, u, env, d):
        """One element of a copy is another, if there is one."""
        def use(e, ys, size):
            n = ys.ty[1]
            at, v = self.inside(n, lambda: (self.position(e, n, 2), self.expr(u, e, d - 1)))
            new = N("with", arr(k, u), [call("copy", ys.ty, ys), at, v])
            there = binop(">", var(n, "i64"), lit("i64", 0), "bool")
            return N("if", arr(k, u), [there, new, ys]), size
        return self.named(u, env, d - 1, use)

    def z_grow(self, k, u, env, d):
        """What a loop carries whose size changes from turn to turn."""
        if not self.fits(MOST, 4):
            return None
        init, size = self.sized(self.fresh("k"), u, env, d - 1)
        lp, most = self.size_loop(u, None, env, d, init, size)
        lp.ty = arr(k, u)
        return lp, most

    def z_held(self, k, u, env, d):
        """What a container holds in the end that a loop carries and joins with others: a size of an abstract type that changes."""
        turns, piece = self.r.choice([1, 2, 3, 5]), 8
        if not self.fits(MOST, turns):
            return None
        module, sig = self.r.choice([c for c in self.containers if c[1].sized])
        init, size = self.sized(self.fresh("k"), u, env, d - 1)
        n, v, said, most = self.fresh("n"), self.fresh("c"), self.chance(0.5), size + turns * piece
        t = sig.type(module, [n], u)

        def container(e):
            return call(f"{module}.from", sig.type(module, [e.ty[1]], u), e)

        def more():
            (e,) = self.turn(u, None, self.fresh("k"), piece, env + [(n, "i64"), (v, t)] * said, d)
            both = [var(v, t), container(e)]
            return call(f"{module}.join", sig.type(module, [self.fresh("k")], u), *(both if self.chance(0.7) else both[::-1]))
        self.est[n] = most
        body = self.in_loop(turns, more)
        self.est.pop(n)
        bound = lit("i64", turns) if self.chance(0.5) else self.count(env, d, turns + 1)
        lp = N("loop", sig.type(module, [k], u), [container(init), bound, body],
               Loop("for", ("v", v, t, said), self.fresh("ix"), [n] * said))
        return call(f"{module}.to", arr(k, u), lp), most

    def f_held(self, env, d):
        """A number that needs all that a container holds in the end."""
        for _ in range(8):
            if not any(sig.sized for _, sig in self.containers) and not self.in_function:
                self.a_container()
        u, k, v = self.scalar() if self.chance(0.7) else self.a_type(env, 1), self.fresh("k"), self.fresh("ys")
        made = self.z_held(k, u, env, min(d, 3)) if any(sig.sized for _, sig in self.containers) else None
        if not made:
            return None
        t = self.r.choice(["i32", "i64", "u8"])
        return N("letk", t, [made[0], self.digest(var(v, arr(k, u)), t)], (k, ("v", v, arr(k, u), True)))

    def size_loop(self, u, t, env, d, init, size):
        """loop [n] (xs: [n]u, acc: t) or, without t, (xs: [n]u): how many elements there are varies."""
        n, v, k = self.fresh("k"), self.fresh("xs"), self.fresh("k")
        most = max(MOST, size)
        self.est[n] = most
        acc = self.pattern(t, "acc", annotate=True) if t else None
        inner = env + [(n, "i64"), (v, arr(n, u))] + (pat_vars(acc) if t else [])
        form = self.r.choice(["for", "for", "while"])
        turns, i = self.r.choice([1, 2, 3, 5]), self.fresh("ix")
        if form == "while":  # with a counter, so that it ends
            inner = inner + [(i, "i64")]
            cond = binop("<", var(i, "i64"), lit("i64", turns), "bool")
            more = binop("<", var(n, "i64"), lit("i64", self.r.choice([3, 10, 30])), "bool") if self.chance(0.5) \
                else self.expr("bool", inner, min(d - 1, 2))
            cond = binop("&&", cond, more) if self.chance(0.7) else cond
        body = self.in_loop(turns, lambda: self.turn(u, t, k, most, inner, d))
        self.est.pop(n)
        pats, inits, tys = [("v", v, arr(n, u), True)], [init], [arr(k, u)]
        if t:
            pats, inits, tys = pats + [acc], inits + [self.expr(t, env, d - 1)], tys + [t]
        if form == "while":
            pats, inits, tys = pats + [("v", i, "i64", True)], inits + [lit("i64", 0)], tys + ["i64"]
            body = body + [binop("+", var(i, "i64"), lit("i64", 1))]
        if len(pats) == 1:
            pat, first, ty, new = pats[0], inits[0], tys[0], body[0]
        else:
            pat, ty = ("t", pats), tup(*tys)
            first, new = N("tuple", ty, inits), N("tuple", ty, body)
        if form == "while":
            lp = N("loop", ty, [first, cond, new], Loop("while", pat, None, [n]))
            return N("proj", arr(k, u), [lp], 0) if not t else lp, most
        bound = lit("i64", turns) if self.chance(0.5) else self.count(env, d, turns + 1)
        return N("loop", ty, [first, bound, new], Loop("for", pat, self.fresh("ix"), [n])), most

    def turn(self, u, t, k, most, env, d):
        """The next values of a loop: an array of at most `most` elements, and a t."""
        e, size = self.sized(k, u, env, d - 1)
        if size > most:
            m, ys = self.fresh("k"), self.fresh("ys")
            cut = call("i64.min", "i64", var(m, "i64"), lit("i64", most))
            e = N("letk", arr(k, u), [e, call("take", arr(k, u), cut, var(ys, arr(m, u)))], (m, ("v", ys, arr(m, u), True)))
        return [e, self.expr(t, env, d - 1)] if t else [e]

    def carried(self, t, env, d):
        """A t that a loop computes together with an array of changing size."""
        if not self.fits(MOST, 4):
            return None
        u = self.scalar() if self.chance(0.8) else self.a_type(env, 1)
        init, size = self.sized(self.fresh("k"), u, env, d - 1)
        lp, _ = self.size_loop(u, t, env, d, init, size)
        return N("proj", t, [lp], 1)

    def digest(self, e, t):
        """An integer of type t to which every element of a variable e contributes."""
        u = e.ty
        if is_scalar(u):
            if u in FLOATS:
                return call(f"{t}.bool", t, binop("<", e, lit(u, 1.5), "bool"))
            return e if u == t else call(f"{t}.{u}", t, e)
        if is_arr(u):
            x = self.fresh("x")
            f = N("lam", ("fun",), [self.digest(var(x, row(u)), t)], [("v", x, row(u), True)])
            o = self.r.choice(["+", "^"])
            op = Op(f"({o})", f"0{t}", (lambda a, b: wrap(t, a + b)) if o == "+" else (lambda a, b: a ^ b),
                    lambda ev: 0, True)
            return call("redomap", t, N("op", t, x=op), f, e)
        if u[0] == "sum":
            return self.digest_sum(e, t)
        if u[0] == "abs" and u[1] in self.numeric:
            return call(f"{t}.bool", t, binop("<", e, self.maker(u, lambda v: lit(v, 1)), "bool"))
        if u[0] == "abs":
            look, x = self.looked_at(e), self.fresh("x")
            return N("let", t, [look, self.digest(var(x, look.ty), t)], ("v", x, look.ty, False))
        kids = [N("proj", w, [e], i) for i, w in enumerate(u[1:])] if u[0] == "tup" else \
            [N("field", w, [e], f) for f, w in u[1:]]
        out = self.digest(kids[0], t)
        for p in kids[1:]:
            out = binop("+", binop("*", out, lit(t, 3)), self.digest(p, t))
        return out

    def irregular(self, t, env, d):
        """A number that needs all elements of an array whose size is its own, probably in memory."""
        def use(e, ys, size):
            keep, self.recent = self.recent, ys.x
            zs = self.kept(ys, e, d) if self.chance(0.7) else None
            self.recent = keep
            if not zs:
                return self.digest(ys, t), size
            return N("let", t, [zs[1], self.digest(var(zs[0], ys.ty), t)], ("v", zs[0], ys.ty, False)), size
        u = self.scalar() if self.chance(0.7) else self.a_type(env, 1)
        return self.named(u, env, d, use)[0]

    def existential(self, t, env, d):
        """A size that shows only at run time, then a value of type t, which probably uses it."""
        u = self.elem_type(env)

        def use(e, ys, size):
            keep, self.recent = self.recent, ys.x
            zs = self.kept(ys, e, d) if self.chance(0.5) else None
            body = value(e + [(zs[0], ys.ty)] if zs else e)
            self.recent = keep
            if zs:
                body = N("let", t, [zs[1], body], ("v", zs[0], ys.ty, False))
            return body, size

        def value(e):
            if is_scalar(t) and self.chance(0.5):
                body = self.reduction(t, e, d - 1) if t == "bool" or self.chance(0.7) else self.s_fold(t, e, d - 1)
            elif not is_scalar(t) and is_arr(t) and self.chance(0.3):
                body = self.a_hist(t, e, d - 1)
            else:
                body = self.block(t, e, d - 1, self.r.randint(0, 1))
            return body or self.leaf(t, e)
        if self.chance(0.15):
            return self.both_parts(t, env, d)
        return self.named(u, env, d, use)[0]

    def kept(self, ys, env, d):
        """(name, value): an array like ys that must be in memory: written in place, or read in another order."""
        t, name = ys.ty, self.fresh("zs")
        form = self.r.choice([self.a_fill, self.a_fill, self.a_sweep, self.let_set, self.a_scatter, self.a_scan, self.a_hist])
        e = form(t, env, min(d, 2))
        if e is None:
            return None
        self.recent = name
        return name, e

    def both_parts(self, t, env, d):
        """Both results of a partition, or the elements of a matrix in a row."""
        k, v, src = self.fresh("k"), self.fresh("ys"), self.source(env, d)
        a, size = row(src.ty), self.estimate(src.ty[1])
        self.est[k] = size
        if not is_scalar(a) and is_arr(a) and self.chance(0.5):
            self.est[k] = size * self.estimate(a[1])
            body = self.block(t, env + [(k, "i64"), (v, arr(k, row(a)))], d - 1, self.r.randint(0, 1))
            self.est.pop(k)
            return N("letk", t, [call("flatten", arr(k, row(a)), src), body], (k, ("v", v, arr(k, row(a)), True)))
        p = self.inside(src.ty[1], lambda: self.lam([a], env, lambda e: self.predicate(e, d), size))
        k2, w = self.fresh("k"), self.fresh("zs")
        both = tup(arr(k, a), arr(k2, a))
        body = self.block(t, env + [(k, "i64"), (v, arr(k, a))], d - 1, self.r.randint(0, 1))
        if self.chance(0.5):  # the second part as well
            z = call("length", "i64", var(w, arr(k2, a)))
            body = N("let", t, [z, body], ("v", self.fresh("n"), "i64", False))
        self.est.pop(k)
        pat = ("t", [("v", v, arr(k, a), True), ("v", w, arr(k2, a), False)])
        return N("letk", t, [N("call", both, [p, src], "partition"), body], (k, pat))
