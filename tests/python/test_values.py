"""Values of every kind, there and back, and what is refused."""
import copy
import math
import pickle
import sys
from collections import namedtuple

import minifut
import numpy as np
import pytest
from minifut import tools, values

INTS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}


def bounds(t):
    bits = INTS[t]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "i" else (0, (1 << bits) - 1)


@pytest.mark.parametrize("t", INTS)
def test_integers(kinds, t):
    f = kinds["next_" + t]
    low, high = bounds(t)
    numpy = np.dtype(values.SCALARS[t][0]).type
    for x in (low, -1 if low else 1, high - 1):
        assert f(x) == x + 1 and type(f(x)) is int
        assert f(numpy(x)) == x + 1 and f(np.array(x, numpy)) == x + 1
    assert f(high) == low  # it wraps around, as the language says
    for x in (low - 1, high + 1):
        with pytest.raises(minifut.ArgumentValueError, match=f"parameter x: {x} is no {t}"):
            f(x)
    for x in (1.0, np.float32(1), True, "1", None, 1j, [1]):
        with pytest.raises(minifut.ArgumentTypeError, match=f"next_{t}: parameter x: {t} is wanted"):
            f(x)


def test_floats(kinds):
    assert kinds.next_f32(0.1) == float(np.float32(0.1) + np.float32(0.5)) and kinds.next_f64(0.1) == 0.6
    assert kinds.next_f64(np.float32(0.1)) == float(np.float32(0.1)) + 0.5 and kinds.next_f32(3) == 3.5
    assert kinds.next_f32(float("inf")) == float("inf") and np.isnan(kinds.next_f32(np.float64("nan")))
    assert kinds.next_f32(np.float64(0.25)) == 0.75
    for f, x in ((kinds.next_f32, np.float64(0.1)), (kinds.next_f32, 2**24 + 1), (kinds.next_f64, 2**53 + 1), (kinds.next_f32, 1e300),
                 (kinds.next_f64, 10**400), (kinds.next_f32, np.int64(2**40 + 1))):
        with pytest.raises(minifut.ArgumentValueError, match="parameter x"):
            f(x)
    with pytest.raises(minifut.ArgumentTypeError):
        kinds.next_f32(True)


def test_bool(kinds):
    assert kinds.next_bool(True) is False and kinds.next_bool(np.False_) is True
    with pytest.raises(minifut.ArgumentTypeError):
        kinds.next_bool(1)


def test_halves():
    """The type's row, there and back as the interface of libraries has it: its bits."""
    t = values.Scalar("f16")
    place = t.out()
    place.value = t.into(None, 1.5, "x", None)
    assert place.value == 0x3e00 and t.take(None, place) == 1.5 and t.dtype == np.float16
    for large in (1e6, 70000, 65520, -70000, np.float64(7e4), np.int32(70000)):
        with pytest.raises(minifut.ArgumentValueError, match="too large for f16"):
            t.into(None, large, "x", None)
    with pytest.raises(minifut.ArgumentValueError, match="2049 would lose digits as f16"):
        t.into(None, 2049, "x", None)
    assert t.python(np.float32("inf"), "x") == float("inf") and math.isnan(t.python(np.float32("nan"), "x"))
    array = values.Array.__new__(values.Array)
    array.elem, array.dtype = t, t.dtype
    for large in ([1, 70000], [-70000, 1], [1.0, 7e4]):
        with pytest.raises(minifut.ArgumentValueError, match="too large for f16"):
            array.from_python(np.array(large), "x")
    with pytest.raises(minifut.ArgumentValueError, match="would lose digits as f16"):
        array.from_python(np.array([1, 2049]), "x")


@pytest.mark.parametrize("name, dtype", [("bytes", "u1"), ("shorts", "i2"), ("ints", "i4"), ("longs", "u8"), ("floats", "f4"), ("doubles", "f8")])
def test_arrays(kinds, name, dtype):
    f = kinds[name]
    change = (lambda x: x * 2) if dtype[0] == "f" else (lambda x: x + 1)
    for n in (0, 1, 5, 1000):
        x = np.arange(n).astype(dtype)
        y = f(x)
        assert y.dtype == x.dtype and y.flags.writeable and np.array_equal(y, change(x))
    x = np.arange(20).astype(dtype)
    assert np.array_equal(f(x[::-3]), change(x[::-3]))  # not contiguous
    assert np.array_equal(f(x.astype(x.dtype.newbyteorder(">"))), change(x))  # of another byte order
    odd = np.zeros(1 + 8 * x.itemsize, "u1")[1:].view(dtype)  # at an odd address
    assert np.array_equal(f(odd), change(odd))
    x.flags.writeable = False
    assert np.array_equal(f(x), change(x))
    assert f([]).shape == (0,) and f([1, 2]).tolist() == change(np.array([1, 2])).tolist()


