"""duel.py - two programs timed in turns.

Each is one process that does as many timed runs as the line it reads says and answers {"ms": [...]}. In its turn a program
runs several times in a row, as it would in a loop, and the median of all but the first counts: the first brings back its
threads and caches after the other's turn. A pause follows, because idle worker threads (those of OpenBLAS for some 30
ms) still spin after a run and would slow the other.
"""
from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from typing import Any, Optional

PAUSE_S = 0.06
TURN_MS = 60.0  # about how long a turn lasts: from 3 to 30 runs


class Contender:
    """A program that waits for lines. Use it in a `with` statement: it ends with its input."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.command = command
        self.runs = 0
        self.process = subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Contender:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def run(self, times: int) -> list[float]:
        """milliseconds of each of so many runs in a row"""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(f"{times}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the missing answer says it
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"'{' '.join(self.command)}' ended without an answer")
        return [float(ms) for ms in json.loads(answer)["ms"]]

    def turn(self) -> float:
        if not self.runs:
            self.runs = max(3, min(30, round(TURN_MS / min(self.run(2)))))
        ms = statistics.median(self.run(self.runs)[1:])
        time.sleep(PAUSE_S)
        return ms


def alternate(ours: Contender, theirs: Contender, rounds: int, budget_s: float) -> tuple[list[float], list[float]]:
    """The times of both. Rounds are cut to fit into about `budget_s`, but not below three (or `rounds`, if fewer)."""
    ours_ms, theirs_ms = [], []
    ours.turn()
    slow = theirs.turn()
    rounds = max(min(rounds, 3), min(rounds, int(budget_s * 1e3 / (theirs.runs * slow))))
    for i in range(rounds):
        if i % 2:
            theirs_ms.append(theirs.turn())
            ours_ms.append(ours.turn())
        else:
            ours_ms.append(ours.turn())
            theirs_ms.append(theirs.turn())
    return ours_ms, theirs_ms


def quartiles(x: list[float]) -> list[float]:
    """first quartile, median, third quartile"""
    return statistics.quantiles(x, n=4, method="inclusive") if len(x) > 1 else x * 3


def compare(ours_ms: list[float], theirs_ms: list[float]) -> dict[str, Any]:
    """How many times as fast we are: by the medians, and by each round's pair"""
    ours, theirs = quartiles(ours_ms), quartiles(theirs_ms)
    return {
        "ours_quartiles": ours,
        "theirs_quartiles": theirs,
        "ratio_of_medians": theirs[1] / ours[1],
        "ratio_quartiles": quartiles([t / o for o, t in zip(ours_ms, theirs_ms)]),
        "ours_ms": ours_ms,
        "theirs_ms": theirs_ms,
    }


def ask(command: list[str], environment: Optional[dict[str, str]] = None) -> str:
    """What a program answers; its errors go to ours"""
    done = subprocess.run(command, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"'{' '.join(command)}' ended with status {done.returncode}")
    return done.stdout


def ask_json(command: list[str], environment: Optional[dict[str, str]] = None) -> dict[str, Any]:
    answer = ask(command, environment)
    try:
        return dict(json.loads(answer))
    except ValueError:
        raise RuntimeError(f"'{' '.join(command)}' answered '{answer[:60]}' instead of JSON") from None
