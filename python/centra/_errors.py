"""Failures of the library as exceptions, each with the library's own sentence."""
from __future__ import annotations


class Error(Exception):
    """Anything that the library refuses or cannot do."""


class UsageError(Error, ValueError):
    """Asked for something that does not exist or does not fit."""


class InputError(Error, ValueError):
    """An input value is out of range or not finite."""


class ShapeError(Error, ValueError):
    """Shapes do not fit each other."""


class FormatError(Error, ValueError):
    """A file is not what it claims to be."""


class FileError(Error, OSError):
    """The system could not read or write."""


class OutOfMemory(Error, MemoryError):
    """The library had no memory."""


class Unsupported(Error, NotImplementedError):
    """This build or device cannot do it."""


class NumericError(Error, ArithmeticError):
    """The mathematics has no answer here."""


class LibraryError(Error, ImportError):
    """The shared library was not found, or is of another version."""


# In the order of centra_status, from 1.
BY_STATUS: tuple[type[Error], ...] = (
    UsageError, InputError, ShapeError, FormatError, FileError, OutOfMemory, Unsupported, NumericError,
)
