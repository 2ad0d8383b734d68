"""Own pictures: classes of a few known ones each, and guesses for others."""
from __future__ import annotations

from ctypes import byref, c_char_p, c_size_t, c_void_p, pointer
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _c
from ._c import lib, path_bytes, text
from ._handle import Handle
from .heads import OptionValue, option_array
from .model import BATCH, Model
from .pictures import PictureLike, Pictures, as_list
from .session import Session, default_session

EVERY = (1 << (8 * np.dtype(np.uintp).itemsize)) - 1  # SIZE_MAX: all pictures of a class


@dataclass(frozen=True)
class Guess:
    """What a classifier says of one picture."""

    label: str  #: the most probable class
    probability: float  #: of it
    familiarity: float  #: 0 to 1: the part of known pictures that would look stranger; small: none of these classes
    probabilities: dict[str, float]  #: of every class


class _Support(Handle):
    """Known pictures, encoded."""

    def __init__(self, model: Model, path: Any = None) -> None:
        out = c_void_p()
        if path is None:
            lib.centra_support_new(model.handle, byref(out))
        else:
            lib.centra_support_open(model.handle, path_bytes(path), byref(out))
        super().__init__(out.value or 0, lib.centra_support_free, model)


class Classifier(Handle):
    """A model at work on own pictures.

    >>> birds = Classifier(Model())
    >>> birds.add("wren", ["wren1.jpg", "wren2.jpg"])
    >>> birds.add("robin", ["robin1.jpg", "robin2.jpg"])
    >>> birds.classify("garden.jpg")[0].label
    'wren'

    head: another head than the model's. Calls from several threads wait for each other, as those of its session do.
    """

    def __init__(self, model: Optional[Model] = None, head: Optional[str] = None, session: Optional[Session] = None,
                 options: Optional[Mapping[str, OptionValue]] = None) -> None:
        self.model = model or Model()
        self.session = session or default_session()
        given, count = option_array(options or {})
        settings = _c.ClassifierOptions(head.encode() if head else None, given, count)
        out = c_void_p()
        with self.session._lock:
            lib.centra_classifier_new(self.session.handle, self.model.handle, byref(settings), byref(out))
        super().__init__(out.value or 0, lib.centra_classifier_free, self.session, self.model)
        self._support = _Support(self.model)

    def add(self, label: str, pictures: Union[PictureLike, Sequence[PictureLike]]) -> None:
        """Adds known pictures to a class, which is made where it is new: all of them or, where one is refused, none."""
        with Pictures(as_list(pictures)) as decoded, self._lock:
            if not len(decoded):
                raise ValueError(f"there are no pictures to add to {label!r}")
            known = (_c.Known * len(decoded))()
            for index, name in enumerate(decoded.names):
                known[index] = _c.Known(label.encode(), name.encode("utf-8", "replace"), pointer(decoded.c[index]))
            lib.centra_support_add(self._support.handle, self.handle, known, len(decoded))

    def remove(self, label: str, picture: Optional[int] = None) -> None:
        """Takes a picture of a class away, by its number in the order of adding, or the whole class."""
        if picture is not None and picture < 0:
            raise ValueError(f"picture is {picture}; pictures are numbered from 0")
        with self._lock:
            lib.centra_support_remove(self._support.handle, label.encode(), EVERY if picture is None else picture)

    @property
    def classes(self) -> dict[str, int]:
        """The classes, sorted by name, and how many pictures each has."""
        found: dict[str, int] = {}
        name, count = c_char_p(), c_size_t()
        with self._lock:
            for index in range(lib.centra_support_class_count(self._support.handle)):
                lib.centra_support_class(self._support.handle, index, byref(name), byref(count))
                found[text(name.value)] = int(count.value)
        return found

    def classify(self, pictures: Union[PictureLike, Sequence[PictureLike]]) -> list[Guess]:
        """One guess for each picture. After a change of the known pictures the first call also learns from them what looks
        familiar."""
        listed = as_list(pictures)
        with self._lock:
            if not lib.centra_support_calibrated(self._support.handle, self.handle) and len(self.classes) > 1:
                lib.centra_support_calibrate(self._support.handle, self.handle)
            names = list(self.classes)
            return [guess for i in range(0, len(listed), BATCH) for guess in self._classify(listed[i:i + BATCH], names)]

    def _classify(self, pictures: list[PictureLike], names: list[str]) -> list[Guess]:
        with Pictures(pictures) as decoded:
            chances = np.empty((len(decoded), max(len(names), 1)), np.float64)
            guesses = (_c.Guess * len(decoded))()
            lib.centra_classify(self.handle, self._support.handle, decoded.c, len(decoded), chances.ctypes.data, guesses)
        return [Guess(names[g.best], g.probability, g.familiarity, dict(zip(names, map(float, row))))
                for g, row in zip(guesses, chances)]

    def save(self, path: Any) -> None:
        """Writes the known pictures, encoded, as a pack, which `centra classify` reads too."""
        with self._lock:
            lib.centra_support_save(self._support.handle, path_bytes(path))

    def open(self, path: Any) -> None:
        """Takes the known pictures of a pack in place of those added so far. Refuses the pack of another model."""
        with self._lock:
            opened = _Support(self.model, path)
            self._support.close()
            self._support = opened

    def close(self) -> None:
        """Gives back the known pictures too."""
        self._support.close()
        super().close()

    def __repr__(self) -> str:
        return "Classifier(closed)" if self.closed else f"Classifier({self.model.name!r}, classes={self.classes})"
