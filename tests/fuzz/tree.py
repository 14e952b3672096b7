"""Programs of the fuzzer: types, typed trees, their text.

Types are scalar names, ("arr", size, type), ("tup", type...), ("rec", (field, type)...), ("fun",). A size is a
number or the name of an i64 variable. Every bound name of a program is unique, so that trees can be moved about.

A node has an operation, a type, kids and extra data x:
  lit x=value          var x=name          bin x=operator       neg, not
  call x=function      the kids are arguments; `minifut` knows the function, or a definition of the program has it
  sec x=operator       the operator as a function
  lam x=[pattern]      kids: body
  let x=pattern        kids: value, body
  letk x=(size, pattern)   let [size] pattern = value in body
  letfun x=(name, [pattern])  kids: the function's body, body
  if, tuple, record, proj x=index, field x=name, index (array, index...)
  slice x=text with {} for kids, with, colwith (array, column, values), arrlit
  sub x=[form], set x=[form]   kids: array, expressions of the forms (see gen_updates.py), for set: value
  letset x=(name, [form])      let name = kid 0 let name[...] = kid -2 in kid -1
  recwith x=(field...)         kids: record, value
  loop x=Loop          kids: initial value, bound | array | condition, body
  cast                 value :> type;  asc: value : type
  assert               kids: condition, value
  perm x=(dimension...) of rearrange
  op x=Op              an operator with its neutral element; shrinking does not look inside
Patterns: ("v", name, type, annotate) or ("t", [pattern])."""

SIGNED = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
UNSIGNED = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}
INTS = {**SIGNED, **UNSIGNED}
FLOATS = ("f32", "f64")
SCALARS = tuple(INTS) + FLOATS + ("bool",)


class N:
    """A node."""
    __slots__ = ("op", "ty", "kids", "x")

    def __init__(self, op, ty, kids=(), x=None):
        self.op, self.ty, self.kids, self.x = op, ty, list(kids), x

    def size(self):
        return 1 + sum(k.size() for k in self.kids)


class Loop:
    """form: for (var < kid 1), in (var in kid 1), while (kid 1); sizes: names of sizes that vary."""

    def __init__(self, form, pat, var, sizes=()):
        self.form, self.pat, self.var, self.sizes = form, pat, var, sizes


class Op:
    """An associative operator: its text, the neutral element's text, what it does in Python, both."""

    def __init__(self, text, neutral, fn, value, comm):
        self.text, self.neutral, self.fn, self.value, self.comm = text, neutral, fn, value, comm


class Def:
    """A function or an entry: size parameters, patterns, body; generic: types that are made parameters."""

    def __init__(self, name, sizes, params, body, entry=False, show_result=True):
        self.name, self.sizes, self.params, self.body = name, sizes, params, body
        self.entry, self.show_result = entry, show_result


class Program:
    """Definitions; inputs: [(entry point, {size: number}, values of its parameters)]."""

    def __init__(self, defs, inputs, fails=False):
        self.defs, self.inputs, self.fails = defs, inputs, fails


def arr(d, t):
    return ("arr", d, t)


def is_arr(t):
    return t[0] == "arr"


def is_scalar(t):
    return isinstance(t, str)


def tup(*ts):
    return ("tup",) + ts


def row(t):
    return t[2]


def type_text(t):
    if is_scalar(t):
        return t
    if is_arr(t):
        return f"[{t[1]}]{type_text(t[2])}"
    if t[0] == "tup":
        return "(" + ", ".join(map(type_text, t[1:])) + ")"
    return "{" + ", ".join(f"{f}: {type_text(u)}" for f, u in t[1:]) + "}"


def type_sizes(t):
    """Names of sizes in a type."""
    if is_scalar(t) or t == ("fun",):
        return set()
    if is_arr(t):
        return ({t[1]} if isinstance(t[1], str) else set()) | type_sizes(t[2])
    parts = t[1:] if t[0] == "tup" else [u for _, u in t[1:]]
    return set().union(*map(type_sizes, parts)) if parts else set()


def pat_names(p):
    return [p[1]] if p[0] == "v" else [n for q in p[1] for n in pat_names(q)]


def pat_vars(p):
    return [(p[1], p[2])] if p[0] == "v" else [v for q in p[1] for v in pat_vars(q)]


