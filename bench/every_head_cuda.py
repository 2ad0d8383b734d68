"""every_head_cuda.py - heads beside the same mathematics in PyTorch (rival_heads.py) on one GPU, in turns, in one call.

5-way 1-shot, 75 queries, C = 640. PyTorch's times are CUDA events around several episodes in a row, Centra's those of `centra
bench heads --device cuda --wait`, whose features are on the device as well. Scores are compared first. A Markdown table goes
to standard output.
"""
from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from duel import Contender, ask
from rival_heads import FORMS, Episode, make_params, make_run

WAY, EACH, CHANNELS, IN_A_ROW, WANTED = 5, 15, 640, 20, 5.0
TOLERANCE = 1e-3  # of the largest score


def arrays(side: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    labels = np.repeat(np.arange(WAY), EACH)
    pattern = random.normal(size=(WAY, CHANNELS, 1, 1)) + random.normal(size=(WAY, CHANNELS, side, side))

    def features(of: np.ndarray) -> np.ndarray:
        return np.maximum(random.normal(size=(len(of), CHANNELS, side, side)) + 0.3 * pattern[of], 0).astype(np.float32)

    return {"support": features(np.arange(WAY)), "support_labels": np.arange(WAY), "query": features(labels),
            "query_labels": labels}


def check(program: str, head: str, given: dict[str, np.ndarray], theirs: np.ndarray) -> float:
    with tempfile.TemporaryDirectory() as name:
        command = [program, "score", "--head", head, "--device", "cuda", "--quiet", "--out", f"{name}/ours"]
        for key, x in given.items():
            np.save(f"{name}/{key}.npy", x)
            command += [f"--{key.replace('_', '-')}", f"{name}/{key}.npy"]
        params = make_params(head, CHANNELS)
        for key, p in params.items():
            Path(name, "params").mkdir(exist_ok=True)
            np.save(f"{name}/params/{key}.npy", p.numpy())
        ask(command + (["--weights", f"{name}/params"] if params else []))
        ours = np.load(f"{name}/ours/scores.npy")
    seen = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not seen < TOLERANCE:
        raise RuntimeError(f"{head}: scores of Centra and PyTorch differ by {seen:.2g}")
    return seen


def measure(program: str, head: str, side: int, gradients: bool, rounds: int) -> tuple[float, float, float]:
    given = arrays(side)
    support, query = (torch.tensor(given[k], device="cuda").flatten(2) for k in ("support", "query"))
    run = make_run(head, Episode(support, query), torch.tensor(given["query_labels"], device="cuda"), gradients)
    difference = check(program, head, given, run()[0].cpu().numpy())

    def theirs() -> float:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        run()
        start.record()
        for _ in range(IN_A_ROW):
            run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / IN_A_ROW

    command = [program, "bench", "heads", "--head", head, "--device", "cuda", "--channels", str(CHANNELS), "--map",
               str(side), "--kinds", "0", "--wait", *(["--gradients"] if gradients else [])]
    ours_ms, theirs_ms = [], []
    with Contender(command, {}) as centra:
        centra.run(3)
        theirs()
        for _ in range(rounds):
            ours_ms.append(statistics.median(centra.run(3)))
            theirs_ms.append(theirs())
    return statistics.median(ours_ms), statistics.median(theirs_ms), difference


def main() -> None:
    p = argparse.ArgumentParser(description="Times heads of Centra and PyTorch in turns on one GPU.")
    p.add_argument("--program", default="build-cuda/centra", help="the program (default build-cuda/centra)")
    p.add_argument("--heads", default="proto,dn4,frn", metavar="LIST", help="names with commas")
    p.add_argument("--maps", default="5,10", metavar="LIST", help="sides of the maps (default 5,10)")
    p.add_argument("--rounds", type=int, default=9, help="rounds of both (default 9)")
    p.add_argument("--gradients", action="store_true", help="forward and backward instead of inference")
    o = p.parse_args()
    unknown = [h for h in o.heads.split(",") if h not in FORMS]
    if unknown:
        p.error(f"there is no form of {', '.join(unknown)}")
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU here")
    print(f"- {torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
    print("| head | map | pass | Centra ms | PyTorch ms | ratio | wanted | difference |\n|---|---|---|---|---|---|---|---|")
    for side in (int(x) for x in o.maps.split(",")):
        for head in o.heads.split(","):
            ours, theirs, difference = measure(str(Path(o.program).resolve()), head, side, o.gradients, o.rounds)
            print(f"| `{head}` | {side}x{side} | {'fwd+bwd' if o.gradients else 'inference'} | {ours:.4f} | {theirs:.4f} | "
                  f"{theirs / ours:.1f} | {WANTED:g} | {difference:.0e} |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as problem:
        sys.exit(f"every_head_cuda.py: {problem}")
