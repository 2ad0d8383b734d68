"""heads_cuda.py - Centra's walk head beside PyTorch's on one GPU, in turns, in one call.

PyTorch's side runs in this process: one matrix product for all queries, two softmaxes, one batched system
(torch.linalg.solve), class sums; and autograd of that. "power" iterates instead of solving. Times are CUDA events around
several episodes in a row, divided by their number; Centra's are those of `centra bench heads --device cuda --wait`,
whose features are on the device as well. Before timing, both must agree on the same episode. A Markdown table with the
ratios and the distance to the floor goes to standard output, progress to standard error. Only PyTorch and NumPy are
needed.
"""
from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from duel import Contender, ask, quartiles

EACH = 15
IN_A_ROW = 20
VALUE_TOLERANCE, GRADIENT_TOLERANCE = 1e-4, 1e-3  # absolute; relative to the largest entry
WANTED = {False: 10.0, True: 8.0}  # times as fast as the batched solve: inference, forward+backward


@dataclass(frozen=True)
class Setting:
    way: int
    channels: int
    side: int
    gamma: float
    beta: float
    gradients: bool

    @property
    def locations(self) -> int:
        return self.side**2

    @property
    def queries(self) -> int:
        return self.way * EACH

    def __str__(self) -> str:
        kind = "forward+backward" if self.gradients else "inference"
        return f"{self.way}-way C={self.channels} {self.side}x{self.side} gamma={self.gamma:g} {kind}"

    def operations(self) -> float:
        """of the products alone, each as three products of halves"""
        pairs = self.queries * self.locations * self.way * self.locations
        return 3 * 2.0 * pairs * self.channels * (3 if self.gradients else 1)

    def bytes(self) -> float:
        """features in, gradients out, once each"""
        features = (self.queries + self.way) * self.locations * self.channels * 4.0
        return features * (2 if self.gradients else 1)


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def settings(o: argparse.Namespace) -> Iterator[Setting]:
    tokens = {t.strip() for t in o.only.split(",") if t.strip()}
    every = [Setting(5, c, side, 20, 10, g) for c in (640, 64) for side in (5, 8, 10, 12) for g in (False, True)]
    every += [Setting(way, 64, 5, 40, 10, True) for way in (20, 30)]  # training steps of the recipes
    for s in every:
        names = {f"C={s.channels}", f"{s.side}x{s.side}", f"{s.way}-way", "backward" if s.gradients else "inference"}
        if tokens <= names:
            yield s


class Rival:
    """The same episode in PyTorch, on the GPU."""

    def __init__(self, s: Setting, alpha: float, related: bool, dtype: torch.dtype = torch.float32) -> None:
        random = np.random.default_rng(1)
        self.s, self.alpha, r = s, alpha, s.locations
        labels = np.repeat(np.arange(s.way), EACH)
        pattern = random.normal(size=(s.way, s.channels, 1)) + random.normal(size=(s.way, s.channels, r))
        self.arrays = {"support": random.normal(size=(s.way, s.channels, r)),
                       "query": random.normal(size=(s.queries, s.channels, r))}
        if related:  # classes with patterns: scores differ visibly
            self.arrays["support"] = np.maximum(self.arrays["support"] + 0.3 * pattern, 0)
            self.arrays["query"] = np.maximum(self.arrays["query"] + 0.3 * pattern[labels], 0)
        self.arrays = {k: v.astype(np.float32) for k, v in self.arrays.items()}
        self.support, self.query = (torch.tensor(self.arrays[k], dtype=dtype, device="cuda", requires_grad=s.gradients)
                                    for k in ("support", "query"))
        self.labels = torch.tensor(labels, device="cuda")
        self.eye = torch.eye(r, dtype=dtype, device="cuda")
        self.steps = math.ceil(math.log(5e-8) / math.log(alpha**2))

    def save(self, folder: Path) -> None:
        for name, x in self.arrays.items():
            np.save(folder / f"{name}.npy", x.reshape(*x.shape[:2], self.s.side, self.s.side))
        np.save(folder / "support_labels.npy", np.arange(self.s.way))
        np.save(folder / "query_labels.npy", self.labels.cpu().numpy())

    def scores(self, form: str) -> Tensor:
        s, a2, r = self.s, self.alpha**2, self.s.locations
        m = s.way * r
        support = functional.normalize(self.support, dim=1).permute(0, 2, 1).reshape(m, s.channels)
        query = functional.normalize(self.query, dim=1).permute(0, 2, 1).reshape(-1, s.channels)
        phi = (query @ support.t()).view(-1, r, m)
        a, b = torch.softmax(s.gamma * phi, 2), torch.softmax(s.beta * phi, 1)
        k = b @ a.transpose(1, 2)
        enters = (1 + self.alpha * b.sum(2, keepdim=True)) * ((1 - a2) / (r + self.alpha * m))
        if form == "solve":
            w = torch.linalg.solve(self.eye - a2 * k, enters)
        else:
            w = torch.full_like(enters, 1 / r)
            for _ in range(self.steps):
                w = torch.baddbmm(enters, k, w, alpha=a2)
        return (a.transpose(1, 2) @ w).view(-1, s.way, r).sum(2)

    def once(self, form: str) -> tuple[Tensor, ...]:
        if not self.s.gradients:
            with torch.inference_mode():
                return (self.scores(form),)
        p = self.scores(form)
        loss = functional.nll_loss(p.log(), self.labels)
        return (p.detach(), *torch.autograd.grad(loss, (self.support, self.query)))

    def turn(self, form: str) -> float:
        """milliseconds an episode"""
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.once(form)
        start.record()
        for _ in range(IN_A_ROW):
            self.once(form)
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / IN_A_ROW


