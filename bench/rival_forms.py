"""rival_forms.py - the walk of mutual centralized learning in PyTorch, in several forms.

"best" leaves open four choices that can each be the fastest one, depending on shapes and machine; a `Variant` names
them and rival_torch.py measures which to take. "block" and "full" are the two forms of the paper's authors. All forms
share the similarities and give the same probabilities.

Shapes: N classes of one picture each, nQ queries, r locations a picture, M = N * r support locations, C channels.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn import functional

MOST_STEPS = 10000
# Beyond this exp without subtracting the largest similarity first could overflow single precision.
LARGEST_PLAIN_EXPONENT = 80.0


@dataclass(frozen=True)
class Episode:
    support: Tensor  # [N, C, r], class by class
    query: Tensor  # [nQ, C, r]
    labels: Tensor  # [nQ], true classes of the queries
    alpha: float
    gamma: float
    beta: float

    @property
    def way(self) -> int:
        return self.support.shape[0]

    @property
    def locations(self) -> int:
        return self.support.shape[2]


class Variant(NamedTuple):
    """The choices of "best". The first value of each is the plain one, where the search begins."""

    normalise: str  # rows: divide the features by their norms; after: divide the similarities by them
    softmax: str  # softmax: two of torch's; exp: plain exp, the sums applied where the tensors are smallest
    solve: str  # solve: one linear system; power, power-sum: iterate with K; walk: iterate with A and B
    sums: str  # sum: class sums of A, then the weights; product: the weights times A, then class sums

    def __str__(self) -> str:
        return "/".join(self)


PLAIN = Variant("rows", "softmax", "solve", "sum")


def neighbours(v: Variant, e: Episode, axis: int, gradients: bool, steps: int) -> Iterator[Variant]:
    """The other variants along one axis that make sense here; `steps`: how many the iteration takes."""
    values = [["rows", "after"], ["softmax", "exp"], ["solve", "power", "power-sum", "walk"], ["sum", "product"]]
    for value in values[axis]:
        if value == "exp" and max(e.gamma, e.beta) > LARGEST_PLAIN_EXPONENT:
            continue
        if axis == 2 and value != "solve" and steps > 64:
            continue
        if value == "walk" and gradients:
            continue  # each step would give A and B a gradient of their full size
        if value != v[axis]:
            yield Variant(*(value if i == axis else old for i, old in enumerate(v)))


def in_place() -> bool:
    """Whether memory may be reused: autograd needs what it has seen, inference does not."""
    return not torch.is_grad_enabled()


def rows_of(x: Tensor) -> Tensor:
    """[pictures, C, r] as a new contiguous [pictures * r, C]"""
    return x.transpose(1, 2).clone(memory_format=torch.contiguous_format).view(-1, x.shape[1])


def similarities(e: Episode, normalise: str) -> Tensor:
    """beta times the cosines, [nQ, r, M], by one matrix product; beta is folded into the smaller factor"""
    support = functional.normalize(rows_of(e.support), dim=1) * e.beta
    query = rows_of(e.query)
    norms = torch.linalg.vector_norm(query, dim=1, keepdim=True).clamp_min(1e-12)
    if normalise == "rows":
        query = query.div_(norms) if in_place() else query / norms
        phi = query @ support.t()
    else:
        phi = query @ support.t()
        phi = phi.div_(norms) if in_place() else phi / norms
    return phi.view(e.query.shape[0], e.locations, -1)


def transitions(e: Episode, phi: Tensor, how: str) -> tuple[Tensor, Tensor, Optional[Tensor]]:
    """A and B, [nQ, r, M]; with "exp" A lacks its row sums, which come third, [nQ, r, 1]. May overwrite phi."""
    ratio = e.gamma / e.beta
    if how == "softmax":
        a = phi * ratio
        if in_place():
            return torch.softmax(a, 2, out=a), torch.softmax(phi, 1, out=phi), None
        return torch.softmax(a, 2), torch.softmax(phi, 1), None
    b = phi.exp_() if in_place() else phi.exp()
    a = b * b if ratio == 2 else b.pow(ratio)
    columns = b.sum(1, keepdim=True)
    return a, b.div_(columns) if in_place() else b / columns, a.sum(2, keepdim=True)


def outside(e: Episode, b: Tensor) -> Tensor:
    """What enters the walk at each step, scaled so that the weights sum to 1, [nQ, r, 1]"""
    a, r = e.alpha, e.locations
    return (1 + a * b.sum(2, keepdim=True)) * ((1 - a * a) / (r * (1 + a * e.way)))


def weights(e: Episode, a: Tensor, b: Tensor, rows: Optional[Tensor], how: str, steps: int) -> Tensor:
    """The weights of the query's locations, [nQ, r, 1]: the solution of (I - alpha^2 B A^T) w = outside"""
    r, damping, enters = e.locations, e.alpha**2, outside(e, b)
    w = torch.full_like(enters, 1.0 / r)
    if how == "walk":
        for _ in range(steps):
            there = a.transpose(1, 2) @ (w if rows is None else w / rows)
            w = torch.baddbmm(enters, b, there, alpha=damping)
        return w
    k = b @ a.transpose(1, 2)
    if rows is not None:
        k = k / rows.transpose(1, 2)
    if how == "solve":
        # sum(w) = 1 is known; adding damping/r of it to each row keeps the system well conditioned for alpha near 1
        base = torch.eye(r, dtype=k.dtype) + damping / r
        return torch.linalg.solve(torch.sub(base, k, alpha=damping), enters + damping / r)
    for _ in range(steps):
        if how == "power":
            w = torch.baddbmm(enters, k, w, alpha=damping)
        else:
            w = (k * w.transpose(1, 2)).sum(2, keepdim=True).mul(damping).add(enters)
    return w