def pat_text(p):
    if p[0] == "t":
        return "(" + ", ".join(map(pat_text, p[1])) + ")"
    return f"({p[1]}: {type_text(p[2])})" if p[3] else p[1]


def pat_sizes(p):
    if p[0] == "t":
        return set().union(*map(pat_sizes, p[1]))
    return type_sizes(p[2]) if p[3] else set()


def bound_in(n):
    """For each kid the names that n binds in it."""
    none = [set() for _ in n.kids]
    if n.op == "lam":
        return [set(x for p in n.x for x in pat_names(p))]
    if n.op == "let":
        return [set(), set(pat_names(n.x))]
    if n.op == "letk":
        return [set(), {n.x[0]} | set(pat_names(n.x[1]))]
    if n.op == "letfun":
        return [set(x for p in n.x[1] for x in pat_names(p)), {n.x[0]}]
    if n.op == "loop":
        names, var = set(pat_names(n.x.pat)) | set(n.x.sizes), {n.x.var} - {None}
        return [set(), names if n.x.form == "while" else set(), names | var]
    if n.op == "letset":
        return [set()] + [{n.x[0]} for _ in n.kids[1:]]
    return none


def free(n):
    """Free names of a tree: variables, sizes in its text, functions of the program."""
    out = set()
    if n.op == "var":
        out.add(n.x)
    elif n.op == "call":
        out.add(n.x)
    elif n.op in ("cast", "asc"):
        out |= type_sizes(n.ty)
    elif n.op == "op":
        out |= type_sizes(n.ty)
    elif n.op == "lam":
        for p in n.x:
            out |= pat_sizes(p)
    elif n.op == "let":
        out |= pat_sizes(n.x)
    elif n.op == "letfun":
        for p in n.x[1]:
            out |= pat_sizes(p)
    elif n.op == "loop":
        out |= pat_sizes(n.x.pat) - set(n.x.sizes)
    for k, names in zip(n.kids, bound_in(n)):
        out |= free(k) - names
    return out - (set(sum((pat_names(p) for p in n.x), [])) if n.op == "lam" else set())


def lit_text(t, v):
    if t == "bool":
        return "true" if v else "false"
    if t in FLOATS:
        s = repr(float(v))
        return f"({s}{t})" if v < 0 else f"{s}{t}"
    if v < 0 and v == -(1 << (INTS[t] - 1)):
        return f"{t}.lowest"
    return f"({v}{t})" if v < 0 else f"{v}{t}"


ATOMIC = {"lit", "var", "tuple", "record", "proj", "field", "index", "slice", "sub", "arrlit", "sec", "perm"}


def forms_text(forms, kids):
    """What stands between the brackets: each letter of a form is an expression."""
    at, out = iter(kids), []
    for f in forms:
        out.append("".join(next(at) if c in "iabs" else c for c in f))
    return ", ".join(out)


