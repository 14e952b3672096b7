"""Random well-typed programs with inputs: Gen(seed).program(). Deterministic by seed.

Integers wrap, so everything about them is exact; floats are small integers and halves with operations that no
device rounds. Operators of reductions are associative with their neutral elements. Indices are in bounds by
construction, unless `fails` asks for a program that must fail at one place. `work` estimates how often the
expression at hand is evaluated on the first input: nests that would take too long are not built."""
import random

from gen_arrays import Arrays
from gen_hist import Hists
from gen_modules import Callable, Modules
from gen_programs import Programs
from gen_ragged import Ragged
from gen_rounds import Rounds
from gen_scalars import Scalars
from gen_sized import Sized
from gen_updates import Updates
from gen_sums import Sums
from operators import operator
from oracle import limits
from tree import FLOATS, Def, Loop, N, arr, binop, call, is_arr, is_scalar, lit, map_type, parts, pat_vars, row, tup, type_sizes, var

LIMIT = 12000  # evaluations of one expression
WEIGHTS = [("i32", 8), ("i64", 5), ("bool", 3), ("u8", 2), ("i8", 2), ("i16", 1), ("u16", 1), ("u32", 2), ("u64", 1),
           ("f16", 1), ("f32", 2), ("f64", 1)]


class Gen(Scalars, Arrays, Sized, Updates, Rounds, Ragged, Hists, Sums, Modules, Programs):
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.k = 0
        self.est = {}       # sizes' values on the first input
        self.bound = {}     # i64 variables known to be in 0 ..< size: name -> size
        self.positive = set()  # sizes that are not 0 where we are
        self.work = 1
        self.functions = []  # at top level, with module types and modules
        self.callables = []  # what may be called: functions, members of modules
        self.in_function = False
        self.plain = False  # scalars out of scalars alone, and nothing fails: functions that may be called
        self.hidden = False  # the result has a size without a name
        self.fails = self.r.random() < 0.08
        self.helpers = self.r.random() < 0.5
        self.floats = self.r.random() < 0.4
        self.ragged = self.r.random() < 0.3  # mostly rows of their own sizes
        self.sums = self.r.random() < (0.1 if self.ragged else 0.5)
        self.declared = []  # sum types
        self.overs = {}     # their functions like map, by name
        self.tables = {}    # parameters that say where rows lie, by name
        self.modules = self.r.random() < (0.05 if self.ragged else 0.5)
        self.sigs = []      # module types
        self.sigs_of_containers = []
        self.globals = {}   # values n of modules, which are sizes: estimates
        self.openable = set()  # modules for module.(expression)
        self.abstract = []  # types of modules in scope
        self.containers = []  # (module, module type) of those in scope
        self.lookers = []   # their functions to plain types
        self.operators = {}  # their operators
        self.arguments = []  # (name, module type, its t as it is seen, operator) of modules
        self.functors = []  # (name, parameters, module type, members)
        self.numeric = {}   # types of numeric parameters: integers only?
        self.recent = None  # an array that what we make should use
        self.locals = []    # (name, [types], type) of local functions in scope

    # --- small choices ---------------------------------------------------------------------------
    def fresh(self, base="x"):
        self.k += 1
        return f"{base}{self.k}"

    def chance(self, p):
        return self.r.random() < p

    def weighted(self, pairs):
        total = sum(w for _, w in pairs)
        at = self.r.random() * total
        for x, w in pairs:
            at -= w
            if at < 0:
                return x
        return pairs[-1][0]

    def scalar(self):
        t = self.weighted(WEIGHTS)
        return t if self.floats or t not in FLOATS else "i32"

    def a_size(self, env):
        names = [s for s in self.est if s in self.sizes_of(env)]
        if names and self.chance(0.8):
            return self.r.choice(names)
        return self.r.choice([1, 2, 3, 4, 5, 8])

    def sizes_of(self, env):
        return {v for v, t in env if t == "i64"}

    def estimate(self, d):
        return d if isinstance(d, int) else self.est[d]

    def fits(self, *ds):
        w = self.work
        for d in ds:
            w *= max(1, self.estimate(d))
        return w <= LIMIT

    def a_type(self, env, depth=2):
        if self.sums and depth > 0 and self.chance(0.2):
            return self.a_sum(env, depth)
        if (self.abstract or self.containers) and depth > 0 and self.chance(0.15):
            return self.abstract_type(env, depth)
        p = self.r.random()
        if p < 0.45 or depth == 0:
            return self.scalar()
        if p < 0.8:
            d = self.a_size(env)
            if self.fits(d):
                self.work, w = self.work * max(1, self.estimate(d)), self.work
                t = arr(d, self.a_type(env, depth - 1))
                self.work = w
                return t
            return self.scalar()
        if p < 0.9:
            return tup(*[self.a_type(env, depth - 1) for _ in range(self.r.randint(2, 3))])
        return ("rec",) + tuple((f, self.a_type(env, depth - 1)) for f in ("a", "b", "c")[:self.r.randint(1, 3)])

    def elem_type(self, env):
        return self.a_type(env, 1) if self.chance(0.35) else self.scalar()

    # --- patterns and lambdas --------------------------------------------------------------------
    def pattern(self, t, base="x", annotate=None):
        if not is_scalar(t) and t[0] == "tup" and self.chance(0.5):
            return ("t", [self.pattern(u, base) for u in t[1:]])
        if t[0] == "sum" and len(t[4]) == 1 and self.chance(0.5):
            p = ("c", t[4][0][0], [self.pattern(u, base) for u in t[4][0][1]])
            return p if annotate is False else ("s", p, t)
        note = annotate if annotate is not None else not is_scalar(t) or self.chance(0.3)
        return ("v", self.fresh(base), t, note)

    def lam(self, types, env, body, count=1):
        """A function; body(env) makes its body, evaluated `count` times where this stands."""
        pats = [self.pattern(t) for t in types]
        inner = env + [v for p in pats for v in pat_vars(p)]
        work, self.work = self.work, self.work * max(1, count)
        b = body(inner)
        self.work = work
        return N("lam", ("fun",), [b], pats)

    def inside(self, d, make):
        """make() where d is known to be positive."""
        known = d in self.positive
        self.positive.add(d)
        out = make()
        if not known:
            self.positive.discard(d)
        return out

    # --- leaves ----------------------------------------------------------------------------------
    def literal(self, t):
        r = self.r
        if t == "bool":
            return lit(t, r.random() < 0.5)
        if t in FLOATS:
            return lit(t, r.choice([0.0, 1.0, 2.0, 0.5, -1.0, -3.0, 7.0, 100.0]))
        lo, hi = limits(t)
        v = r.choice([0, 1, 1, 2, 3, 5, 7, 10, 100, -1, -2, -7, hi, lo, hi - 1, r.randint(lo, hi)])
        return lit(t, v if lo <= v <= hi else -v)

    def default(self, t):
        """The plainest value."""
        if is_scalar(t):
            return lit(t, False if t == "bool" else 0.0 if t in FLOATS else 0)
        if is_arr(t):
            return call("replicate", t, self.size_node(t[1]), self.default(row(t)))
        if t[0] == "sum":
            c, us = self.plain_con(t)
            return N("con", t, [self.default(u) for u in us], (c, True))
        if t[0] == "abs":
            return self.maker(t, self.default)
        return N("tuple" if t[0] == "tup" else "record", t, [self.default(u) for u in parts(t)])

    def size_node(self, d):
        return lit("i64", d) if isinstance(d, int) else var(d, "i64")

    def paths(self, env, t):
        """Variables of type t, and parts of tuples and records."""
        out = []
        for v, u in env:
            if u == t:
                out.append(var(v, u))
            elif not is_scalar(u) and u[0] == "tup":
                out += [N("proj", t, [var(v, u)], i) for i, w in enumerate(u[1:]) if w == t]
            elif not is_scalar(u) and u[0] == "rec":
                out += [N("field", t, [var(v, u)], f) for f, w in u[1:] if w == t]
        return out

    def arrays(self, env, test):
        """Arrays in scope: variables and parts of tuples."""
        out = []
        for v, u in env:
            if is_scalar(u):
                continue
            if is_arr(u):
                if test(u):
                    out.append(var(v, u))
            elif u[0] == "tup":
                out += [N("proj", w, [var(v, u)], i)
                          for i, w in enumerate(u[1:]) if not is_scalar(w) and is_arr(w) and test(w)]
            elif u[0] == "rec":
                out += [N("field", w, [var(v, u)], f) for f, w in u[1:] if not is_scalar(w) and is_arr(w) and test(w)]
        return out

    def leaf(self, t, env):
        c = self.paths(env, t)
        if c and self.chance(0.9):
            late = c[-6:] if self.chance(0.6) else c
            return self.r.choice(late)
        if is_scalar(t):
            return self.convert_leaf(t, env) if self.chance(0.75) else self.literal(t)
        if is_arr(t):
            same = self.arrays(env, lambda u: u[1] == t[1])
            if same and self.chance(0.6) and self.fits(t[1]):  # from another array of that size
                src = self.r.choice(same[-5:])
                f = self.lam([row(src.ty)], env, lambda e: self.leaf(row(t), e), self.estimate(t[1]))
                return call("map", t, f, src)
            if t == arr(t[1], "i64") and self.chance(0.6):
                return call("iota", t, self.size_node(t[1]))
            return call("replicate", t, self.size_node(t[1]), self.leaf(row(t), env))
        if t[0] == "sum":
            return self.con(t, lambda u: self.leaf(u, env))
        if t[0] == "abs":
            return self.maker(t, lambda u: self.leaf(u, env))
        return N("tuple" if t[0] == "tup" else "record", t, [self.leaf(u, env) for u in parts(t)])

    def scalars(self, env):
        """Variables and parts that are integers or booleans."""
        out = []
        for v, u in env:
            if is_scalar(u):
                out.append(var(v, u))
            elif u[0] == "tup":
                out += [N("proj", w, [var(v, u)], i) for i, w in enumerate(u[1:]) if is_scalar(w)]
            elif u[0] == "rec":
                out += [N("field", w, [var(v, u)], f) for f, w in u[1:] if is_scalar(w)]
        return [e for e in out if e.ty not in FLOATS]

    def convert_leaf(self, t, env):
        """A scalar of another type in scope, converted."""
        c = [e for e in self.scalars(env) if t not in FLOATS or e.ty in ("i8", "u8", "i16", "u16", "bool")]
        if not c:
            return self.literal(t)
        e = self.r.choice(c[-5:] if self.chance(0.6) else c)
        if e.ty == t:
            return e
        if t == "bool" and self.chance(0.7):
            return binop(self.r.choice(["<", ">", "==", ">="]), e, self.literal(e.ty), "bool")
        return call(f"{t}.{e.ty}", t, e)

    # --- expressions -----------------------------------------------------------------------------
    def expr(self, t, env, d):
        """An expression of type t."""
        if d <= 0:
            return self.leaf(t, env)
        if self.plain:
            return self.an_if(t, env, d) if self.chance(0.15) else self.scalar_expr(t, env, d)
        if self.chance(0.2):
            return self.control(t, env, d)
        if is_scalar(t):
            return self.scalar_expr(t, env, d)
        if is_arr(t):
            return self.array_expr(t, env, d)
        if t[0] == "sum":
            return self.sum_expr(t, env, d)
        if t[0] == "abs":
            return self.abstract_expr(t, env, d)
        if self.chance(0.3):
            return self.leaf(t, env)
        if self.chance(0.25):
            e = self.tuple_reduce(t, env, d)
            if e:
                return e
        if t[0] == "tup":
            if len(t) == 3 and self.helpers and self.chance(0.1):
                return call("swap", t, self.expr(tup(t[2], t[1]), env, d - 1))
            return N("tuple", t, [self.expr(u, env, d - 1) for u in t[1:]])
        if self.chance(0.35):
            return self.record_with(t, env, d)
        return N("record", t, [self.expr(u, env, d - 1) for _, u in t[1:]])

    def control(self, t, env, d):
        forms = [("an_if", 6), ("a_loop", 5), ("several", 4), ("existential", 5 if self.work > 1 else 3), ("carried", 1),
                 ("a_call", 2)]
        if self.sums:
            forms += [("a_match", 8)]
        e = getattr(self, self.weighted(forms))(t, env, d)
        return e if e else self.an_if(t, env, d)

    def several(self, t, env, d):
        return self.block(t, env, d - 1, self.r.randint(1, 2))

    def an_if(self, t, env, d):
        return N("if", t, [self.expr("bool", env, d - 1), self.expr(t, env, d - 1), self.expr(t, env, d - 1)])

    def block(self, t, env, d, n):
        """Some definitions, then a value of type t."""
        if n == 0:
            return self.expr(t, env, d)
        if self.chance(0.12):
            return self.local_function(t, env, d, n)
        u = self.a_type(env)
        e = self.expr(u, env, d)
        p = self.pattern(u, "v", annotate=self.chance(0.3))
        return N("let", t, [e, self.block(t, env + pat_vars(p), d, n - 1)], p)

    def local_function(self, t, env, d, n):
        ts = [self.a_type(env, 1) for _ in range(self.r.randint(1, 2))]
        res = self.a_type(env, 1)
        name = self.fresh("fn")
        pats = [self.pattern(u, "p", annotate=True) for u in ts]
        body = self.lam_body(res, env + [v for p in pats for v in pat_vars(p)], d - 1, 8)
        self.locals.append((name, ts, res, set(self.sizes_of(env))))
        out = N("letfun", t, [body, self.block(t, env, d, n - 1)], (name, pats))
        self.locals.pop()
        return out

    def lam_body(self, t, env, d, count):
        work, self.work = self.work, self.work * count
        keep, self.positive = self.positive, set()
        b = self.block(t, env, d, self.r.choice([0, 0, 0, 1]))
        self.positive = keep
        self.work = work
        return b

    def a_call(self, t, env, d):
        fits = [f for f in self.locals if f[2] == t and f[3] <= self.sizes_of(env)]
        if fits:
            name, ts, _, _ = self.r.choice(fits)
            return call(name, t, *[self.expr(u, env, d - 1) for u in ts])
        if self.chance(0.6):
            e = self.top_call(t, env, d)
            if e:
                return e
        if self.helpers:
            k = self.r.choice(["twice", "apply", "times", "pick"])
            if k == "pick":
                return call(k, t, self.expr("bool", env, d - 1), self.expr(t, env, d - 1), self.expr(t, env, d - 1))
            if k == "times":
                f = self.lam([t], env, lambda e: self.expr(t, e, d - 2), 3)
                return call(k, t, lit("i64", self.r.randint(0, 3)), f, self.expr(t, env, d - 1))
            u = t if k == "twice" else self.a_type(env, 1)
            f = self.lam([u], env, lambda e: self.expr(t, e, d - 1), 2)
            return call(k, t, f, self.expr(u, env, d - 1))
        return self.an_if(t, env, d)

    def renamed(self, t, to):
        """A type with its sizes renamed."""
        return map_type(t, lambda d: to.get(d, d))

    def sizes_for(self, f, t, known):
        """{size parameter: size} with which a function gives a t, and is not applied to more than it was made for."""
        to = {}
        if not self.unify(f.result, t, to, f.sizes):
            return None
        for s in f.sizes:
            if s not in to:
                fits = [x for x in known if self.est[x] <= f.est[s]]
                if not fits:
                    return None
                to[s] = self.r.choice(fits)
            if self.estimate(to[s]) > f.est[s]:
                return None
        return to

    def unify(self, own, t, to, params):
        """Is t the type `own` with size parameters replaced as in `to`, which grows?"""
        if is_scalar(own) or is_scalar(t) or own[0] != t[0] or len(own) != len(t):
            return own == t

        def same(a, b):
            return to.setdefault(a, b) == b if a in params else a == b
        if is_arr(own):
            return same(own[1], t[1]) and self.unify(own[2], t[2], to, params)
        if own[0] == "abs":
            return own[1] == t[1] and all(map(same, own[4], t[4])) and all(self.unify(u, v, to, params) for u, v in zip(own[5], t[5]))
        if own[0] == "sum":
            return own[1] == t[1] and [c for c, _ in own[4]] == [c for c, _ in t[4]] and all(map(same, own[2], t[2])) and \
                all(len(us) == len(vs) and all(self.unify(u, v, to, params) for u, v in zip(us, vs))
                    for (_, us), (_, vs) in zip(own[4], t[4]))
        if own[0] == "tup":
            return all(self.unify(u, v, to, params) for u, v in zip(own[1:], t[1:]))
        return all(f == g and self.unify(u, v, to, params) for (f, u), (g, v) in zip(own[1:], t[1:]))

    def top_call(self, t, env, d):
        """A call of a function at top level: one that is there, or a new one with sizes of its own."""
        known = [s for s in self.est if s in self.sizes_of(env)]
        fits = [(f, to) for f in self.callables if self.work <= f.work for to in [self.sizes_for(f, t, known)] if to is not None]
        if fits:
            f, to = self.r.choice(fits)
            return self.member_call(f, t, [self.expr(self.renamed(u, to), env, d - 1) for u in f.args])
        sizes = sorted(type_sizes(t))
        if any(s not in known for s in sizes) or sum(isinstance(f, Def) for f in self.functions) > 4 or self.in_function:
            return None
        plain = is_scalar(t) and self.chance(0.5)
        sizes += [s for s in self.r.sample(known, min(len(known), 1)) if s not in sizes and not plain]
        own = {s: self.fresh("d") for s in sizes}
        ts = [self.of_size(s) for s in sizes] + [self.scalar() for _ in range(self.r.randint(plain, 2 + plain))]
        ts = [u for u in ts if type_sizes(u) <= set(sizes)]
        params = [("v", self.fresh("p"), self.renamed(u, own), True) for u in ts]
        keep = self.est, self.positive, self.bound, self.locals, self.in_function
        self.est = {**self.est, **{own[s]: self.est[s] for s in sizes}}
        self.positive, self.bound, self.locals, self.in_function = set(), {}, [], True
        inner = [(own[s], "i64") for s in sizes] + [(p[1], p[2]) for p in params]
        self.plain = plain
        body = self.expr(t, inner, 4) if plain else self.block(self.renamed(t, own), inner, d - 1, self.r.randint(0, 2))
        self.plain = False
        self.est, self.positive, self.bound, self.locals, self.in_function = keep
        f = Def(self.fresh("fun"), [own[s] for s in sizes], params, body, show_result=self.chance(0.7))
        self.functions.append(f)
        self.callables.append(Callable(f.name, f.sizes, [p[2] for p in params], body.ty, self.work, {own[s]: self.est[s] for s in sizes}))
        return call(f.name, t, *[self.expr(u, env, d - 1) for u in ts])

    def of_size(self, s):
        """A type that has size s: most often an array, else a sum or a container, whose values need not tell the size."""
        sized = [d for d in self.declared if d.sizes]
        if sized and self.chance(0.4):
            d = self.r.choice(sized)
            return self.instance(d, (s,), tuple(self.scalar() for _ in d.params))
        held = [c for c in self.containers if c[1].sized]
        if held and self.chance(0.3):
            return held[-1][1].type(held[-1][0], [s], self.scalar())
        return arr(s, self.elem_type([(s, "i64")]))

    def operator(self, t, sums=False):
        """An associative operator on t; None if there is none here."""
        return operator(self.r, t, sums, lambda size: self.estimate(size) <= 8 and self.fits(size, size), self.abstract_op)

    # --- loops -----------------------------------------------------------------------------------
    def a_loop(self, t, env, d):
        k = self.r.random()
        pat = self.pattern(t, "acc", annotate=self.chance(0.3))
        init = self.expr(t, env, d - 1)
        if self.chance(0.3):
            init = call("copy", t, init) if is_arr(t) else init
        if k < 0.25:
            src = self.source(env, d)
            size = self.estimate(src.ty[1])
            if size <= 40:
                x = self.fresh("x")
                body = self.in_loop(size, lambda: self.inside(src.ty[1], lambda: self.block(
                    t, env + pat_vars(pat) + [(x, row(src.ty))], d - 1, self.r.randint(0, 1))))
                return N("loop", t, [init, src, body], Loop("in", pat, x))
        if k < 0.45:
            i = self.fresh("ix")
            limit = self.r.choice([1, 3, 6])
            full = ("t", [("v", i, "i64", False), pat])
            tt = tup("i64", t)
            inner = env + [(i, "i64")] + pat_vars(pat)
            cond = binop("<", var(i, "i64"), lit("i64", limit), "bool")
            if self.chance(0.7):
                cond = binop("&&", cond, self.expr("bool", inner, min(d - 1, 2)))
            body = self.in_loop(limit, lambda: self.expr(t, inner, d - 1))
            step = N("tuple", tt, [binop("+", var(i, "i64"), lit("i64", 1)), body])
            lp = N("loop", tt, [N("tuple", tt, [lit("i64", 0), init]), cond, step], Loop("while", full, None))
            return N("proj", t, [lp], 1)
        bound, dim = self.turns(env, d)
        i = self.fresh("ix")
        if dim is not None:
            self.bound[i] = dim
        size = 4 if dim is None else self.estimate(dim)
        def make():
            return self.block(t, env + pat_vars(pat) + [(i, "i64")], d - 1, self.r.randint(0, 1))
        body = self.in_loop(size, (lambda: self.inside(dim, make)) if dim is not None else make)
        return N("loop", t, [init, bound, body], Loop("for", pat, i))

    def turns(self, env, d):
        """(bound of a loop, the size it is if any)"""
        k = self.r.random()
        if k < 0.4:
            dim = self.a_size(env)
            if self.estimate(dim) <= 40 and self.fits(dim):
                return self.size_node(dim), dim
        if k < 0.7:  # varies
            return binop("%", self.expr("i64", env, d - 1), lit("i64", self.r.choice([2, 4, 5]))), None
        dim = self.r.choice([0, 1, 2, 3])
        return lit("i64", dim), dim if dim > 0 else None

    def in_loop(self, count, make):
        work, self.work = self.work, self.work * max(1, count)
        e = make()
        self.work = work
        return e
