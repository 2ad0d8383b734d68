"""logistic.py - multinomial logistic regression on few pictures, and intervals of means: what everyday.py compares heads with.

The bias is penalised a hundred times less than the weights: a constant of 10 stands beside each vector. Weights stay in the span of
the shots, so the result is one number for each shot and class: by Newton's method with its whole matrix where these are few, and with
conjugate gradients in place of the matrix where they are many (truncated Newton; Dembo and Steihaug 1983).
"""
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

BIAS = 100.0
PENALTY = 0.01  # 1 / C, on vectors of length 1: the best of 1, 0.1 and 0.01 on CUB's validation classes
FEW = 400  # shots times classes, up to which Newton's matrix is solved
CLOSE = 1e-5  # of the gradient's largest number
FLAT = 1e-8  # the same of the gradient by weights, from which the numbers of the shots are a hundredfold


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def softmax(z: np.ndarray) -> np.ndarray:
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def newton(kernel: np.ndarray, y: np.ndarray) -> np.ndarray:
    n, way = y.shape
    a = np.zeros((n, way))
    for _ in range(50):
        p = softmax(kernel @ a)
        slope = p - y + PENALTY * a
        if np.abs(slope).max() < CLOSE:
            break
        bend = p[:, :, None] * np.eye(way) - p[:, :, None] * p[:, None, :]
        matrix = (bend[:, :, None, :] * kernel[:, None, :, None]).reshape(n * way, n * way)
        a -= np.linalg.solve(matrix + PENALTY * np.eye(n * way), slope.reshape(-1)).reshape(n, way)
    return a


def conjugate(times: Callable[[np.ndarray], np.ndarray], right: np.ndarray, scale: np.ndarray, close: float) -> np.ndarray:
    """conjugate gradients with a diagonal preconditioner, until the remainder is so small a part of the right side"""
    x, r = np.zeros_like(right), right
    z = r / scale
    d, rz = z, float(np.sum(r * z))
    for _ in range(500):
        if np.linalg.norm(r) <= close * np.linalg.norm(right):
            break
        h = times(d)
        step = rz / float(np.sum(d * h))
        x, r = x + step * d, r - step * h
        z, before = r / scale, rz
        rz = float(np.sum(r * z))
        d = z + rz / before * d
    return x


def truncated(kernel: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Newton's method in the kernel's eigenvectors, its systems solved by conjugate gradients no further than is of use."""
    n, way = y.shape
    values, vectors = np.linalg.eigh(kernel)
    kept = values > 1e-10 * values[-1]
    x = vectors[:, kept] * np.sqrt(values[kept])
    scale = (values[kept] * (1 - 1 / way) / way + PENALTY)[:, None]
    w = np.zeros((x.shape[1], way))

    def loss(w: np.ndarray) -> float:
        z = x @ w
        top = z.max(1, keepdims=True)
        return float((np.log(np.exp(z - top).sum(1)) + top[:, 0] - (z * y).sum(1)).sum() + PENALTY / 2 * np.sum(w * w))

    for _ in range(100):
        p = softmax(x @ w)
        slope = x.T @ (p - y) + PENALTY * w
        size = float(np.abs(slope).max())
        if size < FLAT:
            break

        def bend(v: np.ndarray) -> np.ndarray:
            u = p * (x @ v)
            return x.T @ (u - p * u.sum(1, keepdims=True)) + PENALTY * v

        step, here = conjugate(bend, -slope, scale, min(0.1, size)), loss(w)
        part = 1.0
        while part > 1e-6 and loss(w + part * step) > here + 1e-12 * abs(here):
            part /= 2
        w = w + part * step
    return (y - softmax(x @ w)) / PENALTY


def logistic(support: np.ndarray, labels: np.ndarray, query: np.ndarray, way: int) -> np.ndarray:
    """scores of the queries, [queries, way], from shots and queries of length 1"""
    kernel, y = support @ support.T + BIAS, np.eye(way)[labels]
    a = (newton if len(support) * way <= FEW else truncated)(kernel, y)
    return (query @ support.T + BIAS) @ a


def student(n: int) -> float:
    """t(0.975) with n degrees of freedom (expansion of Cornish and Fisher), right to 0.003 from n = 5 on and to 0.0001 from 19 on"""
    z = 1.959963984540054
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


def interval(x: np.ndarray) -> float:
    """half of the 95 % interval of the mean"""
    return student(len(x) - 1) * float(x.std(ddof=1)) / math.sqrt(len(x))
