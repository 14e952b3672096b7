"""Programs of the fuzzer: types, typed trees, their text.

Types are scalar names, ("arr", size, type), ("tup", type...), ("rec", (field, type)...), ("fun",), and
  ("sum", declared name or None, (size...), (type...), ((constructor, (type...))...))   with what its parameters are
  ("abs", name, type or None, maker, (size...), (type...))
                                        of a module: what it stands for if it is known, (function that makes one, its types)
  ("tv", name)                          a parameter of a declared type
A size is a number or the name of an i64 variable, or of a module's value n ("m1.n"). Every bound name of a program is unique, so that trees can be moved
about. In texts the names of definitions and declared types stand in «»: how they are reached, modules.py says.

A node has an operation, a type, kids and extra data x:
  lit x=value          var x=name          bin x=operator       neg, not
  call x=function      the kids are arguments; `minifut` knows the function, or a definition of the program has it
  sec x=operator       the operator as a function
  lam x=[pattern]      kids: body
  let x=pattern        kids: value, body
  letk x=(size, pattern)   let [size] pattern = value in body
  letfun x=(name, [pattern])  kids: the function's body, body
  if, tuple, record, proj x=index, field x=name, index (array, index...)
  range                kids: the first, the one behind the last
  slice x=text with {} for kids, with, colwith (array, column, values), arrlit
  sub x=[form], set x=[form]   kids: array, expressions of the forms (see gen_updates.py), for set: value
  letset x=(name, [form])      let name = kid 0 let name[...] = kid -2 in kid -1
  recwith x=(field...)         kids: record, value
  loop x=Loop          kids: initial value, bound | array | condition, body
  cast                 value :> type;  asc: value : type
  con x=(constructor, is its type said)   the kids are what it holds
  match x=[pattern]    kids: the value, the cases' results
  assert               kids: condition, value
  perm x=(dimension...) of rearrange
  op x=Op              an operator with its neutral element; shrinking does not look inside
  opcall, neutral      kids: op, operands; op
  within x=module      module.(kid)
Patterns: ("v", name, type, annotate), ("t", [pattern]), ("r", [(field, pattern)]), ("c", constructor, [pattern]),
("lit", type, value), ("_",), ("s", pattern, type that is said)."""
import re

SIGNED = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
UNSIGNED = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}
INTS = {**SIGNED, **UNSIGNED}
FLOATS = ("f16", "f32", "f64")
SCALARS = tuple(INTS) + FLOATS + ("bool",)


class N:
    """A node."""
    __slots__ = ("op", "ty", "kids", "x")

    def __init__(self, op, ty, kids=(), x=None):
        self.op, self.ty, self.kids, self.x = op, ty, list(kids), x

    def size(self):
        return 1 + sum(k.size() for k in self.kids)


# Short names for the nodes that the generator makes most.

def lit(t, v):
    return N("lit", t, x=v)


def var(name, t):
    return N("var", t, x=name)


def call(name, t, *kids):
    return N("call", t, kids, name)


def binop(op, a, b, t=None):
    return N("bin", t or a.ty, [a, b], op)


class Loop:
    """form: for (var < kid 1), in (var in kid 1), while (kid 1); sizes: names of sizes that vary; strips: how deep the nest
    is that keeps turns for reverse mode, 0: nobody says."""
    strips = 0

    def __init__(self, form, pat, var, sizes=()):
        self.form, self.pat, self.var, self.sizes = form, pat, var, sizes


class Op:
    """An associative operator: its text, the neutral element's text, what it does in Python, both. role: the name of
    an operator of a parameter of a module, which has no meaning before the module is applied."""

    def __init__(self, text, neutral, fn, value, comm, role=None):
        self.text, self.neutral, self.fn, self.value, self.comm, self.role = text, neutral, fn, value, comm, role


