"""Sessions: threads, device and memory that heads, networks and classifiers work with."""
from __future__ import annotations

import os
import threading
from ctypes import byref, c_void_p
from typing import Optional

from ._c import SessionOptions, lib, text
from ._handle import Handle


class Session(Handle):
    """Threads and a device.

    A session does one thing at a time: calls from several threads wait for each other. For work side by side each thread
    has a session of its own, which default_session() gives.

    threads: 0 for all cores that the process may use. device: "cpu", "cuda" or "cuda:1". isa: "portable", "avx2",
    "avx512" or None for the best.
    """

    _locks = True

    def __init__(self, threads: int = 0, device: str = "cpu", isa: Optional[str] = None) -> None:
        if threads < 0:
            raise ValueError(f"threads is {threads}; it must be 0 (all cores) or more")
        options = SessionOptions(threads=threads, device=device.encode(), isa=isa.encode() if isa else None)
        out = c_void_p()
        lib.centra_session_open(byref(options), byref(out))
        super().__init__(out.value or 0, lib.centra_session_close)

    @property
    def threads(self) -> int:
        """Threads in use."""
        return int(lib.centra_session_threads(self.handle))

    @property
    def isa(self) -> str:
        """The instruction set in use: "avx512"; "gpu" on one."""
        return text(lib.centra_session_isa(self.handle))

    @property
    def device(self) -> str:
        """The device in use: "cpu" or "cuda:0"."""
        return text(lib.centra_session_device(self.handle))

    def __repr__(self) -> str:
        if self.closed:
            return "Session(closed)"
        return f"Session(threads={self.threads}, device={self.device!r}, isa={self.isa!r})"


_own = threading.local()


def default_session() -> Session:
    """This thread's session, opened at its first use; another one after a fork."""
    session: Optional[Session] = getattr(_own, "session", None)
    if session is None or session.closed or _own.pid != os.getpid():
        session = Session()
        _own.session, _own.pid = session, os.getpid()
    return session
