"""How the library is found and refused, and how failures, handles, threads and forks behave."""
from __future__ import annotations

import ctypes
import ctypes.util
import gc
import os
import re
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import numpy as np
import rig

import centra
from centra import _c


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    keep = {key: value for key, value in os.environ.items() if not key.startswith("CENTRA_")}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**keep, "PYTHONPATH": str(rig.PACKAGE), **environment})


class Found(unittest.TestCase):
    def test_version_is_that_of_the_header_and_the_library(self):
        header = (rig.SOURCE / "include" / "centra.h").read_text()
        wanted = ".".join(re.findall(r"#define CENTRA_VERSION_\w+ (\d+)", header))
        self.assertEqual(centra.__version__, wanted)
        self.assertEqual(_c.lib.centra_version().decode(), wanted)

    def test_named_library_is_the_only_one_tried(self):
        done = python("import centra", CENTRA_LIBRARY="/no/such/libcentra.so")
        self.assertEqual(done.returncode, 1)
        self.assertIn("centra._errors.LibraryError: libcentra was not found; tried /no/such/libcentra.so (", done.stderr)
        self.assertIn("set CENTRA_LIBRARY to its file", done.stderr)

    def test_another_library_is_refused(self):
        libc = ctypes.util.find_library("m") or "libm.so.6"
        done = python("import centra", CENTRA_LIBRARY=libc)
        self.assertIn("is not a libcentra that this package knows", done.stderr)

    def test_another_version_is_refused_with_both(self):
        _c.check_version("x", centra.__version__)
        major, minor, patch = centra.__version__.split(".")
        _c.check_version("x", f"{major}.{minor}.{int(patch) + 1}")
        with self.assertRaisesRegex(centra.LibraryError, rf"libx.so is libcentra {major}\.99\.0, but this package is"):
            _c.check_version("libx.so", f"{major}.99.0")

    def test_library_beside_the_package_comes_first(self):
        with rig.folder() as name:
            package = Path(name) / "python" / "centra"
            package.mkdir(parents=True)
            for file in (rig.PACKAGE / "centra").glob("*.py"):
                (package / file.name).write_text(file.read_text())
            (package / "_built.py").write_text(f'VERSION = "{centra.__version__}"\n')
            library = Path(os.environ.get("CENTRA_LIBRARY", rig.SOURCE / "build" / "libcentra.so")).resolve()
            (package / "libcentra.so").symlink_to(library)
            code = "from centra import _c; print(_c.candidates())"
            done = python(code, PYTHONPATH=str(package.parent))
            self.assertEqual(done.stdout.strip(), f"['{package}/libcentra.so', 'libcentra.so.0']", done.stderr)

    def test_structs_have_the_sizes_of_c(self):
        """Compiled where there is a compiler; offsets that differ would corrupt memory in silence."""
        names = {"session_options": _c.SessionOptions, "option": _c.Option, "option_info": _c.OptionInfo,
                 "head_info": _c.HeadInfo, "episode": _c.Episode, "result": _c.Result, "upstream": _c.Upstream,
                 "picture": _c.Picture, "model_info": _c.ModelInfo, "classifier_options": _c.ClassifierOptions,
                 "known": _c.Known, "guess": _c.Guess}
        lines = [f'printf("{name} %zu", sizeof(centra_{name}));' +
                 "".join(f'printf(" %zu", offsetof(centra_{name}, {field[0]}));' for field in kind._fields_) +
                 'puts("");' for name, kind in names.items()]
        with rig.folder() as where:
            source = Path(where) / "sizes.c"
            source.write_text("#include <centra.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "}\n")
            try:
                subprocess.run(["cc", "-I", rig.SOURCE / "include", source, "-o", f"{where}/sizes"], check=True)
            except FileNotFoundError:
                self.skipTest("no C compiler (cc)")
            seen = subprocess.run([f"{where}/sizes"], capture_output=True, text=True, check=True).stdout
        wanted = "".join(f"{name} {ctypes.sizeof(kind)}" +
                         "".join(f" {getattr(kind, field[0]).offset}" for field in kind._fields_) + "\n"
                         for name, kind in names.items())
        self.assertEqual(seen, wanted)


