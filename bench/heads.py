"""heads.py - the time of Centra's walk heads beside PyTorch's, in turns, on the shapes of the paper's speed table.

For each setting: the fastest way to write it in PyTorch is found, both programs score the same features and must
agree, then they are timed in turns. See README.md. A Markdown table goes to standard output, progress to standard
error.
"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Iterator

import machine

machine.use_python_with_torch()  # may start this script anew, so it comes before what may be missing

import numpy as np

from duel import Contender, alternate, ask, ask_json, compare

RIVAL = [sys.executable, str(Path(__file__).resolve().parent / "rival_torch.py")]
WAY, EACH, GAMMA, BETA = 5, 15, 20.0, 10.0
MAPS = {640: (5, 8, 10, 12), 64: (5, 8, 10, 12, 19)}
LARGEST_INVERSE = 12  # sides above need gigabytes for "block" and "full"
FORMS = ("plain", "best", "tuned", "block", "full")
BUDGET_S = 30.0
SCORE_TOLERANCE, GRADIENT_TOLERANCE = 1e-4, 1e-3  # absolute; relative to the largest entry

KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 33), "MALLOC_TRIM_THRESHOLD_": str(1 << 33)}
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE"}
AVX512 = {"ATEN_CPU_CAPABILITY": "avx512"}
PLAIN: list[dict[str, str]] = [{}]
TUNINGS = PLAIN + [KEEP_MEMORY, {**KEEP_MEMORY, **PASSIVE}]
if machine.has_avx512():  # PyTorch 1.13 keeps to AVX2 unless told, and dies if told wrongly
    TUNINGS += [{**KEEP_MEMORY, **AVX512}, {**KEEP_MEMORY, **PASSIVE, **AVX512}]


@dataclass(frozen=True)
class Setting:
    channels: int
    side: int
    gradients: bool

    def __str__(self) -> str:
        return f"C={self.channels} {self.side}x{self.side} {'forward+backward' if self.gradients else 'inference'}"

    def gflop(self) -> float:
        """of the similarities alone; the backward has two such products more"""
        r = self.side**2
        return 2e-9 * WAY * EACH * r * WAY * r * self.channels * (3 if self.gradients else 1)


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def settings(o: argparse.Namespace) -> Iterator[Setting]:
    """those that --only leaves: tokens like C=640 and 5x5, any of a kind"""
    tokens = [t.strip() for t in o.only.split(",") if t.strip()]
    channels = [t for t in tokens if t.startswith("C=")]
    maps = [t for t in tokens if not t.startswith("C=")] or (["5x5"] if o.quick else [])
    for c, sides in MAPS.items():
        for side in sides:
            if (not channels or f"C={c}" in channels) and (not maps or f"{side}x{side}" in maps):
                yield Setting(c, side, False)
                if o.gradients:
                    yield Setting(c, side, True)


def write_features(folder: Path, s: Setting, related: bool) -> None:
    """Normal random numbers, as centra bench has them. With `related` a class has a pattern that its pictures share
    and values are not negative, so that similarities and scores differ visibly: for the comparison of results."""
    random = np.random.default_rng(1)
    labels = {"support": np.arange(WAY), "query": np.repeat(np.arange(WAY), EACH)}
    pattern = random.normal(size=(WAY, s.channels, 1, 1)) + random.normal(size=(WAY, s.channels, s.side, s.side))
    folder.mkdir()
    for name, of in labels.items():
        x = random.normal(size=(len(of), s.channels, s.side, s.side))
        if related:
            x = np.maximum(x + 0.3 * pattern[of], 0)
        np.save(folder / f"{name}.npy", x.astype(np.float32))
        np.save(folder / f"{name}_labels.npy", of)


def thread_settings(threads: int) -> dict[str, str]:
    return {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class Bench:
    """One setting; its features and results are kept in `folder`."""

    def __init__(self, o: argparse.Namespace, folder: Path) -> None:
        self.o, self.folder, self.threads = o, folder, thread_settings(o.threads)
        self.walk = ["--head", "mcl-katz", "--head.alpha", str(o.alpha), "--head.gamma", str(GAMMA), "--head.beta",
                     str(BETA), "--threads", str(o.threads)]

    def rival(self, s: Setting, features: str, *more: str) -> list[str]:
        command = [*RIVAL, "--features", str(self.folder / features), "--threads", str(self.o.threads), "--alpha",
                   str(self.o.alpha), "--gamma", str(GAMMA), "--beta", str(BETA), *more]
        return command + (["--gradients"] if s.gradients else [])

    def calibrate(self, s: Setting, tunings: list[dict[str, str]]) -> dict[str, Any]:
        """the fastest variant, with the environment in which it was so"""
        runs = "2" if self.o.quick else "5"
        found = []
        for tuning in tunings:
            answer = ask_json(self.rival(s, "timed", "--calibrate", runs), {**self.threads, **tuning})
            found.append({**answer, "environment": tuning})
        return min(found, key=lambda f: f["ms"])

    def check(self, s: Setting, form: list[str], environment: dict[str, str]) -> dict[str, float]:
        """The largest differences of scores and gradients between the two programs; raises if they are too large."""
        ours, theirs, given = self.folder / "ours", self.folder / "theirs", self.folder / "checked"
        command = [self.o.program, "score", *self.walk, "--quiet", "--out", str(ours)]
        for name in ("support", "support-labels", "query", "query-labels"):
            command += [f"--{name}", str(given / f"{name.replace('-', '_')}.npy")]
        ask(command + (["--gradients"] if s.gradients else []))
        ask(self.rival(s, "checked", *form, "--save", str(theirs)), environment)
        seen = {}
        for name in ("scores", "grad_support", "grad_query") if s.gradients else ("scores",):
            x, y = np.load(ours / f"{name}.npy"), np.load(theirs / f"{name}.npy")
            scale = 1.0 if name == "scores" else float(np.abs(y).max())
            seen[name] = float(np.abs(x - y.reshape(x.shape)).max()) / scale
            if not seen[name] < (SCORE_TOLERANCE if name == "scores" else GRADIENT_TOLERANCE):
                raise RuntimeError(f"{s}, {' '.join(form)}: {name} of Centra and PyTorch differ by {seen[name]:.2g}")
        return seen

    def measure(self, s: Setting, form: str) -> dict[str, Any]:
        how, chosen = ["--form", form], {"variant": "the authors' inverse", "environment": {}}
        if form == "plain":
            chosen["variant"] = "normalise, product, softmaxes, solve"
        if form in ("best", "tuned"):
            chosen = self.calibrate(s, TUNINGS if form == "tuned" else PLAIN)
            how = ["--form", "best", "--variant", chosen["variant"]]
        environment = {**self.threads, **chosen["environment"]}
        differences = self.check(s, how, environment)
        ours = [self.o.program, "bench", "heads", *self.walk, "--way", str(WAY), "--shot", "1", "--queries", str(EACH),
                "--channels", str(s.channels), "--map", str(s.side), "--wait"]
        with Contender(ours + (["--gradients"] if s.gradients else []), {}) as a, \
                Contender(self.rival(s, "timed", *how, "--wait"), environment) as b:
            result = compare(*alternate(a, b, self.o.rounds, BUDGET_S))
        return {**asdict(s), "form": form, **chosen, "differences": differences, "gflop": s.gflop(), **result}

    def measure_setting(self, s: Setting) -> Iterator[dict[str, Any]]:
        write_features(self.folder / "timed", s, related=False)
        write_features(self.folder / "checked", s, related=True)
        for form in self.o.forms:
            if form in ("block", "full") and (s.gradients or s.side > LARGEST_INVERSE):
                continue
            progress(f"{s}, {form} ...")
            yield self.measure(s, form)


def measure_all(o: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for s in settings(o):
        with tempfile.TemporaryDirectory() as folder:
            yield from Bench(o, Path(folder)).measure_setting(s)


def row(x: dict[str, Any]) -> str:
    low, middle, high = x["ratio_quartiles"]
    ours = x["ours_quartiles"][1]
    tuning = " ".join(f"{k}={v}" for k, v in x["environment"].items() if k in {**PASSIVE, **AVX512})
    tuning += " kept memory" if "MALLOC_TRIM_THRESHOLD_" in x["environment"] else ""
    cells = (x["channels"], f"{x['side']}x{x['side']}", "fwd+bwd" if x["gradients"] else "inference", x["form"],
             f"{ours:.3f}", f"{x['theirs_quartiles'][1]:.3f}", f"{x['ratio_of_medians']:.2f}",
             f"{middle:.2f} ({low:.2f} to {high:.2f})", len(x["ours_ms"]), f"{x['gflop'] / ours * 1e3:.0f}",
             f"{max(x['differences'].values()):.0e}", f"{x['variant']} {tuning}".strip())
    return "| " + " | ".join(str(c) for c in cells) + " |"


def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser(description="Times Centra's walk heads and PyTorch in turns.")
    p.add_argument("path", nargs="?", help="the program, as --program")
    p.add_argument("--program", default="build/centra", help="the program (default build/centra)")
    p.add_argument("--rounds", type=int, help="rounds of both (default 15, with --quick 3)")
    p.add_argument("--only", default="", metavar="LIST", help='settings to run, such as "C=640,5x5,8x8"')
    p.add_argument("--forms", default=",".join(FORMS), metavar="LIST", help=f"of {', '.join(FORMS)} (default all)")
    p.add_argument("--gradients", action=argparse.BooleanOptionalAction, default=True, help="time the backward too")
    p.add_argument("--alpha", type=float, default=0.5, help="damping of the walk (default 0.5, mcl-katz)")
    p.add_argument("--threads", type=int, default=2, help="threads of each program (default 2)")
    p.add_argument("--quick", action="store_true", help="3 rounds, short calibration, 5x5 unless --only names maps")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything, all raw times included")
    o = p.parse_args()
    o.program = str(Path(o.path or o.program).resolve())
    o.rounds = o.rounds or (3 if o.quick else 15)
    o.forms = o.forms.split(",")
    if not Path(o.program).is_file():
        p.error(f"there is no program '{o.program}'; make builds it, --program names another")
    if not set(o.forms) <= set(FORMS):
        p.error(f"--forms may name {', '.join(FORMS)}")
    if o.rounds < 1 or not 0 < o.alpha < 1 or not any(True for _ in settings(o)):
        p.error("--rounds must be at least 1, --alpha between 0 and 1, and --only must leave a setting")
    return o


HEADER = ("C", "map", "pass", "PyTorch", "Centra ms", "PyTorch ms", "ratio of medians", "median ratio (quartiles)",
          "rounds", "Centra GFLOP/s", "difference", "variant")


def main() -> None:
    o = parse()
    rival = ask_json([*RIVAL, "--about", "--threads", str(o.threads)], thread_settings(o.threads))
    about = machine.describe(ask_json([o.program, "version", "--json"]), rival, o.threads)
    machine.tell(about)
    print(f"\n{WAY}-way 1-shot, {WAY * EACH} queries, alpha {o.alpha:g}; ratios: how many times as fast Centra is\n")
    print(f"| {' | '.join(HEADER)} |\n{'|---' * len(HEADER)}|", flush=True)
    results = []
    for x in measure_all(o):
        results.append(x)
        print(row(x), flush=True)
    if o.json:
        o.json.write_text(json.dumps({"machine": about, "alpha": o.alpha, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as problem:
        sys.exit(f"heads.py: {problem}")