def walk_of(s: Setting, o: argparse.Namespace) -> list[str]:
    return ["--head", "mcl-katz", "--head.alpha", str(o.alpha), "--head.gamma", str(s.gamma), "--head.beta",
            str(s.beta), "--device", "cuda"]


def check(s: Setting, o: argparse.Namespace) -> dict[str, float]:
    """The largest differences between Centra in single and PyTorch in double precision; raises if they are too large."""
    rival = Rival(s, o.alpha, related=True, dtype=torch.float64)
    seen = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rival.save(folder)
        command = [o.program, "score", *walk_of(s, o), "--quiet", "--out", str(folder / "ours")]
        for array in ("support", "support-labels", "query", "query-labels"):
            command += [f"--{array}", str(folder / f"{array.replace('-', '_')}.npy")]
        ask(command + (["--gradients"] if s.gradients else []))
        for array, theirs in zip(("scores", "grad_support", "grad_query"), rival.once("solve")):
            x, y = np.load(folder / "ours" / f"{array}.npy"), theirs.detach().cpu().numpy()
            scale = 1.0 if array == "scores" else float(np.abs(y).max())
            seen[array] = float(np.abs(x - y.reshape(x.shape)).max()) / scale
            if not seen[array] < (VALUE_TOLERANCE if array == "scores" else GRADIENT_TOLERANCE):
                raise RuntimeError(f"{s}: {array} of Centra and PyTorch differ by {seen[array]:.2g}")
    return seen


def measure(s: Setting, o: argparse.Namespace) -> dict[str, Any]:
    differences = check(s, o)
    rival = Rival(s, o.alpha, related=False)
    forms = [f for f in ("solve", "power") if f == "solve" or rival.steps <= 64]
    times: dict[str, list[float]] = {"ours": [], **{f: [] for f in forms}}
    ours = [o.program, "bench", "heads", *walk_of(s, o), "--way", str(s.way), "--shot", "1", "--queries", str(EACH),
            "--channels", str(s.channels), "--map", str(s.side), "--wait"]
    with Contender(ours + (["--gradients"] if s.gradients else []), {}) as centra:
        turns: dict[str, Callable[[], float]] = {"ours": lambda: statistics.median(centra.run(3))}
        for form in forms:
            turns[form] = lambda form=form: rival.turn(form)  # type: ignore[misc]
        for name in turns:
            turns[name]()
        for i in range(o.rounds):
            for name in sorted(turns, reverse=bool(i % 2)):
                times[name].append(turns[name]())
    return {**asdict(s), "differences": differences, "times": times,
            "quartiles": {name: quartiles(x) for name, x in times.items()}}


