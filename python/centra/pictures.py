"""Pictures as the library takes them: files, files in memory, arrays, or what NumPy can turn into one (Pillow's images)."""
from __future__ import annotations

import os
from ctypes import byref
from pathlib import Path
from typing import Any, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from . import _c
from ._c import lib, path_bytes

#: A path, the bytes of a JPEG, PNG, WebP or PPM file, an array [height, width, 3] of uint8 in RGB, or an image of Pillow.
PictureLike = Union[str, "os.PathLike[str]", bytes, NDArray[np.uint8], Any]


class Pictures:
    """Decoded pictures for one call, given back at the end of its `with` block."""

    def __init__(self, pictures: Sequence[PictureLike]) -> None:
        self.c = (_c.Picture * max(len(pictures), 1))()
        self.names: list[str] = []
        self._arrays: list[NDArray[np.uint8]] = []  # what c points at, as long as this is there
        self._owned: list[_c.Picture] = []  # decoded by the library
        try:
            for index, picture in enumerate(pictures):
                self._take(index, picture)
        except BaseException:
            self.close()
            raise

    def _take(self, index: int, picture: PictureLike) -> None:
        to = self.c[index]
        if isinstance(picture, (str, os.PathLike)):
            self.names.append(Path(picture).name)
            lib.centra_picture_read(path_bytes(picture), byref(to))
            self._owned.append(to)
        elif isinstance(picture, (bytes, bytearray, memoryview)):
            content = bytes(picture)
            self.names.append(f"picture {index}")
            lib.centra_picture_parse(self.names[-1].encode(), content, len(content), byref(to))
            self._owned.append(to)
        else:
            array = as_rgb(f"picture {index}", picture)
            self.names.append(f"picture {index}")
            self._arrays.append(array)
            to.height, to.width, to.rgb = array.shape[0], array.shape[1], array.ctypes.data

    def __len__(self) -> int:
        return len(self.names)

    def __enter__(self) -> "Pictures":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Frees what the library decoded."""
        for picture in self._owned:
            lib.centra_picture_free(byref(picture))
        self._owned.clear()


def as_rgb(name: str, value: Any) -> NDArray[np.uint8]:
    """An array [height, width, 3] of uint8; grey ones [height, width] get three equal colours. Dense ones are not copied."""
    convert = getattr(value, "convert", None)  # Pillow: palettes, alpha and grey become RGB
    array = np.asarray(convert("RGB") if callable(convert) else value)
    if array.dtype != np.uint8:
        raise TypeError(f"{name} has type {array.dtype}; pictures are uint8 from 0 to 255")
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}; it must be [height, width, 3] in RGB, or [height, width] in grey")
    return np.ascontiguousarray(array)


def as_list(pictures: Union[PictureLike, Sequence[PictureLike]]) -> list[PictureLike]:
    """One picture or several, as a list. An array of four axes is several pictures."""
    if isinstance(pictures, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(pictures, "convert"):
        return [pictures]
    if isinstance(pictures, np.ndarray):
        return list(pictures) if pictures.ndim == 4 else [pictures]
    return list(pictures)
