"""Heads: from the features of an episode to scores, losses, gradients and centralities."""
from __future__ import annotations

from ctypes import byref, c_double, c_size_t, c_void_p, pointer
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _c
from ._arrays import PRECISION, address, features, labels, like
from ._c import lib, path_bytes, text
from ._handle import Handle
from .session import Session, default_session

OptionValue = Union[str, int, float, bool]


@dataclass(frozen=True)
class OptionInfo:
    """An option of a head."""

    name: str
    help: str
    type: str  #: "flag", "int", "float", "name", "text" or "file"
    standard: str  #: the default as text
    range: str  #: "between 0 and 1", "one of ..." or ""


@dataclass(frozen=True)
class HeadInfo:
    """A head of the library."""

    name: str
    title: str
    paper: str
    probabilities: bool  #: scores are probabilities, else logits
    centrality: bool  #: can give centralities
    pools: bool  #: accepts the centrality plug-in
    drawn: bool  #: some parameters start at random: without training its scores say nothing
    fitted: bool  #: to each episode when asked: it has no gradients
    base: bool  #: needs pictures of base classes: Head.set_base
    parameters: int  #: learned ones
    options: tuple[OptionInfo, ...]


def heads() -> list[HeadInfo]:
    """All heads of the library, sorted by name."""
    return [_describe(index) for index in range(lib.centra_head_count())]


def _describe(index: int) -> HeadInfo:
    head, option, options = _c.HeadInfo(), _c.OptionInfo(), []
    lib.centra_head_describe(index, byref(head))
    for i in range(head.option_count):
        lib.centra_head_option(index, i, byref(option))
        options.append(OptionInfo(text(option.name), text(option.help), text(option.type), text(option.standard),
                                  text(option.range)))
    return HeadInfo(text(head.name), text(head.title), text(head.paper), bool(head.probabilities),
                    bool(head.centrality), bool(head.pools), bool(head.drawn), bool(head.fitted),
                    bool(head.base), head.param_count, tuple(options))


def option_array(options: Mapping[str, OptionValue]) -> tuple[Any, int]:
    """Options as the library takes them; True and False are "yes" and "no". To be held while what has them is there."""
    def word(value: OptionValue) -> str:
        return ("yes" if value else "no") if isinstance(value, bool) else str(value)

    pairs = [_c.Option(name.encode(), word(value).encode()) for name, value in options.items()]
    return (_c.Option * max(len(pairs), 1))(*pairs), len(pairs)


@dataclass(frozen=True)
class Scores:
    """What a head says of an episode. Arrays have the type of the features."""

    labels: NDArray[np.int64]  #: [way] the classes, in the order of the scores
    scores: NDArray[Any]  #: [queries, way]
    loss: Optional[float] = None  #: mean over the queries; with query labels
    grad_support: Optional[NDArray[Any]] = None  #: of the loss, shaped as the support
    grad_query: Optional[NDArray[Any]] = None  #: of the loss, shaped as the query

    @property
    def predictions(self) -> NDArray[np.int64]:
        """[queries] the label with the highest score."""
        best: NDArray[np.int64] = self.labels[np.argmax(self.scores, axis=1)]
        return best


@dataclass(frozen=True)
class Centrality:
    """How central each place is in the walk of each query. Rows of both, seen flat, sum to 1."""

    labels: NDArray[np.int64]  #: [way]
    query: NDArray[Any]  #: [queries, locations], or [queries, height, width] as the features were given
    support: NDArray[Any]  #: [queries, way, locations], or with height and width


class _Episode:
    """An episode for one call: the struct, and the arrays that it points at, held for as long as this is."""

    def __init__(self, support: ArrayLike, support_labels: ArrayLike, query: ArrayLike,
                 query_labels: Optional[ArrayLike]) -> None:
        self.support, self.query = features("support", support), features("query", query)
        if self.support.dtype != self.query.dtype:
            raise TypeError(f"support is {self.support.dtype} and query {self.query.dtype}; they must be alike")
        if self.support.shape[1] != self.query.shape[1]:
            raise ValueError(f"support has {self.support.shape[1]} channels and query {self.query.shape[1]}; they must "
                             "be alike")
        self.dtype = self.support.dtype
        self.support_labels = labels("support_labels", support_labels, len(self.support))
        self.query_labels = None if query_labels is None else labels("query_labels", query_labels, len(self.query))
        count, channels = self.support.shape[:2]
        self.c = _c.Episode(PRECISION[self.dtype], channels, count, self.support.size // (count * channels),
                            address(self.support), address(self.support_labels), len(self.query),
                            self.query.size // (len(self.query) * channels), address(self.query),
                            address(self.query_labels))
        way = c_size_t()
        lib.centra_episode_way(byref(self.c), byref(way))
        self.way = int(way.value)


