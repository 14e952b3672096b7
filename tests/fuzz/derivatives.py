"""Programs of gen_derivatives.py: what is computed of them, and what must hold of it.

The function of the entry point becomes `primal`, and the entry point computes, with a direction dx in its arguments and
weights w of its results: what the direction changes by forward and by reverse mode, which must agree; the same by
differences (of two sizes, and to either side, since where these differ the function is not smooth, and nothing is said); second
derivatives in three orders. The interpreter's numbers are what compiled programs must give, up to rounding."""
import math

import check
from gen_derivatives import F, Smooth, active
from modules import program_text
from tree import is_arr, is_scalar, parts, pat_vars, row, type_text

NUMBERS = ["forward", "reverse", "scale", "right", "left", "wide", "narrow"]
SECOND = ["forward of reverse", "reverse of forward", "reverse of reverse", "differences of reverse"]
ROUGH = NUMBERS[3:] + SECOND[3:]  # differences, of rounding too
FIRST_STEP, SMALL_STEP = "1e-4", "2e-5"


class Names:
    def __init__(self):
        self.k = 0

    def fresh(self, base):
        self.k += 1
        return f"{base}_{self.k}"


def each(names, t, exprs, leaf, place=()):
    """The text of a value like those of exprs, of type t, with leaf(type, expressions, numbers of its place) for each number."""
    if is_scalar(t):
        return leaf(t, exprs, place)
    if is_arr(t):
        xs, i = [names.fresh("e") for _ in exprs], names.fresh("i")
        inner = each(names, t[2], xs, leaf, place + (i,))
        return f"(map{len(xs) + 1} (\\{' '.join(xs)} {i} -> {inner}) {' '.join(exprs)} (indices {exprs[0]}))"
    fields = [f for f, _ in t[1:]] if t[0] == "rec" else [str(k) for k in range(len(t) - 1)]
    inner = [each(names, u, [f"{e}.{f}" for e in exprs], leaf, place + (k,)) for k, (f, u) in enumerate(zip(fields, parts(t)))]
    if t[0] == "rec":
        return "{" + ", ".join(f"{f} = {e}" for f, e in zip(fields, inner)) + "}"
    return "(" + ", ".join(inner) + ")"


def summed(names, t, exprs, leaf):
    """The text of a sum over all floats in exprs."""
    if is_scalar(t):
        return leaf(exprs) if t == F else "0"
    if is_arr(t):
        if not active(t):
            return "0"
        xs = [names.fresh("e") for _ in exprs]
        fn = f"\\{' '.join(xs)} -> {summed(names, t[2], xs, leaf)}"
        return f"f64.sum (map{len(xs) if len(xs) > 1 else ''} ({fn}) {' '.join(exprs)})"
    fields = [f for f, _ in t[1:]] if t[0] == "rec" else range(len(t) - 1)
    return "(" + " + ".join(summed(names, u, [f"{e}.{f}" for e in exprs], leaf) for f, u in zip(fields, parts(t))) + ")"


def zero(t):
    return "false" if t == "bool" else f"0{t}"


def direction(shift):
    """Numbers of either sign, by their place."""
    def leaf(t, exprs, place):
        if t != F:
            return zero(t)
        at = " + ".join(f"{3 + 4 * k}.7 * f64.i64 {p}" if isinstance(p, str) else f"{p}.3" for k, p in enumerate(place)) or "0"
        return f"f64.cos ({at} + {shift})"
    return leaf


def arguments(d):
    return [(x, t) for q in d.params for x, t in pat_vars(q)]


def chosen(d):
    """The arguments that are differentiated by: the others with floats are constant."""
    fit = [(x, t) for x, t in arguments(d) if active(t)]
    return fit[:1] + [(x, t) for x, t in fit[1:] if sum(map(ord, x)) % 3]


def with_derivatives(p, second):
    """The text of a program with the entry point that differentiates it."""
    d = p.entries()[0]
    head, _, body = program_text(p).rpartition(f"entry {d.name} ")
    return f"{head}def primal {body}\n" + entry(d.name, d.sizes, arguments(d), chosen(d), d.body.ty, second)


