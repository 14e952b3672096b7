"""Modules of the fuzzer's programs: what a program's items are, their text, what is left when modules are written out.

Every entity has a unique name: members of a module "m1.f2" if the module is parametric or ascribed, so that those of its
applications have theirs ("a3.f2"). What it is called where it stands is another matter (`shown`); render() knows what is in
scope at each place and finds a path for each name. Where there is none, the program is wrong: KeyError."""
import math
import re
import zlib

from library import Helper, container
from tree import FLOATS, INTS, NAME, Def, N, Op, abstract, arr, constructors_text, def_text, map_type, type_text

OPENED = re.compile("«([^«»]*)».⟦")
NUMERIC = ("numeric", "integral", "real")  # module types that are there


class TypeDef:
    """type shown sizes params = a sum of these constructors, or another type; in a module often of the type it hides. lifted: type~."""

    def __init__(self, name, sizes, params, body, shown=None, lifted=False):
        self.name, self.sizes, self.params, self.body, self.shown, self.lifted = name, sizes, params, body, shown or name, lifted

    def text(self):
        params = "".join([f" [{s}]" for s in self.sizes] + [f" '{p}" for p in self.params])
        body = constructors_text(self.body) if isinstance(self.body, list) else type_text(self.body)
        return f"type{'~' * self.lifted} {self.shown}{params} = {body}\n"


class Sig:
    """module type shown = {type t; members}. vals: [(member, sizes, argument types, result)] with ("abs", "<name>.t", ...)
    for t; base: a module type that it includes, whose members are not in vals again."""

    def __init__(self, name, vals, base=None):
        self.name = self.shown = name
        self.vals, self.base = vals, base

    def members(self):
        """All specifications, with this module type's own t."""
        if not self.base:
            return self.vals

        def to(u):
            return self.base.seen(u, self.name)
        return [(m, ss, list(map(to, us)), to(u)) for m, ss, us, u in self.base.members()] + self.vals

    def seen(self, u, name, t=None):
        """A type in a specification as it is for a module of that name, where t is t."""
        t = t or own_type(name)
        return map_type(u, lambda d: f"{name}.n" if d == f"{self.name}.n" else d, lambda v: t if v == own_type(self.name) else None)

    def text(self):
        begin = f"include «{self.base.name}»" if self.base else "type t"
        specs = [begin] + [val_text(m, ss, us, u) for m, ss, us, u in self.vals]
        return f"module type {self.shown} = {{\n" + "".join(f"  {s}\n" for s in specs) + "}\n"


class Lifted(Sig):
    """The members of another module type, whose t is type~ here."""

    def __init__(self, name, of):
        super().__init__(name, [], of)
        self.of = of

    def text(self):
        specs = ["type~ t"] + [val_text(m, ss, us, u) for m, ss, us, u in self.members()]
        return f"module type {self.shown} = {{\n" + "".join(f"  {s}\n" for s in specs) + "}\n"


class Container(Sig):
    """The module type of containers: of arrays if sized, else of one value."""

    def __init__(self, name, sized):
        super().__init__(name, [])
        self.sized = sized

    def members(self):
        return [(h.shown, [], [], None) for h in container("", self.sized, 0)]

    def text(self):
        specs = ["type t [n] 'a" if self.sized else "type t 'a"] + [h.spec() for h in container("", self.sized, 0)]
        return f"module type {self.shown} = {{\n" + "".join(f"  {s}\n" for s in specs) + "}\n"

    def type(self, module, sizes, elem):
        """The type of a module's containers of these elements; to the oracle they are what they hold."""
        held = arr(sizes[0], elem) if self.sized else elem
        return abstract(f"{module}.t", held, (f"{module}.from", (held,)), sizes, (elem,))


class Arrow:
    """The module type (X: arg) -> result."""

    def __init__(self, arg, result):
        self.arg, self.result = arg, result


class Module:
    """module shown (P: S)... : sig = {items}. sig: a Sig, or True for what its items come to; how: "" opaque, else the
    type for t; hidden: names of members that nobody outside uses."""

    def __init__(self, name, items, params=(), sig=None, how="", hidden=(), shown=None):
        self.name, self.items, self.params, self.sig, self.how = name, items, list(params), sig, how
        self.hidden, self.shown = set(hidden), shown or name

    def with_items(self, items):
        return Module(self.name, items, self.params, self.sig, self.how, self.hidden, self.shown)


