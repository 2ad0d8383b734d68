"""backbones.py - the time of Centra's networks beside PyTorch's, in turns: Conv-4, ResNet-12, MobileNetV2.

See README.md. A Markdown table goes to standard output, progress to standard error.
"""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import machine

machine.use_python_with_torch()  # may start this script anew, so it comes before what may be missing

from duel import Contender, alternate, ask_json, compare

RIVAL = [sys.executable, str(Path(__file__).resolve().parent / "rival_backbones.py")]
SETTINGS = [(net, batch, mode) for net, batch in (("conv4", 80), ("resnet12", 16)) for mode in ("train", "infer")]
SETTINGS += [("mobilenetv2", 1, "infer"), ("mobilenetv2", 16, "infer")]
SIDES = {"mobilenetv2": 224}
AVX512 = {"ATEN_CPU_CAPABILITY": "avx512"} if machine.has_avx512() else {}
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 33), "MALLOC_TRIM_THRESHOLD_": str(1 << 33)}
FORMS: dict[str, dict[str, str]] = {"plain": {}, "tuned": {**KEEP_MEMORY, **AVX512}}
BUDGET_S = 60.0
HEADER = ("network", "batch", "mode", "PyTorch", "Centra ms", "PyTorch ms", "Centra pictures/s", "PyTorch pictures/s",
          "ratio of medians", "median ratio (quartiles)", "rounds")


def side_of(o: argparse.Namespace, net: str) -> int:
    return o.side or SIDES.get(net, 84)


def measure(o: argparse.Namespace, net: str, batch: int, mode: str, form: str) -> dict[str, Any]:
    shape = ["--backbone", net, "--batch", str(batch), "--side", str(side_of(o, net)), "--mode", mode, "--threads",
             str(o.threads), "--wait"]
    threads = {name: str(o.threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    with Contender([o.program, "bench", "backbones", *shape], {}) as ours, \
            Contender([*RIVAL, *shape], {**threads, **FORMS[form]}) as theirs:
        result = compare(*alternate(ours, theirs, o.rounds, BUDGET_S))
    return {"network": net, "batch": batch, "mode": mode, "form": form, "side": side_of(o, net), **result}


def row(x: dict[str, Any]) -> str:
    low, middle, high = x["ratio_quartiles"]
    ours, theirs = x["ours_quartiles"][1], x["theirs_quartiles"][1]
    cells = (x["network"], x["batch"], x["mode"], x["form"], f"{ours:.1f}", f"{theirs:.1f}", f"{x['batch'] / ours * 1e3:.1f}",
             f"{x['batch'] / theirs * 1e3:.1f}", f"{x['ratio_of_medians']:.2f}",
             f"{middle:.2f} ({low:.2f} to {high:.2f})", len(x["ours_ms"]))
    return "| " + " | ".join(str(c) for c in cells) + " |"


def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser(description="Times Centra's networks and PyTorch's in turns.")
    p.add_argument("program", nargs="?", default="build/centra", help="the program (default build/centra)")
    p.add_argument("--rounds", type=int, default=7, help="rounds of both (default 7)")
    p.add_argument("--only", default="", metavar="LIST", help='settings to run, such as "conv4,train,plain"')
    p.add_argument("--side", type=int, help="side of the pictures (default 84; 224 for mobilenetv2)")
    p.add_argument("--threads", type=int, default=2, help="threads of each program (default 2)")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything, all raw times included")
    o = p.parse_args()
    o.program = str(Path(o.program).resolve())
    o.only = [t.strip() for t in o.only.split(",") if t.strip()]
    if not Path(o.program).is_file():
        p.error(f"there is no program '{o.program}'; make builds it")
    return o


def main() -> None:
    o = parse()
    rival = ask_json([*RIVAL, "--about", "--threads", str(o.threads)])
    about = machine.describe(ask_json([o.program, "version", "--json"]), rival, o.threads)
    machine.tell(about)
    print("\nPictures of 84x84, for mobilenetv2 224x224, unless --side says otherwise; ratios: how many times as fast Centra is\n")
    print(f"| {' | '.join(HEADER)} |\n{'|---' * len(HEADER)}|", flush=True)
    results = []
    for net, batch, mode in SETTINGS:
        for form in FORMS:
            if all(token in (net, mode, form) for token in o.only):
                results.append(measure(o, net, batch, mode, form))
                print(row(results[-1]), flush=True)
    if o.json:
        o.json.write_text(json.dumps({"machine": about, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as problem:
        sys.exit(f"backbones.py: {problem}")
