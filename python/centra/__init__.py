"""Centra: few-shot classification by mutual centralized learning, and the heads it is compared with.

    >>> import centra
    >>> result = centra.score(support, labels, query)          # features of an episode to scores
    >>> features = centra.Model().encode(["a.jpg", "b.jpg"])   # pictures to features
    >>> birds = centra.Classifier(centra.Model())              # own pictures

Everything is computed by the shared library libcentra; this package is ctypes and NumPy. centra.torch has the head for
PyTorch's training loops. docs/python.md is the manual.
"""
from ._errors import (Error, FileError, FormatError, InputError, LibraryError, NumericError, OutOfMemory, ShapeError,
                      Unsupported, UsageError)
from ._version import version
from .classifier import Classifier, Guess
from .heads import Centrality, Head, HeadInfo, OptionInfo, Scores, centrality, heads, score
from .model import Model, ShippedModel, models
from .pictures import PictureLike
from .session import Session, default_session

__version__ = version()

__all__ = [
    "Centrality", "Classifier", "Error", "FileError", "FormatError", "Guess", "Head", "HeadInfo", "InputError",
    "LibraryError", "Model", "NumericError", "OptionInfo", "OutOfMemory", "PictureLike", "Scores", "Session",
    "ShapeError", "ShippedModel", "Unsupported", "UsageError", "__version__", "centrality", "default_session", "heads",
    "models", "score",
]