def test_bools_in_arrays(kinds):
    assert kinds.not_all([True, False]).tolist() == [False, True] and kinds.not_all(np.zeros(0, bool)).size == 0
    for x in (np.zeros(2, "u1"), [1, 0]):
        with pytest.raises(minifut.ArgumentTypeError, match=r"\[\]bool is wanted"):
            kinds.not_all(x)


def test_ranks(kinds):
    x = np.arange(6, dtype="f4").reshape(2, 3)
    assert np.array_equal(kinds.turned(x), x.T) and np.array_equal(kinds.turned(x.T), x) and np.array_equal(kinds.turned(np.asfortranarray(x)), x.T)
    assert kinds.turned([[1, 2], [3, 4]]).tolist() == [[1, 3], [2, 4]]
    for shape in ((0, 3), (2, 0), (0, 0)):
        assert kinds.turned(np.zeros(shape, "f4")).shape == shape[::-1]
    assert kinds.turned([]).shape == (0, 0) and kinds.turned([[], []]).shape == (0, 2)
    y = np.arange(24, dtype="i4").reshape(2, 3, 4)
    sums, total = kinds.cube(np.transpose(y, (2, 0, 1)))
    assert np.array_equal(sums, np.transpose(y, (2, 0, 1)).sum(2)) and total == y.sum()
    for wrong in (x[0], x[None], 3, [[1, 2], 3], [[1, 2], [3]]):
        with pytest.raises((minifut.ArgumentTypeError, minifut.ArgumentValueError), match="turned: parameter xss"):
            kinds.turned(wrong)


def test_conversions(kinds):
    """Those that keep every value are made, others are refused with what to do."""
    assert kinds.doubles(np.ones(2, "f4")).dtype == np.float64 and kinds.floats(np.ones(2, "i2")).dtype == np.float32
    assert kinds.ints(np.ones(2, "u2")).tolist() == [2, 2] and kinds.doubles(np.array([2**31 - 1], "i4"))[0] == 2**32 - 2
    for f, dtype in ((kinds.floats, "f8"), (kinds.floats, "i4"), (kinds.doubles, "i8"), (kinds.ints, "i8"), (kinds.ints, "u4"), (kinds.ints, "f4"),
                     (kinds.longs, "i4"), (kinds.ints, "?"), (kinds.doubles, "c16"), (kinds.bytes, "M8[s]"), (kinds.doubles, "U3"), (kinds.ints, "O")):
        with pytest.raises(minifut.ArgumentTypeError, match=r"parameter xs: .* is wanted, an array of"):
            f(np.zeros(2, dtype))
    assert kinds.floats([0.1, 2]).tolist() == [float(np.float32(0.1) * 2), 4]
    assert kinds.longs([2**64 - 2]).tolist() == [2**64 - 1]
    for f, x in ((kinds.ints, [2**31]), (kinds.bytes, [-1]), (kinds.floats, [2**24 + 1]), (kinds.floats, [1e300]), (kinds.ints, [2**70])):
        with pytest.raises((minifut.ArgumentValueError, minifut.ArgumentTypeError), match="parameter xs"):
            f(x)
    with pytest.raises(minifut.ArgumentTypeError, match="float64"):
        kinds.floats([np.float64(0.1)])  # a list of NumPy's numbers has their type
    with pytest.raises(minifut.ArgumentTypeError, match="masked"):
        kinds.ints(np.ma.array([1, 2], mask=[0, 1], dtype="i4"))
    assert kinds.bytes(b"ab").tobytes() == b"bc" and kinds.bytes("ab").tobytes() == b"bc"