class Def:
    """A function or an entry: size parameters, patterns, body; shown: what it is called where it stands."""

    def __init__(self, name, sizes, params, body, entry=False, show_result=True, shown=None):
        self.name, self.sizes, self.params, self.body = name, sizes, params, body
        self.entry, self.show_result, self.shown = entry, show_result, shown or name

    def with_body(self, body):
        return Def(self.name, self.sizes, self.params, body, self.entry, self.show_result, self.shown)


class Program:
    """Items: definitions and what modules.py has; inputs: [(entry point, {size: number}, values of its parameters)]."""

    def __init__(self, items, inputs, fails=False):
        self.items, self.inputs, self.fails = items, inputs, fails

    def entries(self):
        return [d for d in self.items if isinstance(d, Def) and d.entry]


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


def parts(t):
    """The types of the components of a tuple or record; none of others."""
    return list(t[1:]) if t[0] == "tup" else [u for _, u in t[1:]] if t[0] == "rec" else []


def same(x):
    return x


def map_type(t, dim=same, atom=lambda t: None):
    """A type with its sizes changed by dim, and the types that atom knows."""
    known = atom(t)
    if known is not None:
        return known

    def go(u):
        return map_type(u, dim, atom)
    if is_scalar(t) or t[0] in ("fun", "tv"):
        return t
    if t[0] == "abs":
        if not t[4] and not t[5]:
            return t
        return t[:2] + (go(t[2]), (t[3][0], tuple(map(go, t[3][1]))), tuple(map(dim, t[4])), tuple(map(go, t[5])))
    if is_arr(t):
        return arr(dim(t[1]), go(t[2]))
    if t[0] == "tup":
        return tup(*map(go, t[1:]))
    if t[0] == "rec":
        return ("rec",) + tuple((f, go(u)) for f, u in t[1:])
    return ("sum", t[1], tuple(map(dim, t[2])), tuple(map(go, t[3])), tuple((c, tuple(map(go, us))) for c, us in t[4]))


def dim_text(d):
    """A size: a number, a variable or a module's value."""
    return f"«{d}»" if isinstance(d, str) and "." in d else str(d)


def type_text(t):
    if is_scalar(t):
        return t
    if is_arr(t):
        return f"[{dim_text(t[1])}]{type_text(t[2])}"
    if t[0] == "tup":
        return "(" + ", ".join(map(type_text, t[1:])) + ")"
    if t[0] == "rec":
        return "{" + ", ".join(f"{f}: {type_text(u)}" for f, u in t[1:]) + "}"
    if t[0] == "tv":
        return t[1]
    if t[0] == "sum" and t[1] is None:
        return f"({constructors_text(t[4])})"
    sizes, types = t[2:4] if t[0] == "sum" else t[4:]
    args = [f"[{dim_text(d)}]" for d in sizes] + [type_atom(u) for u in types]
    return "(" + " ".join([f"«{t[1]}»"] + args) + ")" if args else f"«{t[1]}»"


def type_atom(t):
    """The text of a type as an argument or as a part of a constructor."""
    return f"({type_text(t)})" if is_arr(t) else type_text(t)


def constructors_text(ctors):
    return " | ".join(" ".join(["#" + c] + [type_atom(u) for u in us]) for c, us in ctors)


def type_sizes(t):
    """Names of sizes in a type."""
    out = set()

    def dim(d):
        out.update({d} if isinstance(d, str) else ())
        return d
    map_type(t, dim)
    return out


def type_names(t):
    """Names of declared and abstract types in a type."""
    out = set()

    def atom(u):
        if u[0] in ("sum", "abs"):
            out.update({u[1]} - {None})
    map_type(t, atom=atom)
    return out


def abstract(name, rep, maker, sizes=(), types=()):
    return ("abs", name, rep, maker, tuple(sizes), tuple(types))


def has_abstract(t):
    """Is a part of a type abstract?"""
    return any("." in name for name in type_names(t))


def inner_patterns(p):
    return p[1] if p[0] == "t" else p[2] if p[0] == "c" else [p[1]] if p[0] == "s" else [q for _, q in p[1]] if p[0] == "r" else []


