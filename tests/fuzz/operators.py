"""Associative operators with their neutral elements, for reductions, scans and histograms."""
from oracle import limits, wrap
from tree import FLOATS, INTS, Op, dim_text, has_abstract, is_arr, is_scalar, parts, row, type_text


def none(t):
    return None


def operator(r, t, sums=False, small=lambda size: False, own=none):
    """A random operator on type t, or None. sums: + only; small: may something be done for each pair of elements? own:
    the operator of an abstract type."""
    if is_scalar(t):
        return scalar(r, t, sums)
    if t[0] == "abs":
        return own(t)
    if t[0] == "sum":
        return on_sums(r, t, sums, own)
    if is_arr(t):
        if row(t) in INTS and not sums and r.random() < 0.25:
            return on_rows(r, t, small(t[1]))
        inner = operator(r, row(t), sums, own=own)
        if inner is None or not is_scalar(row(t)):
            return None
        size = t[1]

        def value(ev):
            return [inner.value(ev)] * ev.dim(size)
        return Op(f"(\\xs ys -> map2 {inner.text} xs ys)" if r.random() < 0.5 else f"(map2 {inner.text})",
                  f"(replicate {dim_text(size)} {inner.neutral})",
                  lambda a, b: [inner.fn(x, y) for x, y in zip(a, b)], value, inner.comm)
    if t[0] == "tup" and r.random() < 0.4:
        special = on_pairs(r, t)
        if special:
            return special
    return on_parts(r, t, sums, own)


def scalar(r, t, sums):
    if t == "bool":
        text, neutral, fn = r.choice([("(&&)", True, lambda a, b: a and b), ("(||)", False, lambda a, b: a or b),
                                      ("(!=)", False, lambda a, b: a != b)])
        return Op(text, "true" if neutral else "false", fn, lambda ev: neutral, True)
    if t in FLOATS:
        if sums:
            return Op("(+)", f"0{t}", lambda a, b: wrap(t, a + b), lambda ev: 0.0, True)
        k = r.choice(["min", "max"])
        inf = float("inf") if k == "min" else -float("inf")
        return Op(f"{t}.{k}", f"{t}.inf" if k == "min" else f"(-{t}.inf)",
                  min if k == "min" else max, lambda ev: inf, True)
    lo, hi = limits(t)
    ones = -1 if lo < 0 else hi
    k = r.choice(["+", "+", "*", "min", "max", "&", "|", "^", "lam+", "first"]) if not sums else "+"
    if k == "first":  # the last element that is not 0: associative, not commutative
        return Op(f"(\\x y -> if y != 0{t} then y else x)", f"0{t}",
                  lambda a, b: b if b != 0 else a, lambda ev: 0, False)
    if k in ("min", "max"):
        return Op(f"{t}.{k}", f"{t}.{'highest' if k == 'min' else 'lowest'}", min if k == "min" else max,
                  lambda ev: hi if k == "min" else lo, True)
    neutral = {"+": 0, "lam+": 0, "*": 1, "&": ones, "|": 0, "^": 0}[k]
    fn = {"+": lambda a, b: wrap(t, a + b), "*": lambda a, b: wrap(t, a * b), "&": lambda a, b: a & b,
          "|": lambda a, b: a | b, "^": lambda a, b: a ^ b}[k.replace("lam", "")]
    text = f"(\\x (y: {t}) -> x + y)" if k == "lam+" else f"({k})"
    return Op(text, f"({neutral}{t})" if neutral < 0 else f"{neutral}{t}", fn, lambda ev: neutral, True)


def on_pairs(r, t):
    """Operators that need both components."""
    if len(t) != 3 or not is_scalar(t[1]) or not is_scalar(t[2]):
        return None
    a, b = t[1], t[2]
    if a in INTS and b == a and r.random() < 0.4:  # product of complex numbers
        return Op("(\\(a1, b1) (a2, b2) -> (a1 * a2 - b1 * b2, a1 * b2 + b1 * a2))", f"(1{a}, 0{a})",
                  lambda p, q: (wrap(a, p[0] * q[0] - p[1] * q[1]), wrap(a, p[0] * q[1] + p[1] * q[0])),
                  lambda ev: (1, 0), True)
    if a in INTS and b in INTS and r.random() < 0.4:  # the least, how often
        most = limits(a)[1]
        return Op("(\\(v1, c1) (v2, c2) -> if v1 == v2 then (v1, c1 + c2) else if v1 < v2 then (v1, c1) else (v2, c2))",
                  f"({a}.highest, 0{b})",
                  lambda p, q: (p[0], wrap(b, p[1] + q[1])) if p[0] == q[0] else p if p[0] < q[0] else q,
                  lambda ev: (most, 0), True)
    if a in INTS and b == a and r.random() < 0.6:  # composition of linear functions
        return Op("(\\(a1, b1) (a2, b2) -> (a1 * a2, a2 * b1 + b2))", f"(1{a}, 0{a})",
                  lambda p, q: (wrap(a, p[0] * q[0]), wrap(a, q[0] * p[1] + q[1])), lambda ev: (1, 0), False)
    if a == "bool" and b in INTS:  # segmented sum
        return Op("(\\(f1, v1) (f2, v2) -> (f1 || f2, if f2 then v2 else v1 + v2))", f"(false, 0{b})",
                  lambda p, q: (p[0] or q[0], q[1] if q[0] else wrap(b, p[1] + q[1])), lambda ev: (False, 0), False)
    if a in INTS and b in INTS:  # the greatest, the first of several
        lo, hi = limits(a)[0], limits(b)[1]
        return Op("(\\(v1, i1) (v2, i2) -> if v1 > v2 || (v1 == v2 && i1 <= i2) then (v1, i1) else (v2, i2))",
                  f"({a}.lowest, {b}.highest)",
                  lambda p, q: p if p[0] > q[0] or (p[0] == q[0] and p[1] <= q[1]) else q, lambda ev: (lo, hi), True)
    return None