def entry(name, sizes, args, by, ty, second):
    """The entry point that differentiates `primal`, of arguments args, by some of them; it gives a ty."""
    tx = by[0][1] if len(by) == 1 else ("tup",) + tuple(t for _, t in by)
    x = by[0][0] if len(by) == 1 else "(" + ", ".join(v for v, _ in by) + ")"
    lines = [f"let f (({x}): {type_text(tx)}) = primal {' '.join(v for v, _ in args)}", f"let x = {x}"]
    names, out = Names(), []
    for part in (first_derivatives, second_derivatives)[:1 + second]:
        more, results = part(names, tx, ty)
        lines += more
        out += results
    lines.append("in (" + ", ".join(out + ["y", "y1", "y2", "dy", "gx"]) + ")")
    params = "".join(f"[{s}] " for s in sizes) + " ".join(f"({v}: {type_text(t)})" for v, t in args)
    return f"entry {name} {params} =\n  " + "\n  ".join(lines) + "\n"


def dot(names, t, a, b):
    return summed(names, t, [a, b], lambda es: f"{es[0]} * {es[1]}")


def first_derivatives(names, tx, ty):
    """(lines, results): the NUMBERS of f at x, and what they are made of."""
    def size(t, a, b):
        return summed(names, t, [a, b], lambda es: f"f64.abs ({es[0]} * {es[1]})")
    moved = each(names, tx, ["x", "dx"], lambda t, es, _: f"{es[0]} + h * {es[1]}" if t == F else es[0])
    return [
        f"let dx = {each(names, tx, ['x'], direction('0.4'))}",
        "let y = f x",
        f"let w = {each(names, ty, ['y'], direction('1.1'))}",
        f"let moved (h: f64) = {moved}",
        f"let at h = let z = f (moved h) in {dot(names, ty, 'z', 'w')}",
        "let central h = (at h - at (-h)) / (2 * h)",
        "let (y1, dy) = jvp2 f x dx",
        "let (y2, gx) = vjp2 f x w",
        f"let forward = {dot(names, ty, 'dy', 'w')}",
        f"let reverse = {dot(names, tx, 'gx', 'dx')}",
        f"let scale = {size(ty, 'dy', 'w')} + {size(tx, 'gx', 'dx')}",
        f"let right = (at {SMALL_STEP} - at 0) / {SMALL_STEP}",
        f"let left = (at 0 - at (-{SMALL_STEP})) / {SMALL_STEP}",
    ], ["forward", "reverse", "scale", "right", "left", f"central {FIRST_STEP}", f"central {SMALL_STEP}"]


def second_derivatives(names, tx, _):
    """(lines, results): the SECOND of them."""
    def along(v):
        return f"(let v = {v} in {dot(names, tx, 'v', 'dx')})"
    return [
        "let slope x = vjp f x w",
        "let rise x = jvp f x dx",
        f"let slope_at h = {along('slope (moved h)')}",
    ], [along("jvp slope x dx"), along("vjp rise x w"), along("vjp slope x dx"),
        f"((slope_at {FIRST_STEP} - slope_at (-{FIRST_STEP})) / (2 * {FIRST_STEP}))"]


def flat(v):
    return [x for e in v for x in flat(e)] if isinstance(v, list) else [v]


def near(a, b, scale, tolerance):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= tolerance * (scale + abs(a) + abs(b)) + 1e-9


def close_values(v, w, tolerance=1e-6):
    """Do values agree up to rounding, which is that of the greatest number of an array?"""
    v, w = flat(v), flat(w)
    scale = max([abs(x) for x in w if isinstance(x, float) and math.isfinite(x)], default=0)
    return len(v) == len(w) and all(near(a, b, scale, tolerance) if isinstance(b, float) else a == b for a, b in zip(v, w))


def judged(n):
    """None, or which derivatives are wrong. n: the numbers, by their names."""
    scale = n["scale"] if math.isfinite(n["scale"]) else abs(n["wide"])
    smooth = math.isfinite(n["narrow"]) and near(n["wide"], n["narrow"], scale, 1e-6)
    if smooth and not near(n["right"], n["left"], scale, 1e-3):
        return None  # a kink
    if smooth and not near(n["forward"], n["narrow"], scale, 1e-4):
        return "result forward is not that of differences"
    if not smooth and not (math.isfinite(n["forward"]) and math.isfinite(n["reverse"])):
        return None
    if not near(n["forward"], n["reverse"], scale, 1e-6):
        return "result reverse is not forward"
    return judged_second(n, scale, smooth) if SECOND[0] in n else None