def ceilings() -> dict[str, float]:
    """bytes and bf16 operations a second that this GPU reaches in a large copy and a large product of random numbers"""
    def seconds(run: Callable[[], object]) -> float:
        found = []
        for _ in range(7):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            run()
            end.record()
            end.synchronize()
            found.append(start.elapsed_time(end) / 1e3)
        return statistics.median(found[2:])

    x = torch.randn(1 << 28, device="cuda")
    y = torch.empty_like(x)
    copy = seconds(lambda: y.copy_(x))
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return {"bytes": 2 * 4.0 * x.numel() / copy, "operations": 2 * 8192.0**3 / seconds(lambda: a @ b)}


HEADER = ("way", "C", "map", "pass", "Centra ms", "solve ms", "ratio", "wanted", "power ms", "ratio", "floor ms",
          "gap", "difference")


def row(x: dict[str, Any], s: Setting, top: dict[str, float]) -> str:
    ours, solve = x["quartiles"]["ours"][1], x["quartiles"]["solve"][1]
    power = x["quartiles"].get("power", [math.nan] * 3)[1]
    floor = max(s.operations() / top["operations"], s.bytes() / top["bytes"]) * 1e3
    cells = (s.way, s.channels, f"{s.side}x{s.side}", "fwd+bwd" if s.gradients else "inference", f"{ours:.4f}",
             f"{solve:.3f}", f"{solve / ours:.1f}", f"{WANTED[s.gradients]:g}", f"{power:.3f}", f"{power / ours:.1f}",
             f"{floor:.4f}", f"{ours / floor:.1f}", f"{max(x['differences'].values()):.0e}")
    return "| " + " | ".join(str(c) for c in cells) + " |"


def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser(description="Times Centra's walk head and PyTorch in turns on one GPU.")
    p.add_argument("--program", default="build-cuda/centra", help="the program (default build-cuda/centra)")
    p.add_argument("--rounds", type=int, default=9, help="rounds of both (default 9)")
    p.add_argument("--only", default="", metavar="LIST", help='such as "C=640,5x5,inference": all must fit')
    p.add_argument("--alpha", type=float, default=0.5, help="damping of the walk (default 0.5, mcl-katz)")
    p.add_argument("--tf32", action="store_true", help="let PyTorch's products use TF32")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything, all times included")
    o = p.parse_args()
    o.program = str(Path(o.program).resolve())
    if not Path(o.program).is_file():
        p.error(f"there is no program '{o.program}'; --program names another")
    if o.rounds < 1 or not 0 < o.alpha < 1 or not any(True for _ in settings(o)):
        p.error("--rounds must be at least 1, --alpha between 0 and 1, and --only must leave a setting")
    return o


def main() -> None:
    o = parse()
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU here")
    torch.backends.cuda.matmul.allow_tf32 = o.tf32
    top = ceilings()
    print(f"- {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, TF32 {'on' if o.tf32 else 'off'}")
    print(f"- copy {top['bytes'] / 1e12:.2f} TB/s, bf16 product {top['operations'] / 1e12:.0f} TFLOP/s")
    print(f"\n1-shot, {EACH} queries a class, alpha {o.alpha:g}; ratio: how many times as fast Centra is\n")
    print(f"| {' | '.join(HEADER)} |\n{'|---' * len(HEADER)}|", flush=True)
    results, slow = [], []
    for s in settings(o):
        progress(f"{s} ...")
        x = measure(s, o)
        results.append(x)
        print(row(x, s, top), flush=True)
        if s.way == 5 and x["quartiles"]["solve"][1] < WANTED[s.gradients] * x["quartiles"]["ours"][1]:
            slow.append(str(s))
    print("\nslower than wanted: " + ("; ".join(slow) if slow else "none"))
    if o.json:
        o.json.write_text(json.dumps({"ceilings": top, "alpha": o.alpha, "tf32": o.tf32, "results": results}, indent=1))


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as problem:
        sys.exit(f"heads_cuda.py: {problem}")