class Apply:
    """module shown = functor args; an argument is the name of a module, a numeric type or of a parametric module."""

    def __init__(self, name, functor, args, shown=None):
        self.name, self.shown = name, shown or name
        self.functor, self.args = functor, args


class Open:
    """open module, or local open."""

    def __init__(self, module, local):
        self.module, self.local = module, local


class Alias:
    """module name = module"""

    def __init__(self, name, module):
        self.name = self.shown = name
        self.module = module


def own_type(sig):
    return abstract(f"{sig}.t", None, None)


def val_text(shown, sizes, args, result):
    sizes = "".join(f" [{s}]" for s in sizes)
    return f"val {shown}{sizes} : " + " -> ".join(type_text(t) for t in [*args, result])


# --- text ---------------------------------------------------------------------------------------

class Binding:
    """kind: v, t, m (module), s (module type); members: of a module, none of a parametric one."""

    def __init__(self, kind, shown, name, members=()):
        self.kind, self.shown, self.name, self.members = kind, shown, name, list(members)

    def renamed(self, old, new):
        return Binding(self.kind, self.shown, within(self.name, old, new), [b.renamed(old, new) for b in self.members])


def within(name, old, new):
    """The name of a member of `old` as one of `new`."""
    return new + name[len(old):] if name == old or name.startswith(old + ".") else name


def paths(scope, name, before=""):
    """Every way to write a name."""
    seen = set()
    for b in reversed(scope):
        if (b.kind, b.shown) in seen:
            continue
        seen.add((b.kind, b.shown))
        if b.name == name:
            yield before + b.shown
        yield from paths(b.members, name, f"{before}{b.shown}.")


def all_names(items):
    """Names that only a path leads to."""
    out = set()
    for it in items:
        if isinstance(it, Module):
            out |= {it.name} | all_names(it.items)
            for p, sig in it.params:
                out |= {f"{p}.t"} | {f"{p}.{m[0]}" for m in sig.members()} if isinstance(sig, Sig) else set()
        elif not isinstance(it, Open):
            out.add(it.name)
    return out


def definitions(items):
    """All definitions, those in modules too."""
    for it in items:
        if isinstance(it, Def):
            yield it
        elif isinstance(it, Module):
            yield from definitions(it.items)


