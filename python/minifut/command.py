"""The command `minifut` of a wheel: the compiler that is in it."""
import os
import sys

from . import compiler


def main():
    path = compiler.command()
    os.execv(path, [path, *sys.argv[1:]])