class Head(Handle):
    """A head by name, with options. Keeps its memory between calls: scoring again with the same shapes allocates nothing in
    the library.

    Options whose names have a dot or a dash go into `options`: Head("proto+mcl", options={"pool.gamma": 20}).
    """

    def __init__(self, name: str = "mcl-katz", session: Optional[Session] = None,
                 options: Optional[Mapping[str, OptionValue]] = None, **more: OptionValue) -> None:
        self.session = session or default_session()
        self.name = name
        self._options, count = option_array({**(options or {}), **more})
        out = c_void_p()
        with self.session._lock:
            lib.centra_head_new(self.session.handle, name.encode(), self._options, count, byref(out))
        super().__init__(out.value or 0, lib.centra_head_free, self.session)

    def load(self, path: Any) -> None:
        """Learned parameters from a file: safetensors, .pth or a folder of .npy."""
        with self._lock:
            lib.centra_head_load(self.handle, path_bytes(path))

    def set_base(self, base: ArrayLike, base_labels: ArrayLike) -> None:
        """Features of pictures of base classes, those that the network was trained on, for heads whose HeadInfo.base is
        true. They are copied, and take the place of earlier ones."""
        given = features("base", base)
        named = labels("base_labels", base_labels, len(given))
        count, channels = given.shape[:2]
        with self._lock:
            lib.centra_head_base(self.handle, PRECISION[given.dtype], count, channels, given.size // (count * channels),
                                 address(given), address(named))

    def score(self, support: ArrayLike, support_labels: ArrayLike, query: ArrayLike,
              query_labels: Optional[ArrayLike] = None, gradients: bool = False) -> Scores:
        """Scores an episode; with query labels also its loss, and with `gradients` how that changes with the features.

        support and query are [pictures, channels, locations] or [pictures, channels, height, width], float32 or float64,
        raw (not normalised). Dense row-major arrays are used where they lie, others are copied.
        """
        if gradients and query_labels is None:
            raise ValueError("gradients are those of the loss, which needs query_labels")
        e = _Episode(support, support_labels, query, query_labels)
        names, scores = np.empty(e.way, np.int64), np.empty((len(e.query), e.way), e.dtype)
        grad_support = np.empty_like(e.support) if gradients else None
        grad_query = np.empty_like(e.query) if gradients else None
        loss = c_double()
        result = _c.Result(address(names), address(scores), pointer(loss) if query_labels is not None else None,
                           address(grad_support), address(grad_query))
        with self._lock:
            lib.centra_head_score(self.handle, byref(e.c), byref(result))
        return Scores(names, scores, None if query_labels is None else loss.value, grad_support, grad_query)

    def centrality(self, support: ArrayLike, support_labels: ArrayLike, query: ArrayLike) -> Centrality:
        """How central each place of the query and of each class is. Only for heads whose HeadInfo.centrality is true."""
        e = _Episode(support, support_labels, query, None)
        names = np.empty(e.way, np.int64)
        of_query = np.empty((len(e.query), *e.query.shape[2:]), e.dtype)
        of_support = np.empty((len(e.query), e.way, *e.support.shape[2:]), e.dtype)
        result = _c.Result(labels=address(names), centrality_support=address(of_support),
                           centrality_query=address(of_query))
        with self._lock:
            lib.centra_head_score(self.handle, byref(e.c), byref(result))
        return Centrality(names, of_query, of_support)

    def backward(self, support: ArrayLike, support_labels: ArrayLike, query: ArrayLike, *,
                 scores: Optional[ArrayLike] = None, centrality_query: Optional[ArrayLike] = None,
                 centrality_support: Optional[ArrayLike] = None) -> tuple[NDArray[Any], NDArray[Any]]:
        """Gradients with respect to support and query of a loss of your own, given how it changes with what score() and
        centrality() give for this episode: arrays of those shapes; None where it does not depend on them."""
        e = _Episode(support, support_labels, query, None)

        def given(name: str, value: Optional[ArrayLike], shape: tuple[int, ...]) -> Optional[NDArray[Any]]:
            return None if value is None else like(name, value, shape, e.dtype)

        d_scores = given("scores", scores, (len(e.query), e.way))
        d_query = given("centrality_query", centrality_query, (len(e.query), *e.query.shape[2:]))
        d_support = given("centrality_support", centrality_support, (len(e.query), e.way, *e.support.shape[2:]))
        grad_support, grad_query = np.empty_like(e.support), np.empty_like(e.query)
        upstream = _c.Upstream(address(d_scores), address(d_support), address(d_query))
        result = _c.Result(grad_support=address(grad_support), grad_query=address(grad_query))
        with self._lock:
            lib.centra_head_backward(self.handle, byref(e.c), byref(upstream), byref(result))
        return grad_support, grad_query

    def __repr__(self) -> str:
        return f"Head({self.name!r}{', closed' if self.closed else ''})"


def score(support: ArrayLike, support_labels: ArrayLike, query: ArrayLike, query_labels: Optional[ArrayLike] = None, *,
          head: str = "mcl-katz", gradients: bool = False, options: Optional[Mapping[str, OptionValue]] = None,
          **more: OptionValue) -> Scores:
    """Scores one episode with a head made for it: Head.score for those who score once.

    >>> centra.score(support, [0, 0, 1, 1], query, head="mcl", gamma=20).predictions
    """
    with Head(head, None, options, **more) as h:
        return h.score(support, support_labels, query, query_labels, gradients)


def centrality(support: ArrayLike, support_labels: ArrayLike, query: ArrayLike, *, head: str = "mcl-katz",
               options: Optional[Mapping[str, OptionValue]] = None, **more: OptionValue) -> Centrality:
    """The centralities of one episode: Head.centrality for those who ask once."""
    with Head(head, None, options, **more) as h:
        return h.centrality(support, support_labels, query)