class Text:
    """The text of a program."""

    def __init__(self, program):
        self.known = all_names(program.items)
        self.functors = {}
        self.sigs = {}
        self.text = "\n".join(self.items(program.items, [], "")[0])

    def resolve(self, text, scope):
        """The text with paths for names; between ⟦ and ⟧ members of a module are in scope, if they hide nothing needed."""
        begin = OPENED.search(text)
        if begin:
            end, depth = begin.end(), 1
            while depth:
                depth += {"⟦": 1, "⟧": -1}.get(text[end], 0)
                end += 1
            opened, inner = self.module(begin.group(1), scope).members, text[begin.end():end - 1]
            try:
                inner = f"{self.path(begin.group(1), scope)}.({self.resolve(inner, scope + opened)})"
            except KeyError:
                inner = f"({self.resolve(inner, scope)})"
            return self.resolve(text[:begin.start()], scope) + inner + self.resolve(text[end:], scope)
        return NAME.sub(lambda m: self.path(m.group(1), scope), text)

    def path(self, name, scope):
        found = sorted(set(paths(scope, name)), key=lambda p: (len(p), p))
        if found:
            return found[zlib.crc32(name.encode()) % len(found)]
        if name in self.known or "." in name and name.split(".")[0] in self.known:
            raise KeyError(name)
        return name

    def items(self, items, scope, ind, hidden=()):
        """([text], bindings that others see) of items in a scope."""
        texts, own = [], []
        for it in items:
            text, new = self.item(it, scope)
            text = self.resolve(text, scope)
            scope = scope + new
            if isinstance(it, Open) and it.local:
                new = []
            if not isinstance(it, Open) and it.name in hidden:
                text, new = "local " + text, []
            own += new
            texts.append("".join(ind + line + "\n" for line in text.splitlines()))
        return texts, own

    def item(self, it, scope):
        """(text, bindings) of one item."""
        if isinstance(it, Def):
            return def_text(it), [] if it.entry else [Binding("v", it.shown, it.name)]
        if isinstance(it, Helper):
            return it.text(), [Binding("v", it.shown, it.name)]
        if isinstance(it, TypeDef):
            return it.text(), [Binding("t", it.shown, it.name)]
        if isinstance(it, Sig):
            self.sigs[it.name] = it
            return self.sig_text(it, scope), [Binding("s", it.shown, it.name)]
        if isinstance(it, Open):
            b = self.module(it.module, scope)
            return f"{'local ' if it.local else ''}open «{it.module}»\n", b.members
        if isinstance(it, Alias):
            b = self.module(it.module, scope)
            return f"module {it.shown} = «{it.module}»\n", [Binding("m", it.shown, it.name, b.members)]
        if isinstance(it, Apply):
            members = [b.renamed(it.functor, it.name) for b in self.functors[it.functor]]
            args = " ".join(a if a in (*INTS, *FLOATS) else f"«{a}»" for a in it.args)
            return f"module {it.shown} = «{it.functor}» {args}\n", [Binding("m", it.shown, it.name, members)]
        return self.module_text(it, scope)

    def sig_text(self, sig, scope):
        return self.resolve(sig.text(), scope + [Binding("t", "t", f"{sig.name}.t"), Binding("v", "n", f"{sig.name}.n")])

    def module(self, name, scope):
        """A module in scope."""
        for b in reversed(scope):
            if b.name == name:
                return b
            try:
                return self.module(name, b.members)
            except KeyError:
                pass
        raise KeyError(name)

    def module_text(self, it, scope):
        params, inner = "", scope
        for p, sig in it.params:
            members, said = [], sig
            if isinstance(sig, Arrow):
                self.functors[p] = members_of(p, sig.result)
                said = f"(X: «{sig.arg.name}») -> «{sig.result.name}»"
            elif isinstance(sig, Sig):
                members, said = members_of(p, sig), f"«{sig.name}»"
            params += f" ({p}: {said})"
            inner = inner + [Binding("m", p, p, members)]
        local = it.hidden if not it.sig else ()
        texts, own = self.items(it.items, inner, "  ", local)
        seal, spec = "", ""
        if it.sig is True:
            specs, own = self.specs(it, inner)
            seal = " : {\n" + "".join(f"    {s}\n" for s in specs) + "  }"
        elif it.sig:
            own = self.sealed(it).members
            seal = f" : {self.path(it.sig.name, inner)}"
            if it.how:
                seal = f" : ({seal[3:]} with t = {self.resolve(type_text(it.how), inner)})"
        if it.params:
            self.functors[it.name] = own
            own = []
        return (f"module {it.shown}{self.resolve(params, scope)}{seal} = {{\n" + "".join(texts) + "}\n",
                [Binding("m", it.shown, it.name, own)])

    def specs(self, it, scope):
        """(specifications, bindings): what a module's items come to, as far as module types can say it."""
        out, own = [], []
        for x in it.items:
            if isinstance(x, (Open, Alias, Apply, Sig)) or x.name in it.hidden or getattr(x, "params", ()) and isinstance(x, Module):
                continue
            b = Binding("v", x.shown, x.name)
            if isinstance(x, Def):
                spec = self.resolve(val_text(x.shown, x.sizes, [p[2] for p in x.params], x.body.ty), scope)
            elif isinstance(x, Helper):
                spec = self.resolve(x.spec(), scope)
            elif isinstance(x, TypeDef):
                spec, b = self.resolve(x.text().rstrip(), scope), Binding("t", x.shown, x.name)
            elif isinstance(x.sig, Sig):
                sig = self.path(x.sig.name, scope) + (f" with t = {self.resolve(type_text(x.how), scope)}" if x.how else "")
                spec, b = f"module {x.shown} : {sig}", self.sealed(x)
            else:
                inner, members = self.specs(x, scope)
                spec, b = f"module {x.shown} : {{ {' '.join(inner)} }}", Binding("m", x.shown, x.name, members)
            out.append(spec)
            own.append(b)
            scope = scope + [b]
        return out, own

    def sealed(self, m):
        """A module of a module type, as others see it."""
        return Binding("m", m.shown, m.name, members_of(m.name, m.sig))


