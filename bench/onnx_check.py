"""onnx_check.py - ONNX files of networks, run by onnxruntime, against `centra encode`.

    python3 bench/onnx_check.py [MODEL.safetensors ...] [--centra build/centra] [--providers CPU,CUDA] [--pictures 16]

Each model (the shipped ones without any) is written by `centra weights convert --to onnx` and run on random pictures with
every provider that onnxruntime has here. Features must equal those of `centra encode` to 1e-4 of the largest. Ends with 1
after a difference, 77 where there is no onnxruntime.
"""
from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BOUND = 1e-4
SOURCE = Path(__file__).resolve().parents[1]


def card(model: Path) -> dict[str, str]:
    """The metadata of a safetensors file."""
    with model.open("rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        return dict(json.loads(file.read(length)).get("__metadata__", {}))


def numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()], np.float64).reshape(3, 1, 1)


def encode(centra: str, model: Path, said: dict[str, str], normalised: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "x.npy", normalised.astype(np.float32))
    words = [word for pair in said.get("options", "").split() if pair.startswith("net.") for word in
             ("--" + pair.split("=", 1)[0], pair.split("=", 1)[1])]
    subprocess.run([centra, "encode", "--backbone", said["backbone"], *words, "--weights", model, "--input",
                    folder / "x.npy", "--out", folder / "y.npy"], check=True)
    return np.load(folder / "y.npy")


def check(model: Path, centra: str, providers: list[str], pictures: int, folder: Path) -> bool:
    import onnxruntime
    said, good = card(model), True
    side = int(said.get("input", "84"))
    subprocess.run([centra, "weights", "convert", "--to", "onnx", model, folder / "net.onnx"], check=True)
    x = np.random.default_rng(1).uniform(size=(pictures, 3, side, side)).astype(np.float32)
    mean, std = (numbers(said[key]) if key in said else numbers(standard)
                 for key, standard in (("mean", "0.4913725 0.4823529 0.4466667"), ("std", "0.2470588 0.2435294 0.2615686")))
    wanted = encode(centra, model, said, (x - mean) / std, folder)
    for provider in providers:
        session = onnxruntime.InferenceSession(str(folder / "net.onnx"), providers=[provider])
        if session.get_providers()[0] != provider:
            sys.exit(f"onnx_check.py: onnxruntime did not take {provider} but {session.get_providers()[0]}")
        for batch in (pictures, 1):  # any number of pictures
            seen, = session.run(["features"], {"pictures": x[:batch]})
            difference = float(np.abs(seen - wanted[:batch]).max() / np.abs(wanted).max())
            start = time.perf_counter()
            session.run(["features"], {"pictures": x[:batch]})
            ms = 1e3 * (time.perf_counter() - start)
            good &= difference <= BOUND
            print(f"{model.name} {said['backbone']} {provider} n={batch}: {difference:.2e} "
                  f"{'ok' if difference <= BOUND else 'DIFFERS'}, {ms:.1f} ms")
    return good


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="*", type=Path)
    p.add_argument("--centra", default=str(SOURCE / "build" / "centra"))
    p.add_argument("--providers", default="", help="of these words only: CPU,CUDA")
    p.add_argument("--pictures", type=int, default=16)
    options = p.parse_args()
    try:
        import onnxruntime
    except ImportError as problem:
        print(f"onnx_check.py: skipped, no onnxruntime (pip install onnxruntime or onnxruntime-gpu): {problem}")
        return 77
    known = [name for name in onnxruntime.get_available_providers() if name in ("CPUExecutionProvider", "CUDAExecutionProvider")]
    chosen = [f"{word}ExecutionProvider" for word in options.providers.split(",") if word] or known
    print(f"onnxruntime {onnxruntime.__version__}, {', '.join(chosen)}")
    good = True
    for model in options.models or sorted((SOURCE / "models").glob("*.safetensors")):
        with tempfile.TemporaryDirectory() as folder:
            good &= check(model, options.centra, chosen, options.pictures, Path(folder))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
