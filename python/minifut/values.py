"""What the types of a program are in Python, and how values go there and back.

A type has `into(cx, value, where, call)`: what C is passed for a Python value, where `where` says which parameter it is and `call`
collects what is to be freed behind the call; `out()`: a place for a result; `take(cx, place)`: that result as a Python value;
`keep(cx, place, call)`: the same, with arrays that stay on the device."""
import copy
import ctypes
import functools
import keyword
import math
import re
from collections import namedtuple

import numpy as np

from .errors import ArgumentTypeError, ArgumentValueError
from .library import POINTER

# By name: NumPy's type, what C is passed (a half as its bits).
SCALARS = {
    "bool": ("?", ctypes.c_bool),
    "i8": ("i1", ctypes.c_int8), "i16": ("i2", ctypes.c_int16), "i32": ("i4", ctypes.c_int32), "i64": ("i8", ctypes.c_int64),
    "u8": ("u1", ctypes.c_uint8), "u16": ("u2", ctypes.c_uint16), "u32": ("u4", ctypes.c_uint32), "u64": ("u8", ctypes.c_uint64),
    "f16": ("f2", ctypes.c_uint16), "f32": ("f4", ctypes.c_float), "f64": ("f8", ctypes.c_double),
}


def described(value):
    """What was given, for messages."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{type(value).__name__} of {value.dtype} of shape {tuple(value.shape)}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def refuse(where, wanted, value, hint=""):
    raise ArgumentTypeError(f"{where}: {wanted} is wanted, {described(value)} was given{hint}")


MASKED = ": which elements are masked would be lost"


def masked(value):
    """Has an array, or one in lists, elements that are masked?"""
    if isinstance(value, np.ma.MaskedArray):
        return np.ma.is_masked(value)
    return isinstance(value, (list, tuple)) and any(issubclass(t, (list, tuple, np.ma.MaskedArray)) for t in set(map(type, value))) \
        and any(map(masked, value))


class Call:
    """What a call holds: objects to be freed behind it, and those whose memory it uses."""

    def __init__(self):
        self.made, self.owners, self.foreign, self.unique = [], [], False, False

    def uses(self, kept):
        """A kept value is an argument: results may lie in its memory, and in that of others in which it lies itself."""
        self.owners.append(kept)
        self.foreign = self.foreign or bool(kept.owners)


class Scalar:
    def __init__(self, name):
        self.name = name
        code, self.c = SCALARS[name]
        self.dtype = np.dtype(code)
        self.kind = self.dtype.kind
        if self.kind in "iu":
            info = np.iinfo(self.dtype)
            self.least, self.most = int(info.min), int(info.max)
        self.hint = {"b": "bool", "i": "int", "u": "int", "f": "float"}[self.kind]

    def into(self, cx, value, where, call):
        x = self.python(value, where)
        return int(np.float16(x).view(np.uint16)) if self.name == "f16" else x

    def python(self, value, where):
        """The value as bool, int or float, if the type holds it. A float of Python is rounded to f32, as NumPy does it."""
        t = type(value)
        if self.kind == "f" and t is float:
            return self.rounded(value, where)
        if self.kind in "iu" and t is int:
            return self.ranged(value, where)
        if not isinstance(value, (bool, int, float, np.generic)) and getattr(value, "shape", None) == () and hasattr(value, "__array__"):
            if masked(value):
                refuse(where, self.name, value, MASKED)
            value = np.asarray(value)[()]
        is_bool = isinstance(value, (bool, np.bool_))
        is_int = isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64)
        if self.kind == "b" and is_bool:
            return bool(value)
        if self.kind in "iu" and is_int and not is_bool:
            return self.ranged(int(value), where)
        if self.kind == "f" and is_int and not is_bool:
            return self.exact(int(value), where)
        if self.kind == "f" and isinstance(value, np.floating):
            return self.exact(value, where)
        if self.kind == "f" and isinstance(value, float):
            return self.rounded(value, where)
        refuse(where, self.name, value)

    def ranged(self, value, where):
        if not self.least <= value <= self.most:
            raise ArgumentValueError(f"{where}: {value} is no {self.name} ({self.least} to {self.most})")
        return value

    def rounded(self, value, where):
        if self.dtype.itemsize < 8 and not math.isinf(value):
            with np.errstate(over="ignore"):
                self.bounded(value, self.dtype.type(value), where)
        return value

    def bounded(self, value, x, where):
        """x is the value as this type has it: no infinity that the value is not."""
        if np.isinf(x) and not (isinstance(value, (float, np.floating)) and np.isinf(value)):
            raise ArgumentValueError(f"{where}: {value!r} is too large for {self.name}")

    def exact(self, value, where):
        """An integer, or a float of NumPy, whose type says how many digits are meant."""
        with np.errstate(over="ignore"):
            try:
                x = self.dtype.type(value)
            except OverflowError:
                x = self.dtype.type("inf")
        self.bounded(value, x, where)
        if isinstance(value, int):
            same = int(x) == value
        else:
            same = x == value or (x != x and value != value)
        if not same:
            raise ArgumentValueError(f"{where}: {value!r} would lose digits as {self.name}; "
                                     f"np.{self.dtype.type.__name__}({value!r}) rounds it")
        return float(x)

    def out(self):
        return self.c()

    def take(self, cx, place):
        x = place.value
        return float(np.uint16(x).view(np.float16)) if self.name == "f16" else x

    def keep(self, cx, place, call):
        return self.take(cx, place)


def keeps_values(have, want):
    """Does a conversion keep every value of NumPy's type `have`? Numbers are no truth values, nor the other way."""
    if have == want:
        return True
    if have.kind not in "iuf" or want.kind not in "iuf" or (have.kind != "f" and want.kind == "f" and have.itemsize >= want.itemsize):
        return False
    return np.can_cast(have, want, "safe")


