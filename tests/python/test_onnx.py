"""Networks written as ONNX: valid by the ONNX project's own checker, and computing what `centra encode` computes.

The graphs are evaluated here, node by node, in NumPy; bench/onnx_check.py does the same with onnxruntime.
"""
from __future__ import annotations

import json
import struct
import unittest
from pathlib import Path

import numpy as np
import rig

try:
    import onnx
    import onnx.numpy_helper
except ImportError as problem:
    raise unittest.SkipTest(f"no ONNX (python3-onnx): {problem}") from None

import centra

MEAN = np.array([125.3, 123.0, 113.9]).reshape(3, 1, 1) / 255  # of all experiments of the paper
STD = np.array([63.0, 62.1, 66.7]).reshape(3, 1, 1) / 255
BOUND = 1e-4


def conv(x, w, b=None, *, strides, pads, group, kernel_shape):
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(x, tuple(kernel_shape), (2, 3))[:, :, ::strides[0], ::strides[1]]
    n, c, h, wide = windows.shape[:4]
    windows = windows.reshape(n, group, c // group, h, wide, *kernel_shape)
    weights = w.reshape(group, w.shape[0] // group, *w.shape[1:])
    y = np.einsum("ngchwij,gocij->ngohw", windows, weights, optimize=True).reshape(n, w.shape[0], h, wide)
    return y if b is None else y + b[:, None, None]


def pool(x, reduce, *, kernel_shape, strides, pads=(0, 0, 0, 0)):
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(x, tuple(kernel_shape), (2, 3))
    return reduce(windows[:, :, ::strides[0], ::strides[1]], (4, 5))


def norm(x, gain, bias, mean, variance, *, epsilon):
    gain, bias, mean, variance = (v[:, None, None] for v in (gain, bias, mean, variance))
    return (x - mean) / np.sqrt(variance + epsilon) * gain + bias


NODES = {
    "Add": np.add, "Sub": np.subtract, "Div": np.divide, "MatMul": np.matmul, "Conv": conv, "BatchNormalization": norm,
    "Relu": lambda x: np.maximum(x, 0),
    "LeakyRelu": lambda x, alpha: np.where(x > 0, x, alpha * x),
    "Clip": lambda x, low, high: np.clip(x, low, high),
    "MaxPool": lambda x, **how: pool(x, np.max, **how),
    "AveragePool": lambda x, **how: pool(x, np.mean, **how),
}


def evaluate(model, pictures):
    """In double, so that only the graph's own numbers are single."""
    values = {c.name: onnx.numpy_helper.to_array(c).astype(np.float64) for c in model.graph.initializer}
    values["pictures"] = pictures.astype(np.float64)
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = NODES[node.op_type](*(values[name] for name in node.input), **attributes)
    return values["features"]


def safetensors(path, arrays):
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in arrays.values()))


