"""The version, from the one place where it stands: include/centra.h, or what a build has noted of it."""
from __future__ import annotations

import re
from pathlib import Path


def of_header(header: Path) -> str:
    """ "0.1.0" from the text of centra.h."""
    text = header.read_text(encoding="utf-8")
    parts = [re.search(rf"#define CENTRA_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    if not all(parts):
        raise RuntimeError(f"{header} does not say a version")
    return ".".join(part.group(1) for part in parts if part)


def version() -> str:
    """The version of this package."""
    try:
        from ._built import VERSION  # type: ignore[import]  # written by setup.py into what it builds
        return str(VERSION)
    except ImportError:
        return of_header(Path(__file__).resolve().parents[2] / "include" / "centra.h")
