"""Makes a failing program smaller while it fails in the same way.

Each step offers a list of smaller programs; the first that still fails replaces the program. Steps: fewer results,
a subtree by one of its own subtrees of the same type or by a plain value, a definition that is not used, a module by its
members, an application by what it comes to, a specification that nobody needs, fewer parameters, smaller inputs."""
import time

from modules import Apply, Flat, Module, Open, Sig, Text
from oracle import limits, wrap
from tree import (FLOATS, Def, N, Program, bound_in, free, is_arr, is_scalar, parts, pat_names, pat_vars, row, tup,
                  type_sizes)


def default(t):
    """The plainest value of a type."""
    if is_scalar(t):
        return N("lit", t, x=False if t == "bool" else 0.0 if t in FLOATS else 0)
    if is_arr(t):
        size = N("lit", "i64", x=t[1]) if isinstance(t[1], int) else N("var", "i64", x=t[1])
        return N("call", t, [size, default(row(t))], "replicate")
    if t[0] == "sum":
        c, us = min(t[4], key=lambda c: len(str(c[1])))
        return N("con", t, [default(u) for u in us], (c, True))
    if t[0] == "abs":
        made = N("call", t, [default(u) for u in t[3][1]], t[3][0])
        return made if made.kids else N("call", t, [made], "copy")
    return N("tuple" if t[0] == "tup" else "record", t, [default(u) for u in parts(t)])


def replace(n, path, new):
    """The tree with `new` at path."""
    if not path:
        return new
    kids = list(n.kids)
    kids[path[0]] = replace(kids[path[0]], path[1:], new)
    ty = n.ty
    if n.op in ("let", "letk", "letfun"):
        ty = kids[1].ty
    return N(n.op, ty, kids, n.x)


def paths(n, at=(), bound=frozenset()):
    """(path, node, names bound above), outermost first."""
    yield at, n, bound
    for k, (kid, names) in enumerate(zip(n.kids, bound_in(n))):
        yield from paths(kid, at + (k,), bound | names)


def descendants(n, t):
    """Subtrees of type t, largest first, that use no name bound between n and them."""
    out = []
    for at, m, bound in paths(n):
        if at and m.ty == t and m.op not in ("lam", "op", "sec", "perm") and not (free(m) & bound):
            out.append(m)
    return sorted(out, key=lambda m: -m.size())


def smaller(n):
    """Smaller trees of the type of n."""
    if n.op in ("lam", "op", "sec", "perm"):
        return
    if n.op == "let" and not (free(n.kids[1]) & set(pat_names(n.x))):
        yield n.kids[1]
    if n.op == "letfun" and n.x[0] not in free(n.kids[1]):
        yield n.kids[1]
    if n.op == "letk" and not (free(n.kids[1]) & ({n.x[0]} | set(
        pat_names(n.x[1])))) and n.x[0] not in type_sizes(n.kids[1].ty):
        yield n.kids[1]
    if n.op == "letk" and is_arr(n.kids[0].ty):  # the array may have another size
        for at, m, bound in paths(n.kids[0]):
            if at and not is_scalar(m.ty) and is_arr(m.ty) and row(m.ty) == row(n.kids[0].ty) and not free(m) & bound:
                yield N("letk", n.ty, [m, n.kids[1]], n.x)
    if n.op == "match":
        yield from smaller_match(n)
    if n.op == "letset":  # without the update
        yield N("let", n.ty, [n.kids[0], n.kids[-1]], ("v", n.x[0], n.kids[0].ty, False))
    plain = default(n.ty) if n.ty != ("fun",) else None
    if plain and n.op not in ("lit",) and n.size() > plain.size():
        yield plain
    for m in descendants(n, n.ty)[:12]:
        yield m
    if n.op == "lit" and n.ty not in ("bool",) and n.x not in (0, 1):
        yield N("lit", n.ty, x=type(n.x)(0))
        yield N("lit", n.ty, x=type(n.x)(1))
    if n.op == "lit" and n.x == 1 and n.ty != "bool":
        yield N("lit", n.ty, x=type(n.x)(0))


