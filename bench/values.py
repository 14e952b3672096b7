"""Reading, writing and comparing values in Futhark's text and binary formats. Needs NumPy."""
import gzip
import json
import re
import struct
from pathlib import Path

import numpy as np

TYPES = {"  i8": "i1", " i16": "<i2", " i32": "<i4", " i64": "<i8", "  u8": "u1", " u16": "<u2", " u32": "<u4",
         " u64": "<u8", " f16": "<f2", " f32": "<f4", " f64": "<f8", "bool": "?"}
NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()}
SUFFIX = re.compile(r"(?<=[0-9.])(%s)\b" % "|".join(name.strip() for name in TYPES if name != "bool"))


def read_binary(data):
    """The values of a binary stream."""
    values, at = [], 0
    while True:
        while at < len(data) and data[at:at + 1].isspace():
            at += 1
        if at == len(data):
            return values
        if data[at:at + 1] != b"b":
            raise ValueError(f"no binary value at byte {at}")
        rank = data[at + 2]
        dtype = np.dtype(TYPES[data[at + 3:at + 7].decode()])
        at += 7
        shape = struct.unpack_from(f"<{rank}q", data, at)
        at += 8 * rank
        count = int(np.prod(shape)) if rank else 1
        values.append(np.frombuffer(data, dtype, count, at).reshape(shape))
        at += count * dtype.itemsize


def read_text(text):
    """Values of a text file: arrays and scalars of numbers and truth values (as i64, f64 or bool)."""
    text = re.sub(r"--[^\n]*", "", text)
    text = SUFFIX.sub("", text)
    text = re.sub(r"(?<=[0-9])\.(?![0-9])", ".0", text).strip()
    text = re.sub(r"\bf(?:16|32|64)\.(nan|inf)\b", lambda m: {"nan": "NaN", "inf": "Infinity"}[m.group(1)], text)
    values, decoder, at = [], json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(np.asarray(value))
        while at < len(text) and text[at].isspace():
            at += 1
    return values


def read_values(path):
    """The values of a file (text or binary, also packed with gzip)."""
    data = Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return read_binary(data) if data.lstrip()[:1] == b"b" else read_text(data.decode())


def write_values(path, values):
    """Writes NumPy arrays and scalars as binary values."""
    with open(path, "wb") as f:
        for v in values:
            v = np.asarray(v)
            f.write(b"b\x02" + bytes([v.ndim]) + NAMES[v.dtype.newbyteorder("<")].encode())
            f.write(struct.pack(f"<{v.ndim}q", *v.shape) + np.ascontiguousarray(v).tobytes())


def write_text(path, values):
    """Writes NumPy arrays and scalars as text with types: for small files that people read."""
    def item(v):
        if isinstance(v, np.ndarray) and v.ndim:
            return "[" + ", ".join(item(x) for x in v) + "]"
        v = np.asarray(v)
        name = NAMES[v.dtype.newbyteorder("<")].strip()
        number = repr(float(str(v))) if v.dtype.kind == "f" else str(v)
        return ("true" if v else "false") if name == "bool" else number + name
    Path(path).write_text("".join(item(np.asarray(v)) + "\n" for v in values))


def difference(got, want, tolerance):
    """None if equal, else what differs. Numbers much smaller than the largest of their array are measured
    against a thousandth of that."""
    if len(got) != len(want):
        return f"{len(got)} results instead of {len(want)}"
    for k, (g, w) in enumerate(zip(got, want)):
        if g.shape != w.shape:
            return f"result {k}: shape {g.shape} instead of {w.shape}"
        if np.array_equal(g, w):  # the quick answer
            continue
        if g.dtype.kind == "f":
            g, w = g.astype(np.float64), w.astype(np.float64)
            if not np.array_equal(np.isfinite(g), np.isfinite(w)):
                return f"result {k}: not finite at other places"
            g, w = g[np.isfinite(g)], w[np.isfinite(w)]
            scale = np.maximum(np.abs(w), np.max(np.abs(w), initial=0) * 1e-3) + 1e-30
            worst = np.max(np.abs(g - w) / scale, initial=0)
            if not worst <= tolerance:
                return f"result {k}: relative difference {worst:.2g}"
        else:
            return f"result {k}: {np.sum(g != w)} elements differ"
    return None
