"""rival_backbones_cuda.py - PyTorch's networks on a GPU at their best: bf16, channels last, torch.compile.

  rival_backbones_cuda.py NET BATCH MODE   one JSON object: milliseconds of a pass in each form, and the best
A training step is forward, backward from a fixed gradient of the features and a fused step of SGD with Nesterov's momentum.
"""
from __future__ import annotations

import json
import sys
import time
from typing import Callable

import torch
from torch import nn

from rival_backbones import conv4, fold, resnet12

Run = Callable[[], None]
NETS = {"conv4": conv4, "resnet12": resnet12}
FORMS = {"compiled": {}, "compiled, graphs": {"mode": "reduce-overhead"}}


def milliseconds(run: Run, passes: int, windows: int) -> float:
    """median over windows of passes in a row"""
    for _ in range(10):
        run()
    times = []
    for _ in range(windows):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(passes):
            run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / passes)
    return sorted(times)[len(times) // 2]


def train(net: nn.Module, x: torch.Tensor, options: dict[str, str]) -> Run:
    net = net.cuda().to(memory_format=torch.channels_last).train()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.0, momentum=0.9, nesterov=True, weight_decay=5e-4, fused=True)
    forward = torch.compile(net, **options)
    with torch.autocast("cuda", torch.bfloat16):
        gradient = torch.randn_like(forward(x))

    def run() -> None:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            y = forward(x)
        y.backward(gradient)
        optimiser.step()
    return run


def infer(net: nn.Module, x: torch.Tensor, options: dict[str, str]) -> Run:
    folded = fold(net).cuda().bfloat16().to(memory_format=torch.channels_last).eval()
    forward = torch.compile(folded, **options)
    x = x.bfloat16()

    def run() -> None:
        with torch.inference_mode():
            forward(x)
    return run


def main() -> None:
    name, batch, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    x = torch.randn(batch, 3, 84, 84, device="cuda").contiguous(memory_format=torch.channels_last)
    times, prepared = {}, {}
    for form, options in FORMS.items():
        torch.manual_seed(1)
        torch._dynamo.reset()
        began = time.time()
        run = (train if mode == "train" else infer)(NETS[name](), x, options)
        run()
        torch.cuda.synchronize()
        prepared[form] = time.time() - began
        times[form] = milliseconds(run, 20, 9)
    best = min(times.values())
    print(json.dumps({"torch": torch.__version__, "ms": times, "prepared_s": prepared, "best_ms": best,
                      "pictures_per_second": batch / best * 1e3}))


if __name__ == "__main__":
    main()