def smaller_match(n):
    """One of the results, or fewer cases."""
    for p, e in zip(n.x, n.kids[1:]):
        if not free(e) & set(pat_names(p)):
            yield e
    for k in range(len(n.x) - 1):
        if not free(n.kids[1 + k]) & set(pat_names(n.x[k])):
            yield N("match", n.ty, n.kids[:k + 2], n.x[:k] + [("_",)])


def with_items(p, items):
    return Program(items, p.inputs, p.fails)


def changed(items, change):
    """The items with one of them, perhaps in a module, replaced by each list that change gives for it."""
    for i, it in enumerate(items):
        for new in change(it):
            yield items[:i] + new + items[i + 1:]
        if isinstance(it, Module):
            for inner in changed(it.items, change):
                yield items[:i] + [it.with_items(inner)] + items[i + 1:]


def with_entry(p, d, inputs=None):
    return Program([d if isinstance(q, Def) and q.name == d.name else q for q in p.items], inputs or p.inputs, p.fails)


def fewer_entries(p):
    entries = p.entries()
    for d in entries if len(entries) > 1 else []:
        yield Program([q for q in p.items if q is not d], [i for i in p.inputs if i[0] != d.name], p.fails)


def fewer_results(p):
    """The entries with some of their results only."""
    for d in p.entries():
        yield from results_of(p, d)


def results_of(p, d):
    path, n = (), d.body
    while n.op in ("let", "letk", "letfun"):
        path, n = path + (1,), n.kids[1]
    if n.op != "tuple":
        return
    for k in range(len(n.kids)):
        rest = [m for j, m in enumerate(n.kids) if j != k]
        new = rest[0] if len(rest) == 1 else N("tuple", tup(*[m.ty for m in rest]), rest)
        yield with_entry(p, Def(d.name, d.sizes, d.params, retype(replace(d.body, path, new)), True, d.show_result))


def retype(n):
    """A chain of definitions with the type of its end."""
    if n.op in ("let", "letk", "letfun"):
        body = retype(n.kids[1])
        return N(n.op, body.ty, [n.kids[0], body], n.x)
    return n


def result_parts(p):
    """Instead of the results: one of the definitions."""
    for d in p.entries():
        yield from parts_of(p, d)


def parts_of(p, d):
    chain, n, path = [], d.body, ()
    while n.op in ("let", "letk", "letfun"):
        if n.op == "let" and n.x[0] == "v":
            chain.append((path, n))
        path, n = path + (1,), n.kids[1]
    for at, m in chain:
        v = N("var", m.x[2], x=m.x[1])
        new = N("let", v.ty, [m.kids[0], v], m.x)
        yield with_entry(p, Def(d.name, d.sizes, d.params, retype(replace(d.body, at, new)), True, d.show_result))


def fewer_parameters(p):
    for d in p.entries():
        yield from parameters_of(p, d)


def parameters_of(p, d):
    used = free(d.body)
    for k, q in enumerate(d.params):
        if set(pat_names(q)) & used:
            continue
        params = d.params[:k] + d.params[k + 1:]
        sizes = set().union(set(), *[type_sizes(t) for r in params for _, t in pat_vars(r)])
        if (used | type_sizes(d.body.ty)) & set(d.sizes) - sizes:
            continue
        inputs = [(e, {s: v for s, v in sz.items() if s in sizes}, vs[:k] + vs[k + 1:]) if e == d.name else (e, sz, vs)
                  for e, sz, vs in p.inputs]
        yield with_entry(p, Def(d.name, [s for s in d.sizes if s in sizes], params, d.body, True, d.show_result), inputs)


def cut(t, v, size, k):
    """A value with its arrays of that size cut to k elements."""
    if is_scalar(t):
        return v
    if is_arr(t):
        v = v[:k] if t[1] == size else v
        return [cut(row(t), e, size, k) for e in v]
    return tuple(cut(u, w, size, k) for u, w in zip(t[1:] if t[0] == "tup" else [u for _, u in t[1:]], v))


def plain_value(t, v):
    if is_scalar(t):
        return False if t == "bool" else 0.0 if t in FLOATS else 0 if v in (0, 1) else 1
    if is_arr(t):
        return [plain_value(row(t), e) for e in v]
    return tuple(plain_value(u, w) for u, w in zip(t[1:] if t[0] == "tup" else [u for _, u in t[1:]], v))


