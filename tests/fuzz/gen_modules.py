"""Modules of the generator (see gen.py): module types, modules with types of their own, parametric ones, what wraps others.

A module type has a type t, ways to make one and to look at it, perhaps an operator with its neutral element, and more
members. A module of it chooses what t is, and is ascribed opaquely, with t said, or not at all. A parametric module takes
modules of such types, or numeric ones, gives functions, or is of a module type itself, and is applied several times.
At the end what stands at top level is wrapped: into modules, nested ones, some ascribed, some opened."""
import copy

from library import BOXED, SIZED, container
from modules import NUMERIC, Alias, Apply, Arrow, Container, Lifted, Module, Open, Sig, Text, TypeDef, own_type, role_op
from tree import FLOATS, INTS, Def, N, Op, Program, abstract, arr, binop, call, is_arr, is_scalar, lit, map_type, parts, row, tup, type_names, type_sizes, var

MOST_MODULES = 5
MEMBER_WORK, MEMBER_EST = 60, 40  # how often members may be evaluated at least, for which sizes
SHOWN = ["f", "g", "h", "go", "step", "out"]


class Callable:
    """A function of the program as its callers see it: it may be called where work is less, with sizes that are at most est."""

    def __init__(self, name, sizes, args, result, work, est):
        self.name, self.sizes, self.args, self.result, self.work, self.est = name, sizes, args, result, work, est


def has(sig, member):
    return any(m[0] == member for m in sig.members())


