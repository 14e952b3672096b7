"""After `import minifut.importer`, `import k` takes the program k.sf (or k.fut) on Python's path: its entry points are functions of
the module, its classes attributes, and `k.program` is what `minifut.load` gives."""
import importlib.abc
import importlib.machinery
import os
import sys


class Loader(importlib.abc.Loader):
    def __init__(self, path):
        self.path = path

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        from . import load
        program = load(self.path)
        module.__doc__ = program.__doc__
        vars(module).update(vars(program.types))
        vars(module).update(program.entries)
        module.program = program


class Finder(importlib.abc.MetaPathFinder):
    """Behind all others: a module of Python with that name comes first."""

    def find_spec(self, name, path=None, target=None):
        for folder in path or sys.path:
            for ending in (".sf", ".fut"):
                file = os.path.join(folder or ".", name.rpartition(".")[2] + ending)
                if os.path.isfile(file):
                    return importlib.machinery.ModuleSpec(name, Loader(file), origin=file)
        return None


if not any(isinstance(f, Finder) for f in sys.meta_path):
    sys.meta_path.append(Finder())
