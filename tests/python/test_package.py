"""What is given to others: the wheel and the source distribution, the example, and the manual's own examples."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import unittest
import zipfile
from pathlib import Path

import rig

import centra


def library() -> str:
    return os.environ.get("CENTRA_LIBRARY", str(rig.SOURCE / "build" / "libcentra.so"))


def python(*words: object, path: object = rig.PACKAGE, **more: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path), "CENTRA_LIBRARY": library(),
                   "CENTRA_MODELS": str(rig.SOURCE / "models")}
    return subprocess.run([sys.executable, "-B", *map(str, words)], capture_output=True, text=True, timeout=300,
                          env=environment, **more)


class Package(unittest.TestCase):
    def test_wheel_and_source_distribution_work_without_the_tree(self):
        missing = subprocess.run([rig.SOURCE / "tools" / "python.sh", "setuptools", "wheel"], capture_output=True, text=True)
        if missing.returncode:
            self.skipTest(missing.stdout.strip())
        say = "import centra; print(centra.__version__, centra.__file__, len(centra.heads()))"
        with rig.folder() as where:
            subprocess.run([rig.SOURCE / "tools" / "wheel.sh", where], check=True, capture_output=True)
            wheel, = Path(where).glob("*.whl")
            source, = Path(where).glob("*.tar.gz")
            self.assertEqual(wheel.name, f"centra-{centra.__version__}-py3-none-any.whl")
            with zipfile.ZipFile(wheel) as file:
                names = file.namelist()
                file.extractall(f"{where}/installed")
            for wanted in ("centra/py.typed", "centra/_built.py", "centra/torch.py"):
                self.assertIn(wanted, names)
            self.assertTrue(any(name.endswith("LICENSE") for name in names))
            with tarfile.open(source) as archive:
                archive.extractall(where)
            again = Path(where) / f"centra-{centra.__version__}"
            python("setup.py", "-q", "build", "--build-lib", f"{where}/rebuilt", path="", cwd=again)
            for folder in (f"{where}/installed", f"{where}/rebuilt"):
                done = python("-c", say, path=folder, cwd=where)
                self.assertEqual(done.stdout.split()[:2], [centra.__version__, f"{folder}/centra/__init__.py"], done.stderr)

    def test_example_runs(self):
        done = python(rig.SOURCE / "examples" / "python_tour.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("predicted [0 1 2 0 1]", done.stdout)
        self.assertIn("rings: rings", done.stdout)
        self.assertRegex(done.stdout, "losses |no PyTorch here")

    def test_manual_runs(self):
        """Every block marked python in docs/python.md, one after the other, in a folder with the pictures it names."""
        text = (rig.SOURCE / "docs" / "python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        self.assertGreater(len(blocks), 3)
        have_torch = python("-c", "import torch").returncode == 0
        if not have_torch:
            blocks = [block for block in blocks if "torch" not in block]
            print("no PyTorch here: its examples were left out")
        with rig.folder() as where:
            for kind, name in (("stripes", "wren"), ("rings", "robin")):
                for number in (1, 2):
                    array = rig.picture(kind, number)
                    Path(where, f"{name}{number}.ppm").write_bytes(b"P6 %d %d 255\n" % array.shape[1::-1] + array.tobytes())
            garden = rig.picture("stripes", 9)
            Path(where, "garden.ppm").write_bytes(b"P6 %d %d 255\n" % garden.shape[1::-1] + garden.tobytes())
            done = python("-c", "\n".join(blocks), cwd=where)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_everything_public_has_a_docstring(self):
        for name in centra.__all__:
            if not name.startswith("_") and name != "PictureLike":
                self.assertTrue(getattr(centra, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
