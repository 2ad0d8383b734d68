"""python_torch.py - a training step in PyTorch with the MCL head written in PyTorch, and with centra.torch, in turns.

    python3 bench/python_torch.py [--rounds 15] [--quick]

Timed on 5-way 1-shot episodes with 75 queries: the head alone (loss, and gradients of the features); a step of training a
projection of a ResNet-12's cached maps, 640 to 64 channels; and a step of training a Conv-4 from pictures, in which the
network takes nearly all the time. Both sides have the same number of threads. PyTorch's head is the fastest of several ways to write it
(rival_forms.py), found for each setting before the race. Losses and gradients of both are compared first. The median of
each side's turns counts; the ratio says how many times faster the step is with centra.torch.
"""
from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Callable

import machine

machine.use_python_with_torch()
sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "python")]

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

import rival_forms as forms  # noqa: E402
from centra import Session  # noqa: E402
from centra.torch import MCLHead  # noqa: E402

WAY, QUERIES, ALPHA, GAMMA, BETA = 5, 75, 0.5, 20.0, 10.0
Head = Callable[[Tensor, Tensor], Tensor]  # support and query features to the loss


def rivals(labels: Tensor) -> dict[str, Head]:
    """Ways to write the head in PyTorch."""
    def loss(scores: Callable[[forms.Episode], Tensor]) -> Head:
        def run(support: Tensor, query: Tensor) -> Tensor:
            e = forms.Episode(support.flatten(2), query.flatten(2), labels, ALPHA, GAMMA, BETA)
            return torch.nn.functional.nll_loss(scores(e).log(), labels)
        return run

    found: dict[str, Head] = {"plain": loss(forms.plain)}
    for normalise in ("rows", "after"):
        for softmax in ("softmax", "exp"):
            for solve in ("solve", "power-sum"):
                v = forms.Variant(normalise, softmax, solve, "product")
                found[str(v)] = loss(lambda e, v=v: forms.best(e, v, 12))
    return found


def ours(labels: Tensor, session: Session) -> Head:
    head, known = MCLHead("mcl-katz", session, gamma=GAMMA, beta=BETA), torch.arange(WAY)
    return lambda support, query: head.loss(support, known, query, labels)


def head_step(head: Head, support: Tensor, query: Tensor) -> Callable[[], None]:
    def run() -> None:
        support.grad = query.grad = None
        head(support, query).backward()
    return run


def conv4() -> torch.nn.Module:
    layers: list[torch.nn.Module] = []
    for k in range(4):
        layers += [torch.nn.Conv2d(64 if k else 3, 64, 3, padding=1, bias=False), torch.nn.BatchNorm2d(64),
                   torch.nn.LeakyReLU(0.2), torch.nn.MaxPool2d(2)]
    return torch.nn.Sequential(*layers)


def whole_step(head: Head, net: torch.nn.Module, pictures: Tensor) -> Callable[[], None]:
    optimiser = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)

    def run() -> None:
        optimiser.zero_grad()
        features = net(pictures)
        head(features[:WAY], features[WAY:]).backward()
        optimiser.step()
    return run


def once(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def race(a: Callable[[], None], b: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Medians in milliseconds, in turns of several runs."""
    times: tuple[list[float], list[float]] = ([], [])
    for run in (a, b):
        once(run)
    turn = max(2, min(20, int(60 / max(once(a), once(b), 1e-3))))
    for _ in range(rounds):
        for run, to in zip((a, b), times):
            to.append(statistics.median([once(run) for _ in range(turn)][1:]))
    return statistics.median(times[0]), statistics.median(times[1])


def same(one: Head, other: Head, support: Tensor, query: Tensor) -> None:
    """Both sides compute the same; else no time means anything."""
    seen = []
    for head in (one, other):
        support.grad = query.grad = None
        loss = head(support, query)
        loss.backward()
        seen.append((loss.detach().clone(), support.grad.clone(), query.grad.clone()))
    for x, y in zip(*seen):
        difference, size = float((x - y).abs().max()), float(y.abs().max())
        if difference > 1e-3 * size:
            sys.exit(f"python_torch.py: the two heads differ by {difference:g} of {size:g}")


def row(step: str, way: str, theirs: float, mine: float) -> None:
    print(f"| {step} | {way} | {theirs:.2f} | {mine:.2f} | {theirs / mine:.2f} |", flush=True)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--quick", action="store_true", help="one setting, few rounds")
    options = p.parse_args()
    rounds = 3 if options.quick else options.rounds
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {rounds} rounds\n")
    print("| step | PyTorch's way | PyTorch, ms | centra.torch, ms | ratio |\n|---|---|---|---|---|")
    labels, session = torch.arange(QUERIES) % WAY, Session(threads=options.threads)
    mine_head = ours(labels, session)
    settings = [(64, 5)] if options.quick else [(64, 5), (64, 10), (640, 5), (640, 10)]
    for channels, side in settings:
        torch.manual_seed(1)
        support = torch.randn(WAY, channels, side, side, requires_grad=True)
        query = torch.randn(QUERIES, channels, side, side, requires_grad=True)
        ways = {name: head_step(head, support, query) for name, head in rivals(labels).items()}
        best = min(ways, key=lambda name: min(once(ways[name]) for _ in range(5)))
        same(mine_head, rivals(labels)[best], support, query)
        row(f"head, C={channels}, {side}x{side}", best, *race(ways[best], head_step(mine_head, support, query), rounds))
    for name, net, shape in (("projection 640 to 64 of 10x10 maps", lambda: torch.nn.Conv2d(640, 64, 1), (640, 10, 10)),
                             ("Conv-4 on 84x84", conv4, (3, 84, 84))):
        x = torch.randn(WAY + QUERIES, *shape)
        ways = {way: whole_step(head, net(), x) for way, head in rivals(labels).items()}
        best = min(ways, key=lambda way: min(once(ways[way]) for _ in range(2)))
        row(f"{name} and head", best, *race(ways[best], whole_step(mine_head, net(), x), max(3, rounds // 3)))
        if options.quick:
            break


if __name__ == "__main__":
    main()