class Weights(dict):
    """Random weights under a network's names; norms have statistics that are not trivial."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)

    def conv(self, name, out, channels, k):
        self[f"{name}.weight"] = (self.r.normal(size=(out, channels, k, k)) * (2 / (channels * k * k)) ** 0.5).astype("f4")

    def norm(self, name, channels):
        for part, low, high in (("weight", 0.5, 1.5), ("bias", -0.5, 0.5), ("running_mean", -0.5, 0.5),
                                ("running_var", 0.3, 3)):
            self[f"{name}.{part}"] = self.r.uniform(low, high, channels).astype("f4")


def conv4(last_norm):
    w = Weights(1)
    for k in range(1, 5):
        w.conv(f"layer{k}.0", 8, 8 if k > 1 else 3, 3)
        if k < 4 or last_norm:
            w.norm(f"layer{k}.1", 8)
    return w


def resnet12():
    w, before = Weights(2), 3
    for stage, width in enumerate((8, 12, 16, 20), 1):
        for name, channels, k in (("conv1", before, 3), ("conv2", width, 3), ("conv3", width, 3), ("downsample.0", before, 1)):
            w.conv(f"layer{stage}.0.{name}", width, channels, k)
        for name in ("bn1", "bn2", "bn3", "downsample.1"):
            w.norm(f"layer{stage}.0.{name}", width)
        before = width
    return w


def wrn():
    w, before = Weights(3), 16
    w.conv("conv1", 16, 3, 3)
    for stage in (1, 2, 3):
        width = 16 << (stage - 1)
        for block in (0, 1):
            name, channels = f"layer{stage}.{block}", width if block else before
            w.norm(f"{name}.bn1", channels)
            w.conv(f"{name}.conv1", width, channels, 3)
            w.norm(f"{name}.bn2", width)
            w.conv(f"{name}.conv2", width, width, 3)
            if channels != width:
                w.conv(f"{name}.shortcut.0", width, channels, 1)
        before = width
    w.norm("bn1", before)
    return w


def mobilenetv2():
    w, before = Weights(5), 16
    w.conv("stem", 16, 3, 3)
    w.norm("stem.norm", 16)
    # expansion, channels at width 0.5, blocks: Sandler et al. 2018, table 2
    number = 0
    for expansion, width, blocks in ((1, 8, 1), (6, 16, 2), (6, 16, 3), (6, 32, 4), (6, 48, 3), (6, 80, 3), (6, 160, 1)):
        for _ in range(blocks):
            number += 1
            hidden = before * expansion
            parts = [("expand", hidden, before, 1)] if expansion > 1 else []
            parts += [("depthwise", hidden, 1, 3), ("project", width, hidden, 1)]
            for part, out, channels, k in parts:
                w.conv(f"block{number:02}.{part}", out, channels, k)
                w.norm(f"block{number:02}.{part}.norm", out)
            before = width
    w.conv("last", 1280, before, 1)
    w.norm("last.norm", 1280)
    return w


def resnet18():
    w, before = Weights(6), 64
    w.conv("conv1", 64, 3, 7)
    w.norm("bn1", 64)
    for stage, width in enumerate((64, 128, 256, 512), 1):
        for block in (0, 1):
            name = f"layer{stage}.{block}"
            w.conv(f"{name}.conv1", width, before, 3)
            w.norm(f"{name}.bn1", width)
            w.conv(f"{name}.conv2", width, width, 3)
            w.norm(f"{name}.bn2", width)
            if before != width:
                w.conv(f"{name}.downsample.0", width, before, 1)
                w.norm(f"{name}.downsample.1", width)
            before = width
    return w


class Onnx(unittest.TestCase):
    def check(self, backbone, options, weights, side, wanted_nodes):
        with rig.folder() as name:
            where = Path(name)
            safetensors(where / "w.safetensors", weights)
            more = [word for key, value in options.items() for word in (f"--net.{key}", value)]
            rig.run("weights", "convert", "--to", "onnx", "--backbone", backbone, "--side", side, *more,
                    where / "w.safetensors", where / "net.onnx")
            model = onnx.load(str(where / "net.onnx"))
            onnx.checker.check_model(model, full_check=True)
            shaped = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
            self.assertEqual(model.opset_import[0].version, 17)
            pictures = np.random.default_rng(4).uniform(size=(3, 3, side, side))
            np.save(where / "x.npy", ((pictures - MEAN) / STD).astype(np.float32))
            rig.run("encode", "--backbone", backbone, *more, "--weights", where / "w.safetensors", "--input", where / "x.npy",
                    "--out", where / "y.npy")
            wanted, seen = np.load(where / "y.npy"), evaluate(model, pictures.astype(np.float32))
            self.assertEqual(seen.shape, wanted.shape)
            self.assertLess(np.abs(seen - wanted).max(), BOUND * np.abs(wanted).max())
            self.assertGreater(np.abs(wanted).max(), 0.1)
            sizes = shaped.graph.output[0].type.tensor_type.shape.dim
            self.assertEqual((sizes[0].dim_param, *(d.dim_value for d in sizes[1:])), ("n", *wanted.shape[1:]))
            counts = {kind: sum(node.op_type == kind for node in model.graph.node) for kind in wanted_nodes}
            self.assertEqual(counts, wanted_nodes)
            self.assertEqual({p.key: p.value for p in model.metadata_props}["backbone"], backbone)

    def test_conv4(self):
        self.check("conv4", {"width": 8}, conv4(True), 84, {"Conv": 4, "BatchNormalization": 0, "Sub": 1, "Div": 1})
        self.check("conv4", {"width": 8}, conv4(True), 37, {"MaxPool": 4})  # odd sides lose a row

    def test_conv4_19(self):
        self.check("conv4-19", {"width": 8}, conv4(False), 84, {"Conv": 4, "BatchNormalization": 0, "MaxPool": 2})

    def test_resnet12(self):
        self.check("resnet12", {"widths": "8,12,16,20"}, resnet12(), 84, {"Conv": 16, "BatchNormalization": 0, "Add": 4})

    def test_wrn(self):
        """Norms behind a sum, or behind a convolution that the shortcut takes too, cannot be folded."""
        options = {"depth": 16, "widen": 1}
        self.check("wrn", options, wrn(), 84, {"BatchNormalization": 7, "AveragePool": 1, "MatMul": 0, "Add": 6})
        self.check("wrn", options, wrn(), 48, {"AveragePool": 0, "MatMul": 2})  # 12 to 5: cells of different sizes

    def test_mobilenetv2(self):
        for border in ("tensorflow", "symmetric"):
            for side in (97, 98):  # TensorFlow's border is even on odd sides and one-sided on even ones
                self.check("mobilenetv2", {"width": 0.5, "border": border}, mobilenetv2(), side,
                           {"Conv": 52, "BatchNormalization": 0, "Clip": 35, "Add": 10})

    def test_resnet18(self):
        self.check("resnet18", {}, resnet18(), 96, {"Conv": 20, "BatchNormalization": 0, "MaxPool": 1, "Add": 8})

    def test_a_model_with_its_own_side_and_colours(self):
        model = centra.Model(rig.MODEL)
        picture = rig.picture("rings", 3, 84, 84)
        with rig.folder() as where:
            model.write_onnx(f"{where}/a.onnx")
            rig.run("weights", "convert", "--to", "onnx", rig.MODEL, f"{where}/b.onnx")
            self.assertEqual(Path(f"{where}/a.onnx").read_bytes(), Path(f"{where}/b.onnx").read_bytes())
            graph = onnx.load(f"{where}/a.onnx")
        shown = model.inputs(picture).astype(np.float64) * STD + MEAN  # what the network sees, as pixels / 255
        wanted = model.encode(picture)
        self.assertLess(np.abs(evaluate(graph, shown) - wanted).max(), BOUND * np.abs(wanted).max())

    def test_refusals(self):
        with rig.folder() as where:
            for words, sentence in ((("--backbone", "conv4", "--net.width", "8"), "layer1.0.weight"),
                                    (("--backbone", "conv5"), "there is no network 'conv5'"),
                                    ((), "name it with --backbone")):
                safetensors(Path(where) / "w.safetensors", resnet12())
                with self.assertRaisesRegex(AssertionError, sentence):
                    rig.run("weights", "convert", "--to", "onnx", *words, f"{where}/w.safetensors", f"{where}/o.onnx")
            self.assertFalse(Path(f"{where}/o.onnx").exists())


if __name__ == "__main__":
    unittest.main()
