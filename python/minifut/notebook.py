"""IPython: cells in the language, and tuning.

    %%minifut [NAME]            the cell's program; its entry points become functions here, or the program becomes NAME
    %minifut_tune NAME DATA     tunes it for the arguments in DATA, an expression: a list of tuples
"""
import warnings

from . import compile as compile_text
from .errors import CompileWarning
from .module import Module


def register(shell):
    def minifut(line, cell):
        """%%minifut [NAME]: the cell is a program."""
        words = line.split()
        if len(words) > 1 or words and not words[0].isidentifier():
            raise ValueError("usage: %%minifut [NAME]")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", CompileWarning)
            program = compile_text("\n" + cell, words[0] if words else "cell")  # line 1 is that of the magic
        for w in said:
            print(w.message)
        if words:
            shell.user_ns[words[0]] = program
        else:
            shell.user_ns.update(program.entries)

    def minifut_tune(line):
        """%minifut_tune NAME DATA: tunes a program, or an entry point, for these arguments."""
        name, _, data = line.strip().partition(" ")
        found = eval(name, shell.user_ns)  # as IPython's magics take expressions
        entry = getattr(found, "__wrapped_entry__", None)
        program = entry.module if entry else found
        if not isinstance(program, Module) or not data:
            raise ValueError("usage: %minifut_tune PROGRAM-OR-FUNCTION [(ARGUMENTS), ...]")
        return program.tune(eval(data, shell.user_ns), entry=entry.name if entry else None)

    shell.register_magic_function(minifut, magic_kind="cell")
    shell.register_magic_function(minifut_tune, magic_kind="line")
