"""every_head.py - the time of each of Centra's heads beside the same mathematics in PyTorch, in turns.

5-way 1-shot, 75 queries, C = 640, maps of 5x5 and 10x10: the paper's speed table. Both programs score one episode first and
must agree; the fitted heads draw their start and cannot be compared so. PyTorch has the forms of rival_heads.py and the
threads; --keep-memory also lets malloc keep what was freed. `deepemd` has OpenCV's solver on the other side. A Markdown table goes
to standard output; a head that fails is named there and in the exit status, and the others go on.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator

import machine

machine.use_python_with_torch()  # may start this script anew, so it comes before what may be missing

import numpy as np

from duel import Contender, alternate, ask, ask_json, compare
from heads import EACH, KEEP_MEMORY, WAY, Setting, progress, thread_settings, write_features
from rival_heads import FITTED, FORMS, dims

RIVAL = [sys.executable, str(Path(__file__).resolve().parent / "rival_heads.py")]
ABOUT = [sys.executable, str(Path(__file__).resolve().parent / "rival_torch.py"), "--about"]
CHANNELS = 640
BUDGET_S = 4.0
TOLERANCE = {"scores": 2e-4, "grad_support": 2e-3, "grad_query": 2e-3}  # of the largest; of gradients half of the pictures
NO_GRADIENT = FITTED + tuple(h + "+mcl" for h in FITTED)  # nothing to train
OPTIONS = {"feat": ["--head.balance", "0"]}  # its second loss is not part of the comparison


def differences(o: argparse.Namespace, head: str, s: Setting, folder: Path, environment: dict[str, str]) -> float:
    """the largest, relative to the largest number; raises where the programs disagree"""
    ours, theirs, given = folder / f"ours-{head}", folder / f"theirs-{head}", folder / "checked"
    gradients = ["--gradients"] if s.gradients else []
    ask([*RIVAL, "--head", head, "--features", str(given), "--save", str(theirs), *gradients], environment)
    if head.replace("+mcl", "") in FITTED:
        return float("nan")
    command = [o.program, "score", "--head", head, *OPTIONS.get(head, []), "--quiet", "--out", str(ours), *gradients]
    for name in ("support", "support-labels", "query", "query-labels"):
        command += [f"--{name}", str(given / f"{name.replace('-', '_')}.npy")]
    ask(command + (["--weights", str(theirs / "params")] if dims(head, CHANNELS) else []))
    worst = 0.0
    for name, most in TOLERANCE.items():
        if name == "scores" or s.gradients:
            x, y = np.load(ours / f"{name}.npy"), np.load(theirs / f"{name}.npy")
            off = np.abs(x - y.reshape(x.shape)).reshape(len(x), -1).max(1) / np.abs(y).max()
            # where a unit of a small network is nearly 0, one rounding decides whether a whole picture's gradient passes it
            seen = float(off.max() if name == "scores" else np.median(off))
            if not seen < most:
                raise RuntimeError(f"{head}, {s}: {name} of Centra and PyTorch differ by {seen:.2g}")
            worst = max(worst, seen)
    return worst


def measure(o: argparse.Namespace, head: str, s: Setting, folder: Path) -> dict[str, Any]:
    environment = {**thread_settings(o.threads), **(KEEP_MEMORY if o.keep_memory else {})}
    gradients = ["--gradients"] if s.gradients else []
    difference = differences(o, head, s, folder, environment)
    ours = [o.program, "bench", "heads", "--head", head, *OPTIONS.get(head, []), "--threads", str(o.threads), "--way",
            str(WAY), "--shot", "1", "--queries", str(EACH), "--channels", str(CHANNELS), "--map", str(s.side),
            "--kinds", "0", "--wait", *gradients]
    theirs = [*RIVAL, "--head", head, "--features", str(folder / "timed"), "--threads", str(o.threads), *gradients]
    with Contender(ours, {}) as a, Contender(theirs, environment) as b:
        result = compare(*alternate(a, b, o.rounds, BUDGET_S))
    return {"head": head, "side": s.side, "gradients": s.gradients, "difference": difference, **result}


def row(x: dict[str, Any]) -> str:
    low, middle, high = x["ratio_quartiles"]
    cells = (f"`{x['head']}`", f"{x['side']}x{x['side']}", "fwd+bwd" if x["gradients"] else "inference",
             f"{x['ours_quartiles'][1]:.3f}", f"{x['theirs_quartiles'][1]:.3f}", f"{x['ratio_of_medians']:.2f}",
             f"{middle:.2f} ({low:.2f} to {high:.2f})", f"{min(x['theirs_ms']) / min(x['ours_ms']):.2f}",
             f"{x['difference']:.0e}")
    return "| " + " | ".join(cells) + " |"


def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser(description="Times each of Centra's heads and PyTorch in turns.")
    p.add_argument("--program", default="build/centra", help="the program (default build/centra)")
    p.add_argument("--heads", default="", metavar="LIST", help="names with commas (default: all)")
    p.add_argument("--maps", default="5,10", metavar="LIST", help="sides of the maps (default 5,10)")
    p.add_argument("--rounds", type=int, default=5, help="rounds of both (default 5)")
    p.add_argument("--threads", type=int, default=2, help="threads of each program (default 2)")
    p.add_argument("--gradients", choices=("no", "yes", "both"), default="both", help="which passes (default both)")
    p.add_argument("--keep-memory", action="store_true", help="let PyTorch's malloc keep freed memory")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything, all times included")
    o = p.parse_args()
    o.program = str(Path(o.program).resolve())
    if not Path(o.program).is_file():
        p.error(f"there is no program '{o.program}'; build it with make, or name another with --program")
    o.heads = [h for h in o.heads.split(",") if h] or [h for h in FORMS if h != "deepemd" or has_opencv()]
    unknown = [h for h in o.heads if h not in FORMS]
    if unknown:
        p.error(f"there is no form of {', '.join(unknown)}")
    if "deepemd" in o.heads and not has_opencv():
        p.error("deepemd is compared with OpenCV, which this Python does not have; on Debian: apt-get install python3-opencv")
    return o


def has_opencv() -> bool:
    return importlib.util.find_spec("cv2") is not None


def settings(o: argparse.Namespace) -> Iterator[Setting]:
    for side in (int(x) for x in o.maps.split(",")):
        for gradients in {"no": (False,), "yes": (True,), "both": (False, True)}[o.gradients]:
            yield Setting(CHANNELS, side, gradients)


def main() -> None:
    o = parse()
    rival = ask_json([*ABOUT, "--threads", str(o.threads)], thread_settings(o.threads))
    machine.tell(machine.describe(ask_json([o.program, "version", "--json"]), rival, o.threads))
    header = ("head", "map", "pass", "Centra ms", "PyTorch ms", "ratio", "of rounds", "of minima", "difference")
    print(f"\n| {' | '.join(header)} |\n{'|---' * len(header)}|", flush=True)
    if "deepemd" not in o.heads and not has_opencv():
        progress("deepemd is left out: this Python has no OpenCV")
    results, slow, failed = [], [], []
    for s in settings(o):
        with tempfile.TemporaryDirectory() as name:
            for kind in ("timed", "checked"):
                write_features(Path(name) / kind, s, related=kind == "checked")
            for head in (h for h in o.heads if not (s.gradients and h in NO_GRADIENT)):
                progress(f"{head}, {s} ...")
                try:
                    results.append(measure(o, head, s, Path(name)))
                except RuntimeError as problem:
                    progress(str(problem))
                    failed.append(f"{head} {s}")
                    continue
                print(row(results[-1]), flush=True)
                if results[-1]["ratio_of_medians"] < 1:
                    slow.append(f"{head} {s}")
    print("\nslower than PyTorch: " + ("; ".join(slow) if slow else "none"))
    if o.json:
        o.json.write_text(json.dumps(results, indent=1))
    if failed:
        sys.exit(f"every_head.py: failed: {'; '.join(failed)}")


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as problem:
        sys.exit(f"every_head.py: {problem}")
