"""Models: a network with its weights, the head it was trained with, and how it wants its pictures."""
from __future__ import annotations

import ctypes
import weakref
from ctypes import byref, c_char_p, c_size_t, c_void_p
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from . import _c
from ._c import F32, lib, path_bytes, text
from ._errors import UsageError
from ._handle import Handle
from .pictures import PictureLike, Pictures, as_list
from .session import Session, default_session

BATCH = 64  # pictures that are decoded before they are encoded


@dataclass(frozen=True)
class ShippedModel:
    """A model that came with the library."""

    name: str
    path: str


def models() -> list[ShippedModel]:
    """The models that came with the library, the standard one first."""
    found: list[ShippedModel] = []
    name, path = c_char_p(), c_char_p()
    while True:
        try:
            lib.centra_model_shipped(len(found), byref(name), byref(path))
        except UsageError:
            return found
        found.append(ShippedModel(text(name.value), text(path.value)))


class _Net(Handle):
    """A model's network in one session."""

    def __init__(self, session: Session, model: "Model") -> None:
        out = c_void_p()
        with session._lock:
            lib.centra_model_net(session.handle, model.handle, None, 0, F32, byref(out))
        super().__init__(out.value or 0, lib.centra_net_free, session)  # it keeps nothing of the model


class Model(Handle):
    """A model: a file of weights that names its network, the folder of a run, or the name of one that came with the library;
    without one the standard of these.

    Nothing in it changes: threads may share one, and each encodes with a session of its own.
    """

    def __init__(self, path: Any = None) -> None:
        out, info = c_void_p(), _c.ModelInfo()
        lib.centra_model_open(None if path is None else path_bytes(path), byref(out))
        super().__init__(out.value or 0, lib.centra_model_close)
        lib.centra_model_describe(self.handle, byref(info))
        self.name: str = text(info.name)
        self.path: str = text(info.path)
        self.backbone: str = text(info.backbone)
        self.head: str = text(info.head)
        self.extractor: str = text(info.extractor)
        self.side: int = int(info.side)  #: of the square that the network sees of a picture
        self.fingerprint: str = text(info.fingerprint)  #: SHA-256 of its weights
        self.data: str = text(info.data)
        self.accuracy: str = text(info.accuracy)
        cells = c_size_t()
        lib.centra_extractor_cells(info.extractor, byref(cells))
        self._cells = int(cells.value)
        self._nets: "weakref.WeakKeyDictionary[Session, _Net]" = weakref.WeakKeyDictionary()

    def _net(self, session: Session) -> _Net:
        with session._lock:
            net = self._nets.get(session)
            if net is None or net.closed:
                net = self._nets[session] = _Net(session, self)
            return net

    def inputs(self, pictures: Union[PictureLike, Sequence[PictureLike]]) -> NDArray[np.float32]:
        """What the network is shown: resized, cut and normalised, [pictures, 3, side, side]; with an extractor of several
        cells [pictures * cells, 3, side, side]."""
        with self._held() as model, Pictures(as_list(pictures)) as decoded:
            out = np.empty((len(decoded), self._cells, 3, self.side, self.side), np.float32)
            for index in range(len(decoded)):
                lib.centra_model_input(model, byref(decoded.c[index]), None, out[index].ctypes.data)
        return out.reshape(-1, 3, self.side, self.side)

    def encode(self, pictures: Union[PictureLike, Sequence[PictureLike]],
               session: Optional[Session] = None) -> NDArray[np.float32]:
        """The feature maps of pictures, [pictures, channels, height, width], for centra.score.

        A picture is a path, the bytes of a file, an array [height, width, 3] of uint8 in RGB, or an image of Pillow; an
        array of four axes is several.
        """
        listed = as_list(pictures)
        if not listed:
            raise ValueError("there are no pictures to encode")
        session = session or default_session()
        parts = [self._encode(self.inputs(listed[i:i + BATCH]), session) for i in range(0, len(listed), BATCH)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _encode(self, inputs: NDArray[np.float32], session: Session) -> NDArray[np.float32]:
        features, dim = c_void_p(), (c_size_t * 4)()
        net = self._net(session)
        with session._lock:  # the features are the network's own until its next call
            lib.centra_net_encode(net.handle, inputs.ctypes.data, len(inputs), self.side, self.side, byref(features), dim)
            shape = tuple(int(size) for size in dim)
            out = np.empty(shape, np.float32)
            ctypes.memmove(out.ctypes.data, features.value or 0, out.nbytes)
        return out

    def write_onnx(self, path: Any, side: int = 0, session: Optional[Session] = None) -> None:
        """Writes the network as an ONNX file; see `centra weights convert --to onnx`. side 0: the model's own."""
        session = session or default_session()
        net = self._net(session)
        with session._lock:
            lib.centra_net_write_onnx(net.handle, side, path_bytes(path))

    def close(self) -> None:
        """Gives back its networks too."""
        for net in list(self._nets.values()):
            net.close()
        super().close()

    def __repr__(self) -> str:
        return f"Model({self.name!r}, backbone={self.backbone!r}, head={self.head!r})"