def smaller_inputs(p):
    if len(p.inputs) > 1:
        for one in p.inputs:
            yield Program(p.items, [one], p.fails)
        return
    name, sizes, values = p.inputs[0]
    d = next(d for d in p.entries() if d.name == name)
    types = [t for q in d.params for _, t in pat_vars(q)]
    for s, n in sizes.items():
        for k in sorted({0, 1, 2, n // 2, n - 1}):
            if 0 <= k < n:
                yield Program(p.items, [(name, {**sizes, s: k}, [cut(t, v, s, k) for t, v in zip(types, values)])], p.fails)
    for i, (t, v) in enumerate(zip(types, values)):
        w = plain_value(t, v)
        if w != v:
            yield Program(p.items, [(name, sizes, values[:i] + [w] + values[i + 1:])], p.fails)


def smaller_trees(p):
    def change(d):
        if isinstance(d, Def):
            for path, n, _ in paths(d.body):
                for m in smaller(n):
                    yield [d.with_body(replace(d.body, path, m))]
    for items in changed(p.items, change):
        yield with_items(p, items)


def reached(p):
    """Has every name a path?"""
    try:
        Text(p)
        return True
    except KeyError:
        return False


def fewer_definitions(p):
    """Without an item; longest runs first."""
    for k in (8, 3):
        for i in range(len(p.items) - k):
            q = with_items(p, [it for j, it in enumerate(p.items) if not i <= j < i + k or (isinstance(it, Def) and it.entry)])
            if len(q.items) + k == len(p.items) and reached(q):
                yield q

    def change(it):
        if not (isinstance(it, Def) and it.entry):
            yield []
    for items in changed(p.items, change):
        q = with_items(p, items)
        if reached(q):
            yield q


def plainer_modules(p):
    """A module by its members, or without what it says of them; an application by what it comes to."""
    def change(it):
        if isinstance(it, Module) and not it.params:
            yield [outside(x) for x in it.items if not isinstance(x, Open)]
        if isinstance(it, Module) and (it.sig or it.hidden):
            yield [Module(it.name, it.items, it.params, shown=it.shown)]
        if isinstance(it, Module) and it.how:
            yield [Module(it.name, it.items, it.params, it.sig, "", it.hidden, it.shown)]
        if isinstance(it, Apply):
            yield [Module(it.name, Flat(p, limits, wrap).written[it.name])]
    for items in changed(p.items, change):
        yield with_items(p, items)


def outside(x):
    """An item out of its module: under a name that no other has."""
    if isinstance(x, Def):
        return Def(x.name, x.sizes, x.params, x.body, False, x.show_result, x.name.replace(".", "_"))
    return type(x)(x.name, x.sizes, x.params, x.body, x.name.replace(".", "_")) if hasattr(x, "sizes") and "." in x.name else x


def fewer_specifications(p):
    """Module types with fewer members."""
    for sig in [it for it in p.items if isinstance(it, Sig)]:
        for k in range(len(sig.vals)):
            new = Sig(sig.name, sig.vals[:k] + sig.vals[k + 1:], sig.base)
            q = with_items(p, [with_sig(it, sig, new) for it in p.items])
            if reached(q):
                yield q


def with_sig(it, old, new):
    """An item with another module type."""
    if isinstance(it, Sig):
        return new if it is old else Sig(it.name, it.vals, new) if it.base is old else it
    if not isinstance(it, Module):
        return it
    return Module(it.name, [with_sig(x, old, new) for x in it.items], [(q, new if s is old else s) for q, s in it.params],
                  new if it.sig is old else it.sig, it.how, it.hidden, it.shown)


STEPS = [fewer_entries, smaller_inputs, result_parts, fewer_results, fewer_definitions, plainer_modules, smaller_trees,
         fewer_specifications, fewer_parameters]


def shrink(p, f, test, seconds):
    """The smallest program found in the time, with its finding. test(p): the finding of the same kind, or None."""
    end = time.time() + seconds
    again = test(p)
    if not again:
        return p, f  # not reproducible
    progress = True
    while progress and time.time() < end:
        progress = False
        for step in STEPS:
            found = True
            while found and time.time() < end:
                found = False
                for q in step(p):
                    if time.time() > end:
                        break
                    g = test(q)
                    if g:
                        p, f, found, progress = q, g, True, True
                        break
    return p, f
