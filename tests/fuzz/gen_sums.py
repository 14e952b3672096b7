"""Sum types of the generator (see gen.py): declared types, constructors, `match`, what they come to as numbers.

A declared type has parameters, for types and for a size, and constructors whose names are those of other types as well.
Patterns of a match are made by splitting: one that matches everything, then one of its parts by constructor, by value or
by component, again and again; so they cover everything, each for something that those before it leave."""
from oracle import limits
from tree import INTS, N, arr, binop, call, has_abstract, is_arr, is_scalar, lit, map_type, parts, pat_vars, row, tup, var
from library import Helper
from modules import TypeDef

NAMES = ["none", "some", "left", "right", "a", "b", "c", "leaf", "pair", "box"]
MOST_TYPES, MOST_CASES = 3, 8


class Sums:
    # --- types -----------------------------------------------------------------------------------
    def a_sum(self, env, depth):
        """A sum type: what a declaration comes to, or one that is written out."""
        if self.chance(0.12):
            names = self.r.sample(NAMES, self.r.randint(1, 3))
            return ("sum", None, (), (), tuple((c, self.held(env, depth - 1, 2)) for c in names))
        if not self.declared or (len(self.declared) < MOST_TYPES and self.chance(0.4)):
            self.declared.append(self.declaration())
        d = self.r.choice(self.declared)
        sizes = tuple(self.a_size(env) for _ in d.sizes)
        if not self.fits(*sizes):
            sizes = (1,) * len(sizes)
        work, self.work = self.work, self.work * max([1] + [self.estimate(s) for s in sizes])
        types = tuple(self.a_type(env, min(depth - 1, 1)) for _ in d.params)
        self.work = work
        return self.instance(d, sizes, types)

    def instance(self, d, sizes, types):
        """A declared type with its parameters replaced."""
        to_size, to_type = dict(zip(d.sizes, sizes)), dict(zip(d.params, types))

        def go(t):
            return map_type(t, lambda s: to_size.get(s, s), lambda t: to_type[t[1]] if t[0] == "tv" else None)
        return ("sum", d.name, sizes, types, tuple((c, tuple(map(go, us))) for c, us in d.body))

    def held(self, env, depth, most):
        """What a constructor may hold."""
        return tuple(self.a_type(env, max(0, min(depth, 1))) for _ in range(self.r.randint(0, most)))

    def declaration(self):
        """A new declared type."""
        r, kind = self.r, self.r.random()
        a, b = ("tv", "a"), ("tv", "b")
        sizes, params = [], ["a"]
        if kind < 0.3:
            ctors = [("none", ()), ("some", (a,))]
        elif kind < 0.4:
            ctors, params = [("left", (a,)), ("right", (b,))], ["a", "b"]
        elif kind < 0.5:
            ctors, params = [(c, ()) for c in r.sample(NAMES, r.randint(2, 4))], []
        else:
            params = ["a"] if self.chance(0.4) else []
            sizes = [self.fresh("s")] if self.chance(0.25) else []
            must = [a] * len(params) + [arr(s, a if params and self.chance(0.5) else self.scalar()) for s in sizes]
            ctors = [(c, tuple(self.closed(1) for _ in range(r.choice([0, 0, 1, 1, 2])))) for c in r.sample(NAMES, r.randint(1, 4))]
            for t in must:
                k = r.randrange(len(ctors))
                ctors[k] = (ctors[k][0], ctors[k][1] + (t,))
        if self.chance(0.5):
            r.shuffle(ctors)
        d = TypeDef(self.fresh("ty"), sizes, params, ctors)
        if params and self.chance(0.6):
            self.overs[d.name] = over(self.fresh("over"), d)
        return d

    def some_sum(self, env):
        """A sum type, most often of something in scope."""
        c = [e.ty for e in self.sum_values(env)]
        return self.r.choice(c) if c and self.chance(0.6) else self.a_sum(env, 2)

    def sum_values(self, env):
        """Variables and parts of them that are sums."""
        out = []
        for v, u in env:
            if u[0] == "sum":
                out.append(var(v, u))
            elif u[0] == "tup":
                out += [N("proj", w, [var(v, u)], i) for i, w in enumerate(u[1:]) if w[0] == "sum"]
            elif u[0] == "rec":
                out += [N("field", w, [var(v, u)], f) for f, w in u[1:] if w[0] == "sum"]
        return out

    # --- values ----------------------------------------------------------------------------------
    def con(self, t, make):
        """A value of one of the constructors; make: a type's value."""
        c, us = self.r.choice(t[4])
        return N("con", t, [make(u) for u in us], (c, True))

    def sum_expr(self, t, env, d):
        if self.chance(0.25):
            return self.leaf(t, env)
        if self.chance(0.15):
            e = self.tuple_reduce(t, env, d)
            if e:
                return e
        if self.chance(0.15):
            return self.s_index(t, env, d) or self.leaf(t, env)
        if t[1] in self.overs and self.chance(0.3):
            return self.mapped_sum(t, env, d)
        return self.con(t, lambda u: self.expr(u, env, d - 1))

    def mapped_sum(self, t, env, d):
        """Of another sum of the same declared type."""
        decl = next(x for x in self.declared if x.name == t[1])
        u = self.a_type(env, 1)
        count = max([1] + [self.estimate(s) for s in t[2]])
        f = self.lam([u], env, lambda e: self.expr(t[3][0], e, d - 1), count)
        return call(self.overs[t[1]].name, t, f, self.expr(self.instance(decl, t[2], (u, *t[3][1:])), env, d - 1))

    def plain_con(self, t):
        """The constructor that holds the least."""
        return min(t[4], key=lambda c: len(str(c[1])) if c[1] else 0)

    # --- match -----------------------------------------------------------------------------------
    def a_match(self, t, env, d):
        on = self.scrutinee(env, d)
        cases = self.cases(on.ty)
        return N("match", t, [on] + [self.expr(t, env + pat_vars(p), d - 1) for p in cases], cases)

    def scrutinee(self, env, d):
        """What is looked at: sums in scope, new ones, two of them, numbers."""
        c, k = self.sum_values(env)[-6:], self.r.random()
        if k < 0.15:
            return self.expr(self.r.choice(["i32", "u8", "bool", "i64"]), env, d - 1)
        if k < 0.25:
            return self.expr(tup(self.scrutinee_type(env), self.scrutinee_type(env)), env, d - 1)
        if k < 0.4:
            one = self.r.choice(c) if c else self.expr(self.some_sum(env), env, d - 1)
            other = self.r.choice([e for e in c if e.ty == one.ty] or [self.expr(one.ty, env, d - 1)])
            return N("tuple", tup(one.ty, other.ty), [one, other])
        if c and k < 0.85:
            return self.r.choice(c)
        return self.expr(self.some_sum(env), env, d - 1)

    def scrutinee_type(self, env):
        return self.some_sum(env) if self.chance(0.6) else self.r.choice(["i32", "bool", "u8"])

    def cases(self, t):
        """Patterns that cover a type; holes are filled at the end."""
        pats = [("hole", t)]
        for _ in range(self.r.choice([1, 1, 2, 3, 4])):
            k = self.r.randrange(len(pats))
            new = self.split(pats[k])
            if len(pats) + len(new) <= MOST_CASES + 1:
                pats[k:k + 1] = new
        if len(pats) > 2 and self.chance(0.35):
            pats = pats[:self.r.randint(1, len(pats) - 1)] + [("hole", t)]
        return [self.filled(p) for p in pats]

    def split(self, p):
        """Patterns for what a pattern with holes matches; itself if it has none that can be split."""
        if p[0] == "hole":
            return self.split_hole(p[1])
        kids = list(p[1] if p[0] in "tr" else p[2] if p[0] == "c" else [])
        order = self.r.sample(range(len(kids)), len(kids))
        for k in order:
            kid = kids[k][1] if p[0] == "r" else kids[k]
            new = self.split(kid)
            if new != [kid]:
                return [self.with_kid(p, kids, k, q) for q in new]
        return [p]

    def with_kid(self, p, kids, k, q):
        kids = kids[:k] + [(kids[k][0], q) if p[0] == "r" else q] + kids[k + 1:]
        return (p[0], kids) if p[0] in "tr" else ("c", p[1], kids)

    def split_hole(self, t):
        hole = ("hole", t)
        if t == "bool":
            return [("lit", t, v) for v in self.r.sample([True, False], 2)]
        if t in INTS:
            lo, hi = limits(t)
            vs = self.r.sample(sorted({0, 1, 2, 3, 7, hi, lo, max(lo, -1)}), self.r.randint(1, 2))
            return [("lit", t, v) for v in vs] + [hole]
        if t[0] == "tup":
            return [("t", [("hole", u) for u in t[1:]])]
        if t[0] == "rec":
            return [("r", [(f, ("hole", u)) for f, u in t[1:]])]
        if t[0] == "sum":
            return [("c", c, [("hole", u) for u in us]) for c, us in self.r.sample(t[4], len(t[4]))]
        return [hole]

    def filled(self, p):
        """A pattern with names and wildcards for its holes."""
        if p[0] == "hole":
            return ("_",) if self.chance(0.25) else self.pattern(p[1], "q", annotate=self.chance(0.1))
        if p[0] == "t":
            return ("t", [self.filled(q) for q in p[1]])
        if p[0] == "r":
            return ("r", [(f, self.filled(q)) for f, q in p[1]])
        return ("c", p[1], [self.filled(q) for q in p[2]]) if p[0] == "c" else p

    def a_consumed(self, t, env, d):
        """An array that is taken out of a sum and updated in place."""
        held = ("sum", None, (), (), (("none", ()), ("some", (t,))))
        some, x = N("con", held, [self.fresh_array(t, env, d - 1)], ("some", True)), self.fresh("q")
        if self.chance(0.5):
            some = N("if", held, [self.expr("bool", env, min(d - 1, 2)), some, N("con", held, [], ("none", True))])

        def make():
            v = self.expr(row(t), env, d - 1)
            v = v if is_scalar(row(t)) else call("copy", row(t), v)
            return N("with", t, [var(x, t), self.position(env, t[1], 2), v])
        changed = self.guarded([t[1]], make, t, env, d)
        return changed and N("match", t, [some, changed, self.leaf(t, env)], [("c", "some", [("v", x, t, False)]), ("c", "none", [])])

    # --- comparison ------------------------------------------------------------------------------
    def s_equal(self, t, env, d):
        """Two values of a sum type, or of any other, compared."""
        c = self.sum_values(env)
        u = self.some_sum(env) if self.chance(0.7) and self.sums else self.a_type(env, 1)
        if has_abstract(u):
            return None
        one = self.r.choice([e for e in c if e.ty == u] or [self.expr(u, env, d - 1)])
        return binop(self.r.choice(["==", "!="]), one, self.expr(u, env, d - 1), "bool")

    # --- as numbers ------------------------------------------------------------------------------
    def digest_sum(self, e, t):
        """A number of type t to which the constructor and all that it holds contribute."""
        cases, results = [], []
        for i, (c, us) in enumerate(e.ty[4]):
            names = [self.fresh("q") for _ in us]
            out = lit(t, i + 1)
            for x, u in zip(names, us):
                out = binop("+", binop("*", out, lit(t, 3)), self.digest(var(x, u), t))
            cases.append(("c", c, [("v", x, u, False) for x, u in zip(names, us)]))
            results.append(out)
        return N("match", t, [e] + results, cases)

    def observed(self, e):
        """A variable as a value that the outside may see."""
        t = e.ty
        if plain(t):
            return e
        if is_arr(t):
            x = self.fresh("x")
            one = self.observed(var(x, row(t)))
            return call("map", arr(t[1], one.ty), N("lam", ("fun",), [one], [("v", x, row(t), True)]), e)
        if t[0] == "tup":
            kids = [self.observed(N("proj", u, [e], i)) for i, u in enumerate(t[1:])]
            return N("tuple", tup(*[k.ty for k in kids]), kids)
        if t[0] == "rec":
            kids = [self.observed(N("field", u, [e], f)) for f, u in t[1:]]
            return N("record", ("rec",) + tuple((f, k.ty) for (f, _), k in zip(t[1:], kids)), kids)
        return self.digest(e, "i64")


