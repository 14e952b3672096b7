"""What a program of the fuzzer means, in plain Python: independent of the compiler.

Each tree becomes a closure over one dictionary of values (all names of a program are unique). Arrays are lists,
tuples and records are tuples, values of sum types are tuples that begin with their constructor; sizes come from the types."""
import math
import struct

from modules import flat
from tree import FLOATS, INTS, SIGNED, is_arr, is_scalar, map_type, parts, pat_vars


FORMATS = {"f16": "e", "f32": "f", "f64": "d"}
DIGITS = {"f16": 11, "f32": 24, "f64": 53}  # of the significand, in base 2


class Failure(Exception):
    """The program fails: (kind, node)."""


class TooLong(Exception):
    """More steps than the time box has."""


def wrap(t, v):
    if t in FLOATS:
        try:
            return struct.unpack(FORMATS[t], struct.pack(FORMATS[t], v))[0]
        except OverflowError:
            return math.copysign(math.inf, v)
    if t == "bool":
        return bool(v)
    bits = INTS[t]
    v &= (1 << bits) - 1
    return v - (1 << bits) if t in SIGNED and v >> (bits - 1) else v


def rounded(v, bits):
    """An integer with as many bits at most as a float's mantissa: to the nearest, the even one of two."""
    drop = max(0, abs(v).bit_length() - bits)
    q, rest = divmod(abs(v), 1 << drop)
    half = (1 << drop) >> 1
    q += drop > 0 and (rest > half or (rest == half and q % 2 == 1))
    return (q << drop) * (-1 if v < 0 else 1)


def convert(to, frm, v):
    if to in FLOATS:
        return wrap(to, float(v if frm in FLOATS else rounded(v, DIGITS[to])))
    if frm in FLOATS and to != "bool":
        if math.isnan(v) or math.isinf(v):
            return 0
        v = math.trunc(v)
        lo, hi = limits(to)
        return max(lo, min(hi, v))
    if frm in SIGNED and to not in SIGNED:
        v &= (1 << INTS[frm]) - 1  # the bits, filled up with zeros
    return bool(v) if to == "bool" else wrap(to, int(v))


def limits(t):
    bits = INTS[t]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if t in SIGNED else (0, (1 << bits) - 1)