def pat_vars(p):
    return [(p[1], p[2])] if p[0] == "v" else [v for q in inner_patterns(p) for v in pat_vars(q)]


def pat_names(p):
    return [v for v, _ in pat_vars(p)]


def pat_text(p):
    if p[0] == "t":
        return "(" + ", ".join(map(pat_text, p[1])) + ")"
    if p[0] == "r":
        return "{" + ", ".join(f"{f} = {pat_text(q)}" for f, q in p[1]) + "}"
    if p[0] == "c":
        return " ".join(["#" + p[1]] + [f"({pat_text(q)})" if q[0] == "c" and q[2] else pat_text(q) for q in p[2]])
    if p[0] == "lit":
        return f"({p[2]}{p[1]})" if p[1] != "bool" and p[2] < 0 else lit_text(p[1], p[2])
    if p[0] == "_":
        return "_"
    if p[0] == "s":
        return f"({param_text(p[1])} : {type_text(p[2])})"
    return f"({p[1]}: {type_text(p[2])})" if p[3] else p[1]


def param_text(p):
    """A pattern where only closed ones may stand."""
    return f"({pat_text(p)})" if p[0] == "c" and p[2] else pat_text(p)


def pat_types(p):
    """The types that a pattern says."""
    if p[0] == "v":
        return [p[2]] if p[3] else []
    return [t for q in inner_patterns(p) for t in pat_types(q)] + ([p[2]] if p[0] == "s" else [])


def pat_free(p):
    """Names of sizes and types in a pattern."""
    return set().union(*[type_sizes(t) | type_names(t) for t in pat_types(p)])


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
        names, turn = set(pat_names(n.x.pat)) | set(n.x.sizes), {n.x.var} - {None}
        return [set(), names if n.x.form == "while" else set(), names | turn]
    if n.op == "letset":
        return [set()] + [{n.x[0]} for _ in n.kids[1:]]
    if n.op == "match":
        return [set()] + [set(pat_names(p)) for p in n.x]
    return none


def free(n):
    """Free names of a tree: variables, sizes in its text, functions and types of the program."""
    out = set()
    if n.op == "var":
        out.add(n.x)
    elif n.op in ("call", "within"):
        out.add(n.x)
    elif n.op in ("cast", "asc") or (n.op == "con" and n.x[1]):
        out |= type_sizes(n.ty) | type_names(n.ty)
    elif n.op == "op":
        out |= type_sizes(n.ty) | type_names(n.ty) | set(NAME.findall(n.x.text + n.x.neutral))
    elif n.op in ("lam", "match"):
        for p in n.x:
            out |= pat_free(p)
    elif n.op == "let":
        out |= pat_free(n.x)
    elif n.op == "letk":
        out |= pat_free(n.x[1]) - {n.x[0]}
    elif n.op == "letfun":
        for p in n.x[1]:
            out |= pat_free(p)
    elif n.op == "loop":
        out |= pat_free(n.x.pat) - set(n.x.sizes)
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


NAME = re.compile("«(.*?)»")
ATOMIC = {"lit", "var", "tuple", "record", "proj", "field", "index", "slice", "sub", "arrlit", "sec", "perm", "within"}


def forms_text(forms, kids):
    """What stands between the brackets: each letter of a form is an expression."""
    at, out = iter(kids), []
    for f in forms:
        out.append("".join(next(at) if c in "iabs" else c for c in f))
    return ", ".join(out)


def in_match(e, ind):
    """The text of an expression after which cases follow: those of a match at its end would go on."""
    said = text(e, ind)
    return f"({said})" if "match" in said else said


