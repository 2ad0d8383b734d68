"""The MCL head and the centrality pooling for PyTorch: differentiable functions on CPU tensors.

The forward pass and the closed-form backward pass are the library's. Tensors are float32 or float64, on the CPU; dense
ones are used where they lie, others are copied. Labels are integer tensors. Gradients flow to support and query; second
derivatives do not exist.

    >>> from centra.torch import mcl_loss
    >>> loss = mcl_loss(encoder(pictures), labels, encoder(others), other_labels)
    >>> loss.backward()
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .heads import Head, OptionValue
from .session import Session, default_session

__all__ = ["MCLHead", "centrality", "centrality_pool", "mcl_loss", "mcl_scores"]


def _array(name: str, x: Tensor) -> Any:
    """A tensor as NumPy sees it, over the same memory."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} is {type(x).__name__}; it must be a torch.Tensor")
    if x.device.type != "cpu":
        raise TypeError(f"{name} is on {x.device}; these functions work on CPU tensors: use {name}.cpu()")
    return x.detach().numpy()


def _like(gradient: Any, x: Tensor) -> Tensor:
    return torch.from_numpy(gradient).view(x.shape)


class _Loss(torch.autograd.Function):
    """The mean negative log likelihood. Its gradients are made in the same sweep and wait for backward."""

    @staticmethod
    def forward(ctx: Any, head: Head, support: Tensor, labels: Tensor, query: Tensor, query_labels: Tensor) -> Tensor:  # type: ignore[override]
        wanted = ctx.needs_input_grad[1] or ctx.needs_input_grad[3]
        r = head.score(_array("support", support), _array("support_labels", labels), _array("query", query),
                       _array("query_labels", query_labels), gradients=wanted)
        if wanted:
            ctx.save_for_backward(_like(r.grad_support, support), _like(r.grad_query, query))
        return torch.tensor(r.loss, dtype=support.dtype)

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, upstream: Tensor) -> Any:
        support, query = ctx.saved_tensors
        if upstream != 1:  # usually the loss is the end
            support, query = support * upstream, query * upstream
        return None, support, None, query, None


class _Scores(torch.autograd.Function):
    """Probabilities of classes. Nothing but the inputs is kept: backward computes the walk again."""

    @staticmethod
    def forward(ctx: Any, head: Head, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:  # type: ignore[override]
        ctx.head = head
        ctx.save_for_backward(support, labels, query)
        r = head.score(_array("support", support), _array("support_labels", labels), _array("query", query))
        return torch.from_numpy(r.scores)

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, upstream: Tensor) -> Any:
        support, labels, query = ctx.saved_tensors
        ds, dq = ctx.head.backward(_array("support", support), _array("support_labels", labels), _array("query", query),
                                   scores=_array("upstream", upstream))
        return None, _like(ds, support), None, _like(dq, query)


class _Centrality(torch.autograd.Function):
    """Centralities of the query's places and of each class's."""

    @staticmethod
    def forward(ctx: Any, head: Head, support: Tensor, labels: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        ctx.head = head
        ctx.save_for_backward(support, labels, query)
        c = head.centrality(_array("support", support), _array("support_labels", labels), _array("query", query))
        return torch.from_numpy(c.query), torch.from_numpy(c.support)

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, of_query: Tensor, of_support: Tensor) -> Any:
        support, labels, query = ctx.saved_tensors
        ds, dq = ctx.head.backward(_array("support", support), _array("support_labels", labels), _array("query", query),
                                   centrality_query=_array("upstream", of_query),
                                   centrality_support=_array("upstream", of_support))
        return None, _like(ds, support), None, _like(dq, query)


