"""Short names for the nodes that the generator makes most."""
from tree import N


def lit(t, v):
    return N("lit", t, x=v)


def var(name, t):
    return N("var", t, x=name)


def call(name, t, *kids):
    return N("call", t, kids, name)


def binop(op, a, b, t=None):
    return N("bin", t or a.ty, [a, b], op)
