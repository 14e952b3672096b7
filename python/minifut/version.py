"""Which minifut this is."""
__version__ = "0.9.0"
