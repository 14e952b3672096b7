"""What goes wrong, as exceptions: all of them are `minifut.Error`, and what Python itself would raise besides."""
import re
from collections import namedtuple

Diagnostic = namedtuple("Diagnostic", "file line column kind message")


class Error(Exception):
    """All that this package raises by itself."""


class CompileError(Error):
    """A program is wrong, or cannot be compiled: the compiler's messages, with lines and carets. `diagnostics` is the
    list of them, each with `file`, `line`, `column`, `kind` ("error", "warning") and `message`."""

    def __init__(self, text):
        super().__init__(text.strip("\n"))
        found = re.findall(r"^(\S[^\n:]*):(\d+):(\d+)(?:-[\d:]+)?: (\w+): (.*)$", text, re.M)
        self.diagnostics = [Diagnostic(f, int(line), int(column), kind, said) for f, line, column, kind, said in found]

    def __str__(self):
        text = self.args[0]
        return "\n" + text if "\n" in text else text

    def _render_traceback_(self):
        """In notebooks: what is wrong where in the program, not where in this package."""
        return self.args[0].splitlines()


class CompileWarning(UserWarning):
    """What the compiler warns of."""


class RunError(Error, RuntimeError):
    """A program stopped: an index out of bounds, a division by zero, an assertion; or its device failed."""


class OutOfMemory(Error, MemoryError):
    """There is too little memory, of the device or of the process."""


class ArgumentTypeError(Error, TypeError):
    """An argument is of another type than the parameter, and no conversion keeps all its values."""


class ArgumentValueError(Error, ValueError):
    """An argument's value or shape does not fit the parameter."""
