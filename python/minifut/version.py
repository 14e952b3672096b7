"""Which minifut this is: the file VERSION of a wheel, or of the checkout."""
from pathlib import Path

HERE = Path(__file__).resolve().parent
__version__ = next(p for p in (HERE / "_compiler/VERSION", HERE.parent.parent / "VERSION") if p.exists()).read_text().strip()