def text(n, ind="  "):
    """The text of an expression."""
    def t(k):
        return text(k, ind)

    def a(k):
        return t(k) if k.op in ATOMIC or (k.op == "call" and not k.kids) else "(" + t(k) + ")"
    op, k, x = n.op, n.kids, n.x
    more = ind + "  "
    if op == "lit":
        return lit_text(n.ty, x)
    if op == "var":
        return x
    if op == "bin":
        return f"{a(k[0])} {x} {a(k[1])}"
    if op == "neg":
        return "-" + a(k[0])
    if op == "not":
        return "!" + a(k[0])
    if op == "sec":
        return f"({x})"
    if op == "op":
        return f"{x.text} {x.neutral}"
    if op == "perm":
        return "(" + ", ".join(map(str, x)) + ")"
    if op == "call":
        if x in ("redomap", "scanomap"):
            return f"{x} {k[0].x.text} {a(k[1])} {k[0].x.neutral} {a(k[2])}"
        args = []
        for kid in k:
            args.append(t(kid) if kid.op == "op" else a(kid))
        return " ".join([x] + args)
    if op == "lam":
        return "\\" + " ".join(map(pat_text, x)) + " -> " + text(k[0], more)
    if op == "let":
        return f"let {pat_text(x)} = {text(k[0], more)}\n{ind}in {t(k[1])}"
    if op == "letk":
        return f"let [{x[0]}] {pat_text(x[1])} = {text(k[0], more)}\n{ind}in {t(k[1])}"
    if op == "letfun":
        return f"let {x[0]} {' '.join(map(pat_text, x[1]))} = {text(k[0], more)}\n{ind}in {t(k[1])}"
    if op == "if":
        return f"if {t(k[0])}\n{more}then {text(k[1], more)}\n{more}else {text(k[2], more)}"
    if op == "tuple":
        return "(" + ", ".join(map(t, k)) + ")"
    if op == "record":
        return "{" + ", ".join(f"{f} = {t(e)}" for (f, _), e in zip(n.ty[1:], k)) + "}"
    if op in ("proj", "field"):
        return f"{a(k[0])}.{x}"
    if op == "index":
        return f"{a(k[0])}[{', '.join(t(i) for i in k[1:])}]"
    if op == "slice":
        return a(k[0]) + "[" + x.format(*[a(i) for i in k[1:]]) + "]"
    if op == "with":
        return f"{a(k[0])} with [{', '.join(t(i) for i in k[1:-1])}] = {a(k[-1])}"
    if op == "sub":
        return f"{a(k[0])}[{forms_text(x, map(a, k[1:]))}]"
    if op == "set":
        return f"{a(k[0])} with [{forms_text(x, map(a, k[1:-1]))}] = {a(k[-1])}"
    if op == "letset":
        return (f"let {x[0]} = {text(k[0], more)}\n{ind}let {x[0]}[{forms_text(x[1], map(a, k[1:-2]))}] = "
                f"{text(k[-2], more)}\n{ind}in {t(k[-1])}")
    if op == "recwith":
        return f"{a(k[0])} with {'.'.join(x)} = {a(k[1])}"
    if op == "colwith":
        return f"{a(k[0])} with [:, {t(k[1])}] = {a(k[2])}"
    if op == "arrlit":
        return "[" + ", ".join(map(t, k)) + "]"
    if op == "loop":
        sizes = "".join(f"[{s}] " for s in x.sizes)
        head = f"loop {sizes}{pat_text(x.pat)} = {t(k[0])}\n{more}"
        if x.form == "for":
            head += f"for {x.var} < {a(k[1])} do"
        elif x.form == "in":
            head += f"for {x.var} in {a(k[1])} do"
        else:
            head += f"while {t(k[1])} do"
        return head + " " + text(k[2], more)
    if op == "cast":
        return f"{a(k[0])} :> {type_text(n.ty)}"
    if op == "asc":
        return f"{a(k[0])} : {type_text(n.ty)}"
    if op == "assert":
        return f"assert ({t(k[0])}) {a(k[1])}"
    raise ValueError(op)


def def_text(d):
    sizes = "".join(f" [{s}]" for s in d.sizes)
    params = "".join(" " + pat_text(p) for p in d.params)
    result = f" : {type_text(d.body.ty)}" if d.show_result else ""
    return f"{'entry' if d.entry else 'def'} {d.name}{sizes}{params}{result} =\n  {text(d.body)}\n"


def used_names(n, out):
    if n.op == "call":
        out.add(n.x)
    for k in n.kids:
        used_names(k, out)
    return out


# --- values -------------------------------------------------------------------------------------

def leaves(t, v, dims=()):
    """(scalar type, dims, value) of each leaf: an array of tuples is a tuple of arrays. dims: numbers or names."""
    if is_scalar(t):
        return [(t, dims, v)]
    if is_arr(t):
        return leaves(t[2], v, dims + (t[1],))

    def part(v, k, depth):
        return v[k] if depth == 0 else [part(e, k, depth - 1) for e in v]
    out = []
    parts = t[1:] if t[0] == "tup" else [u for _, u in t[1:]]
    for k, u in enumerate(parts):
        out += leaves(u, part(v, k, len(dims)), dims)
    return out


def value_text(t, dims, v):
    """A leaf in the data format."""
    if 0 in dims:
        return "empty(" + "".join(f"[{d}]" for d in dims) + t + ")"

    def go(v, depth):
        if depth:
            return "[" + ", ".join(go(e, depth - 1) for e in v) + "]"
        if t == "bool":
            return "true" if v else "false"
        if t in FLOATS:
            return f"{float(v)!r}{t}"
        return f"{v}{t}"
    return go(v, len(dims))
