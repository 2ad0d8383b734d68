"""Builds the wheel and the source distribution: `make wheel`. The version is that of include/centra.h; what is built notes it."""
from __future__ import annotations

import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
BUILT = HERE / "centra" / "_built.py"  # there in a source distribution, never in the tree


def version() -> str:
    if BUILT.exists():
        return str(runpy.run_path(str(BUILT))["VERSION"])
    return str(runpy.run_path(str(HERE / "centra" / "_version.py"))["of_header"](HERE.parent / "include" / "centra.h"))


def note(package: Path) -> None:
    (package / "_built.py").write_text(f'VERSION = "{version()}"\n', encoding="utf-8")


class BuildPackage(build_py):
    def run(self) -> None:
        super().run()
        note(Path(self.build_lib) / "centra")


class BuildSource(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        note(Path(base_dir) / "centra")


setup(version=version(), cmdclass={"build_py": BuildPackage, "sdist": BuildSource})
