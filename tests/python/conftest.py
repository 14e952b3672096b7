"""What the tests share: the package of the checkout, a compiler, programs compiled once."""
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "python"))
os.environ.setdefault("MINIFUT_DRIVER", "native")
import minifut  # noqa: E402


@pytest.fixture(scope="session")
def kinds():
    return minifut.load(HERE / "kinds.sf", device="native", threads=2)