class Failures(unittest.TestCase):
    def test_failures_are_exceptions_with_the_librarys_sentence(self):
        with self.assertRaisesRegex(centra.UsageError, "^there is no head 'mlc'; did you mean 'mcl'\\?$") as caught:
            centra.Head("mlc")
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaisesRegex(centra.UsageError, "gamma is -1, but must"):
            centra.Head("mcl", gamma=-1)
        with self.assertRaisesRegex(centra.FileError, "cannot open 'no/such.pth'") as caught:
            centra.Head("relation").load("no/such.pth")
        self.assertIsInstance(caught.exception, OSError)
        with self.assertRaisesRegex(centra.FormatError, "holds no weights"):
            centra.Model(rig.SOURCE / "include" / "centra.h")
        with self.assertRaisesRegex(centra.UsageError, "there is no device 'tpu'"):
            centra.Session(device="tpu")
        support, labels, query, _ = rig.episode()
        query[1, 2, 0, 1] = np.inf
        with self.assertRaisesRegex(centra.InputError, "query feature of picture 1, channel 2, location 1 is infinite"):
            centra.score(support, labels, query)


class Handles(unittest.TestCase):
    def test_closed_things_refuse_and_close_twice(self):
        session = centra.Session(threads=1)
        head = centra.Head("mcl", session)
        session.close()
        self.assertTrue(head.closed)
        with self.assertRaisesRegex(ValueError, "this Head has been closed"):
            head.score(*rig.episode()[:3])
        session.close()
        head.close()
        self.assertEqual(repr(session), "Session(closed)")

    def test_freed_once_each_children_first_in_any_order_of_garbage(self):
        log: list[str] = []
        real = {name: getattr(_c.lib, name) for name in ("centra_session_close", "centra_head_free")}

        class Spy:
            def __init__(self, name):
                self.name = name

            def __call__(self, pointer):
                log.append(self.name)
                real[self.name](pointer)

        try:
            for name in real:
                setattr(_c.lib, name, Spy(name))
            for order in range(2):
                log.clear()
                session = centra.Session(threads=1)
                knot: list[object] = [session, *(centra.Head("mcl", session) for _ in range(2))]
                knot.append(knot)
                if order:
                    session._life.end()  # as if the collector had come to it first
                del session, knot
                gc.collect()
                self.assertEqual(log, ["centra_head_free", "centra_head_free", "centra_session_close"])
        finally:
            for name, call in real.items():
                setattr(_c.lib, name, call)

    def test_with_blocks_close(self):
        with centra.Session(threads=1) as session, centra.Head("mcl", session) as head:
            head.score(*rig.episode()[:3])
        self.assertTrue(session.closed and head.closed)
        with self.assertRaises(ValueError):
            session.__enter__()

    def test_a_thing_that_is_held_is_freed_afterwards(self):
        model = centra.Model(rig.MODEL)
        with model._held():
            model.close()
            self.assertFalse(model._life.freed)
        self.assertTrue(model._life.freed)

    def test_nothing_is_freed_in_a_forked_child_and_it_can_work(self):
        code = """
import os, centra, numpy as np
from centra import _c
close, parent = _c.lib.centra_session_close, os.getpid()
opened = {}  # by whom
def spy(pointer):
    if opened[pointer] != os.getpid():
        os._exit(7)
    close(pointer)
_c.lib.centra_session_close = spy
def session():
    s = centra.default_session()
    opened[s.handle] = os.getpid()
session()
x = np.random.default_rng(0).normal(size=(4, 3, 2)); labels = [0, 0, 1, 1]
wanted = centra.score(x, labels, x).scores
head = centra.Head()
pid = os.fork()
if pid == 0:
    session()
    same = (centra.score(x, labels, x).scores == wanted).all()
    try:
        head.score(x, labels, x)
    except RuntimeError as refused:
        same = same and "made before a fork" in str(refused)
    else:
        same = False
    raise SystemExit(0 if same else 9)  # through all finalizers
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
        done = python(code, CENTRA_LIBRARY=str(_library()))
        self.assertEqual((done.stdout.strip(), done.stderr), ("0", ""))

    def test_threads_share_a_session_by_turns_and_have_their_own(self):
        support, labels, query, _ = rig.episode(np.float32)
        shared = centra.Head("mcl", centra.Session(threads=2))
        wanted = shared.score(support, labels, query).scores
        wrong: list[str] = []
        sessions = set()

        def work():
            sessions.add(id(centra.default_session()))
            own = centra.Head("mcl")
            for _ in range(50):
                for head in (shared, own):
                    if not np.array_equal(head.score(support, labels, query).scores, wanted):
                        wrong.append(repr(head))
            keep.append(centra.default_session())

        keep: list[centra.Session] = []
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(set(map(id, keep))), 4)


def _library() -> Path:
    return Path(os.environ.get("CENTRA_LIBRARY", rig.SOURCE / "build" / "libcentra.so"))


if __name__ == "__main__":
    unittest.main()