class Modules:
    # --- types -----------------------------------------------------------------------------------
    def abstract_type(self, env, depth):
        """One of the types of modules in scope, or None."""
        if self.containers and (not self.abstract or self.chance(0.5)):
            m, sig = self.r.choice(self.containers)
            size = self.a_size(env)
            if not self.fits(size):
                size = 1
            work, self.work = self.work, self.work * (max(1, self.estimate(size)) if sig.sized else 1)
            elem = self.a_type(env, depth - 1)
            self.work = work
            return sig.type(m, [size] if sig.sized else [], elem)
        return self.r.choice(self.abstract) if self.abstract else None

    def maker(self, t, make):
        """A value of an abstract type; make: a type's value."""
        return self.fresh_value(call(t[3][0], t, *[make(u) for u in t[3][1]]))

    def member_call(self, f, t, args):
        """A call, perhaps where the module is opened."""
        e, module = self.fresh_value(call(f.name, t, *args)), f.name.rpartition(".")[0]
        return N("within", t, [e], module) if module in self.openable and self.chance(0.2) else e

    def fresh_value(self, e):
        """Results may share no memory with constants."""
        return e if e.kids else call("copy", e.ty, e)

    def looked_at(self, e):
        """A value of an abstract type as another one."""
        if e.ty[5]:
            return call(e.ty[1][:-1] + "to", e.ty[2], e)
        f = next(f for f in self.lookers if f.args[0] == e.ty)
        return call(f.name, f.result, e)

    def abstract_op(self, t):
        """The operator of an abstract type, if it has one."""
        if t[1] in self.numeric:
            p = t[1][:-2]
            name, neutral = self.r.choice([("max", "lowest"), ("min", "highest")])
            if self.numeric[t[1]] and self.chance(0.5):
                name = self.r.choice("+*")
                return role_op(f"({p}.{name})", f"({p}.i32 {int(name == '*')})", True, (p, name))
            return role_op(f"{p}.{name}", f"{p}.{neutral}", True, (p, name))
        return self.operators.get(t[1])

    def abstract_expr(self, t, env, d):
        if t[1] in self.numeric and self.chance(0.6):
            return self.numeric_expr(t, env, d)
        if t[5] and self.chance(0.7):
            return self.container_expr(t, env, d)
        if self.chance(0.2):
            return self.leaf(t, env)
        if self.chance(0.15):
            e = self.reduction(t, env, d)
            if e:
                return e
        fits = [f for f in self.callables if f.result == t and self.work <= f.work and not f.sizes]
        if fits and self.chance(0.8):
            f = self.r.choice(fits)
            return self.member_call(f, t, [self.expr(u, env, d - 1) for u in f.args])
        return self.s_index(t, env, d) or self.leaf(t, env)

    def container_expr(self, t, env, d):
        """Made, mapped over, or two of them as one."""
        module, (sig,) = t[1][:-2], [s for m, s in self.containers if f"{m}.t" == t[1]][:1] or [None]
        if not sig or self.chance(0.4):
            return call(t[3][0], t, self.expr(t[2], env, d - 1))
        size = t[4][0] if sig.sized else 1
        if t[5][0][0] == "tup" and len(t[5][0]) == 3 and self.chance(0.5):
            return call(f"{module}.both", t, *[self.expr(sig.type(module, t[4], u), env, d - 1) for u in t[5][0][1:]])
        u = self.a_type(env, 1)
        f = self.inside(size, lambda: self.lam([u], env, lambda e: self.expr(t[5][0], e, d - 1), self.estimate(size)))
        return call(f"{module}.over", t, f, self.expr(sig.type(module, t[4], u), env, d - 1))

    def numeric_expr(self, t, env, d):
        """By the members of a numeric parameter; t[1] in numeric: are they those of integers?"""
        p, k = t[1][:-2], self.r.random()
        if k < 0.45:
            ops = "+-" + ("*" if self.numeric[t[1]] else "")
            return binop(self.r.choice(ops), self.expr(t, env, d - 1), self.expr(t, env, d - 1))
        if k < 0.65:
            return call(f"{p}.{self.r.choice(['min', 'max'])}", t, self.expr(t, env, d - 1), self.expr(t, env, d - 1))
        if k < 0.8:
            return call(f"{p}.{self.r.choice(['abs', 'neg'])}", t, self.expr(t, env, d - 1))
        less = binop(self.r.choice(["<", "<=", "=="]), self.expr(t, env, d - 1), self.expr(t, env, d - 1), "bool")
        return N("if", t, [less, self.expr(t, env, d - 1), self.expr(t, env, d - 1)])

    # --- module types ----------------------------------------------------------------------------
    def a_sig(self):
        """A module type: one that is there or a new one, which may include one that is there."""
        if self.sigs and self.chance(0.5):
            return self.r.choice(self.sigs)
        base = self.r.choice(self.sigs) if self.sigs and self.chance(0.4) else None
        sig = Sig(self.fresh("S"), [], base)
        t, vals = own_type(sig.name), []
        if not base:
            n = f"{sig.name}.n"
            sized = self.chance(0.4)
            args = [self.closed(1) for _ in range(self.r.choice([0, 1, 1, 2]))] + [arr(n, self.scalar())] * (sized and self.chance(0.5))
            vals = [("n", [], [], "i64")] * sized + [("make", [], args, t), ("look", [], [t], self.plain_type())]
            if self.chance(0.6):
                vals += [("zero", [], [], t), ("plus", [], [t, t], t)]
        taken = {m[0] for m in sig.members()} if base else set()
        for shown in self.r.sample([s for s in SHOWN if s not in taken], self.r.randint(0 if not base else 1, 2)):
            vals.append(self.member_type(shown, t, f"{sig.name}.n" if has(sig, "n") or any(m[0] == "n" for m in vals) else None))
        sig.vals = vals
        self.sigs.append(sig)
        self.functions.append(sig)
        return sig

    def plain_type(self):
        return self.scalar() if self.chance(0.7) else tup(self.scalar(), self.scalar())

    def closed(self, depth):
        """A type that only declared types and numbers are in."""
        keep = self.abstract, self.containers
        self.abstract, self.containers = [], []
        t = self.a_type([], depth)
        self.abstract, self.containers = keep
        return t

    def member_type(self, shown, t, n=None):
        """The specification of one more member; n: a size that the module has."""
        sizes = [self.fresh("d")] if self.chance(0.5) else []
        args = [self.r.choice([t, t, self.scalar(), tup(t, self.scalar())]) for _ in range(self.r.randint(1, 2))]
        args += [arr(s, self.r.choice([t, self.scalar(), self.scalar()])) for s in sizes + [n] * (n is not None and self.chance(0.5))]
        results = [t, t, self.scalar(), tup(t, self.scalar())]
        results += [arr(s, u) for s in sizes + [n] * (n is not None) for u in (t, self.scalar())]
        return (shown, sizes, args, self.r.choice(results))

    # --- modules ---------------------------------------------------------------------------------
    def in_module(self, make):
        """make() where a module's members are made: nothing of the place where the module is wanted is known."""
        keep = self.est, self.positive, self.bound, self.locals, self.in_function, self.work, self.recent
        self.positive, self.bound, self.locals, self.in_function, self.recent = set(), {}, [], True, None
        self.work = max(self.work, MEMBER_WORK)
        out = make()
        self.est, self.positive, self.bound, self.locals, self.in_function, self.work, self.recent = keep
        return out

    def member(self, module, shown, sizes, args, result, d=2):
        """(definition, what callers in the module see)"""
        own = {s: self.fresh("d") for s in sizes}
        most = MEMBER_EST
        args, result = [self.renamed(u, own) for u in args], self.renamed(result, own)

        def make():
            est = {s: most for s in own.values()}
            self.est = {**self.est, **est}
            params = [("v", self.fresh("p"), u, True) for u in args]
            env = [(s, "i64") for s in est] + [(p[1], p[2]) for p in params] + [(s, "i64") for s in self.globals]
            self.est.update(self.globals)
            body = self.block(result, env, d, self.r.choice([0, 0, 1]))
            name = f"{module}.{shown}"
            f = self.settled(Def(name, list(est), params, body, show_result=self.chance(0.7), shown=shown))
            return f, Callable(name, list(est), args, result, self.work, est)
        return self.in_module(make)

    def structure(self, sig, rep, name):
        """Items of a module of this module type, in which t is rep; the operator if there is one; None if there is none."""
        items = [TypeDef(f"{name}.t", [], [], rep, "t")]

        def to(u):
            return sig.seen(u, name, rep)
        op, before, sizes_before = None, list(self.callables), dict(self.globals)
        if has(sig, "n"):
            items.insert(0, Def(f"{name}.n", [], [], self.a_number(), shown="n"))
            self.est[f"{name}.n"] = self.globals[f"{name}.n"] = 5
        if has(sig, "plus"):
            op = self.operator(rep)
            if not op:
                self.globals = sizes_before
                return None, None
        for shown, sizes, args, result in sig.members():
            if shown == "n":
                continue
            if shown == "zero":
                f = Def(f"{name}.zero", [], [], N("neutral", rep, [N("op", rep, x=op)]), shown=shown)
            elif shown == "plus":
                xs = [("v", self.fresh("p"), rep, True) for _ in range(2)]
                f = Def(f"{name}.plus", [], xs, N("opcall", rep, [N("op", rep, x=op)] + [var(x[1], rep) for x in xs]), shown=shown)
            else:
                f, c = self.member(name, shown, sizes, list(map(to, args)), to(result))
                self.callables.append(c)
            items.append(f)
        self.callables, self.globals = before, sizes_before
        return items, op

    def a_number(self):
        """A module's value n: a number, or that of another module."""
        if self.globals and self.chance(0.4):
            return var(self.r.choice(list(self.globals)), "i64")
        return lit("i64", self.r.choice([1, 2, 3, 5]))

    def seen(self, sig, name, t):
        """What others see of a module's members, where t is this type."""
        def to(u):
            return sig.seen(u, name, t)
        out = []
        for shown, sizes, args, result in sig.members():
            own = {s: self.fresh("d") for s in sizes}
            most = MEMBER_EST
            out.append(Callable(f"{name}.{shown}", list(own.values()), [self.renamed(to(u), own) for u in args],
                                self.renamed(to(result), own), MEMBER_WORK, {s: most for s in own.values()}))
        return out

    def abstracted(self, sig, name, rep):
        """The type t of a module as others see it that do not know what it is."""
        make = next(m for m in sig.members() if m[0] == "make")
        return abstract(f"{name}.t", rep, (f"{name}.make", tuple(sig.seen(u, name) for u in make[2])))

    def announce(self, sig, name, t, op):
        """Lets what follows use a module whose t is of type t."""
        seen = self.seen(sig, name, t)
        self.callables += seen
        self.openable.add(name)
        if has(sig, "n"):
            self.est[f"{name}.n"] = self.globals[f"{name}.n"] = 5
        if not is_scalar(t) and t[0] == "abs" and t[1] == f"{name}.t":
            self.abstract.append(t)
            self.lookers += [f for f in seen if f.name == f"{name}.look"]
            if op:
                self.operators[t[1]] = Op(f"«{name}.plus»", f"«{name}.zero»", op.fn, op.value, op.comm)

    def a_module(self):
        """A new module of a module type, for all that follows."""
        sig, name = self.a_sig(), self.fresh("m")
        rep = self.closed(2) if self.chance(0.6) or not self.abstract else self.a_type([], 1)
        inside = has(sig, "n") and self.chance(0.4)
        if inside:
            rep = arr(f"{name}.n", self.r.choice([self.scalar(), self.closed(1)]))
        items, op = self.structure(sig, rep, name)
        if items is None:
            return
        how = self.r.choice(["opaque", "opaque", "opaque", "none" if inside else "with", "none"])
        self.functions.append(Module(name, items, (), sig if how != "none" else None, rep if how == "with" else ""))
        t = self.abstracted(sig, name, rep) if how == "opaque" else rep
        self.announce(sig, name, t, op)
        self.arguments.append((name, sig, t, op))

    def a_container(self):
        """A module of containers."""
        sigs = [s for s in self.sigs_of_containers if self.chance(0.7)]
        sig = sigs[0] if sigs else Container(self.fresh("S"), self.chance(0.6))
        if not sigs:
            self.sigs_of_containers.append(sig)
            self.functions.append(sig)
        name, kinds = self.fresh("m"), SIZED if sig.sized else BOXED
        kind = self.r.randrange(len(kinds))
        said, ctors = kinds[kind][:2]
        rep = [(c, tuple(("tv", u) for u in us)) for c, us in ctors] if ctors else ("tv", said)
        items = [TypeDef(f"{name}.t", ["n"] if sig.sized else [], ["a"], rep, "t")] + container(name, sig.sized, kind)
        self.functions.append(Module(name, items, (), sig))
        self.containers.append((name, sig))
        self.arguments.append((name, sig, None, None))

    def higher(self):
        """(parameters, first items) of a parametric module that takes another one and applies it; None if there is none."""
        c = [f for f in self.functors if len(f[1]) == 1 and type(f[1][0][1]) is Sig and f[2]]
        if not c or self.chance(0.3):
            return None
        _, params, sig, _ = self.r.choice(c)
        return Arrow(params[0][1], sig)

    def a_functor(self):
        """A parametric module; its parameters are of module types."""
        before = len(self.arguments)
        while len(self.arguments) < 2:
            self.a_module()
            if len(self.arguments) == before:
                return
            before = len(self.arguments)
        name = self.fresh("F")
        params = [(self.fresh("P"), self.r.choice(self.arguments)[1]) for _ in range(self.r.choice([1, 1, 2]))]
        first, arrow = [], self.higher()
        if arrow:
            params = [(self.fresh("G"), arrow), (self.fresh("P"), arrow.arg)]
            first = [Apply(f"{name}.B", params[0][0], [params[1][0]], "B")]
        keep = self.callables, self.abstract, self.lookers, self.operators, self.containers, self.globals
        self.callables, self.abstract, self.containers = list(self.callables), list(self.abstract), list(self.containers)
        self.globals = dict(self.globals)
        self.lookers, self.operators = list(self.lookers), dict(self.operators)
        inner = []
        for p, sig in params:
            if isinstance(sig, Arrow):
                continue
            if isinstance(sig, Container):
                self.containers.append((p, sig))
                continue
            t = self.abstracted(sig, p, None)
            inner.append(t)
            self.announce(sig, p, t, role_op(f"«{p}.plus»", f"«{p}.zero»", False, p) if has(sig, "plus") else None)
        if arrow:
            at = f"{name}.B"
            self.announce(arrow.result, at, self.abstracted(arrow.result, at, None),
                          role_op(f"«{at}.plus»", f"«{at}.zero»", False, at) if has(arrow.result, "plus") else None)
        items, sig, seen = self.body(name, inner)
        self.callables, self.abstract, self.lookers, self.operators, self.containers, self.globals = keep
        if items is None:
            return
        items = first + items
        self.functions.append(Module(name, items, params, sig))
        self.functors.append((name, params, sig, seen))
        self.an_application()

    def body(self, name, inner):
        """(items, module type or None, [what callers see]) of a parametric module's body."""
        if self.chance(0.4) and self.sigs and inner:
            sig = self.r.choice(self.sigs)
            t = self.r.choice(inner)
            rep = self.r.choice([t, tup(t, self.scalar()), arr(2, t)] + ([self.sum_of(t)] if self.sums else []))
            items, _ = self.structure(sig, rep, name)
            return items, sig, None
        items, seen, before = [], [], list(self.callables)
        for shown in self.r.sample(SHOWN, self.r.randint(1, 3)):
            t = self.r.choice(inner) if inner else self.held_type()
            n = t[1][:-1] + "n"
            spec = self.member_type(shown, t, n if n in self.globals else None)
            f, c = self.member(name, *spec, d=self.r.choice([2, 3]))
            items.append(f)
            seen.append(c)
            self.callables.append(c)
        self.callables = before
        return items, None, seen

    def held_type(self):
        """A container of numbers."""
        m, sig = self.containers[-1]
        return sig.type(m, [self.r.choice([1, 2, 3])] if sig.sized else [], self.scalar())

    def a_relay(self):
        """A parametric module that gives the members of its parameter, whose t is lifted there; here it is what the module type
        says of it, refined by `with`."""
        fits = [sig for _, sig, _, _ in self.arguments if type(sig) is Sig and not any(
            f"{sig.name}.n" in type_sizes(u) or self.in_array(u, f"{sig.name}.t") for _, _, us, u in sig.members() for u in [*us, u])]
        if not fits:
            return
        sig, name, p = self.r.choice(fits), self.fresh("F"), self.fresh("P")
        lifted = Lifted(self.fresh("S"), sig)
        t = self.abstracted(lifted, p, None)
        items = [TypeDef(f"{name}.t", [], [], t, "t", True)]
        for shown, sizes, args, result in lifted.members():
            own = {s: self.fresh("d") for s in sizes}
            args, result = [[self.renamed(lifted.seen(u, p), own) for u in us] for us in (args, [result])]
            xs = [(self.fresh("p"), u) for u in args]
            body = var(f"{p}.n", "i64") if shown == "n" else call(f"{p}.{shown}", result[0], *[var(x, u) for x, u in xs])
            if shown in ("zero", "plus"):
                op = N("op", t, x=role_op(f"«{p}.plus»", f"«{p}.zero»", False, p))
                body = N("neutral", t, [op]) if shown == "zero" else N("opcall", t, [op] + [var(x, u) for x, u in xs])
            items.append(Def(f"{name}.{shown}", list(own.values()), [("v", x, u, True) for x, u in xs], body, shown=shown))
        self.functions += [lifted, Module(name, items, [(p, lifted)], sig, t)]
        self.functors.append((name, [(p, lifted)], sig, None))
        self.an_application()

    def in_array(self, u, name):
        """Is the type of that name in elements of arrays?"""
        if is_scalar(u):
            return False
        inner = [w for _, us in u[4] for w in us] if u[0] == "sum" else parts(u)
        return name in type_names(row(u)) if is_arr(u) else any(self.in_array(w, name) for w in inner)

    def sum_of(self, t):
        return ("sum", None, (), (), (("none", ()), ("some", (t,))))

    def a_numeric(self):
        """A parametric module over numbers."""
        name, p = self.fresh("F"), self.fresh("P")
        sig = self.r.choice(NUMERIC)
        ints = sig == "integral"
        t = abstract(f"{p}.t", None, (f"{p}.i32", ("i32",)))
        keep = self.callables, self.abstract, self.containers
        self.callables, self.abstract, self.containers = list(self.callables), [t], []
        self.numeric[t[1]] = ints
        items, _, seen = self.numeric_body(name, t)
        self.callables, self.abstract, self.containers = keep
        self.functions.append(Module(name, items, [(p, sig)]))
        self.functors.append((name, [(p, sig)], None, seen))
        self.an_application()

    def numeric_body(self, name, t):
        keep, self.sigs = self.sigs, []
        out = self.body(name, [t])
        self.sigs = keep
        return out

    def an_application(self):
        """A parametric module applied."""
        name, params, sig, seen = self.r.choice(self.functors[-2:])
        inst = self.fresh("A")
        args, types, held, sizes = [], {}, {}, {}
        for p, s in params:
            if isinstance(s, Arrow):
                c = [f for f in self.functors if len(f[1]) == 1 and f[1][0][1] is s.arg and f[2] is s.result]
                args.append(self.r.choice(c)[0])
                continue
            if not isinstance(s, Sig):
                kinds = {"integral": list(INTS), "real": list(FLOATS), "numeric": list(INTS) + (list(FLOATS) if self.floats else [])}
                args.append(self.r.choice(kinds[s]))
                types[f"{p}.t"] = args[-1]
                continue
            fits = [a for a in self.arguments if a[1] == (s.of if isinstance(s, Lifted) else s)]
            arg = self.r.choice(fits)
            args.append(arg[0])
            sizes[f"{p}.n"] = f"{arg[0]}.n"
            if isinstance(s, Container):
                held[f"{p}.t"] = arg[0], s
            else:
                types[f"{p}.t"] = arg[2]
        self.functions.append(Apply(inst, name, args))
        if sig:
            t = self.abstracted(sig, inst, None)
            op = role_op(f"«{inst}.plus»", f"«{inst}.zero»", False, inst) if has(sig, "plus") else None
            self.announce(sig, inst, t, op)
            self.arguments.append((inst, sig, t, op))
            return

        self.openable.add(inst)

        def atom(v):
            if v[0] == "abs" and v[1] in held:
                m, s = held[v[1]]
                return s.type(m, v[4], to(v[5][0]))
            return types.get(v[1]) if v[0] == "abs" else None

        def to(u):
            return map_type(u, lambda d: sizes.get(d, d), atom)
        for f in seen:
            own = {s: self.fresh("d") for s in f.sizes}
            self.callables.append(Callable(
                inst + f.name[len(name):], list(own.values()), [self.renamed(to(u), own) for u in f.args],
                self.renamed(to(f.result), own), f.work, {own[s]: f.est[s] for s in f.sizes}))

    def some_module(self):
        """Something more for the program to use: a module, a parametric one, an application."""
        if self.in_function or len(self.functions) > 14:
            return
        forms = [("a_module", 3), ("a_functor", 4), ("a_numeric", 3), ("a_container", 2), ("a_relay", 2)]
        if self.functors:
            forms += [("an_application", 6)]
        getattr(self, self.weighted(forms))()

    def f_member(self, env, d):
        """Something made by members of modules."""
        for _ in range(self.r.choice([1, 2, 3])):
            self.some_module()
        t = self.abstract_type(env, 2)
        fits = [f for f in self.callables if self.work <= f.work]
        if fits and (not t or self.chance(0.6)):
            f = self.r.choice(fits[-8:])
            known = [s for s in self.est if s in self.sizes_of(env)]
            to = {}
            for s in f.sizes:
                ok = [x for x in known if self.est[x] <= f.est[s]]
                if not ok:
                    return None
                to[s] = self.r.choice(ok)
            args = [self.expr(self.renamed(u, to), env, min(d, 3) - 1) for u in f.args]
            return self.member_call(f, self.renamed(f.result, to), args)
        if not t:
            return None
        u = self.r.choice([t, t, tup(t, self.scalar()), arr(self.a_size(env), t)] + ([self.sum_of(t)] if self.sums else []))
        return self.expr(u, env, min(d, 3)) if self.fits(*[s for s in type_sizes(u)]) else None

    # --- what wraps others -----------------------------------------------------------------------
    def wrapped(self, items):
        """The items, some of them in modules, some modules opened or with another name: as far as all names are reached."""
        for _ in range(self.r.choice([0, 1, 2, 3, 4])):
            change = self.weighted([("wrap", 6), ("opened", 3), ("renamed_module", 1)])
            new = getattr(self, change)(items)
            if new and self.reached(new):
                items = new
        return items

    def reached(self, items):
        try:
            Text(Program(items, []))
            return True
        except KeyError:
            return False

    def wrap(self, items):
        """A run of items as a module; ascribed, with members that others do not know, or with something opened inside."""
        runs = [(i, j) for i in range(len(items)) for j in range(i + 1, min(len(items), i + 6) + 1)
                if not any(isinstance(it, Def) and it.entry for it in items[i:j])]
        if not runs:
            return None
        i, j = self.r.choice(runs)
        inner, k = items[i:j], self.r.random()
        hidden = [it.name for it in inner if isinstance(it, Def) and self.chance(0.3)]
        before = [it for it in items[:i] if isinstance(it, (Module, Apply)) and not getattr(it, "params", ())]
        if before and self.chance(0.3):
            inner = [Open(self.r.choice(before).name, self.chance(0.6))] + inner
        name = self.fresh("w")
        short = [self.called(it) for it in inner]
        if len({x.shown for x in short if not isinstance(x, Open)}) == sum(not isinstance(x, Open) for x in short):
            inner = short
        for sig in [True, None] if k < 0.5 else [None]:
            for some in [hidden, []]:
                new = items[:i] + [Module(name, inner, (), sig, "", some)] + items[j:]
                if self.reached(new):
                    return new
        return None

    def called(self, it):
        """An item of a module with a short name, which others have too."""
        if isinstance(it, (Def, TypeDef, Module)) and self.chance(0.6):
            it = copy.copy(it)
            it.shown = self.r.choice(["t", "opt"] if isinstance(it, TypeDef) else ["M", "N"] if isinstance(it, Module) else SHOWN)
        return it

    def modules_of(self, items):
        return [(i, it) for i, it in enumerate(items) if isinstance(it, (Module, Apply)) and not getattr(it, "params", ())]

    def opened(self, items):
        c = self.modules_of(items)
        if not c:
            return None
        i, it = self.r.choice(c)
        at = self.r.randint(i + 1, len(items))
        return items[:at] + [Open(it.name, self.chance(0.4))] + items[at:]

    def renamed_module(self, items):
        c = self.modules_of(items)
        if not c:
            return None
        i, it = self.r.choice(c)
        return items[:i + 1] + [Alias(self.fresh("n"), it.name)] + items[i + 1:]
