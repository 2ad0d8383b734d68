"""Handles of the library as objects: freed once, children before their parents, never in a forked child."""
from __future__ import annotations

import os
import threading
import weakref
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Callable, Iterator, Optional, TypeVar

H = TypeVar("H", bound="Handle")


_guard = threading.RLock()  # of the counts below; held only for a moment, and nothing is waited for inside


class _Life:
    """What of a handle outlives its object: freed when it has ended and all that was made from it is freed. Garbage may be
    collected in any order, so that order is kept here."""

    def __init__(self, pointer: int, free: Callable[[int], None], parents: tuple["_Life", ...], lock: Any) -> None:
        self.pointer, self.free, self.parents, self.lock = pointer, free, parents, lock
        self.pid = os.getpid()
        self.users = 0
        self.ended = self.freed = False
        with _guard:
            for parent in parents:
                parent.users += 1

    def end(self) -> None:
        if self.pid != os.getpid():
            return  # the threads behind it stayed in the other process; it goes with this one
        self.ended = True
        self.free_if_unused()

    def free_if_unused(self) -> None:
        with _guard:
            if not self.ended or self.freed or self.users:
                return
            self.freed = True
        with self.lock:
            self.free(self.pointer)
        for parent in self.parents:
            with _guard:
                parent.users -= 1
            parent.free_if_unused()


class Handle:
    """One thing of the library. Closed by close(), at the end of a `with` block, or when nobody holds it any more."""

    def __init__(self, pointer: int, free: Callable[[int], None], *parents: "Handle", lock: Any = None) -> None:
        self._parents = parents  # they stay while this is there
        self._children: "weakref.WeakSet[Handle]" = weakref.WeakSet()
        self._pointer: Optional[int] = pointer
        # Two threads must not use one session at the same time: whatever belongs to it shares its lock.
        self._lock: Any = lock or next((p._lock for p in parents if p._locks), None) or threading.RLock()
        self._life: _Life = _Life(pointer, free, tuple(parent._life for parent in parents), self._lock)
        self._finalizer = weakref.finalize(self, self._life.end)
        for parent in parents:
            parent._children.add(self)

    _locks = False  # whether children take this one's lock

    @property
    def handle(self) -> int:
        """The library's pointer; refuses what is closed or from before a fork."""
        if self._pointer is None:
            raise ValueError(f"this {type(self).__name__} has been closed")
        if self._life.pid != os.getpid():
            raise RuntimeError(f"this {type(self).__name__} was made before a fork; make one in this process")
        return self._pointer

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._pointer is None

    @contextmanager
    def _held(self) -> Iterator[int]:
        """The library's pointer for calls without the lock: a close() meanwhile frees it afterwards."""
        with _guard:
            pointer = self.handle
            self._life.users += 1
        try:
            yield pointer
        finally:
            with _guard:
                self._life.users -= 1
            self._life.free_if_unused()

    def close(self) -> None:
        """Gives back what this and all made from it hold. Nothing happens the second time."""
        for child in list(self._children):
            child.close()
        self._pointer = None
        self._finalizer()

    def __enter__(self: H) -> H:
        self.handle  # refuses a closed one
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()