def judged_second(n, scale, smooth):
    said = [n[name] for name in SECOND]
    if not smooth or not math.isfinite(said[3]):
        return None
    scale += abs(said[3])
    if not near(said[0], said[3], scale, 1e-2):
        return None if near(said[0], said[1], scale, 1e-6) else f"result {SECOND[1]} is not {SECOND[0]}"
    for name, v in zip(SECOND[1:3], said[1:3]):
        if not near(said[0], v, scale, 1e-6):
            return f"result {name} is not {SECOND[0]}"
    return None


def leaf_count(t):
    return 1 if is_scalar(t) else leaf_count(row(t)) if is_arr(t) else sum(map(leaf_count, parts(t)))


class Checker(check.Checker):
    """Compares with what the interpreter gives."""
    shapes = [k for k, (_, env) in enumerate(check.SHAPES) if "MINIFUT_DRIVER" not in env]

    def __init__(self, *args):
        super().__init__(*args)
        self.second = False
        self.counts["far"] = 0

    def program(self, seed):
        self.second = seed % 4 == 0
        return Smooth(seed).program()

    def text(self, p):
        return with_derivatives(p, self.second)

    def prepare(self, p):
        d = p.entries()[0]
        if not chosen(d):
            return False
        self.path.write_text(self.text(p))
        n = leaf_count(d.body.ty)
        self.names = NUMBERS + (SECOND if self.second else []) + ["y"] * n + ["y of jvp2"] * n + ["y of vjp2"] * n
        self.errors, self.want = {}, {}
        self.volume = {k: 0 for k in range(len(p.inputs))}
        self.entries = {k: p.inputs[k][0] for k in range(len(p.inputs))}
        for k in range(len(p.inputs)):
            (self.folder / f"{k}.in").write_text(check.input_text(p, k))
            self.want[k] = ("open", None)
        return True

    def outcome(self, stage, k, result, command):
        if result[0] == 3:  # a limit of the language's derivatives
            self.counts["limits"] += 1
            self.want[k] = ("far", None)
            return None
        f = super().outcome(stage, k, result, command)
        if f and f.text.startswith("result "):
            f.key = (f.key[0], " ".join(f.text.split(":")[0].split(",")[0].split()[:6]))
        return f

    def compared(self, k, out):
        try:
            values = [v for _, v in check.parse_values(out)]
        except (ValueError, AttributeError, IndexError) as e:
            return f"unreadable output ({e}): {out[:200]}"
        state, want = self.want[k]
        if state == "open":
            return self.sensible(k, values)
        if state == "far":
            return None
        if len(values) != len(want):
            return f"{len(values)} results, expected {len(want)}"
        for i, (v, w) in enumerate(zip(values, want)):
            name = self.names[i] if i < len(self.names) else "derivative"
            if name not in ROUGH and not close_values(v, w):
                return f"result {name} differs, {i}: {str(v)[:300]}, expected {str(w)[:300]}"
        return None

    def sensible(self, k, values):
        """What is wrong with the interpreter's numbers of an input."""
        ys = {name: [v for v, m in zip(values, self.names) if m == name] for name in ("y", "y of jvp2", "y of vjp2")}
        numbers = {m: v for v, m in zip(values, self.names) if m in NUMBERS + SECOND}
        if any(isinstance(x, float) and not abs(x) < 1e8 for x in flat(ys["y"])):
            self.want[k] = ("far", None)
            self.counts["far"] += 1
            return None
        self.want[k] = ("near", values)
        for name in ("y of jvp2", "y of vjp2"):
            if not close_values(ys[name], ys["y"], 1e-9):
                return f"result {name} is {ys[name]}, without derivatives {ys['y']}"
        wrong = judged(numbers)
        if wrong:
            return f"{wrong}: {', '.join(f'{m} {v!r}' for m, v in numbers.items())}"
        return None
