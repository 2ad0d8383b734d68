"""rig.py - what the Python tests share: where things lie, a random episode, pictures of stripes and dots."""
from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
MODEL = SOURCE / "tests" / "models" / "conv4-synth.safetensors"
PACKAGE = SOURCE / "python"


def program() -> Path:
    """The program beside the library under test."""
    return Path(os.environ.get("CENTRA_PROGRAM", SOURCE / "build" / "centra"))


def run(*words: object) -> str:
    """Runs the program; what it prints."""
    done = subprocess.run([str(program()), *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"centra {' '.join(map(str, words))} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="centra-python-")


def episode(dtype=np.float64, ways=3, shots=2, queries=4, channels=6, places=(2, 3), seed=0):
    """support, labels, query, query labels"""
    r = np.random.default_rng(seed)
    support = r.normal(size=(ways * shots, channels, *places)).astype(dtype)
    query = r.normal(size=(queries, channels, *places)).astype(dtype)
    return support, np.arange(ways * shots) % ways * 10 + 7, query, np.arange(queries) % ways * 10 + 7


def picture(kind: str, seed: int, height: int = 90, width: int = 110) -> np.ndarray:
    """Stripes, dots or rings in RGB, different for each seed."""
    r = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    size, shift = r.uniform(8, 14), r.uniform(0, 10)
    if kind == "stripes":
        value = np.sin((x + shift) * 2 * np.pi / size)
    elif kind == "dots":
        value = np.sin((x + shift) * 2 * np.pi / size) * np.sin((y + shift) * 2 * np.pi / size)
    else:
        value = np.sin(np.hypot(x - width / 2, y - height / 2 + shift) * 2 * np.pi / size)
    colour = np.array({"stripes": (200, 80, 60), "dots": (60, 190, 80), "rings": (70, 80, 200)}[kind])
    noise = r.normal(0, 8, size=(height, width, 1))
    return np.clip(colour * (0.6 + 0.4 * value[:, :, None]) + noise, 0, 255).astype(np.uint8)