def quot(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def equal(a, b):
    """As == has it: NaN differs from itself, wherever it is."""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


BINARY = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a // b, "%": lambda a, b: a % b, "//": quot, "%%": lambda a, b: a - b * quot(a, b),
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b, "**": lambda a, b: a ** b,
    "==": equal, "!=": lambda a, b: not equal(a, b), "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}


def member(name):
    """T.f on values."""
    t, f = name.split(".")
    if f in INTS or f in FLOATS or f == "bool":
        return lambda v: convert(t, f, v)
    if f in ("lowest", "highest"):
        ends = (-math.inf, math.inf) if t in FLOATS else limits(t)
        return lambda: ends[f == "highest"]
    if f == "neg":
        return lambda v: wrap(t, -v)
    if f == "min":
        return min
    if f == "max":
        return max
    if f == "abs":
        return lambda v: wrap(t, abs(v))
    if f == "sgn":
        return lambda v: wrap(t, (v > 0) - (v < 0))
    if f == "popc":
        return lambda v: bin(v & ((1 << INTS[t]) - 1)).count("1")
    if f == "clz":
        return lambda v: INTS[t] - (v & ((1 << INTS[t]) - 1)).bit_length()
    if f in ("floor", "ceil", "trunc"):
        return lambda v: float(getattr(math, f)(v)) if math.isfinite(v) else v
    raise KeyError(name)


def all_sizes(t):
    """The sizes in a type, in order."""
    out = []
    map_type(t, lambda d: out.append(d) or d)
    return out


class Eval:
    """The meaning of one program's definitions; steps: how many elements and turns may be visited."""

    def __init__(self, program, steps=400000):
        self.env = {}
        self.left = steps
        self.defs = {}
        whole = flat(program, limits, wrap)
        self.helpers = whole.helpers
        for d in whole.out:
            self.defs[d.name] = (d, self.comp(d.body))
        for d in whole.out:
            if d.shown == "n" and not d.params:
                self.env[d.name] = self.defs[d.name][1]()

    def step(self, k=1):
        self.left -= k
        if self.left < 0:
            raise TooLong()

    def bind(self, p, v):
        """Does a value match a pattern? Its names are bound, up to where it does not."""
        if p[0] == "v":
            self.env[p[1]] = v
            return True
        if p[0] == "t":
            return all(map(self.bind, p[1], v))
        if p[0] == "r":
            return all(map(self.bind, [q for _, q in p[1]], v))
        if p[0] == "s":
            return self.bind(p[1], v)
        if p[0] == "c":
            return p[1] == v[0] and all(map(self.bind, p[2], v[1:]))
        return p[0] == "_" or p[2] == v

    def dim(self, d):
        return d if isinstance(d, int) else self.env[d]

    def call_def(self, name, args, sizes=None):
        """sizes: those that the call's types have for parameters."""
        d, body = self.defs[name]
        self.env.update(sizes or {})
        for p, v in zip(d.params, args):
            self.bind(p, v)
            for x, t in pat_vars(p):
                self.bind_sizes(t, self.env[x], d.sizes)
        return body()

    def bind_sizes(self, t, v, names):
        if is_scalar(t):
            return
        if is_arr(t):
            if t[1] in names:
                self.env[t[1]] = len(v)
            if v:
                self.bind_sizes(t[2], v[0], names)
            return
        if t[0] == "abs":
            return self.bind_sizes(t[2], v, names) if t[4] or t[5] else None
        if t[0] == "sum":
            v, types = v[1:], dict(t[4])[v[0]]
        else:
            types = parts(t)
        if types:
            for u, w in zip(types, v):
                self.bind_sizes(u, w, names)

    def comp(self, n):
        """A function of no arguments."""
        f = getattr(self, "c_" + n.op)
        return f(n, [self.comp(k) for k in n.kids])

    def c_lit(self, n, k):
        v = n.x
        return lambda: v

    def c_var(self, n, k):
        env, x = self.env, n.x
        return lambda: env[x]

    def c_bin(self, n, k):
        a, b = k
        if n.x == "&&":
            return lambda: a() and b()
        if n.x == "||":
            return lambda: a() or b()
        if n.x == "++":
            return lambda: a() + b()
        f, t = BINARY[n.x], n.ty
        if t == "bool":
            return lambda: bool(f(a(), b()))

        def go():
            x, y = a(), b()
            if n.x in ("/", "%", "//", "%%") and y == 0:
                self.fail("division by zero", n)
            return wrap(t, f(x, y))
        return go

    def c_neg(self, n, k):
        return lambda: wrap(n.ty, -k[0]())

    def c_not(self, n, k):
        return (lambda: not k[0]()) if n.ty == "bool" else (lambda: wrap(n.ty, ~k[0]()))

    def c_sec(self, n, k):
        f = BINARY[n.x]
        return lambda: (lambda a, b: f(a, b))

    def c_perm(self, n, k):
        return lambda: n.x

    def c_op(self, n, k):
        return lambda: n.x

    def c_within(self, n, k):
        return k[0]

    def c_opcall(self, n, k):
        return lambda: k[0]().fn(k[1](), k[2]())

    def c_neutral(self, n, k):
        return lambda: k[0]().value(self)

    def c_lam(self, n, k):
        pats, body = n.x, k[0]

        def fn(*args):
            self.step()
            for p, v in zip(pats, args):
                self.bind(p, v)
            return body()
        return lambda: fn

    def c_let(self, n, k):
        def go():
            self.bind(n.x, k[0]())
            return k[1]()
        return go

    def c_letk(self, n, k):
        size, pat = n.x

        def go():
            v = k[0]()
            self.bind(pat, v)
            self.bind_sizes(n.kids[0].ty, v, [size])
            first = v if pat[0] == "v" else v[0]
            self.env[size] = len(first)
            return k[1]()
        return go

    def c_letfun(self, n, k):
        name, pats = n.x

        def fn(*args):
            self.step()
            for p, v in zip(pats, args):
                self.bind(p, v)
            return k[0]()

        def go():
            self.env[name] = fn
            return k[1]()
        return go

    def c_if(self, n, k):
        c, a, b = k
        return lambda: a() if c() else b()

    def c_con(self, n, k):
        return lambda: (n.x[0], *[f() for f in k])

    def c_match(self, n, k):
        cases = list(zip(n.x, k[1:]))

        def go():
            v = k[0]()
            return next(f for p, f in cases if self.bind(p, v))()
        return go

    def c_tuple(self, n, k):
        return lambda: tuple(f() for f in k)
    c_record = c_tuple

    def c_proj(self, n, k):
        return lambda: k[0]()[n.x]

    def c_field(self, n, k):
        at = [f for f, _ in n.kids[0].ty[1:]].index(n.x)
        return lambda: k[0]()[at]

    def fail(self, what, n):
        raise Failure(what)

    def c_index(self, n, k):
        def go():
            v = k[0]()
            at = [f() for f in k[1:]]
            for i in at:
                if not 0 <= i < len(v):
                    self.fail("out of bounds", n)
                v = v[i]
            return v
        return go

    def c_range(self, n, k):
        def go():
            lo, hi = k[0](), k[1]()
            self.sized(n, hi - lo)
            return list(range(lo, hi))
        return go

    def c_slice(self, n, k):
        forms = {"{}:{}": lambda v, i, j: v[i:j], "::-1": lambda v: v[::-1], ":{}": lambda v, j: v[:j],
                 "{}:": lambda v, i: v[i:], "::{}": lambda v, s: v[::s], "{}:{}:{}": lambda v, i, j, s: v[i:j:s],
                 ":, {}": lambda v, i: [r[i] for r in v], "{}, ::-1": lambda v, i: v[i][::-1],
                 "::-1, ::-1": lambda v: [r[::-1] for r in v[::-1]]}
        f = forms[n.x]
        return lambda: f(*[g() for g in k])

    def c_with(self, n, k):
        def go():
            v = list(k[0]())
            at = [f() for f in k[1:-1]]
            val = k[-1]()
            w = v
            for d, i in enumerate(at):
                if not 0 <= i < len(w):
                    self.fail("out of bounds", n)
                if d + 1 < len(at):
                    w[i] = list(w[i])
                    w = w[i]
            w[at[-1]] = val
            return v
        return go

    def places(self, forms, values, dims, n):
        """The indices along each dimension that forms pick; None instead of a list where there is one."""
        at, out = iter(values), []
        for f, d in zip(forms, dims):
            v = {c: next(at) for c in f if c in "iabs"}
            if f == "i":
                if not 0 <= v["i"] < d:
                    self.fail("out of bounds", n)
                out.append(v["i"])
                continue
            s = v.get("s", 1)
            a, b = v.get("a", 0 if s > 0 else d - 1), v.get("b", d if s > 0 else -1)
            got = range(a, b, s)
            if any(not 0 <= i < d for i in got):
                self.fail("out of bounds", n)
            out.append(got)
        return out

    def shape(self, v, t, depth):
        """The first dimensions of an array v of type t."""
        out = [len(v)]
        for _ in range(depth - 1):
            t = t[2]
            out.append(self.dim(t[1]))
        return out

    def c_sub(self, n, k):
        def pick(v, at):
            if not at:
                return v
            if isinstance(at[0], int):
                return pick(v[at[0]], at[1:])
            return [pick(v[i], at[1:]) for i in at[0]]

        def go():
            v = k[0]()
            values = [f() for f in k[1:]]
            return pick(v, self.places(n.x, values, self.shape(v, n.kids[0].ty, len(n.x)), n))
        return go

    def put(self, v, at, new, n):
        """v with `new` at the places."""
        if not at:
            return new
        out = list(v)
        if isinstance(at[0], int):
            out[at[0]] = self.put(v[at[0]], at[1:], new, n)
            return out
        if len(at[0]) != len(new):
            self.fail("sizes differ", n)
        for i, w in zip(at[0], new):
            out[i] = self.put(v[i], at[1:], w, n)
        return out

    def c_set(self, n, k):
        def go():
            v = k[0]()
            values = [f() for f in k[1:-1]]
            new = k[-1]()
            return self.put(v, self.places(n.x, values, self.shape(v, n.kids[0].ty, len(n.x)), n), new, n)
        return go

    def c_letset(self, n, k):
        name, forms = n.x

        def go():
            v = self.env[name] = k[0]()
            values = [f() for f in k[1:-2]]
            new = k[-2]()
            self.env[name] = self.put(v, self.places(forms, values, self.shape(v, n.kids[0].ty, len(forms)), n), new, n)
            return k[-1]()
        return go

    def c_recwith(self, n, k):
        def change(t, r, path, v):
            at = [f for f, _ in t[1:]].index(path[0])
            new = v if len(path) == 1 else change(t[1 + at][1], r[at], path[1:], v)
            return r[:at] + (new,) + r[at + 1:]
        return lambda: change(n.ty, k[0](), n.x, k[1]())

    def c_colwith(self, n, k):
        def go():
            v, j, w = [f() for f in k]
            return [r[:j] + [x] + r[j + 1:] for r, x in zip(v, w)]
        return go

    def c_arrlit(self, n, k):
        return lambda: [f() for f in k]

    def c_cast(self, n, k):
        return k[0]
    c_asc = c_cast

    def c_assert(self, n, k):
        def go():
            if not k[0]():
                self.fail("assertion", n)
            return k[1]()
        return go

    def c_loop(self, n, k):
        lp = n.x

        def bind(v):
            self.bind(lp.pat, v)
            if lp.sizes:
                for name, t in pat_vars(lp.pat):
                    self.bind_sizes(t, self.env[name], lp.sizes)

        def go():
            v = k[0]()
            if lp.form == "while":
                while True:
                    bind(v)
                    self.step()
                    if not k[1]():
                        return v
                    v = k[2]()
            turns = k[1]()
            for i in range(turns) if lp.form == "for" else turns:
                self.step()
                bind(v)
                self.env[lp.var] = i
                v = k[2]()
            return v
        return go

    def c_call(self, n, k):
        name = n.x
        if name in self.defs:
            dims = {}
            for p, kid in zip(self.defs[name][0].params, n.kids):
                for own, d in zip(all_sizes(p[2]), all_sizes(kid.ty)):
                    if own in self.defs[name][0].sizes:
                        dims[own] = d

            def go():
                args = [f() for f in k]
                return self.call_def(name, args, {s: self.dim(d) for s, d in dims.items() if isinstance(d, int) or d in self.env})
            return go
        key = self.helpers.get(name, name)
        if callable(key):
            return lambda: key(*[g() for g in k])
        if hasattr(self, "f_" + key):
            f = getattr(self, "f_" + key)
            return lambda: f(n, *[g() for g in k])
        if "." in name:
            f = member(name)
            return lambda: wrap(n.ty, f(*[g() for g in k]))
        return lambda: self.env[name](*[g() for g in k])  # a local function

    # --- builtins and helpers: (node, values) ----------------------------------------------------
    def f_map(self, n, f, *arrays):
        return [f(*xs) for xs in zip(*arrays)]
    f_map1 = f_map2 = f_map3 = f_map4 = f_map5 = f_map

    def fold(self, op, xs):
        v = op.value(self)
        for x in xs:
            self.step()
            v = op.fn(v, x)
        return v

    def f_reduce(self, n, op, xs):
        return self.fold(op, xs)
    f_reduce_comm = f_reduce

    def f_redomap(self, n, op, f, xs):
        return self.fold(op, [f(x) for x in xs])

    def f_scan(self, n, op, xs):
        out, v = [], op.value(self)
        for x in xs:
            self.step()
            v = op.fn(v, x)
            out.append(v)
        return out

    def f_scanomap(self, n, op, f, xs):
        return self.f_scan(n, op, [f(x) for x in xs])

    def f_filter(self, n, f, xs):
        return [x for x in xs if f(x)]

    def f_partition(self, n, f, xs):
        yes = [f(x) for x in xs]
        return [x for x, y in zip(xs, yes) if y], [x for x, y in zip(xs, yes) if not y]

    def f_all(self, n, f, xs):
        return all([f(x) for x in xs])

    def f_any(self, n, f, xs):
        return any([f(x) for x in xs])

    def f_and(self, n, xs):
        return all(xs)

    def f_or(self, n, xs):
        return any(xs)

    def f_foldl(self, n, f, v, xs):
        for x in xs:
            v = f(v, x)
        return v

    def f_foldr(self, n, f, v, xs):
        for x in reversed(xs):
            v = f(x, v)
        return v

    def sized(self, n, *dims):
        """Sizes of an array that is made; what cannot be counted in bytes is too large (see gen_programs.bad_size)."""
        if any(k < 0 for k in dims):
            self.fail("negative size", n)
        if math.prod(dims) > 1 << 60:
            self.fail("too large", n)
        self.step(math.prod(dims))

    def f_iota(self, n, k):
        self.sized(n, k)
        return list(range(k))

    def f_indices(self, n, xs):
        return list(range(len(xs)))

    def f_replicate(self, n, k, v):
        self.sized(n, k)
        return [v] * k

    def f_tabulate(self, n, k, f):
        self.sized(n, k)
        return [f(i) for i in range(k)]

    def f_tabulate_2d(self, n, k, m, f):
        self.sized(n, k, m)
        return [[f(i, j) for j in range(m)] for i in range(k)]

    def f_rotate(self, n, r, xs):
        k = r % len(xs) if xs else 0
        return xs[k:] + xs[:k]

    def f_reverse(self, n, xs):
        return xs[::-1]

    def f_transpose(self, n, xss):
        return [[r[j] for r in xss] for j in range(self.dim(n.ty[1]))]

    def f_copy(self, n, v):
        return v

    def f_concat(self, n, *xs):
        return [e for x in xs for e in x]

    def f_take(self, n, k, xs):
        return xs[:k]

    def f_drop(self, n, k, xs):
        return xs[k:]

    def f_flatten(self, n, xss):
        return [e for r in xss for e in r]

    def f_length(self, n, xs):
        return len(xs)

    def f_zip(self, n, *xs):
        return [tuple(t) for t in zip(*xs)]
    f_zip2 = f_zip3 = f_zip4 = f_zip

    def f_unzip(self, n, xs):
        return tuple([x[i] for x in xs] for i in range(len(n.ty) - 1))
    f_unzip2 = f_unzip3 = f_unzip

    def f_sum(self, n, xs):
        return wrap(n.ty, sum(xs))

    def f_product(self, n, xs):
        v = 1
        for x in xs:
            v = wrap(n.ty, v * x)
        return v

    def f_minimum(self, n, xs):
        return min(list(xs) + [limits(n.ty)[1]])

    def f_maximum(self, n, xs):
        return max(list(xs) + [limits(n.ty)[0]])

    def f_scatter(self, n, dest, at, vs):
        out = list(dest)
        for i, v in zip(at, vs):
            if 0 <= i < len(out):
                out[i] = v
        return out

    def f_scatter_2d(self, n, dest, at, vs):
        out = [list(r) for r in dest]
        for (i, j), v in zip(at, vs):
            if 0 <= i < len(out) and 0 <= j < len(out[i]):
                out[i][j] = v
        return out

    def f_reduce_by_index(self, n, dest, op, at, vs):
        out = list(dest)
        for i, v in zip(at, vs):
            self.step()
            if 0 <= i < len(out):
                out[i] = op.fn(out[i], v)
        return out

    def f_reduce_by_index_2d(self, n, dest, op, at, vs):
        for i, v in zip(at, vs):
            self.step()
            dest = self.combine(dest, op, i, v)
        return dest
    f_reduce_by_index_3d = f_reduce_by_index_2d

    def combine(self, dest, op, at, v):
        """dest with v combined into the place `at`; dest if there is no such place."""
        if not at:
            return op.fn(dest, v)
        if not 0 <= at[0] < len(dest):
            return dest
        return dest[:at[0]] + [self.combine(dest[at[0]], op, at[1:], v)] + dest[at[0] + 1:]

    def f_hist(self, n, op, k, at, vs):
        return self.f_reduce_by_index(n, [op.value(self)] * k, op, at, vs)

    def f_rearrange(self, n, perm, xs):
        def at(v, idx):
            for i in idx:
                v = v[i]
            return v
        dims, t = [], n.ty
        for _ in perm:
            dims.append(self.dim(t[1]))
            t = t[2]

        def build(done):
            d = len(done)
            if d == len(perm):
                src = [0] * d
                for k, p in enumerate(perm):
                    src[p] = done[k]
                return at(xs, src)
            return [build(done + [i]) for i in range(dims[d])]
        return build([])

    # Helpers of library.py; a container is what it holds
    def f_sized_from(self, n, x):
        return x
    f_boxed_from = f_sized_to = f_boxed_to = f_sized_from

    def f_sized_join(self, n, x, y):
        return x + y

    def f_boxed_over(self, n, f, x):
        return f(x)

    def f_boxed_both(self, n, x, y):
        return x, y
    f_sized_over, f_sized_both = f_map, f_zip

    def f_twice(self, n, f, x):
        return f(f(x))

    def f_apply(self, n, f, x):
        return f(x)

    def f_both(self, n, f, g, x):
        return f(x), g(x)

    def f_mapi(self, n, f, xs):
        return [f(i, x) for i, x in enumerate(xs)]

    def f_swap(self, n, p):
        return p[1], p[0]

    def f_times(self, n, k, f, x):
        for _ in range(k):
            x = f(x)
        return x

    def f_pick(self, n, c, x, y):
        return x if c else y

    def f_outer(self, n, f, xs, ys):
        return [[f(x, y) for y in ys] for x in xs]

    def f_along(self, n, f, xss):
        return self.f_transpose(n, [f(r) for r in self._cols(xss, n)])

    def _cols(self, xss, n):
        return [[r[j] for r in xss] for j in range(self.dim(n.ty[2][1]))]
