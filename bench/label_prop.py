"""label_prop.py - the time of Centra's label-prop head beside PyTorch's, in turns, on the shapes of heads.py.

PyTorch may write the formula in two ways (Cholesky's factors or a general solve; normalised, or with the degrees on the
diagonal as Centra does) and gets the environment that suits it best; both must agree on the scores and gradients of one
episode before they are timed. With --rival it is PyTorch's process. See README.md.
"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import machine

machine.use_python_with_torch()  # may start this script anew, so it comes before what may be missing

import numpy as np
import torch
from torch import Tensor

from duel import Contender, alternate, ask, ask_json, compare
from heads import EACH, TUNINGS, WAY, Setting, thread_settings, write_features
from rival_torch import answer_lines, save, time_once

GAMMA, FACTOR = 20.0, 0.99
WAYS = ("normalised/cholesky", "normalised/solve", "degrees/cholesky", "degrees/solve")
SCORE_TOLERANCE, GRADIENT_TOLERANCE = 1e-4, 1e-3
BUDGET_S = 20.0


def scores(support: Tensor, query: Tensor, way: str) -> Tensor:
    """support [5, C, r], query [n, C, r]: probabilities [n, 5]"""
    form, solver = way.split("/")
    n, c, r = query.shape
    m = WAY * r
    s = torch.nn.functional.normalize(support.transpose(1, 2).reshape(m, c), dim=1)
    q = torch.nn.functional.normalize(query.transpose(1, 2), dim=2)
    ss, qs, qq = s @ s.t(), (q.reshape(-1, c) @ s.t()).view(n, r, m), torch.bmm(q, q.transpose(1, 2))
    ss, qs, qq = ((GAMMA * (x - 1)).exp() for x in (ss, qs, qq))
    ss, qq = ss * (1 - torch.eye(m)), qq * (1 - torch.eye(r))
    above = torch.cat((ss.expand(n, m, m), qs.transpose(1, 2)), 2)
    w = torch.cat((above, torch.cat((qs, qq), 2)), 1)
    d = w.sum(2)
    b = torch.zeros(n, m + r, 1)
    b[:, m:] = 1 / r
    if form == "normalised":
        h = d.rsqrt()
        a = torch.eye(m + r) - FACTOR * w * h[:, :, None] * h[:, None, :]
    else:
        a, b = torch.diag_embed(d) - FACTOR * w, b * d.sqrt()[:, :, None]
    x = torch.cholesky_solve(b, torch.linalg.cholesky(a)) if solver == "cholesky" else torch.linalg.solve(a, b)
    x = x if form == "normalised" else x * d.sqrt()[:, :, None]
    raw = x[:, :m, 0].reshape(n, WAY, r).sum(2)
    return raw / raw.sum(1, keepdim=True)


def rival(o: argparse.Namespace) -> None:
    torch.set_num_threads(o.threads)
    support, query = (torch.from_numpy(np.load(o.rival / f"{x}.npy")).flatten(2) for x in ("support", "query"))
    labels = torch.from_numpy(np.load(o.rival / "query_labels.npy"))

    def infer(way: str) -> tuple[Tensor, ...]:
        with torch.inference_mode():
            return (scores(support, query, way),)

    def learn(way: str) -> tuple[Tensor, ...]:
        p = scores(support.requires_grad_(True), query.requires_grad_(True), way)
        loss = torch.nn.functional.nll_loss(p.log(), labels)
        return (p.detach(), *torch.autograd.grad(loss, (support, query)))

    run = learn if o.gradients else infer
    if o.calibrate:
        times = {way: min(time_once(lambda: run(way)) for _ in range(5)) for way in WAYS}
        print(json.dumps({"way": min(times, key=lambda way: times[way]), "ms": min(times.values())}))
    elif o.save:
        save(lambda: run(o.way), o.save)
    else:
        answer_lines(lambda: run(o.way))


def check(o: argparse.Namespace, s: Setting, command: list[str], environment: dict[str, str], folder: Path) -> float:
    """the largest difference, relative for gradients; raises where the programs disagree"""
    ours, theirs, given = folder / "ours", folder / "theirs", folder / "checked"
    gradients = ["--gradients"] if s.gradients else []
    score = [o.program, "score", "--head", "label-prop", "--threads", str(o.threads), "--quiet", "--out", str(ours)]
    for name in ("support", "support-labels", "query", "query-labels"):
        score += [f"--{name}", str(given / f"{name.replace('-', '_')}.npy")]
    ask(score + gradients)
    ask([*command, "--rival", str(given), "--save", str(theirs)], environment)
    worst = 0.0
    for name in ("scores", "grad_support", "grad_query") if s.gradients else ("scores",):
        x, y = np.load(ours / f"{name}.npy"), np.load(theirs / f"{name}.npy")
        seen = float(np.abs(x - y.reshape(x.shape)).max()) / (1.0 if name == "scores" else float(np.abs(y).max()))
        if not seen < (SCORE_TOLERANCE if name == "scores" else GRADIENT_TOLERANCE):
            raise RuntimeError(f"{s}: {name} of Centra and PyTorch differ by {seen:.2g}")
        worst = max(worst, seen)
    return worst


def measure(o: argparse.Namespace, s: Setting, folder: Path) -> dict[str, Any]:
    for name in ("timed", "checked"):
        write_features(folder / name, s, related=name == "checked")
    gradients = ["--gradients"] if s.gradients else []
    base = [sys.executable, str(Path(__file__).resolve()), "--threads", str(o.threads), *gradients]
    found = []
    for tuning in TUNINGS:
        environment = {**thread_settings(o.threads), **tuning}
        found.append((ask_json([*base, "--rival", str(folder / "timed"), "--calibrate"], environment), environment))
    best, environment = min(found, key=lambda f: float(f[0]["ms"]))
    base += ["--way", str(best["way"])]
    difference = check(o, s, base, environment, folder)
    ours = [o.program, "bench", "heads", "--head", "label-prop", "--threads", str(o.threads), "--way", str(WAY), "--shot",
            "1", "--queries", str(EACH), "--channels", str(s.channels), "--map", str(s.side), "--wait", *gradients]
    with Contender(ours, {}) as a, Contender([*base, "--rival", str(folder / "timed")], environment) as b:
        return {"way": best["way"], "difference": difference, **compare(*alternate(a, b, o.rounds, BUDGET_S))}


def main() -> None:
    p = argparse.ArgumentParser(description="Times Centra's label-prop head and PyTorch in turns.")
    p.add_argument("--program", default="build/centra", help="the program (default build/centra)")
    p.add_argument("--rounds", type=int, default=7, help="rounds of both (default 7)")
    p.add_argument("--threads", type=int, default=2, help="threads of each program (default 2)")
    p.add_argument("--rival", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    p.add_argument("--way", choices=WAYS, default=WAYS[0], help=argparse.SUPPRESS)
    p.add_argument("--save", type=Path, help=argparse.SUPPRESS)
    for name in ("calibrate", "gradients"):
        p.add_argument(f"--{name}", action="store_true", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.rival:
        rival(o)
        return
    o.program = str(Path(o.program).resolve())
    print("| C | map | pass | Centra ms | PyTorch ms | ratio | difference | PyTorch |\n|---|---|---|---|---|---|---|---|")
    for channels, side in ((640, 5), (64, 5)):
        for gradients in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                x = measure(o, Setting(channels, side, gradients), Path(folder))
            print(f"| {channels} | {side}x{side} | {'fwd+bwd' if gradients else 'inference'} | "
                  f"{x['ours_quartiles'][1]:.2f} | {x['theirs_quartiles'][1]:.2f} | {x['ratio_of_medians']:.2f} | "
                  f"{x['difference']:.0e} | {x['way']} |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as problem:
        sys.exit(f"label_prop.py: {problem}")
