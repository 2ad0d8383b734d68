"""backbones_cuda.py - Centra's networks beside PyTorch's on one GPU, in turns in the same call: pictures a second, ratios.

  python3 bench/backbones_cuda.py [PROGRAM] [--rounds N] [--only conv4,train]
PyTorch is compiled anew in every round and its fastest form counts. Also measured: the speed of a copy in GPU memory and of a
product of large bf16 matrices, which bound what any program can reach.
"""
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SETTINGS = [(net, batch, mode) for net, batch in (("conv4", 320), ("resnet12", 128)) for mode in ("train", "infer")]
BOUNDS = """
import torch
def rate(f, n=20):
    for _ in range(3): f()
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record()
    for _ in range(n): f()
    b.record(); torch.cuda.synchronize()
    return a.elapsed_time(b) / n / 1e3
x = torch.randn(1 << 30, device="cuda"); y = torch.empty_like(x)
m = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
print(f"copy {2 * 4 * x.numel() / rate(lambda: y.copy_(x)) / 1e12:.2f} TB/s, bf16 product {2 * 8192**3 / rate(lambda: m @ m) / 1e12:.0f} TFLOP/s, {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
"""


def ask(command: list[str]) -> dict:
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-800:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def ours(program: str, net: str, batch: int, mode: str) -> float:
    return ask([program, "bench", "backbones", "--device", "cuda", "--maths", "bf16", "--backbone", net, "--batch", str(batch),
                "--mode", mode, "--warmup", "3", "--repeats", "9", "--passes", "20", "--json"])["pictures_per_second"]


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("program", nargs="?", default="build-cuda/centra")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--only", default="")
    o = p.parse_args()
    program, only = str(Path(o.program).resolve()), [t for t in o.only.split(",") if t]
    print("- " + subprocess.run([sys.executable, "-c", BOUNDS], capture_output=True, text=True).stdout.strip())
    print("\n| network | batch | mode | Centra pictures/s | PyTorch pictures/s | ratio | rounds |\n|---|---|---|---|---|---|---|", flush=True)
    for net, batch, mode in SETTINGS:
        if not all(t in (net, mode) for t in only):
            continue
        a, b = [], []
        for _ in range(o.rounds):
            a.append(ours(program, net, batch, mode))
            b.append(ask([sys.executable, str(HERE / "rival_backbones_cuda.py"), net, str(batch), mode])["pictures_per_second"])
        x, y = statistics.median(a), statistics.median(b)
        print(f"| {net} | {batch} | {mode} | {x:,.0f} | {y:,.0f} | {x / y:.2f} | {o.rounds} |", flush=True)


if __name__ == "__main__":
    main()
