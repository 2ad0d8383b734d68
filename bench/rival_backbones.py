"""rival_backbones.py - PyTorch's side of backbones.py, in a process of its own.

The networks are those of Centra: Conv-4 (four blocks of convolution, batch norm, leaky relu, pooling), ResNet-12 and MobileNetV2. A
training step is forward, backward from a fixed gradient of the features, and SGD with Nesterov's momentum; for inference the
batch norms are folded into the convolutions. Which of the forms below is fastest is tried out first.
  --wait    for each line on standard input as many timed runs as it says, answered with {"ms": [1.234567, ...]}
  --about   says what this PyTorch is, as JSON
"""
from __future__ import annotations

import argparse
import copy
import gc
import json
import sys
import time
from typing import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from rival_torch import about

WARMUP = 2
Run = Callable[[], None]


def conv4() -> nn.Module:
    layers: list[nn.Module] = []
    for k in range(4):
        layers += [nn.Conv2d(64 if k else 3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64),
                   nn.LeakyReLU(0.2, inplace=True), nn.MaxPool2d(2)]
    return nn.Sequential(*layers)


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        for i, (a, side) in enumerate(((inputs, 3), (outputs, 3), (outputs, 3), (inputs, 1))):
            setattr(self, f"conv{i}", nn.Conv2d(a, outputs, side, padding=side // 2, bias=False))
            setattr(self, f"norm{i}", nn.BatchNorm2d(outputs))
        self.leaky, self.pool = nn.LeakyReLU(0.1, inplace=True), nn.MaxPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        a = self.leaky(self.norm0(self.conv0(x)))
        a = self.leaky(self.norm1(self.conv1(a)))
        a = self.norm2(self.conv2(a))
        a = a + self.norm3(self.conv3(x))
        return self.pool(self.leaky(a))


def resnet12() -> nn.Module:
    widths = (3, 64, 160, 320, 640)
    return nn.Sequential(*(Block(a, b) for a, b in zip(widths, widths[1:])))


class Inverted(nn.Module):
    """a block of MobileNetV2: widened, a filter for each channel, narrowed"""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        layers: list[nn.Module] = []
        if expansion > 1:
            layers += [nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True)]
        layers += [nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden),
                   nn.ReLU6(inplace=True), nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.layers, self.adds = nn.Sequential(*layers), stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.adds else self.layers(x)


def mobilenetv2() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6(inplace=True)]
    inputs = 32
    for outputs, stride, count in ((16, 1, 1), (24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1)):
        for k in range(count):
            layers.append(Inverted(inputs, outputs, stride if k == 0 else 1, 1 if inputs == 32 and outputs == 16 else 6))
            inputs = outputs
    return nn.Sequential(*layers, nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(inplace=True))


NETS = {"conv4": conv4, "resnet12": resnet12, "mobilenetv2": mobilenetv2}


def fold(net: nn.Module) -> nn.Module:
    """the same network with its batch norms inside its convolutions"""
    net = copy.deepcopy(net).eval()
    for block in [net, *net.modules()]:
        names = [name for name, _ in block.named_children()]
        for a, b in zip(names, names[1:]):
            conv, norm = getattr(block, a), getattr(block, b)
            if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(block, a, fuse_conv_bn_eval(conv, norm))
                setattr(block, b, nn.Identity())
    return net


def infer_runs(net: nn.Module, x: Tensor) -> dict[str, Run]:
    folded = fold(net)
    last = copy.deepcopy(folded).to(memory_format=torch.channels_last)
    x_last = x.to(memory_format=torch.channels_last)

    def run_of(f: Callable[[Tensor], Tensor], pictures: Tensor) -> Run:
        def run() -> None:
            with torch.inference_mode():
                f(pictures)
        return run

    with torch.inference_mode():
        frozen = torch.jit.optimize_for_inference(torch.jit.trace(folded, x))
        frozen_last = torch.jit.freeze(torch.jit.trace(last, x_last))
    return {"folded": run_of(folded, x), "folded, channels last": run_of(last, x_last),
            "folded, traced and optimised": run_of(frozen, x),
            "folded, channels last, traced": run_of(frozen_last, x_last)}


def train_run(net: nn.Module, x: Tensor, layout: torch.memory_format) -> Run:
    net = copy.deepcopy(net).train().to(memory_format=layout)
    x = x.to(memory_format=layout)
    sgd = torch.optim.SGD(net.parameters(), lr=0.0, momentum=0.9, nesterov=True, weight_decay=5e-4)
    gradient = torch.randn_like(net(x).detach())

    def run() -> None:
        sgd.zero_grad(set_to_none=True)
        net(x).backward(gradient)
        sgd.step()
    return run


def train_runs(net: nn.Module, x: Tensor) -> dict[str, Run]:
    return {"plain": train_run(net, x, torch.contiguous_format),
            "channels last": train_run(net, x, torch.channels_last)}


def time_once(run: Run) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def fastest(runs: dict[str, Run]) -> tuple[str, Run]:
    """by the best of two, after a run that counts for nothing"""
    best = {}
    for name, run in runs.items():
        run()
        best[name] = min(time_once(run), time_once(run))
    name = min(best, key=lambda n: best[n])
    return name, runs[name]


def answer_lines(run: Run) -> None:
    for _ in range(WARMUP):
        run()
    gc.collect()
    gc.disable()
    for line in sys.stdin:
        print(json.dumps({"ms": [time_once(run) for _ in range(int(line))]}), flush=True)


def main() -> None:
    p = argparse.ArgumentParser(description="PyTorch's side of backbones.py")
    p.add_argument("--backbone", choices=tuple(NETS), default="conv4")
    p.add_argument("--batch", type=int, default=80)
    p.add_argument("--side", type=int, default=84)
    p.add_argument("--mode", choices=("infer", "train"), default="infer")
    p.add_argument("--threads", type=int, default=2)
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument("--wait", action="store_true")
    what.add_argument("--about", action="store_true")
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    if o.about:
        print(json.dumps(about()))
        return
    torch.manual_seed(1)
    net = NETS[o.backbone]()
    x = torch.randn(o.batch, 3, o.side, o.side)
    name, run = fastest((train_runs if o.mode == "train" else infer_runs)(net, x))
    print(f"PyTorch, {o.backbone} {o.mode}: {name}", file=sys.stderr, flush=True)
    answer_lines(run)


if __name__ == "__main__":
    main()