def first_leaf(value):
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value


class Array:
    def __init__(self, types, name, about):
        self.types, self.name, self.rank = types, name, about["rank"]
        self.elem = types[about["elemtype"]]
        self.dtype, self.ops = self.elem.dtype, about["ops"]
        self.hint = f"NDArray[np.{np.dtype(self.dtype).type.__name__}]"
        lib, dims = types.library, [ctypes.c_int64] * self.rank
        self.new = lib.function(self.ops["new"], POINTER, [POINTER, POINTER, *dims])
        self.new_raw = lib.function(self.ops["new_raw"], POINTER, [POINTER, POINTER, *dims])
        self.free = lib.function(self.ops["free"], ctypes.c_int, [POINTER, POINTER])
        self.values = lib.function(self.ops["values"], ctypes.c_int, [POINTER, POINTER, POINTER])
        self.values_raw = lib.function(self.ops["values_raw"], POINTER, [POINTER, POINTER])
        self.index = lib.function(self.ops["index"], ctypes.c_int, [POINTER, POINTER, POINTER, *dims])
        self.shape = lib.function(self.ops["shape"], ctypes.POINTER(ctypes.c_int64), [POINTER, POINTER])

    def into(self, cx, value, where, call):
        from .device import DeviceArray, shared
        if type(value) is DeviceArray:
            return self.of_device(cx, value, where, call)
        if type(value) is not np.ndarray or value.dtype != self.dtype or value.ndim != self.rank or not value.flags.c_contiguous:
            if cx.driver == "cuda" and hasattr(value, "__cuda_array_interface__"):
                pointer = shared(cx, self, value, where, call)
                if pointer:
                    return pointer
            value = self.converted(value, where)
        pointer = cx.made(self.new(cx.ptr, value.__array_interface__["data"][0], *value.shape))
        call.made.append((self.free, pointer))
        return pointer

    def of_device(self, cx, value, where, call):
        value.cx.alive()
        if value.type.name != self.name:
            if value.dtype != self.dtype or value.ndim != self.rank:
                refuse(where, self.name, value)
        elif value.cx is cx and not (call.unique and (value.exported or value.owners)):
            call.uses(value)
            return value.pointer(where)
        return self.into(cx, np.array(value), where, call)  # of another program or context, seen from outside, or in memory of others

    def converted(self, value, where):
        """An array of NumPy with the type's elements, in order; or why that cannot be."""
        weak = isinstance(value, (list, tuple)) and not isinstance(first_leaf(value), (np.ndarray, np.generic))
        if masked(value):
            refuse(where, self.name, value, MASKED)
        if self.name == "[]u8" and isinstance(value, (str, bytes, bytearray)):
            value = np.frombuffer(value.encode() if isinstance(value, str) else value, np.uint8)
        hint = ": memory of CUDA is taken as it is, if it is contiguous, of this very type, and begins at a multiple of 128 bytes" \
            if hasattr(value, "__cuda_array_interface__") else ""
        try:
            x = np.asarray(value)
        except TypeError:  # not for NumPy
            refuse(where, self.name, value, hint)
        except ValueError:
            raise ArgumentValueError(f"{where}: {self.name} is wanted, and rows of different lengths were given") from None
        if x.dtype == object and x.ndim == 0:
            refuse(where, self.name, value, hint)
        if x.size == 0 and weak:
            x = x.astype(self.dtype).reshape(x.shape + (0,) * (self.rank - x.ndim))
        if x.ndim != self.rank:
            refuse(where, f"{self.name}, an array of {self.rank} dimension{'s' * (self.rank > 1)},", x)
        if weak and x.size and x.dtype.kind in "biufO":
            x = self.listed(x, value, where)
        if not keeps_values(x.dtype.newbyteorder("="), self.dtype):
            numbers = x.dtype.kind in "biufc"
            hint = f": not every {x.dtype} is a {self.name.lstrip('[]')}; .astype(np.{self.dtype.type.__name__}) converts it all the same"
            refuse(where, self.name, x, hint if numbers else ": these are no numbers")
        return np.require(x, self.dtype, ["C"])

    def listed(self, x, value, where):
        """x is what NumPy makes of lists. Numbers of several types it gives a common one, which may not hold them, nor bools apart from
        integers: those are taken one by one."""
        leaves = np.array(value, object)
        types = set(map(type, leaves.flat))
        if types in ({float}, {bool}) or types == {int} and x.dtype.kind in "iu":
            return self.from_python(x, where)
        return np.array([self.elem.python(leaf, where) for leaf in leaves.flat], self.dtype).reshape(x.shape)

    def from_python(self, x, where):
        """Numbers of Python, which have no type of their own: integers must fit, floats are rounded."""
        kind = self.dtype.kind
        if x.dtype.kind in "iu" and kind in "iu":
            low, high = int(x.min()), int(x.max())
            self.elem.ranged(low, where)
            self.elem.ranged(high, where)
            return x.astype(self.dtype)
        if x.dtype.kind in "iu" and kind == "f":
            with np.errstate(over="ignore"):
                y = x.astype(self.dtype)
            self.bounded(x, y, where)
            if any(int(b) != int(a) for a, b in zip(x.flat, y.flat)):
                raise ArgumentValueError(f"{where}: integers of the list would lose digits as {self.elem.name}")
            return y
        if x.dtype.kind == "f" and kind == "f":
            with np.errstate(over="ignore"):
                y = x.astype(self.dtype)
            self.bounded(x, y, where)
            return y
        return x

    def bounded(self, x, y, where):
        if (np.isinf(y) & ~np.isinf(x)).any():
            raise ArgumentValueError(f"{where}: a number of the list is too large for {self.elem.name}")

    def out(self):
        return POINTER()

    def shape_of(self, cx, pointer):
        return tuple(self.shape(cx.ptr, pointer)[:self.rank])

    def fetch(self, cx, pointer):
        x = np.empty(self.shape_of(cx, pointer), self.dtype)
        cx.check(self.values(cx.ptr, pointer, x.__array_interface__["data"][0]))
        return x

    def take(self, cx, place):
        pointer = place.value
        try:
            return self.fetch(cx, pointer)
        finally:
            self.free(cx.ptr, pointer)

    def keep(self, cx, place, call):
        from .device import DeviceArray
        return DeviceArray(cx, self, place.value, call.owners if call.foreign else ())