class MCLHead(torch.nn.Module):
    """The head as a module without parameters; it keeps its memory between steps.

    name: "mcl", "mcl-katz", "mcl-exact" or "unidirectional"; the options are gamma, beta, alpha and solver, as
    `centra list heads` tells. Backward may run in another thread than forward, as autograd's does: the head's session
    does one thing at a time.
    """

    def __init__(self, name: str = "mcl-katz", session: Optional[Session] = None, **options: OptionValue) -> None:
        super().__init__()
        self.name, self.options = name, dict(options)
        self.head = Head(name, session or default_session(), options)

    def forward(self, support: Tensor, support_labels: Tensor, query: Tensor) -> Tensor:
        """Probabilities [queries, way]; classes are the sorted distinct labels."""
        return _Scores.apply(self.head, support, support_labels, query)  # type: ignore[no-any-return]

    def loss(self, support: Tensor, support_labels: Tensor, query: Tensor, query_labels: Tensor) -> Tensor:
        """The mean negative log likelihood: forward and backward in one sweep, the fastest way to train."""
        return _Loss.apply(self.head, support, support_labels, query, query_labels)  # type: ignore[no-any-return]

    def centrality(self, support: Tensor, support_labels: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Centralities [queries, ...] of the query's places and [queries, way, ...] of each class's; flat rows of both sum
        to 1."""
        return _Centrality.apply(self.head, support, support_labels, query)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return ", ".join([repr(self.name), *(f"{key}={value}" for key, value in self.options.items())])


def mcl_loss(support: Tensor, support_labels: Tensor, query: Tensor, query_labels: Tensor, *, head: str = "mcl-katz",
             **options: OptionValue) -> Tensor:
    """MCLHead.loss for those who do not keep a module."""
    return MCLHead(head, None, **options).loss(support, support_labels, query, query_labels)


def mcl_scores(support: Tensor, support_labels: Tensor, query: Tensor, *, head: str = "mcl-katz",
               **options: OptionValue) -> Tensor:
    """MCLHead.forward for those who do not keep a module."""
    return MCLHead(head, None, **options)(support, support_labels, query)  # type: ignore[no-any-return]


def centrality(support: Tensor, support_labels: Tensor, query: Tensor, *, head: str = "mcl",
               **options: OptionValue) -> tuple[Tensor, Tensor]:
    """MCLHead.centrality for those who do not keep a module."""
    return MCLHead(head, None, **options).centrality(support, support_labels, query)


def _class_maps(support: Tensor, labels: Tensor) -> Tensor:
    """[way, channels, locations]: the mean of each class, classes in the order of their labels"""
    names, index = torch.unique(labels, sorted=True, return_inverse=True)
    pick = torch.nn.functional.one_hot(index, len(names)).to(support.dtype)
    means: Tensor = (pick / pick.sum(0)).t() @ support.flatten(1)
    return means.view(len(names), support.shape[1], -1)


def centrality_pool(support: Tensor, support_labels: Tensor, query: Tensor, mode: str = "query", *,
                    detach: bool = False, walk: Optional[MCLHead] = None) -> tuple[Tensor, Tensor]:
    """One vector a picture, weighted by centrality: the plug-in of the MCL paper for heads that compare single vectors.

    mode: "query" weighs the query's places, "support" those of each class, "both" does both; what is not weighed is
    averaged. Returns the queries [queries, channels] and the classes [way, channels], which with support weights depend on
    the query: [queries, way, channels]. detach: gradients do not flow through the weights. walk: MCLHead("mcl"), the
    default, or another one.
    """
    if mode not in ("query", "support", "both"):
        raise ValueError(f"mode is {mode!r}; it must be 'query', 'support' or 'both'")
    of_query, of_support = (walk or MCLHead("mcl")).centrality(support, support_labels, query)
    if detach:
        of_query, of_support = of_query.detach(), of_support.detach()
    maps, places = _class_maps(support, support_labels), query.flatten(2)
    pooled = places.mean(2) if mode == "support" else torch.einsum("nci,ni->nc", places, of_query.flatten(1))
    if mode == "query":
        return pooled, maps.mean(2)
    weights = of_support.flatten(2)
    return pooled, torch.einsum("nwi,wci->nwc", weights / weights.sum(2, keepdim=True), maps)