def members_of(name, sig):
    """What a module of a module type has."""
    return [Binding("t", "t", f"{name}.t")] + [Binding("v", s[0], f"{name}.{s[0]}") for s in sig.members()]


def program_text(p):
    return Text(p).text


# --- modules written out ------------------------------------------------------------------------

class Roles:
    """Operators that parameters stand for while an application's member is evaluated."""
    now = {}


def role_op(text, neutral, comm, role):
    """An operator that a parameter of a module gives."""
    return Op(text, neutral, lambda a, b: Roles.now[role].fn(a, b), lambda ev: Roles.now[role].value(ev), comm, role)


def bound_op(op, roles, var):
    """An operator as it is when its roles are taken; var: what sizes are called."""
    def inside(f, *args):
        keep, Roles.now = Roles.now, roles
        out = f(*args)
        Roles.now = keep
        return out
    return Op(op.text, op.neutral, lambda a, b: inside(op.fn, a, b), lambda ev: inside(op.value, Sizes(ev, var)), op.comm)


def renamed_op(op, names, var):
    """An operator of a parametric module in an application."""
    def said(text):
        text = NAME.sub(lambda m: f"«{names.name(m.group(1))}»", text)
        for t, by in names.types.items():
            text = text.replace(t[:-1], by + ".")
        return text
    op = bound_op(op, names.ops, var)
    op.text, op.neutral = said(op.text), said(op.neutral)
    return op


class Sizes:
    """An evaluation in which sizes have other names."""

    def __init__(self, ev, var):
        self.ev, self.var = ev, var

    def dim(self, d):
        return self.ev.dim(d if isinstance(d, int) else self.var(d))


class Names:
    """What the names in a functor's body become in an application."""

    def __init__(self, table, types, ops, args):
        self.args = args  # {parameter: argument}
        # [(prefix, prefix or {member: name})], {type of a numeric parameter: scalar}, {role: Op}
        self.table, self.types, self.ops = table, types, ops

    def name(self, x):
        for old, new in self.table:
            if isinstance(new, dict):
                if x.startswith(old + "."):
                    return new[x[len(old) + 1:]]
            elif x == old or x.startswith(old + "."):
                return within(x, old, new)
        return x

    def functor(self, x):
        """A module's name: that of a parameter becomes the argument's."""
        return self.args.get(x, x)

    def type(self, t):
        def atom(u):
            if u[0] == "abs" and u[1] in self.types:
                return self.types[u[1]]
            if u[0] == "abs":
                rep = self.type(u[2]) if u[2] else None
                maker = u[3] and (self.name(u[3][0]), tuple(map(self.type, u[3][1])))
                return abstract(self.name(u[1]), rep, maker, u[4], map(self.type, u[5]))
            if u[0] == "sum" and u[1]:
                rest = map_type(("sum", None) + u[2:], atom=atom)
                return ("sum", self.name(u[1])) + rest[2:]
            return None
        return map_type(t, atom=atom)


class Renamed:
    """Trees copied with names replaced; what they bind gets names of its own."""

    def __init__(self, names, suffix):
        self.names, self.suffix = names, suffix

    def var(self, x):
        return self.names.name(x) if "." in x else x + self.suffix

    def type(self, t):
        return map_type(self.names.type(t), dim=lambda d: d if isinstance(d, int) else self.var(d))

    def pat(self, p):
        if p[0] == "v":
            return ("v", self.var(p[1]), self.type(p[2]), p[3])
        if p[0] == "t":
            return ("t", [self.pat(q) for q in p[1]])
        if p[0] == "r":
            return ("r", [(f, self.pat(q)) for f, q in p[1]])
        if p[0] == "s":
            return ("s", self.pat(p[1]), self.type(p[2]))
        if p[0] == "c":
            return ("c", p[1], [self.pat(q) for q in p[2]])
        return ("lit", self.type(p[1]), p[2]) if p[0] == "lit" else p

    def tree(self, n):
        x = n.x
        if n.op == "var":
            x = self.var(x)
        elif n.op == "call":
            x = self.var(x) if x.startswith("fn") else self.names.name(x)
        elif n.op == "within":
            x = self.names.functor(self.names.name(x))
        elif n.op == "op":
            x = renamed_op(x, self.names, self.var)
        elif n.op in ("lam", "match"):
            x = [self.pat(p) for p in x]
        elif n.op == "let":
            x = self.pat(x)
        elif n.op == "letk":
            x = (self.var(x[0]), self.pat(x[1]))
        elif n.op == "letfun":
            x = (self.var(x[0]), [self.pat(p) for p in x[1]])
        elif n.op == "letset":
            x = (self.var(x[0]), x[1])
        elif n.op == "loop":
            x = type(x)(x.form, self.pat(x.pat), x.var and self.var(x.var), [self.var(s) for s in x.sizes])
        return N(n.op, self.type(n.ty), [self.tree(k) for k in n.kids], x)

    def define(self, d):
        return Def(self.names.name(d.name), [self.var(s) for s in d.sizes], [self.pat(p) for p in d.params],
                   self.tree(d.body), False, d.show_result, d.shown)


    def item(self, x):
        if isinstance(x, Def):
            return self.define(x)
        if isinstance(x, Apply):
            return Apply(self.names.name(x.name), self.names.functor(x.functor), list(map(self.names.functor, x.args)), x.shown)
        return TypeDef(self.names.name(x.name), x.sizes, x.params, self.names.type(x.body), x.shown, x.lifted)