def identifier(name, taken):
    """A name of Python's for one of the program's, which may have primes, or be a word of Python."""
    word = re.sub(r"\W", "_", name) or "unit"
    word = "f" + word if word[0].isdigit() or word[0] == "_" else word
    while word in taken or keyword.iskeyword(word):
        word += "_"
    taken.add(word)
    return word


def members(value, names, fields, where, wanted):
    """The fields of a record by name, of a mapping or attributes, as its order is none of the program's; those of a tuple by position."""
    if isinstance(value, dict):
        known = {n: f for n, f in zip(names, fields)}
        extra = [k for k in value if k not in names and k not in fields]
        missing = [n for n in names if n not in value and known[n] not in value]
        if extra or missing:
            raise ArgumentTypeError(f"{where}: {wanted} is wanted; "
                                    + "; ".join(filter(None, [missing and "missing: " + ", ".join(missing), extra and "unknown: " + ", ".join(map(str, extra))])))
        return [value[n] if n in value else value[known[n]] for n in names]
    if isinstance(value, np.void) and value.dtype.names:
        return members({n: value[n] for n in value.dtype.names}, names, fields, where, wanted)
    by_place = all(n.isdigit() for n in names)
    if isinstance(value, (tuple, list)) and len(value) == len(names) and (by_place or getattr(value, "_fields", ()) == tuple(fields)):
        return list(value)
    if hasattr(value, "_asdict"):
        return members(value._asdict(), names, fields, where, wanted)
    if names and not isinstance(value, (tuple, list)) and all(hasattr(value, f) for f in fields):
        return [getattr(value, f) for f in fields]
    refuse(where, wanted, value, "" if by_place else f": its fields by name are meant, {{{', '.join(f'{f!r}: ..' for f in fields)}}}")


