"""Pictures, models and classifiers."""
from __future__ import annotations

import os
import struct
import threading
import unittest
import zlib
from pathlib import Path

import numpy as np
import rig

import centra


def png(array: np.ndarray) -> bytes:
    """A PNG file of an RGB array, so that no other library is needed."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = array.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in array)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def ppm(array: np.ndarray) -> bytes:
    return f"P6\n{array.shape[1]} {array.shape[0]}\n255\n".encode() + array.tobytes()


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = centra.Model(rig.MODEL)

    def test_a_model_says_what_it_is(self):
        m = self.model
        self.assertEqual((m.name, m.backbone, m.head, m.extractor, m.side), ("conv4-synth", "conv4", "mcl-katz", "map", 84))
        self.assertEqual(len(m.fingerprint), 64)
        self.assertEqual(repr(m), "Model('conv4-synth', backbone='conv4', head='mcl-katz')")

    def test_encode_is_what_the_program_encodes(self):
        with rig.folder() as where:
            path = Path(where) / "a.ppm"
            path.write_bytes(ppm(rig.picture("dots", 1)))
            channels = self.model.encode(path).shape[1]
            rig.run("encode", "--net.width", channels, "--weights", rig.MODEL, "--out", f"{where}/f.npy", path)
            np.testing.assert_array_equal(self.model.encode(path), np.load(f"{where}/f.npy"))

    def test_pictures_in_every_form_give_the_same(self):
        array = rig.picture("rings", 2)
        wanted = self.model.encode(array)
        self.assertEqual(wanted.dtype, np.float32)
        with rig.folder() as where:
            path = Path(where) / "ä.ppm"
            path.write_bytes(ppm(array))
            forms = [str(path), path, path.read_bytes(), bytearray(path.read_bytes()), array[None], [array],
                     np.asfortranarray(array), [path, array]]
            try:
                import PIL.Image
                forms.append(PIL.Image.fromarray(array))
            except ImportError:
                print("no Pillow here: its images were not tried")
            for form in forms:
                for row in self.model.encode(form):
                    np.testing.assert_array_equal(row, wanted[0])
        grey = array[:, :, 0]
        np.testing.assert_array_equal(self.model.encode(grey), self.model.encode(np.repeat(grey[:, :, None], 3, 2)))

    def test_png_bytes_where_the_library_reads_png(self):
        array = rig.picture("dots", 3)
        try:
            seen = self.model.encode(png(array))
        except centra.Unsupported as reason:
            self.skipTest(str(reason))
        np.testing.assert_array_equal(seen, self.model.encode(array))

    def test_many_pictures_are_as_each_alone(self):
        pictures = np.stack([rig.picture("dots", seed, 40, 40) for seed in range(70)])
        together = self.model.encode(pictures)
        self.assertEqual(len(together), 70)
        np.testing.assert_array_equal(together[66], self.model.encode(pictures[66])[0])

    def test_wrong_pictures_are_refused_in_words(self):
        array = rig.picture("dots", 1)
        for wrong, kind, words in ((array / 255, TypeError, "picture 0 has type float64; pictures are uint8"),
                                   (array[:, :, :2], ValueError, r"picture 0 has shape \(90, 110, 2\)"),
                                   (np.zeros((0, 5, 3), np.uint8), ValueError, r"shape \(0, 5, 3\)"),
                                   ([], ValueError, "no pictures to encode"),
                                   ("none.jpg", centra.FileError, "none.jpg"),
                                   ("a\0b", ValueError, "zero byte"),
                                   (b"no picture", centra.FormatError, "picture 0"),
                                   ([array, b"no picture"], centra.FormatError, "picture 1")):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                self.model.encode(wrong)

    def test_threads_share_a_model(self):
        array = rig.picture("rings", 5)
        wanted, seen = self.model.encode(array), []
        threads = [threading.Thread(target=lambda: seen.extend(self.model.encode(array) for _ in range(5)))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(seen), 15)
        for features in seen:
            np.testing.assert_array_equal(features, wanted)

    def test_closing_a_session_or_a_model_leaves_the_other_usable(self):
        array = rig.picture("rings", 5)
        model, session = centra.Model(rig.MODEL), centra.Session(threads=1)
        wanted = model.encode(array, session)
        session.close()
        np.testing.assert_array_equal(model.encode(array), wanted)
        with self.assertRaisesRegex(ValueError, "this Session has been closed"):
            model.encode(array, session)
        model.close()
        with self.assertRaisesRegex(ValueError, "this Model has been closed"):
            model.encode(array)

    def test_shipped_models_are_listed(self):
        before = os.environ.get("CENTRA_MODELS")
        os.environ["CENTRA_MODELS"] = str(rig.SOURCE / "models")
        try:
            found = centra.models()
        finally:
            os.environ.pop("CENTRA_MODELS")
            if before is not None:
                os.environ["CENTRA_MODELS"] = before
        self.assertIn("conv4-mini", [m.name for m in found])
        self.assertTrue(all(Path(m.path).is_file() for m in found))


class Classify(unittest.TestCase):
    def fill(self, **more):
        c = centra.Classifier(centra.Model(rig.MODEL), **more)
        for kind in ("stripes", "dots", "rings"):
            c.add(kind, [rig.picture(kind, seed) for seed in range(4)])
        return c

    def test_pictures_are_told_apart(self):
        c = self.fill()
        self.assertEqual(c.classes, {"dots": 4, "rings": 4, "stripes": 4})
        for kind in c.classes:
            for guess in c.classify([rig.picture(kind, seed) for seed in range(50, 54)]):
                self.assertEqual(guess.label, kind)
                self.assertAlmostEqual(sum(guess.probabilities.values()), 1, 9)
                self.assertEqual(guess.probability, max(guess.probabilities.values()))
                self.assertTrue(0 <= guess.familiarity <= 1)

    def test_removing_saving_and_opening(self):
        c = self.fill()
        picture = rig.picture("dots", 60)
        wanted = c.classify(picture)
        with rig.folder() as where:
            c.save(f"{where}/known.pack")
            other = centra.Classifier(c.model)
            other.open(f"{where}/known.pack")
            self.assertEqual(other.classify(picture), wanted)
        c.remove("stripes", 3)
        c.remove("rings")
        self.assertEqual(c.classes, {"dots": 4, "stripes": 3})
        self.assertEqual(set(c.classify(picture)[0].probabilities), {"dots", "stripes"})
        with self.assertRaisesRegex(centra.UsageError, "rings"):
            c.remove("rings")
        with self.assertRaisesRegex(ValueError, "numbered from 0"):
            c.remove("dots", -1)

    def test_refusals_leave_everything_as_it_was(self):
        c = self.fill()
        with self.assertRaises(centra.FormatError):
            c.add("dots", [rig.picture("dots", 9), b"no picture"])
        with self.assertRaisesRegex(ValueError, "no pictures to add to 'dots'"):
            c.add("dots", [])
        self.assertEqual(c.classes["dots"], 4)
        with self.assertRaises(centra.UsageError):
            centra.Classifier(c.model).classify(rig.picture("dots", 1))
        self.assertEqual(c.classify([]), [])
        c.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            c.classify(rig.picture("dots", 1))

    def test_another_head(self):
        guess = self.fill(head="proto", options={"temperature": 32}).classify(rig.picture("rings", 70))[0]
        self.assertEqual(guess.label, "rings")


if __name__ == "__main__":
    unittest.main()
