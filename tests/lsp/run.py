#!/usr/bin/env python3
"""The language server as an editor sees it: tests/lsp/run.py MINIFUT [NAME...] or tests/lsp/run.py MINIFUT fuzz N [SEED].

Each case talks to a server of its own over pipes; NAME: cases whose name contains it. `fuzz` sends N mutated programs, of which
the suite sends a few hundred, and leaves those that show a fault in tests/fuzz/failures/. Last line: `N passed, N failed`."""
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import asking, editing, files, helping, mutated, processes, protocol, renaming, sums, times  # noqa: E402, E401, F401: they enter their cases
from client import Failed  # noqa: E402
from cases import cases  # noqa: E402


def main():
    minifut, names = sys.argv[1], sys.argv[2:]
    if names and names[0] == 'fuzz':
        return mutated.fuzz(minifut, int(names[1]), int(names[2]) if len(names) > 2 else 1)
    passed = failed = 0
    for name, f in cases:
        if names and not any(n in name for n in names):
            continue
        start = time.monotonic()
        try:
            f(minifut)
            passed += 1
        except (Failed, AssertionError, OSError, KeyError, TypeError, IndexError) as e:
            failed += 1
            print(f'{name}: {type(e).__name__}: {e}')
        if time.monotonic() - start > 10:
            print(f'{name}: {time.monotonic() - start:.1f} s')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