class Composite:
    """What records, sums and arrays of them have alike."""

    def __init__(self, types, name, about):
        self.types, self.name, self.doc = types, name, about.get("doc")
        self.ops, self.lib = about["ops"], types.library
        self.free = self.lib.function(self.ops["free"], ctypes.c_int, [POINTER, POINTER])

    def out(self):
        return POINTER()

    def maker(self, name, parts):
        """A function `int f(ctx, T **out, parts...)`."""
        return self.lib.function(name, ctypes.c_int, [POINTER, POINTER, *(argument(t) for t in parts)])

    def make(self, cx, function, arguments, call):
        place = POINTER()
        cx.check(function(cx.ptr, ctypes.byref(place), *arguments))
        call.made.append((self.free, place.value))
        return place.value

    def of_device(self, cx, value, where, call):
        """The object of a kept value of this type; None: it is another value."""
        from .device import DeviceValue
        if not isinstance(value, DeviceValue):
            return None
        value.cx.alive()
        if value.cx is not cx or value.type is not self or (call.unique and value.owners):
            return self.into(cx, value.get(), where, call)
        call.uses(value)
        return value.pointer(where)

    def into(self, cx, value, where, call):
        pointer = self.of_device(cx, value, where, call)
        return self.built(cx, value, where, call) if pointer is None else pointer

    def take(self, cx, place):
        try:
            return self.fetch(cx, place.value)
        finally:
            self.free(cx.ptr, place.value)

    def keep(self, cx, place, call):
        from .device import DeviceValue
        return DeviceValue(cx, self, place.value, call.owners if call.foreign else ())

    def part(self, cx, function, t, pointer, kept=None):
        """A field, which function `int f(ctx, T *out, obj)` gives."""
        place = t.out()
        cx.check(function(cx.ptr, ctypes.byref(place), pointer))
        return t.take(cx, place) if kept is None else t.keep(cx, place, kept)


def argument(t):
    return t.c if isinstance(t, Scalar) else POINTER


class Fields:
    """What named tuples of records have beside: a pickle has the names of the fields, as classes are made by modules."""
    __slots__ = ()

    def __reduce__(self):
        return record_of, (type(self).__name__, self._fields, tuple(self))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self._make(copy.deepcopy(tuple(self), memo))


