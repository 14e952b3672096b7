"""Words of a text, line by line, of an input file. usage: reference.py IN OUT"""
import re
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def count(text):
    lines = text.astype(np.uint8).tobytes().split(b"\n")
    if not lines[-1]:
        lines.pop()
    words = [[len(word) for word in re.findall(rb"[^\x00-\x20]+", line)] for line in lines]
    lengths = [len(line) for line in lines]
    which = int(np.argmax(lengths)) if lines else -1
    return [np.array([len(w) for w in words], np.int32), np.array([max(w, default=0) for w in words], np.int32),
            np.int64(which), np.int64(max(lengths, default=0))]


if __name__ == "__main__":
    write_values(sys.argv[2], count(*read_values(sys.argv[1])))