def test_mixed_lists(kinds):
    """NumPy has one type for all numbers of a list; each is taken as what it is."""
    assert kinds.doubles([1, 0.5]).tolist() == [2, 1] and kinds.floats([2**70]).tolist() == [2.0**71]
    assert kinds.longs([2**63, 1]).tolist() == [2**63 + 1, 2] and kinds.turned([[1, 0.5], [2, 3]]).tolist() == [[1, 2], [0.5, 3]]
    for f, x in ((kinds.doubles, [2**53 + 1, 0.5]), (kinds.doubles, [2**63 + 1, -1]), (kinds.floats, [0.5, 2**24 + 1]), (kinds.longs, [2**64, 1]),
                 (kinds.longs, [2**63, -1])):
        with pytest.raises(minifut.ArgumentValueError, match="parameter xs: .* is no u64|parameter xs: .* would lose digits"):
            f(x)
    for f, x in ((kinds.ints, [5, True]), (kinds.floats, [False, 0.5]), (kinds.not_all, [True, 1]), (kinds.ints, [1, 0.5]), (kinds.ints, [1, None])):
        with pytest.raises(minifut.ArgumentTypeError, match="parameter xs: .* is wanted"):
            f(x)


def test_no_numbers(kinds):
    """What is masked, or a time, is none."""
    for f, x in ((kinds.next_f64, np.ma.masked), (kinds.next_i32, np.ma.array(1, mask=True)), (kinds.doubles, [1.5, np.ma.masked]),
                 (kinds.turned, [np.ma.array([1, 2], mask=[0, 1]), [1, 2]]), (kinds.turned, [[1, 2], [np.ma.masked, 3]])):
        with pytest.raises(minifut.ArgumentTypeError, match="masked would be lost"):
            f(x)
    one = kinds.ints.__wrapped_entry__.inputs[0]
    with pytest.raises(minifut.ArgumentTypeError, match="masked would be lost"):
        tools.encoded(one, np.ma.array([1, 2], mask=[0, 1], dtype="i4"), "xs")
    assert kinds.ints(np.ma.array([1, 2], dtype="i4")).tolist() == [2, 3] and kinds.next_i32(np.ma.array(1)) == 2
    for f in (kinds.next_i64, kinds.next_f64):
        for x in (np.timedelta64(3), np.array(np.timedelta64(3, "s"))):
            with pytest.raises(minifut.ArgumentTypeError, match="is wanted"):
                f(x)


def test_shapes(kinds):
    with pytest.raises(minifut.ArgumentValueError, match=r"dot: argument 2 \(ys\): size n is 3 here, but 2 before"):
        kinds.dot([1, 2], [1, 2, 3])


def test_calls(kinds):
    n, xs, positive = kinds.several([1, 2], k=3)
    assert (n, xs.tolist(), positive) == (2, [4, 5], True)
    assert kinds.nothing(1) == ()
    for args, kwargs in (((1,), {}), ((1, 2, 3), {}), (([1],), {"j": 1}), (([1], 1), {"k": 1})):
        with pytest.raises(minifut.ArgumentTypeError, match=r"several: .*parameters are xs: \[n\]i32, k: i32"):
            kinds.several(*args, **kwargs)


def test_records(kinds):
    point = kinds.types.point
    p = kinds.moved(point(x=1, y=2), 3)
    assert p == point(x=4.0, y=-1.0) and isinstance(p, tuple)
    Other = namedtuple("Other", "y x")
    assert kinds.moved({"y": 2, "x": 1}, 3) == p == kinds.moved(Other(2, 1), 3)

    class Thing:
        x, y = 1, 2
    assert kinds.moved(Thing(), 3) == p
    for wrong in ((1, 2), [1, 2], {"x": 1}, {"x": 1, "y": 2, "z": 3}, 1, {"x": "a", "y": 1}):
        with pytest.raises(minifut.ArgumentTypeError, match="moved: parameter p"):
            kinds.moved(wrong, 3)
    with pytest.raises(minifut.ArgumentTypeError, match=r"parameter p\.x: f32 is wanted"):
        kinds.moved({"x": "a", "y": 1}, 3)
    o = kinds.strange({"size'": 3, "lambda": True, "_in": 7})
    assert o._asdict() == {"f_in": 7, "lambda_": True, "size_": 4} and kinds.strange(o).size_ == 5
    assert kinds.paired((1, p)) == (2, point(x=5.0, y=-2.0)) and kinds.both(p, (3, point(4, 5))) == (point(4.0, 5.0), (1, p))


def test_pickled_records(kinds):
    p = kinds.moved({"x": 1, "y": 2}, 3)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        q = pickle.loads(pickle.dumps((1, p), protocol))[1]
        assert q == p and q.x == 4 and kinds.moved(q, 1) == kinds.moved(p, 1) and pickle.loads(pickle.dumps(q)) == p and repr(q) == repr(p)
    assert type(copy.copy(p)) is type(copy.deepcopy(p)) is kinds.types.point and copy.deepcopy(p) == p