def record_class(name, fields):
    return type(name, (Fields, namedtuple(name, fields)), {"__slots__": ()})


read_class = functools.lru_cache(maxsize=None)(record_class)


def record_of(name, fields, values):
    """Of a pickle: a named tuple, which every module with such a record takes."""
    return read_class(name, fields)._make(values)


class Record(Composite):
    """A record: a named tuple; a tuple of the program's: a tuple."""

    def __init__(self, types, name, about):
        super().__init__(types, name, about)
        fields = about["record"]["fields"]
        self.names = [f["name"] for f in fields]
        self.parts = [types[f["type"]] for f in fields]
        self.project = [self.lib.function(f["project"], ctypes.c_int, [POINTER, POINTER, POINTER]) for f in fields]
        self.new = self.maker(about["record"]["new"], self.parts)
        self.is_tuple = all(n.isdigit() for n in self.names)
        taken = set()
        self.fields = [identifier(n, taken) for n in self.names]
        self.python = tuple if self.is_tuple else record_class(types.class_name(name, self.names), self.fields)
        self.hint = f"tuple[{', '.join(p.hint for p in self.parts) or '()'}]" if self.is_tuple else self.python.__name__
        if not self.is_tuple:
            self.python.__doc__ = (self.doc + "\n\n" if self.doc else "") + f"The type {name} of the program."

    def value(self, parts):
        return tuple(parts) if self.is_tuple else self.python(*parts)

    def built(self, cx, value, where, call):
        given = members(value, self.names, self.fields, where, self.name)
        parts = [t.into(cx, x, f"{where}.{n}", call) for t, n, x in zip(self.parts, self.names, given)]
        return self.make(cx, self.new, parts, call)

    def fetch(self, cx, pointer):
        return self.value([self.part(cx, f, t, pointer) for f, t in zip(self.project, self.parts)])

    def keep(self, cx, place, call):
        try:
            return self.value([self.part(cx, f, t, place.value, call) for f, t in zip(self.project, self.parts)])
        finally:
            self.free(cx.ptr, place.value)