def on_rows(r, t, small):
    """Operators on arrays of integers that are no map over the elements; both commute."""
    size, u = t[1], row(t)
    if small and r.random() < 0.6:  # product of polynomials modulo x^size - 1

        def product(p, q):
            n = len(p)
            return [wrap(u, sum(p[j] * q[(i - j) % n] for j in range(n))) for i in range(n)]
        if r.random() < 0.5:
            inner = "loop s = 0{u} for j < {n} do s + xs[j] * ys[(i - j) % {n}]"
        else:
            inner = "reduce (+) 0{u} (map (\\j -> xs[j] * ys[(i - j) % {n}]) (iota {n}))"
        return Op(f"(\\xs ys -> tabulate {dim_text(size)} (\\i -> {inner.format(u=u, n=dim_text(size))}))",
                  f"(tabulate {dim_text(size)} (\\i -> {u}.bool (i == 0)))", product,
                  lambda ev: [int(i == 0) for i in range(ev.dim(size))], True)
    # the greater one, as words in a lexicon
    return Op(f"(\\(xs: [{dim_text(size)}]{u}) (ys: [{dim_text(size)}]{u}) -> let c = loop c = 0i32 for i < {dim_text(size)} do if c != 0 then c else if xs[i] > ys[i] then 1 else "
              "if xs[i] < ys[i] then -1 else 0 in if c >= 0 then xs else ys)", f"(replicate {dim_text(size)} {u}.lowest)",
              max, lambda ev: [limits(u)[0]] * ev.dim(size), True)


def on_sums(r, t, sums, own):
    """Of constructors in some order: the product of the values with the last one; or the last that is not nothing."""
    order, whole = r.sample(t[4], len(t[4])), type_text(t)
    order.sort(key=lambda c: bool(c[1]))
    nothing = order[0][0] if not order[0][1] else None
    ops = {c: [operator(r, u, sums, own=own) for u in us] for c, us in order}
    if nothing and (r.random() < 0.25 or any(None in os for os in ops.values())):
        return Op(f"(\\x (y: {whole}) -> match y case #{nothing} -> x case _ -> y)" if r.random() < 0.5 or has_abstract(t) else
                  f"(\\(x: {whole}) y -> if y == #{nothing} then x else y)", f"(#{nothing} : {whole})",
                  lambda p, q: p if q[0] == nothing else q, lambda ev: (nothing,), len(order) == 1)
    if any(None in os for os in ops.values()):
        return None
    rank = {c: i for i, (c, _) in enumerate(order)}

    def fn(p, q):
        if p[0] != q[0]:
            return max(p, q, key=lambda v: rank[v[0]])
        return (p[0], *[o.fn(a, b) for o, a, b in zip(ops[p[0]], p[1:], q[1:])])

    def con(c, args):
        return " ".join(["#" + c] + list(args))
    cases = []
    for c, us in reversed(order):
        xs, ys = [f"x{i}" for i in range(len(us))], [f"y{i}" for i in range(len(us))]
        both = con(c, [f"({o.text} {a} {b})" for o, a, b in zip(ops[c], xs, ys)])
        cases.append(f"case ({con(c, xs)}, {con(c, ys)}) -> {both}")
        if rank[c]:
            cases += [f"case ({con(c, ['_'] * len(us))}, _) -> x", f"case (_, {con(c, ['_'] * len(us))}) -> y"]
    first = order[0][0]
    neutral = con(first, [o.neutral if o.neutral[0] == "(" or " " not in o.neutral else f"({o.neutral})" for o in ops[first]])
    return Op(f"(\\(x: {whole}) (y: {whole}) : {whole} -> match (x, y) {' '.join(cases)})", f"({neutral} : {whole})",
              fn, lambda ev: (first, *[o.value(ev) for o in ops[first]]), all(o.comm for os in ops.values() for o in os))


def on_parts(r, t, sums, own):
    """Component by component."""
    fields = None if t[0] == "tup" else [f for f, _ in t[1:]]
    ops = [operator(r, u, sums, own=own) for u in parts(t)]
    if any(o is None for o in ops):
        return None

    def fn(p, q):
        return tuple(o.fn(x, y) for o, x, y in zip(ops, p, q))

    def value(ev):
        return tuple(o.value(ev) for o in ops)
    if fields:
        inner = ", ".join(f"{f} = {o.text} x.{f} y.{f}" for f, o in zip(fields, ops))
        text = f"(\\(x: {type_text(t)}) (y: {type_text(t)}) -> {{{inner}}})"
        neutral = "{" + ", ".join(f"{f} = {o.neutral}" for f, o in zip(fields, ops)) + "}"
    else:
        xs, ys = [f"x{i}" for i in range(len(ops))], [f"y{i}" for i in range(len(ops))]
        inner = ", ".join(f"{o.text} {x} {y}" for o, x, y in zip(ops, xs, ys))
        text = f"(\\({', '.join(xs)}) ({', '.join(ys)}) -> ({inner}))"
        neutral = "(" + ", ".join(o.neutral for o in ops) + ")"
    return Op(text, neutral, fn, value, all(o.comm for o in ops))
