"""The shared library: where it is found, its structs and its calls (include/centra.h and centra_own.h).

The library is the first of these that is there:
  1. the file that CENTRA_LIBRARY names (then no other is tried);
  2. libcentra.so* beside this package;
  3. libcentra.so in build/ of the source tree that this package lies in;
  4. what the system finds under the name libcentra.so.0.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from ._errors import BY_STATUS, Error, LibraryError
from ._version import version

F32, F64 = 0, 1


class SessionOptions(Structure):
    _fields_ = [("threads", c_size_t), ("isa", c_char_p), ("device", c_char_p), ("parallel_for", c_void_p),
                ("parallel_host", c_void_p), ("maths", c_char_p), ("peers", c_int)]


class Option(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class OptionInfo(Structure):
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("type", c_char_p), ("standard", c_char * 32),
                ("range", c_char * 96), ("choices", POINTER(c_char_p))]


class HeadInfo(Structure):
    _fields_ = [("name", c_char_p), ("title", c_char_p), ("paper", c_char_p), ("probabilities", c_int),
                ("centrality", c_int), ("pools", c_int), ("option_count", c_size_t), ("param_count", c_size_t),
                ("drawn", c_int), ("fitted", c_int), ("base", c_int)]


class Episode(Structure):
    _fields_ = [("precision", c_int), ("channels", c_size_t), ("support_count", c_size_t),
                ("support_locations", c_size_t), ("support", c_void_p), ("support_labels", c_void_p),
                ("query_count", c_size_t), ("query_locations", c_size_t), ("query", c_void_p),
                ("query_labels", c_void_p)]


class Result(Structure):
    _fields_ = [("labels", c_void_p), ("scores", c_void_p), ("loss", POINTER(c_double)), ("grad_support", c_void_p),
                ("grad_query", c_void_p), ("grad_params", c_void_p), ("centrality_support", c_void_p),
                ("centrality_query", c_void_p)]


class Upstream(Structure):
    _fields_ = [("scores", c_void_p), ("centrality_support", c_void_p), ("centrality_query", c_void_p)]


class Picture(Structure):
    _fields_ = [("width", c_size_t), ("height", c_size_t), ("rgb", c_void_p)]


class ModelInfo(Structure):
    _fields_ = [("name", c_char_p), ("path", c_char_p), ("backbone", c_char_p), ("head", c_char_p),
                ("extractor", c_char_p), ("side", c_size_t), ("fingerprint", c_char_p), ("data", c_char_p),
                ("accuracy", c_char_p)]


class ClassifierOptions(Structure):
    _fields_ = [("head", c_char_p), ("head_options", POINTER(Option)), ("head_option_count", c_size_t)]


class Known(Structure):
    _fields_ = [("class_name", c_char_p), ("name", c_char_p), ("picture", POINTER(Picture))]


class Guess(Structure):
    _fields_ = [("best", c_size_t), ("probability", c_double), ("familiarity", c_double)]


_HANDLE = c_void_p
_OUT = POINTER(c_void_p)
_SIZE = POINTER(c_size_t)
_TEXT = POINTER(c_char_p)

# Calls that return a status; their failures become exceptions.
_CHECKED: dict[str, list[Any]] = {
    "centra_session_open": [POINTER(SessionOptions), _OUT],
    "centra_head_describe": [c_size_t, POINTER(HeadInfo)],
    "centra_head_option": [c_size_t, c_size_t, POINTER(OptionInfo)],
    "centra_head_new": [_HANDLE, c_char_p, POINTER(Option), c_size_t, _OUT],
    "centra_head_load": [_HANDLE, c_char_p],
    "centra_head_base": [_HANDLE, c_int, c_size_t, c_size_t, c_size_t, c_void_p, c_void_p],
    "centra_episode_way": [POINTER(Episode), _SIZE],
    "centra_head_score": [_HANDLE, POINTER(Episode), POINTER(Result)],
    "centra_head_backward": [_HANDLE, POINTER(Episode), POINTER(Upstream), POINTER(Result)],
    "centra_picture_read": [c_char_p, POINTER(Picture)],
    "centra_picture_parse": [c_char_p, c_char_p, c_size_t, POINTER(Picture)],
    "centra_extractor_cells": [c_char_p, _SIZE],
    "centra_net_encode": [_HANDLE, c_void_p, c_size_t, c_size_t, c_size_t, POINTER(c_void_p), c_size_t * 4],
    "centra_net_write_onnx": [_HANDLE, c_size_t, c_char_p],
    "centra_model_open": [c_char_p, _OUT],
    "centra_model_shipped": [c_size_t, _TEXT, _TEXT],
    "centra_model_net": [_HANDLE, _HANDLE, POINTER(Option), c_size_t, c_int, _OUT],
    "centra_model_input": [_HANDLE, POINTER(Picture), c_char_p, c_void_p],
    "centra_classifier_new": [_HANDLE, _HANDLE, POINTER(ClassifierOptions), _OUT],
    "centra_support_new": [_HANDLE, _OUT],
    "centra_support_add": [_HANDLE, _HANDLE, POINTER(Known), c_size_t],
    "centra_support_remove": [_HANDLE, c_char_p, c_size_t],
    "centra_support_class": [_HANDLE, c_size_t, _TEXT, _SIZE],
    "centra_support_calibrate": [_HANDLE, _HANDLE],
    "centra_support_save": [_HANDLE, c_char_p],
    "centra_support_open": [_HANDLE, c_char_p, _OUT],
    "centra_classify": [_HANDLE, _HANDLE, POINTER(Picture), c_size_t, c_void_p, POINTER(Guess)],
}
# Others: what they return, and their arguments.
_PLAIN: dict[str, tuple[Any, list[Any]]] = {
    "centra_message": (c_char_p, []),
    "centra_version": (c_char_p, []),
    "centra_session_close": (None, [_HANDLE]),
    "centra_session_threads": (c_size_t, [_HANDLE]),
    "centra_session_isa": (c_char_p, [_HANDLE]),
    "centra_session_device": (c_char_p, [_HANDLE]),
    "centra_head_count": (c_size_t, []),
    "centra_head_free": (None, [_HANDLE]),
    "centra_picture_free": (None, [POINTER(Picture)]),
    "centra_net_free": (None, [_HANDLE]),
    "centra_model_close": (None, [_HANDLE]),
    "centra_model_describe": (None, [_HANDLE, POINTER(ModelInfo)]),
    "centra_classifier_free": (None, [_HANDLE]),
    "centra_support_free": (None, [_HANDLE]),
    "centra_support_class_count": (c_size_t, [_HANDLE]),
    "centra_support_calibrated": (c_int, [_HANDLE, _HANDLE]),
}

SONAME = "libcentra.so.0"


def candidates() -> list[str]:
    """Where the library is looked for, in this order."""
    named = os.environ.get("CENTRA_LIBRARY")
    if named:
        return [named]
    package = Path(__file__).resolve().parent
    found = [str(path) for path in sorted(package.glob("libcentra.so*"))]
    build = package.parents[1] / "build" / "libcentra.so"
    if build.exists() and (package.parents[1] / "include" / "centra.h").exists():
        found.append(str(build))
    return [*found, SONAME]


def check_version(path: str, theirs: str) -> None:
    """Refuses a library that this package was not made for: before 1.0 the interface may change with the minor version."""
    ours = version()
    wanted, seen = ours.split("."), theirs.split(".")
    if wanted[:2] != seen[:2]:
        raise LibraryError(
            f"{path} is libcentra {theirs}, but this package is {ours} and needs {'.'.join(wanted[:2])}.x; "
            "install both of one version, or set CENTRA_LIBRARY to the right file")


def _check(status: int, function: Any, arguments: Any) -> int:
    if status == 0:
        return status
    sentence = (lib.centra_message() or b"").decode("utf-8", "replace")
    kind = BY_STATUS[status - 1] if 0 < status <= len(BY_STATUS) else Error
    raise kind(sentence or f"{function.__name__} failed with status {status}")


def _declare(library: ctypes.CDLL, path: str) -> None:
    try:
        for name, (result, arguments) in _PLAIN.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        check_version(path, library.centra_version().decode())
        for name, arguments in _CHECKED.items():
            function = getattr(library, name)
            function.restype, function.argtypes, function.errcheck = c_int, arguments, _check
    except AttributeError as missing:
        raise LibraryError(f"{path} is not a libcentra that this package knows: {missing}") from None


def load() -> ctypes.CDLL:
    """The library, declared and of the right version."""
    refused: list[str] = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as problem:
            refused.append(f"{path} ({problem})")
            continue
        _declare(library, path)
        return library
    raise LibraryError("libcentra was not found; tried " + ", ".join(refused) +
                       ". Build it (make), install libcentra0, or set CENTRA_LIBRARY to its file")


lib = load()


def path_bytes(path: Any) -> bytes:
    """A path as the library takes it."""
    encoded = os.fsencode(os.fspath(path))
    if b"\0" in encoded:
        raise ValueError(f"the path {path!r} has a zero byte in it")
    return encoded


def text(value: bytes | None) -> str:
    """A text of the library; "" for none."""
    return (value or b"").decode("utf-8", "replace")