class Variant:
    """A value of a sum type: what it holds is `values`, `v0`, `v1`, ...; `match` takes it apart by position."""
    __slots__ = ("values",)
    __match_args__ = ()
    variant, type_name = "", ""

    def __init__(self, *values):
        if len(values) != len(self.__match_args__):
            raise ArgumentTypeError(f"{type(self).__qualname__} holds {len(self.__match_args__)} values, {len(values)} were given")
        object.__setattr__(self, "values", values)

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__qualname__} does not change")

    def __repr__(self):
        return f"{type(self).__qualname__}({', '.join(map(repr, self.values))})"

    def __iter__(self):
        return iter(self.values)

    def __eq__(self, other):
        if not isinstance(other, Variant):
            return NotImplemented
        return self.variant == other.variant and self.type_name == other.type_name and len(self.values) == len(other.values) and \
            all(np.array_equal(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else a == b for a, b in zip(self.values, other.values))

    def __hash__(self):
        return hash((self.variant, self.values))

    def __reduce__(self):
        return rebuilt, (self.type_name, self.variant, self.values)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return type(self)(*copy.deepcopy(self.values, memo))


def rebuilt(type_name, variant, values):
    """Of a pickle: as a tuple, which every module with such a type takes, as classes are made by modules."""
    return (variant, *values)


class Sum(Composite):
    """A sum: a class, with a class inside of it for each variant."""

    def __init__(self, types, name, about):
        super().__init__(types, name, about)
        self.variant = self.lib.function(about["sum"]["variant"], ctypes.c_int, [POINTER, POINTER])
        word = types.class_name(name, [v["name"] for v in about["sum"]["variants"]])
        doc = (self.doc + "\n\n" if self.doc else "") + f"The type {name} of the program: " + " | ".join(
            "#" + " ".join([v["name"], *v["payload"]]) for v in about["sum"]["variants"])
        self.python = type(word, (Variant,), {"__doc__": doc, "__slots__": (), "type_name": name})
        self.hint, self.variants, taken = word, [], set()
        for v in about["sum"]["variants"]:
            parts = [types[p] for p in v["payload"]]
            destruct = self.lib.function(v["destruct"], ctypes.c_int, [POINTER] * (len(parts) + 2))
            names = tuple(f"v{i}" for i in range(len(parts)))
            body = {n: property(lambda self, i=i: self.values[i]) for i, n in enumerate(names)}
            attribute = identifier(v["name"], taken)
            made = type(attribute, (self.python,), {**body, "__slots__": (), "__match_args__": names, "variant": v["name"],
                                                    "__qualname__": f"{word}.{attribute}", "__doc__": f"#{v['name']} {' '.join(v['payload'])}".rstrip()})
            setattr(self.python, attribute, made)
            self.variants.append((v["name"], parts, self.maker(v["construct"], parts), destruct, made))

    def built(self, cx, value, where, call):
        if isinstance(value, type) and issubclass(value, Variant) and value.variant and not value.__match_args__:
            value = value()
        if isinstance(value, Variant):
            name, given = value.variant, value.values
        elif isinstance(value, str):
            name, given = value, ()
        elif isinstance(value, tuple) and value and isinstance(value[0], str):
            name, given = value[0], value[1:]
        else:
            refuse(where, self.name, value)
        for variant, parts, construct, _, _ in self.variants:
            if variant == name.lstrip("#") and len(parts) == len(given):
                inside = [t.into(cx, x, f"{where} #{name}, value {i}", call) for i, (t, x) in enumerate(zip(parts, given))]
                return self.make(cx, construct, inside, call)
        refuse(where, f"{self.name} ({self.python.__doc__.rsplit(': ', 1)[-1]})", value)

    def fetch(self, cx, pointer):
        _, parts, _, destruct, made = self.variants[self.variant(cx.ptr, pointer)]
        places = [t.out() for t in parts]
        cx.check(destruct(cx.ptr, *map(ctypes.byref, places), pointer))
        return made(*[t.take(cx, p) for t, p in zip(parts, places)])


class Many(Composite):
    """An array of records or sums, `about` what the manifest says of it."""

    def __init__(self, types, name, about, kind):
        super().__init__(types, name, about)
        about = about[kind]
        self.rank = about["rank"]
        dims = [ctypes.c_int64] * self.rank
        self.elem = types[about["elemtype"]] if about["elemtype"] in types.manifest else None
        self.shape = self.lib.function(about["shape"], ctypes.POINTER(ctypes.c_int64), [POINTER, POINTER])
        self.index = self.lib.function(about["index"], ctypes.c_int, [POINTER, POINTER, POINTER, *dims]) if "index" in about else None
        self.new = self.lib.function(about["new"], ctypes.c_int, [POINTER, POINTER, POINTER, *dims]) if "new" in about else None
        self.hint = "np.ndarray[Any, Any]"

    def shape_of(self, cx, pointer):
        return tuple(self.shape(cx.ptr, pointer)[:self.rank])

    def elements(self, value, where):
        """Lists in lists as an array of objects with this rank."""
        shape, rows = [], [value]
        for _ in range(self.rank):
            if not all(isinstance(row, (list, tuple)) or isinstance(row, np.ndarray) and row.ndim for row in rows):
                refuse(where, self.name, value)
            lengths = set(map(len, rows))
            if len(lengths) > 1:
                raise ArgumentValueError(f"{where}: {self.name} is wanted, and rows of different lengths were given")
            shape.append(max(lengths, default=0))
            rows = [element for row in rows for element in row]
        x = np.empty(len(rows), object)
        for i, element in enumerate(rows):
            x[i] = element
        return x.reshape(shape)


class Records(Many):
    """An array of records: a structured array of NumPy, whose fields lie on the device one array each."""

    def __init__(self, types, name, about):
        super().__init__(types, name, about, "record_array")
        fields = about["record_array"]["fields"]
        self.names = [f["name"] for f in fields]
        self.parts = [types[f["type"]] for f in fields]
        self.project = [self.lib.function(f["project"], ctypes.c_int, [POINTER, POINTER, POINTER]) for f in fields]
        self.zip = self.maker(about["record_array"]["zip"], self.parts)
        taken = set()
        self.fields = [identifier(n, taken) for n in self.names]

    def built(self, cx, value, where, call):
        columns = self.columns(value, where)
        parts = [t.into(cx, x, f"{where}.{n}", call) for t, n, x in zip(self.parts, self.names, columns)]
        return self.make(cx, self.zip, parts, call)

    def columns(self, value, where):
        """An array for each field: of a structured array, of a mapping to arrays, or of records in lists."""
        if isinstance(value, np.ndarray) and value.dtype.names:
            if value.ndim != self.rank:
                refuse(where, f"{self.name}, an array of rank {self.rank},", value)
            return members({n: value[n] for n in value.dtype.names}, self.names, self.fields, where, self.name)
        if isinstance(value, dict):
            return members(value, self.names, self.fields, where, self.name)
        x = self.elements(value, where)
        rows = [members(e, self.names, self.fields, f"{where}[{i}]", self.name.lstrip("[]")) for i, e in enumerate(x.flat)]

        def nested(flat, shape):
            if len(shape) == 1:
                return list(flat)
            n = len(flat) // shape[0] if shape[0] else 0
            return [nested(flat[i * n:(i + 1) * n], shape[1:]) for i in range(shape[0])]
        return [self.column(t, nested([r[k] for r in rows], x.shape), x.shape) for k, t in enumerate(self.parts)]

    def column(self, t, nested, shape):
        return nested if all(shape) or not isinstance(t, Array) else np.empty(shape + (0,) * (t.rank - len(shape)), t.dtype)

    def fetch(self, cx, pointer):
        columns = [self.part(cx, f, t, pointer) for f, t in zip(self.project, self.parts)]
        shape = self.shape_of(cx, pointer)
        x = np.empty(shape, [(n, c.dtype, c.shape[self.rank:]) for n, c in zip(self.fields, columns)])
        for n, c in zip(self.fields, columns):
            x[n] = c
        return x


class Sums(Many):
    """An array of sums: an array of objects."""

    def __init__(self, types, name, about):
        super().__init__(types, name, about, "opaque_array")

    def built(self, cx, value, where, call):
        x = self.elements(value, where)
        pointers = [self.elem.into(cx, e, f"{where}[{i}]", call) for i, e in enumerate(x.flat)]
        return self.make(cx, self.new, [(POINTER * max(1, len(pointers)))(*pointers), *x.shape], call)

    def fetch(self, cx, pointer):
        x = np.empty(self.shape_of(cx, pointer), object)
        for at in np.ndindex(*x.shape):
            place = POINTER()
            cx.check(self.index(cx.ptr, ctypes.byref(place), pointer, *at))
            x[at] = self.elem.take(cx, place)
        return x


class Types:
    """The types of a program, by the names that its manifest has for them. Classes of records and sums are attributes."""

    def __init__(self, library, manifest):
        self.library, self.manifest = library, manifest
        self.made = {name: Scalar(name) for name in SCALARS}
        self.taken = set()
        for name in manifest:
            self[name]

    def __getitem__(self, name):
        if name not in self.made:
            about = self.manifest[name]
            kinds = {"record": Record, "sum": Sum, "record_array": Records, "opaque_array": Sums}
            kind = next((k for k in kinds if k in about), None)
            self.made[name] = kinds[kind](self, name, about) if kind else Array(self, name, about)
        return self.made[name]

    def class_name(self, name, parts):
        """The program's name for a type, or those of its parts."""
        return identifier(name if re.fullmatch(r"[\w.']+", name) else "_".join(parts[:4]), self.taken)

    def classes(self):
        return {t.python.__name__: t.python for t in self.made.values() if isinstance(t, (Record, Sum)) and t.python is not tuple}


class Classes:
    """The classes of a program's records and sums as attributes: `m.types.point(x=1, y=2)`."""

    def __init__(self, types):
        self.__dict__.update(types.classes())

    def __repr__(self):
        return f"types: {', '.join(self.__dict__) or 'none'}"