def plain(t):
    """Has the outside values of this type?"""
    if is_scalar(t):
        return True
    return plain(row(t)) if is_arr(t) else t[0] in ("tup", "rec") and all(map(plain, parts(t)))


def over(name, d):
    """The polymorphic function that changes what a declared type holds of its first parameter."""
    def place(u):
        return "one" if u == ("tv", "a") else "all" if is_arr(u) and row(u) == ("tv", "a") else "none"
    head = "".join([f" [{s}]" for s in d.sizes] + [f" '{p}" for p in d.params] + [" 'to"])
    sizes, rest = "".join(f" [{s}]" for s in d.sizes), "".join(f" {p}" for p in d.params[1:])
    says = {"one": "(f {})", "all": "(map f {})", "none": "{}"}
    does = {"one": lambda f, x: f(x), "all": lambda f, x: list(map(f, x)), "none": lambda f, x: x}
    cases, meaning = "", {}
    for c, us in d.body:
        xs = [f"x{i}" for i in range(len(us))]
        cases += f" case {' '.join(['#' + c] + xs)} -> {' '.join(['#' + c] + [says[place(u)].format(x) for u, x in zip(us, xs)])}"
        meaning[c] = [does[place(u)] for u in us]
    return Helper(name, head, [("f", "a -> to"), ("v", f"«{d.name}»{sizes} a{rest}")], f"«{d.name}»{sizes} to{rest}", "match v" + cases,
                  key=lambda f, v: (v[0], *[g(f, x) for g, x in zip(meaning[v[0]], v[1:])]))


