#!/usr/bin/env python3
"""Writes conversions.sf: conversions between all pairs of scalar types, as constants, scalars of the host and in
kernels, and chains of three of them. What they give is computed here, with Python's own integers and fractions.

usage: tests/programs/scalars/conversions.py > tests/programs/scalars/conversions.sf"""
from fractions import Fraction
from math import inf, isinf, isnan, nan

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
DIGITS = {"f16": (11, 15), "f32": (24, 127), "f64": (53, 1023)}  # of the significand; the largest exponent
TYPES = [*BITS, *DIGITS, "bool"]


def limits(t):
    n = BITS[t]
    return (-(1 << (n - 1)), (1 << (n - 1)) - 1) if t[0] == "i" else (0, (1 << n) - 1)


def rounded(t, x):
    """The float of t nearest to the number x, ties to even."""
    if isinstance(x, float) and (isnan(x) or isinf(x)) or x == 0:
        return float(x)
    digits, top = DIGITS[t]
    q = Fraction(abs(x))
    e = 0
    while q >= Fraction(2) ** (e + 1):
        e += 1
    while q < Fraction(2) ** e:
        e -= 1
    step = Fraction(2) ** (max(e, 1 - top) - digits + 1)
    n = q / step
    whole = n.numerator // n.denominator
    rest = n - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2)
    r = whole * step
    return float(r if x > 0 else -r) if r < Fraction(2) ** (top + 1) else inf if x > 0 else -inf


def convert(to, frm, x):
    if to == "bool":
        return x != 0
    if to in DIGITS:
        return rounded(to, int(x) if frm not in DIGITS else x)
    lo, hi = limits(to)
    if frm in DIGITS:  # cut towards zero, then the nearest end
        return 0 if isnan(x) or isinf(x) else max(lo, min(hi, int(x)))
    x = int(x)
    if frm in BITS and to[0] == "u":
        x %= 1 << BITS[frm]  # the bits, filled up with zeros
    x %= 1 << BITS[to]
    return x - (1 << BITS[to]) if x > hi else x


def text(t, x):
    if t == "bool":
        return "true" if x else "false"
    if t in BITS:
        return f"{x}{t}"
    if isnan(x) or isinf(x):
        return f"{'-' if x == -inf else ''}{t}.{'nan' if isnan(x) else 'inf'}"
    return repr(x).replace("e+", "e") + t


def literal(t, x):
    """The same within an expression; the least number of a signed type has no positive form."""
    s = text(t, x)
    return f"({s})" if s[0] == "-" else s


def edges(t):
    if t == "bool":
        return [False, True]
    if t in BITS:
        lo, hi = limits(t)
        powers = [p + d for b in (7, 8, 15, 16, 24, 31, 32, 53, 63) for p in [1 << b] for d in (-1, 0, 1)]
        odd = [(1 << 40) + (1 << 16) + 1, 3 * (1 << 61) + (1 << 37) + 1]  # halfway and above it in f32
        xs = {0, 1, 5, 100, lo, lo + 1, hi, hi - 1, *powers, *(-p for p in powers), -1, -5, *odd}
        return sorted(x for x in xs if lo <= x <= hi)
    big = [2.0**b * s for b in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1)]
    near = [x * (1 - 2.0 ** -DIGITS[t][0]) for x in big]
    beside = [x + d for x in big[:8] for d in (0.5, -0.5, -1)]
    some = [0.0, 0.5, -0.5, 1.99, -1.99, 2.5, 0.1, 16777217.0, 1e30, -1e30, 3e38, 1e300]
    return [*(rounded(t, x) for x in some + big + near + beside), inf, -inf, nan]


def few(xs, n):
    """About n of xs, both ends among them."""
    return [*xs[: -1 : max(1, len(xs) // n)], xs[-1]]


def join(xs):
    return ", ".join(xs)


def column(to, frm, xs):
    return f"[{join(text(to, convert(to, frm, x)) for x in xs)}]"


def case(entry, given, out):
    print(f"-- ==\n-- entry: {entry}\n-- input {{ {given} }}\n-- output {{ " + "\n--          ".join(out) + " }\n")


INTS = list(BITS)


def chain(a, x):
    h = 0
    for b in INTS:
        for c in INTS:
            y = convert("u64", c, convert(c, b, convert(b, a, x)))
            h = (h * 31 + y) % (1 << 64)
    return h


print("-- Conversions between all pairs of scalar types, made by conversions.py, which computed what they give.\n")
for frm in TYPES:
    xs = edges(frm)
    case(f"kernel_{frm}", f"[{join(text(frm, x) for x in xs)}]", [column(to, frm, xs) for to in TYPES])
    for x in few(xs, 6):
        case(f"host_{frm}", text(frm, x), [text(to, convert(to, frm, x)) for to in TYPES])
    case(f"constant_{frm}", "", [column(to, frm, few(xs, 12)) for to in TYPES])
    if frm in BITS:
        case(f"chain_{frm}", f"[{join(text(frm, x) for x in xs)}]",
             [f"[{join(text('u64', chain(frm, x)) for x in xs)}]"])
for frm in TYPES:
    xs = edges(frm)
    print(f"entry kernel_{frm} [n] (xs: [n]{frm}) =\n  ({join(f'map {to}.{frm} xs' for to in TYPES)})\n")
    print(f"entry host_{frm} (x: {frm}) = ({join(f'{to}.{frm} x' for to in TYPES)})\n")
    rows = (f"[{join(f'{to}.{frm} {literal(frm, x)}' for x in few(xs, 12))}]" for to in TYPES)
    print(f"entry constant_{frm} =\n  ( " + "\n  , ".join(rows) + " )\n")
    if frm in BITS:
        steps = "\n  ".join(" ".join(f"let h = h * 31 + u64.{c} ({c}.{b} ({b}.{frm} x))" for c in INTS) for b in INTS)
        print(f"def chains_{frm} (x: {frm}) : u64 =\n  let h = 0u64\n  {steps}\n  in h\n")
        print(f"entry chain_{frm} [n] (xs: [n]{frm}) = map chains_{frm} xs\n")