class Flat:
    """Definitions without modules: members of parametric ones once for each application."""

    def __init__(self, program, limits, wrap):
        self.limits, self.wrap = limits, wrap
        self.functors = {}
        self.members = {}   # module: {member: name}
        self.ops = {}       # module: the operator of plus and zero
        self.out = []
        self.written = {}   # application: its items
        self.helpers = {}   # name: what it means
        self.items(program.items, "")

    def items(self, items, module):
        for it in items:
            if isinstance(it, Module) and it.params:
                self.functors[it.name] = it
            elif isinstance(it, Module):
                self.items(it.items, it.name)
            elif isinstance(it, Apply):
                self.apply(it)
            elif isinstance(it, Alias):
                for table in (self.members, self.ops):
                    if it.module in table:
                        table[it.name] = table[it.module]
            elif isinstance(it, TypeDef) and it.name == f"{module}.t":
                self.members.setdefault(module, {})["t"] = it.name
            elif isinstance(it, Helper):
                self.members.setdefault(module, {})[it.shown] = it.name
                self.helpers[it.name] = it.key
            elif isinstance(it, Def):
                self.define(it, module)

    def define(self, d, module):
        self.out.append(d)
        self.members.setdefault(module, {})[d.shown] = d.name
        if d.shown == "plus" and d.body.op == "opcall":
            self.ops[module] = d.body.kids[0].x

    def apply(self, it):
        functor = self.functors[it.functor]
        table, types, ops = [(functor.name, it.name)], {}, dict(self.ops)
        for (p, sig), arg in zip(functor.params, it.args):
            if isinstance(sig, Arrow):
                table.append((p, arg))
            elif not isinstance(sig, Sig):
                table.append((p, arg))
                types[f"{p}.t"] = arg
                ops.update(self.numeric_ops(p, arg))
            else:
                table.append((p, self.members[arg]))
                if arg in self.ops:
                    ops[p] = self.ops[arg]
        names = Names(table, types, ops, {p: a for (p, _), a in zip(functor.params, it.args)})
        renamed = Renamed(names, "_" + it.name)
        self.written[it.name] = []
        for x in functor.items:
            new = renamed.item(x)
            self.written[it.name].append(new)
            self.items([new], it.name)
            if new.name in self.ops:
                ops[x.name] = self.ops[new.name]

    def numeric_ops(self, p, t):
        """The operators that a numeric module gives."""
        wrap, (lo, hi) = self.wrap, (-math.inf, math.inf) if t in FLOATS else self.limits(t)
        ops = [("min", min, hi), ("max", max, lo), ("+", lambda a, b: wrap(t, a + b), wrap(t, 0)),
               ("*", lambda a, b: wrap(t, a * b), wrap(t, 1))]
        return {(p, x): Op("", "", f, lambda ev, v=v: v, True) for x, f, v in ops}


def flat(program, limits, wrap):
    """Modules written out; roles are taken as they are outside of applications. limits, wrap: of numbers, from oracle.py."""
    f = Flat(program, limits, wrap)
    Roles.now = f.ops
    return f