def test_arrays_of_records(kinds):
    x = np.array([(1, 2), (3, 4)], [("x", "f4"), ("y", "f4")])
    y, p = kinds.points(x), {"x": 1, "y": 2}
    assert y.dtype.names == ("x", "y") and y["x"].tolist() == [2, 4] and kinds.points(y).tolist() == x.tolist()
    assert kinds.points({"x": [1, 3], "y": [2, 4]}).tolist() == y.tolist()
    assert kinds.points([{"x": 1, "y": 2}, kinds.types.point(3, 4)]).tolist() == y.tolist() and kinds.points([]).shape == (0,)
    assert kinds.points(x[["y", "x"]]).tolist() == y.tolist()
    assert kinds.grid([[{"x": 1, "y": 2}, {"x": 3, "y": 4}]]).tolist() == [4] and kinds.grid(np.zeros((2, 0), x.dtype)).tolist() == [0, 0]
    for ragged in ([[], [p]], [[p], []], [[p], [p, p]]):
        with pytest.raises(minifut.ArgumentValueError, match="rows of different lengths"):
            kinds.grid(ragged)
    for wrong in ([[p], p], [[p], 3], [p]):
        with pytest.raises(minifut.ArgumentTypeError, match="grid: parameter ps"):
            kinds.grid(wrong)
    assert kinds.grid([]).shape == (0,) and kinds.grid([[], []]).tolist() == [0, 0]
    assert kinds.tuples([1, 2]).tolist() == [(1, False), (2, True)]
    c = np.zeros(2, [("at", "f8", (2,)), ("of", x.dtype)])
    c["at"], c["of"]["x"] = [[1, 2], [3, 4]], 5
    d = kinds.corners(c)
    assert d["at"].tolist() == [[2, 4], [6, 8]] and d["of"]["x"].tolist() == [5, 5] and d.dtype == c.dtype
    for wrong in (x["x"], [(1, 2)], {"x": [1]}, 3, [[{"x": 1, "y": 1}]], x[None]):
        with pytest.raises(minifut.Error, match="points: parameter ps"):
            kinds.points(wrong)


def test_sums(kinds):
    shape = kinds.types.shape
    p = kinds.types.point(x=1.0, y=2.0)
    big = kinds.grown(2, shape.circle(p, 3))
    assert big == shape.circle(p, 6.0) and isinstance(big, shape) and isinstance(big, shape.circle) and big.v1 == 6 and tuple(big) == (p, 6.0)
    assert big != shape.circle(p, 5.0) and repr(big) == "shape.circle(point(x=1.0, y=2.0), 6.0)"
    for x in (shape.nothing, shape.nothing(), "nothing", "#nothing"):
        assert kinds.grown(1, x) == shape.nothing()
    path = kinds.grown(2, ("path", [1, 2]))
    assert path.v0.tolist() == [2, 4] and path == kinds.grown(1, path)
    for x in ("oval", ("circle", p), shape.path, 3, None):
        with pytest.raises(minifut.ArgumentTypeError, match="grown: parameter s: shape"):
            kinds.grown(1, x)
    with pytest.raises(minifut.ArgumentTypeError, match="value 1: f32 is wanted"):
        kinds.grown(1, ("circle", p, "r"))
    with pytest.raises(minifut.ArgumentTypeError, match="holds 2 values"):
        shape.circle(1)
    with pytest.raises(AttributeError):
        big.v0 = 1
    signs = kinds.signs([-3, 0, 4])
    assert [s.variant for s in signs] == ["minus", "zero", "plus"] and kinds.size(signs) == 7 and kinds.size([]) == 0 and kinds.size(list(signs)) == 7
    assert "A figure of the plane." in shape.__doc__


@pytest.mark.skipif(sys.version_info < (3, 10), reason="match")
def test_match(kinds):
    space = {"shape": kinds.types.shape, "value": kinds.grown(2, ("path", [1.5]))}
    exec("match value:\n  case shape.circle(p, r): found = r\n  case shape.path(xs): found = xs[0]", space)
    assert space["found"] == 3


@pytest.mark.parametrize("value", [[1, "a"], ["x"]])
def test_no_numbers(kinds, value):
    with pytest.raises(minifut.ArgumentTypeError, match="no numbers"):
        kinds.doubles(value)