def text(n, ind="  "):
    """The text of an expression."""
    def t(k):
        return text(k, ind)

    def a(k):
        return t(k) if k.op in ATOMIC or (k.op == "call" and not k.kids) else "(" + t(k) + ")"

    def indexed(k):
        return "(" + t(k) + ")" if k.op in ("index", "slice", "sub") else a(k)
    op, k, x = n.op, n.kids, n.x
    more = ind + "  "
    if op == "lit":
        return lit_text(n.ty, x)
    if op == "var":
        return dim_text(x)
    if op == "bin":
        at = f"{k[0].ty[1][:-1]}" if k[0].ty[0] == "abs" else ""  # of a numeric parameter
        return f"{a(k[0])} {at}{x} {a(k[1])}"
    if op == "neg":
        return "-" + a(k[0])
    if op == "not":
        return "!" + a(k[0])
    if op == "sec":
        return f"({x})"
    if op == "op":
        return f"{x.text} {x.neutral}"
    if op == "within":
        return f"«{x}».⟦{t(k[0])}⟧"
    if op == "opcall":
        return f"{k[0].x.text} {a(k[1])} {a(k[2])}"
    if op == "neutral":
        return k[0].x.neutral
    if op == "con":
        e = " ".join(["#" + x[0]] + [a(kid) for kid in k])
        return f"({e} : {type_text(n.ty)})" if x[1] else e
    if op == "match":
        cases = "".join(f"\n{ind}case {pat_text(p)} -> {in_match(e, more)}" for p, e in zip(x, k[1:]))
        return f"match {in_match(k[0], more)}{cases}"
    if op == "perm":
        return "(" + ", ".join(map(str, x)) + ")"
    if op == "call":
        if x in ("redomap", "scanomap"):
            return f"{x} {k[0].x.text} {a(k[1])} {k[0].x.neutral} {a(k[2])}"
        args = []
        for kid in k:
            args.append(t(kid) if kid.op == "op" else a(kid))
        return " ".join([f"«{x}»"] + args)
    if op == "lam":
        return "\\" + " ".join(map(param_text, x)) + " -> " + text(k[0], more)
    if op == "let":
        return f"let {pat_text(x)} = {text(k[0], more)}\n{ind}in {t(k[1])}"
    if op == "letk":
        return f"let [{x[0]}] {pat_text(x[1])} = {text(k[0], more)}\n{ind}in {t(k[1])}"
    if op == "letfun":
        return f"let {x[0]} {' '.join(map(param_text, x[1]))} = {text(k[0], more)}\n{ind}in {t(k[1])}"
    if op == "if":
        return f"if {t(k[0])}\n{more}then {text(k[1], more)}\n{more}else {text(k[2], more)}"
    if op == "tuple":
        return "(" + ", ".join(map(t, k)) + ")"
    if op == "record":
        return "{" + ", ".join(f"{f} = {t(e)}" for (f, _), e in zip(n.ty[1:], k)) + "}"
    if op in ("proj", "field"):
        return f"{a(k[0])}.{x}"
    if op == "index":
        return f"{indexed(k[0])}[{', '.join(t(i) for i in k[1:])}]"
    if op == "range":
        return f"{a(k[0])}..<{a(k[1])}"
    if op == "slice":
        return indexed(k[0]) + "[" + x.format(*[a(i) for i in k[1:]]) + "]"
    if op == "with":
        return f"{a(k[0])} with [{', '.join(t(i) for i in k[1:-1])}] = {a(k[-1])}"
    if op == "sub":
        return f"{indexed(k[0])}[{forms_text(x, map(a, k[1:]))}]"
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
        strips = f"#[stripmine({x.strips})] " if x.strips else ""
        head = f"{strips}loop {sizes}{param_text(x.pat)} = {t(k[0])}\n{more}"
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


def stays(d):
    """Is the function to be called, not inlined? By its name, so that it is the same at each look."""
    return d.params and not d.entry and sum(map(ord, d.name)) % 2


def def_text(d):
    sizes = "".join(f" [{s}]" for s in d.sizes)
    params = "".join(" " + param_text(p) for p in d.params)
    result = f" : {type_text(d.body.ty)}" if d.show_result else ""
    return f"{'#[noinline] ' if stays(d) else ''}{'entry' if d.entry else 'def'} {d.shown}{sizes}{params}{result} =\n  {text(d.body)}\n"


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
    for k, u in enumerate(parts(t)):
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
