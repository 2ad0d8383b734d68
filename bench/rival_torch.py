"""rival_torch.py - PyTorch's side of heads.py, in a process of its own.

It reads the features of an episode from a folder and then does one of these:
  --wait          for each line on standard input as many timed runs as it says, answered with {"ms": [1.234567, ...]}
  --calibrate N   says which variant of the form is fastest by the best of up to N runs, as JSON
  --save DIR      writes scores.npy, with --gradients also grad_support.npy and grad_query.npy
  --about         says what this PyTorch is and which BLAS it has loaded, as JSON (needs no features)
"""
from __future__ import annotations

import argparse
import gc
import json
import re
import sys
import time
from pathlib import Path
from typing import Callable

import numpy as np
import torch
from torch import Tensor

import rival_forms as forms
from rival_forms import Episode, Variant

WARMUP = 3
LONGEST_CALIBRATION_MS = 1500  # of one variant, unless a single run takes longer

# A run answers with the probabilities and, when they were asked for, the gradients.
Run = Callable[[], tuple[Tensor, ...]]


def about() -> dict[str, object]:
    torch.ones(64, 64) @ torch.ones(64, 64)
    torch.linalg.inv(torch.eye(8))
    maps = Path("/proc/self/maps")
    mapped = {line.split()[-1] for line in maps.read_text().splitlines()} if maps.exists() else set()
    capability = re.search(r"CPU capability usage: (.*)", torch.__config__.show())
    return {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "threads": torch.get_num_threads(),
        "capability": capability.group(1) if capability else "unknown",
        "mkl": torch.backends.mkl.is_available(),
        "onednn": torch.backends.mkldnn.is_available(),
        "libraries": sorted(p for p in mapped if re.search(r"blas|lapack|mkl_", Path(p).name)),
    }


def load(folder: Path, alpha: float, gamma: float, beta: float) -> Episode:
    def features(name: str) -> Tensor:
        x = torch.from_numpy(np.load(folder / name))
        return x.reshape(x.shape[0], x.shape[1], -1).contiguous()

    labels = torch.from_numpy(np.load(folder / "query_labels.npy"))
    return Episode(features("support.npy"), features("query.npy"), labels, alpha, gamma, beta)


def make_run(e: Episode, form: str, v: Variant, gradients: bool, steps: int) -> Run:
    def scores() -> Tensor:
        if form in ("plain", "block"):
            return forms.plain(e) if form == "plain" else forms.block(e)
        return forms.full(e) if form == "full" else forms.best(e, v, steps)

    def infer() -> tuple[Tensor, ...]:
        with torch.inference_mode():
            return (scores(),)

    def learn() -> tuple[Tensor, ...]:
        p = scores()
        loss = torch.nn.functional.nll_loss(p.log(), e.labels)
        return (p.detach(), *torch.autograd.grad(loss, (e.support, e.query)))

    if not gradients:
        return infer
    e.support.requires_grad_(True)
    e.query.requires_grad_(True)
    return learn


def time_once(run: Run) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def calibrate(e: Episode, gradients: bool, steps: int, runs: int) -> dict[str, object]:
    """Goes along one axis of choices after the other and keeps what is faster. The minimum is used, since other work
    on the machine only ever adds time."""
    times: dict[Variant, float] = {}

    def measure(v: Variant) -> float:
        run = make_run(e, "best", v, gradients, steps)
        run()
        first = time_once(run)
        more = min(runs - 1, int(LONGEST_CALIBRATION_MS / first))
        times[v] = min([first, *(time_once(run) for _ in range(more))])
        return times[v]

    winner = forms.PLAIN
    measure(winner)
    for axis in range(len(winner)):
        for v in forms.neighbours(winner, e, axis, gradients, steps):
            measure(v)
        winner = min(times, key=lambda v: times[v])
    return {"variant": str(winner), "ms": times[winner], "tried": {str(v): ms for v, ms in times.items()}}


def save(run: Run, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, x in zip(("scores", "grad_support", "grad_query"), run()):
        np.save(folder / f"{name}.npy", x.numpy())


def answer_lines(run: Run) -> None:
    for _ in range(WARMUP):
        run()
    gc.collect()
    gc.disable()
    for line in sys.stdin:
        print(json.dumps({"ms": [time_once(run) for _ in range(int(line))]}), flush=True)


def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser(description="PyTorch's side of heads.py")
    p.add_argument("--features", type=Path)
    p.add_argument("--form", choices=("plain", "best", "block", "full"), default="best")
    p.add_argument("--variant", default=str(forms.PLAIN))
    p.add_argument("--gradients", action="store_true")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--alpha", type=float, default=0.5)
    p.add_argument("--gamma", type=float, default=20.0)
    p.add_argument("--beta", type=float, default=10.0)
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument("--wait", action="store_true")
    what.add_argument("--calibrate", type=int, metavar="N")
    what.add_argument("--save", type=Path, metavar="DIR")
    what.add_argument("--about", action="store_true")
    return p.parse_args()


def main() -> None:
    o = parse()
    torch.set_num_threads(o.threads)
    if o.about:
        print(json.dumps(about()))
        return
    e = load(o.features, o.alpha, o.gamma, o.beta)
    steps = forms.steps_needed(e)
    if o.calibrate:
        print(json.dumps(calibrate(e, o.gradients, steps, o.calibrate)))
        return
    run = make_run(e, o.form, Variant(*o.variant.split("/")), o.gradients, steps)
    if o.save:
        save(run, o.save)
    else:
        answer_lines(run)


if __name__ == "__main__":
    main()
