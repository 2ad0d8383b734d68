"""Arrays on their way to the library: checked in words, copied only where they do not lie as it needs them."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._c import F32, F64

PRECISION = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}


def features(name: str, value: ArrayLike) -> NDArray[Any]:
    """Features [pictures, channels, locations] or [pictures, channels, height, width], float32 or float64.

    An array that is dense and row-major is used where it lies; any other is copied.
    """
    array = np.asarray(value)
    if array.dtype not in PRECISION:
        raise TypeError(f"{name} has type {array.dtype}; features must be float32 or float64 of this machine")
    if array.ndim not in (3, 4):
        raise ValueError(f"{name} has shape {array.shape}; it must be [pictures, channels, locations] or "
                         "[pictures, channels, height, width]")
    if 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}, which is empty")
    return np.ascontiguousarray(array)


def labels(name: str, value: ArrayLike, count: int) -> NDArray[np.int64]:
    """One integer for each of `count` pictures."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} has type {array.dtype}; labels must be integers")
    if array.shape != (count,):
        raise ValueError(f"{name} has shape {array.shape}; there are {count} pictures, so it must be ({count},)")
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{name} has a label above {np.iinfo(np.int64).max}, the largest")
    return np.ascontiguousarray(array, dtype=np.int64)


def like(name: str, value: ArrayLike, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of exactly that type and shape."""
    array = np.asarray(value)
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype} {array.shape}; it must be {dtype} {shape}")
    return np.ascontiguousarray(array)


def address(array: Optional[NDArray[Any]]) -> Optional[int]:
    """Where the numbers lie. The caller holds the array for as long as the address is in use."""
    return None if array is None else array.ctypes.data