def plain(e: Episode) -> Tensor:
    """probabilities, [nQ, N], as one would write it with care but without measuring"""
    n, c, r = e.support.shape
    s = functional.normalize(e.support, dim=1).permute(0, 2, 1).reshape(-1, c)
    q = functional.normalize(e.query, dim=1).permute(0, 2, 1).reshape(-1, c)
    phi = (q @ s.t()).view(-1, r, n * r)
    a, b = torch.softmax(e.gamma * phi, 2), torch.softmax(e.beta * phi, 1)
    system = torch.eye(r, dtype=phi.dtype) - e.alpha**2 * (b @ a.transpose(1, 2))
    y = torch.linalg.solve(system, 1 + e.alpha * b.sum(2, keepdim=True))
    x = (a.transpose(1, 2) @ y).view(-1, n, r).sum(2)
    return x / x.sum(1, keepdim=True)


def best(e: Episode, v: Variant, steps: int) -> Tensor:
    """probabilities, [nQ, N]"""
    a, b, rows = transitions(e, similarities(e, v.normalise), v.softmax)
    w = weights(e, a, b, rows, v.solve, steps)
    if rows is not None:
        w = w / rows
    if v.sums == "product":
        return (w.transpose(1, 2) @ a).view(-1, e.way, e.locations).sum(2)
    return (a.view(-1, e.locations, e.way, e.locations).sum(3) * w).sum(1)


def class_sums(e: Episode, x: Tensor) -> Tensor:
    """probabilities from the unnormalised centralities of the support, [nQ, M]"""
    return (x / x.sum(1, keepdim=True)).view(-1, e.way, e.locations).sum(2)


def block(e: Episode) -> Tensor:
    """The block-wise inverse: one inverse of r x r a query, then the M x M block of which only row sums are used"""
    a, b, _ = transitions(e, similarities(e, "rows"), "softmax")
    inverse = torch.linalg.inv(torch.sub(torch.eye(e.locations), b @ a.transpose(1, 2), alpha=e.alpha**2))
    left = a.transpose(1, 2) @ inverse
    return class_sums(e, (left @ b).sum(2) * e.alpha**2 + left.sum(2) * e.alpha)


def full(e: Episode) -> Tensor:
    """The inverse of the whole (M + r) x (M + r) matrix of each query"""
    a, b, _ = transitions(e, similarities(e, "rows"), "softmax")
    m, n = a.shape[2], a.shape[2] + e.locations
    walk = torch.zeros(a.shape[0], n, n)
    walk[:, :m, m:] = a.transpose(1, 2)
    walk[:, m:, :m] = b
    identity = torch.eye(n)
    x = (torch.linalg.inv(identity - walk * e.alpha) - identity).sum(2)
    return class_sums(e, x[:, :m])


def steps_needed(e: Episode) -> int:
    """How many iterations these features need until single precision sees next to no change in the sum"""
    with torch.inference_mode():
        a, b, _ = transitions(e, similarities(e, "rows"), "softmax")
        enters, k = outside(e, b), b @ a.transpose(1, 2)
        w = torch.full_like(enters, 1.0 / e.locations)
        for step in range(1, MOST_STEPS):
            new = torch.baddbmm(enters, k, w, alpha=e.alpha**2)
            if (new - w).abs().sum(1).max() <= 5e-7:
                return step
            w = new
    return MOST_STEPS