# --- types that need not be said ----------------------------------------------------------------

# Functions that give what they are given, in an array or as it is: which arguments.
GIVES = {"copy": [0], "reverse": [0], "rotate": [1], "replicate": [1], "concat": [0, 1], "take": [1], "map": [0], "map2": [0],
         "map3": [0], "tabulate": [1], "pick": [1, 2], "scan": [1], "scatter": [0, 2]}


def settle(r, n, known, functions):
    """The tree with fewer types of constructors said: not all of those that follow from what surrounds them. known: n's
    type does; functions: names whose parameters have declared types."""
    def go(k, sure):
        return settle(r, k, sure, functions)

    def alike(kids):
        """Trees of one type, which one of them says."""
        if known:
            return [go(e, True) for e in kids]
        said = r.randrange(len(kids))
        first = go(kids[said], False)
        return [first if i == said else go(e, determined(first)) for i, e in enumerate(kids)]
    op, k, x = n.op, n.kids, n.x
    if op == "con":
        said = not known or r.random() < 0.3
        return N(op, n.ty, [go(e, True) for e in k], (x[0], said))
    if op in ("let", "letk", "letset"):
        p = x if op == "let" else x[1] if op == "letk" else None
        said = p is not None and ((p[0] == "v" and p[3]) or p[0] == "s")
        kids = [go(k[0], said)] + [go(e, False) for e in k[1:-1]] + [go(k[-1], known)]
    elif op == "letfun":
        kids = [go(k[0], False), settle(r, k[1], known, functions | {x[0]})]
    elif op in ("if", "match"):
        kids = [go(k[0], False)] + alike(k[1:])
    elif op == "arrlit" or (op == "bin" and x in ("==", "!=")):
        kids = alike(k) if op == "arrlit" else settle_pair(r, k, functions)
    elif op in ("tuple", "record", "lam", "within"):
        kids = [go(e, known) for e in k]
    elif op in ("cast", "asc"):
        kids = [go(k[0], True)]
    elif op == "call" and x in functions:
        kids = [go(e, not may_hide_a_size(e.ty)) for e in k]
    elif op == "call" and x in GIVES:
        kids = [go(e, known and i in GIVES[x]) for i, e in enumerate(k)]
    elif op == "call" and x in ("reduce", "reduce_comm") and k[0].ty[0] == "sum":
        kids = [k[0], go(k[1], True)]
    else:
        kids = [go(e, False) for e in k]
    return N(op, n.ty, kids, x)


def may_hide_a_size(t):
    """Has a sum in it a size, which a constructor need not tell to the function that has it as a parameter?"""
    sizes = []

    def atom(u):
        if u[0] == "sum":
            map_type(u, lambda d: sizes.append(d) or d)
    map_type(t, atom=atom)
    return bool(sizes)


def settle_pair(r, kids, functions):
    """Two that are compared: one of them says the type of both."""
    said = r.randrange(2)
    first = settle(r, kids[said], False, functions)
    other = settle(r, kids[1 - said], determined(first), functions)
    return [first, other] if said == 0 else [other, first]


def determined(n):
    """Is the type of a tree known from itself?"""
    if n.op == "con":
        return n.x[1]
    if n.op in ("let", "letk", "letset", "letfun"):
        return determined(n.kids[-1])
    if n.op in ("tuple", "record"):
        return all(map(determined, n.kids))
    if n.op in ("if", "match"):
        return any(map(determined, n.kids[1:]))
    return n.op in ("var", "proj", "field", "asc", "lit", "bin")
