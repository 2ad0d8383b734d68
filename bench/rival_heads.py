"""rival_heads.py - every head in PyTorch, in the plain good form: batched over queries and classes, no Python loop where one
can be avoided, and the smaller of two systems.

FORMS names them as `centra list heads` does. A form takes an episode (support [way, C, r] with one shot a class, query
[n, C, r]) and a dictionary of parameters, which DIMS describes, and gives scores [n, way] as Centra does. LOSS_SCALE
says what the scores are multiplied with before cross entropy; the walk's and label-prop's are probabilities.
As a program it is PyTorch's process of every_head.py.
"""
from __future__ import annotations

import argparse
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

GAMMA, BETA = 20.0, 10.0
PLUG_IN_ALPHA = 0.999
SEED = 1


class Episode(NamedTuple):
    support: Tensor  # [way, C, r]
    query: Tensor  # [n, C, r]

    @property
    def way(self) -> int:
        return self.support.shape[0]


Params = dict[str, Tensor]
Form = Callable[[Episode, Params], Tensor]


# what several heads share


def rows(x: Tensor) -> Tensor:
    """[n, C, r] as unit rows [n*r, C]"""
    return functional.normalize(x, dim=1).transpose(1, 2).reshape(-1, x.shape[1])


def cosines(e: Episode) -> Tensor:
    """[n, r, way*r]"""
    return (rows(e.query) @ rows(e.support).t()).view(e.query.shape[0], e.query.shape[2], -1)


def walk(e: Episode, alpha: float, gamma: float = GAMMA, beta: float = BETA) -> tuple[Tensor, Tensor]:
    """weights of the query's locations [n, r, 1], and of the support's [n, way*r, 1]"""
    phi = cosines(e)
    r, m = phi.shape[1:]
    a = torch.softmax(gamma * phi, 2)
    if alpha == 0:
        w = phi.new_full((phi.shape[0], r, 1), 1 / r)
        return w, a.transpose(1, 2) @ w
    b = torch.softmax(beta * phi, 1)
    k, eye = b @ a.transpose(1, 2), torch.eye(r, device=phi.device)
    if alpha == 1:
        w = torch.linalg.solve(eye - k + 1 / r, phi.new_full((1, r, 1), 1 / r).expand(phi.shape[0], r, 1))
    else:
        enters = (1 + alpha * b.sum(2, keepdim=True)) * ((1 - alpha**2) / (r + alpha * m))
        w = torch.linalg.solve(eye - alpha**2 * k, enters)
    return w, a.transpose(1, 2) @ w


def walk_scores(e: Episode, alpha: float, *sharpness: float) -> Tensor:
    return walk(e, alpha, *sharpness)[1].view(e.query.shape[0], e.way, -1).sum(2)


def pooled(e: Episode, plugged: str) -> tuple[Tensor, Tensor]:
    """queries [n, C]; classes [way, C], or [n, way, C] where they depend on the query"""
    if not plugged:
        return e.query.mean(2), e.support.mean(2)
    w, s = walk(e, PLUG_IN_ALPHA)
    query = (e.query @ (w / w.sum(1, keepdim=True))).squeeze(2)
    if plugged == "query":
        return query, e.support.mean(2)
    s = s.view(-1, e.way, e.support.shape[2])
    return query, torch.einsum("nwr,wcr->nwc", s / s.sum(2, keepdim=True), e.support)


def squared(query: Tensor, classes: Tensor) -> Tensor:
    return (query[:, None] - classes).square().sum(2)


# heads on pooled vectors


def proto(e: Episode, p: Params, plugged: str = "") -> Tensor:
    return -squared(*pooled(e, plugged))


def matching(e: Episode, p: Params, plugged: str = "") -> Tensor:
    query, classes = (functional.normalize(x, dim=-1) for x in pooled(e, plugged))
    return query @ classes.t() if classes.dim() == 2 else (classes @ query[:, :, None]).squeeze(2)


def relation(e: Episode, p: Params, plugged: str = "") -> Tensor:
    query, classes = pooled(e, plugged)
    c = query.shape[1]
    weight = p["head.fc1.weight"]  # the halves apart: nothing of size C for each pair
    hidden = functional.linear(classes, weight[:, :c], p["head.fc1.bias"])
    hidden = functional.relu(hidden + functional.linear(query, weight[:, c:])[:, None])
    return functional.linear(hidden, p["head.fc2.weight"], p["head.fc2.bias"]).squeeze(2)


def r2d2(e: Episode, p: Params, plugged: str = "") -> Tensor:
    query, x = pooled(e, plugged)
    eye = torch.eye(e.way, device=x.device)
    return query @ x.t() @ torch.linalg.solve(x @ x.t() + 50 * eye, eye)


def rooted(x: Tensor) -> Tensor:
    """[n, C, r] to unit vectors of the roots of the pooled channels, [n, C]"""
    x = functional.normalize(x.mean(2), dim=1)
    soft = 0.4 / math.sqrt(x.shape[1])
    return functional.normalize(x.sign() * (torch.sqrt(x.abs() + soft) - math.sqrt(soft)), dim=1)


def mcl_ridge(e: Episode, p: Params) -> Tensor:
    query, x = rooted(e.query), rooted(e.support)
    eye = torch.eye(e.way, device=x.device)
    regression = query @ x.t() @ torch.linalg.solve(x @ x.t() + 0.2 * eye, eye)
    return 12 * regression + 0.4 * torch.log(walk_scores(e, 0.9, 40, 20))


def dsn(e: Episode, p: Params, plugged: str = "") -> Tensor:
    return -squared(*pooled(e, plugged)) / e.query.shape[1]  # the hull of one shot is the shot


def meta_baseline(e: Episode, p: Params) -> Tensor:
    return 10 * matching(e, p)


def mean_direction(e: Episode, p: Params) -> Tensor:
    query, classes = pooled(e, "")
    return query @ functional.normalize(classes, dim=1).t()


def feat(e: Episode, p: Params) -> Tensor:
    query, x = pooled(e, "")
    q, k, v = (functional.linear(x, p[f"head.{name}.weight"]) for name in ("query", "key", "value"))
    seen = torch.softmax(q @ k.t() / math.sqrt(x.shape[1]), 1) @ v
    y = x + functional.linear(seen, p["head.out.weight"], p["head.out.bias"])
    return -squared(query, functional.layer_norm(y, y.shape[1:], p["head.norm.weight"], p["head.norm.bias"]))


def svm(kernel: Tensor, way: int, iterations: int = 15) -> Tensor:
    """The dual variables [shots, way] of a Crammer-Singer machine with one shot a class, in double, by an interior point with
    a corrector; 15 iterations as MetaOptNet has them."""
    shots, n = kernel.shape[0], kernel.shape[0] * way
    eye, y = torch.eye(n, dtype=kernel.dtype), torch.eye(shots, way, dtype=kernel.dtype).reshape(-1)
    g = torch.kron(kernel, torch.eye(way, dtype=kernel.dtype)) + eye
    a = torch.kron(torch.eye(shots, dtype=kernel.dtype), torch.ones(1, way, dtype=kernel.dtype))
    x, nu, bound = torch.zeros_like(y), torch.zeros(shots, dtype=kernel.dtype), 0.1 * y
    slack, z = torch.ones_like(y), torch.ones_like(y)

    def step(rx: Tensor, rs: Tensor, rz: Tensor, ry: Tensor) -> tuple[Tensor, ...]:
        right = torch.cat(((rs - z * rz) / slack - rx, -ry))
        found = torch.linalg.solve(torch.cat((torch.cat((g + torch.diag(z / slack), a.t()), 1), below)), right)
        dx, dnu = found[:n], found[n:]
        ds = -rz - dx
        return dx, ds, (-rs - z * ds) / slack, dnu

    def longest(v: Tensor, dv: Tensor) -> Tensor:
        return torch.where(dv < 0, -v / dv, torch.ones_like(v)).min().clamp(max=1)

    below = torch.cat((a, torch.zeros(shots, shots, dtype=kernel.dtype)), 1)
    for _ in range(iterations):
        rx, rz, ry, mu = g @ x - y + z + a.t() @ nu, x + slack - bound, a @ x, (slack * z).mean()
        dx, ds, dz, dnu = step(rx, slack * z, rz, ry)
        size = torch.minimum(longest(slack, ds), longest(z, dz))
        sigma = (((slack + size * ds) * (z + size * dz)).mean() / mu) ** 3
        dx, ds, dz, dnu = step(rx, slack * z + ds * dz - sigma * mu, rz, ry)
        size = 0.999 * torch.minimum(longest(slack, ds), longest(z, dz))
        x, slack, z, nu = x + size * dx, slack + size * ds, z + size * dz, nu + size * dnu
    return x.view(shots, way)


def metaopt(e: Episode, p: Params, plugged: str = "") -> Tensor:
    query, x = pooled(e, plugged)
    return query @ x.t() @ svm((x @ x.t()).double(), e.way).to(x.dtype)


def gnn(e: Episode, p: Params) -> Tensor:
    query, shots = pooled(e, "")
    n, way = query.shape[0], e.way

    def normed(name: str, x: Tensor, slope: float) -> Tensor:  # over the rows of each graph
        variance, mean = torch.var_mean(x, 1, unbiased=False, keepdim=True)
        x = torch.addcmul(p[f"head.{name}.shift"], x - mean, p[f"head.{name}.gain"] * (variance + 1e-5).rsqrt())
        return x if slope == 1 else functional.leaky_relu(x, slope)

    def layer(name: str, x: Tensor) -> Tensor:
        return normed(name, functional.linear(x, p[f"head.{name}.weight"]), 0.01)

    def look(i: int, x: Tensor) -> Tensor:
        nodes = x.shape[1]
        y = (x[:, :, None] - x[:, None]).abs().view(n, nodes * nodes, -1)
        for k in range(4):
            y = layer(f"edge{i}.{k}", y)
        y = functional.linear(y, p[f"head.edge{i}.4.weight"], p[f"head.edge{i}.4.bias"]).view(n, nodes, nodes)
        edges = torch.softmax(y - 1e8 * torch.eye(nodes, device=y.device), 2)
        return torch.cat((x, edges @ x), 2)

    weight = p["head.enter.weight"]
    x = torch.cat((functional.linear(shots, weight).expand(n, -1, -1), functional.linear(query, weight)[:, None]), 1)
    labels = torch.cat((torch.eye(way, 5, device=x.device), torch.zeros(1, 5, device=x.device))).expand(n, -1, -1)
    x = torch.cat((normed("enter", x, 1), labels), 2)
    for i in range(2):
        x = torch.cat((x, layer(f"grow{i}", look(i, x))), 2)
    return functional.linear(look(2, x)[:, -1], p["head.last.weight"], p["head.last.bias"])[:, :way]


# heads that are fitted to the shots of an episode: 100 epochs in batches of 4, derivatives written out


def fit(kind: str, e: Episode, plugged: str) -> Tensor:
    query, x = pooled(e, plugged)
    way, c = x.shape
    bound = 1 / math.sqrt(c)
    w, b = torch.empty(way, c).uniform_(-bound, bound), torch.empty(way).uniform_(-bound, bound)
    target, gain = torch.eye(way), w.norm(dim=1)
    unit = functional.normalize(x, dim=1) if kind != "baseline" and kind != "neg-softmax" else x
    values = {"baseline": [w, b], "baseline++": [w, gain], "neg-cosine": [w], "neg-softmax": [w]}[kind]
    speed: list[Tensor] = []

    def logits(f: Tensor) -> Tensor:
        if kind == "baseline":
            return torch.addmm(b, f, w.t())
        if kind == "neg-softmax":
            return 5 * (f @ w.t())
        direction = functional.normalize(w, dim=1)
        return 2 * gain * (f @ direction.t()) if kind == "baseline++" else 5 * (f @ direction.t())

    def slopes(f: Tensor, d: Tensor) -> list[Tensor]:
        """of the values, from those of the logits [batch, way]"""
        if kind == "baseline":
            return [d.t() @ f, d.sum(0)]
        if kind == "neg-softmax":
            return [5 * (d.t() @ f)]
        length = w.norm(dim=1, keepdim=True)
        direction = w / length
        dw = (2 if kind == "baseline++" else 5) * (d.t() @ f)
        along = (dw * direction).sum(1, keepdim=True)
        factor = gain[:, None] / length if kind == "baseline++" else 1 / length
        dv = factor * (dw - along * direction)
        return [dv, along.squeeze(1)] if kind == "baseline++" else [dv]

    for _ in range(100):
        for batch in torch.randperm(way).split(4):
            f, y = unit[batch], target[batch]
            d = (torch.softmax(logits(f), 1) - y) / len(batch)
            for i, slope in enumerate(slopes(f, d)):
                slope = slope.add(values[i], alpha=0.001)
                if len(speed) <= i:
                    speed.append(slope)
                else:
                    speed[i].mul_(0.9).add_(slope, alpha=0.1)
                values[i].sub_(speed[i], alpha=0.01)
    return logits(query if unit is x else functional.normalize(query, dim=1))


# heads on maps


def dn4(e: Episode, p: Params) -> Tensor:
    phi = cosines(e)
    return phi.view(*phi.shape[:2], e.way, -1).amax(3).sum(1)


def dn4_top(e: Episode, p: Params) -> Tensor:
    """with topk, as its authors write it"""
    phi = cosines(e)
    return phi.view(*phi.shape[:2], e.way, -1).topk(1, 3)[0].sum((1, 3))


def mn4(e: Episode, p: Params) -> Tensor:
    phi = cosines(e)
    best = phi.view(*phi.shape[:2], e.way, -1).amax(3)
    there = phi.argmax(2)
    back = phi.argmax(1).gather(1, there)
    keep = back == torch.arange(phi.shape[1], device=phi.device)
    return 2 * (best * keep[:, :, None]).sum(1)


def dmn4(e: Episode, p: Params) -> Tensor:
    phi = cosines(e)
    n, r, m = phi.shape
    best = phi.view(n, r, e.way, -1).amax(3)
    there = phi.argmax(2)
    two = best.topk(2, 2)[0]
    lead = two[:, :, 0] - two[:, :, 1]
    rivals = there[:, :, None] == there[:, None]  # locations that chose the same feature
    ahead = torch.where(rivals, lead[:, None], lead.new_tensor(-1.0)).argmax(2)
    return 2 * (best * (ahead == torch.arange(r, device=phi.device))[:, :, None]).sum(1)


def frn(e: Episode, p: Params) -> Tensor:
    way, c, m = e.support.shape
    n, r = e.query.shape[0], e.query.shape[2]
    s, q = e.support.transpose(1, 2) / math.sqrt(c), e.query.transpose(1, 2).reshape(n * r, c) / math.sqrt(c)
    ridge = m / c + 1e-6
    if m > c:
        hat = torch.linalg.inv(s.transpose(1, 2) @ s + ridge * torch.eye(c, device=q.device))
        error = (ridge * (q @ hat)).square().sum(2)
    else:
        k = q @ s.transpose(1, 2)  # [way, n*r, m]
        y = k @ torch.linalg.inv(s @ s.transpose(1, 2) + ridge * torch.eye(m, device=q.device))
        error = q.square().sum(1) - (k * y).sum(2) - ridge * y.square().sum(2)
    return -error.view(way, n, r).mean(2).t()


def ctx(e: Episode, p: Params) -> Tensor:
    key, ask, value = (p[f"head.{name}.weight"].flatten(1) for name in ("key", "query", "value"))
    n, r = e.query.shape[0], e.query.shape[2]
    q = (ask @ e.query).transpose(1, 2).reshape(1, n * r, -1) / math.sqrt(key.shape[0])
    att = torch.softmax(q @ (key @ e.support), 2)  # [way, n*r, r]
    found = att @ (value @ e.support).transpose(1, 2)
    own = (value @ e.query).transpose(1, 2).reshape(1, n * r, -1)
    return -(found - own).square().sum(2).view(e.way, n, r).mean(2).t()


def flows(cost: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """The best flow of each problem, [problems, r, r], by OpenCV's solver, which lets Python's other threads run meanwhile"""
    import cv2  # needed by this head alone

    def solve(i: int) -> np.ndarray:
        return cv2.EMD(supply[i, :, None], demand[i, :, None], cv2.DIST_USER, cost[i])[2]

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        return np.stack(list(pool.map(solve, range(len(cost)))))


def deepemd(e: Episode, p: Params) -> Tensor:
    (n, c, r), way = e.query.shape, e.way

    def weights(x: Tensor, other: Tensor) -> Tensor:
        """of the locations of x by the mean of each other map, [others, pictures of x, r], with sum 1"""
        w = functional.relu(torch.einsum("xcr,oc->oxr", x, other.mean(2))) + 1e-3 + 1e-5
        return w / w.sum(2, keepdim=True)

    def directions(x: Tensor) -> Tensor:
        return functional.normalize(x - x.mean(1, keepdim=True), dim=1)

    with torch.no_grad():  # as the authors' code has it
        supply, demand = weights(e.query, e.support).transpose(0, 1), weights(e.support, e.query)
    similar = torch.einsum("ncq,wcs->nwqs", directions(e.query), directions(e.support))
    given = (1 - similar.detach(), supply, demand)
    flow = flows(*(x.reshape(n * way, *x.shape[2:]).contiguous().numpy() for x in given))
    return 12.5 * (similar * torch.from_numpy(flow).view(n, way, r, r)).sum((2, 3))


def label_prop(e: Episode, p: Params) -> Tensor:
    n, c, r = e.query.shape
    m = e.way * r
    s, q = rows(e.support), rows(e.query).view(n, r, c)
    ss, qs, qq = s @ s.t(), (q.view(-1, c) @ s.t()).view(n, r, m), torch.bmm(q, q.transpose(1, 2))
    ss, qs, qq = ((GAMMA * (x - 1)).exp() for x in (ss, qs, qq))
    ss, qq = ss * (1 - torch.eye(m)), qq * (1 - torch.eye(r))
    w = torch.cat((torch.cat((ss.expand(n, m, m), qs.transpose(1, 2)), 2), torch.cat((qs, qq), 2)), 1)
    d = w.sum(2)
    root = d.sqrt()[:, :, None]
    b = torch.zeros(n, m + r, 1)
    b[:, m:] = root[:, m:] / r
    x = torch.cholesky_solve(b, torch.linalg.cholesky(torch.diag_embed(d) - 0.99 * w)) * root
    raw = x[:, :m, 0].reshape(n, e.way, r).sum(2)
    return raw / raw.sum(1, keepdim=True)


PROBABILITIES = ("mcl", "mcl-katz", "mcl-exact", "unidirectional", "label-prop")
FITTED = ("baseline", "baseline++", "neg-cosine", "neg-softmax")
LOSS_SCALE = {"proto": 1 / 64, "proto+mcl": 1 / 64, "matching": 32.0, "matching+mcl": 32.0, "feat": 1 / 64}

FORMS: dict[str, Form] = {
    "mcl": lambda e, p: walk_scores(e, 0.999),
    "mcl-katz": lambda e, p: walk_scores(e, 0.5),
    "mcl-ridge": mcl_ridge,
    "mcl-exact": lambda e, p: walk_scores(e, 1),
    "unidirectional": lambda e, p: walk_scores(e, 0),
    "proto": proto,
    "matching": matching,
    "relation": relation,
    "r2d2": r2d2,
    "metaopt": metaopt,
    "dsn": dsn,
    "meta-baseline": meta_baseline,
    "mean-direction": mean_direction,
    "feat": feat,
    "gnn": gnn,
    "dn4": dn4,
    "mn4": mn4,
    "dmn4": dmn4,
    "frn": frn,
    "ctx": ctx,
    "deepemd": deepemd,
    "label-prop": label_prop,
}
for _name in ("proto", "matching", "relation"):
    FORMS[_name + "+mcl"] = lambda e, p, form=FORMS[_name]: form(e, p, "both")  # type: ignore[misc,call-arg]
for _name in ("r2d2", "metaopt", "dsn"):
    FORMS[_name + "+mcl"] = lambda e, p, form=FORMS[_name]: form(e, p, "query")  # type: ignore[misc,call-arg]
for _name in FITTED:
    FORMS[_name] = lambda e, p, kind=_name: fit(kind, e, "")  # type: ignore[misc]
    FORMS[_name + "+mcl"] = lambda e, p, kind=_name: fit(kind, e, "query")  # type: ignore[misc]


def dims(head: str, c: int) -> dict[str, tuple[int, ...]]:
    """of the parameters that are not 1"""
    head = head.replace("+mcl", "")
    if head == "relation":
        return {"head.fc1.weight": (c // 2, 2 * c), "head.fc1.bias": (c // 2,), "head.fc2.weight": (1, c // 2),
                "head.fc2.bias": (1,)}
    if head == "feat":
        square = {f"head.{x}.weight": (c, c) for x in ("query", "key", "value", "out")}
        return {**square, **{f"head.{x}": (c,) for x in ("out.bias", "norm.weight", "norm.bias")}}
    if head == "ctx":
        return {f"head.{x}.weight": (128, c, 1, 1) for x in ("query", "key", "value")}
    if head != "gnn":
        return {}
    width = min(128, 2 * c)
    sizes = {"enter": (width, c)}
    for i in range(3):
        nodes = width + 5 + i * (3 * width // 8)
        chain = (nodes, 3 * width // 2, 3 * width // 2, 3 * width // 4, 3 * width // 4)
        sizes.update({f"edge{i}.{k}": (chain[k + 1], chain[k]) for k in range(4)})
        if i < 2:
            sizes[f"grow{i}"] = (3 * width // 8, 2 * nodes)
    found: dict[str, tuple[int, ...]] = {f"head.{k}.weight": v for k, v in sizes.items()}
    found.update({f"head.{k}.{x}": v[:1] for k, v in sizes.items() for x in ("gain", "shift")})
    for i in range(3):
        found.update({f"head.edge{i}.4.weight": (1, 3 * width // 4), f"head.edge{i}.4.bias": (1,)})
    return {**found, "head.last.weight": (5, 2 * nodes), "head.last.bias": (5,)}


def make_params(head: str, c: int) -> Params:
    """the same ones each time, small enough for every layer"""
    random = np.random.default_rng(SEED)
    found = {}
    for name, dim in dims(head, c).items():
        x = random.normal(size=dim) / math.sqrt(math.prod(dim[1:]))
        found[name] = torch.from_numpy((x if len(dim) > 1 else 1 + 0.1 * x).astype(np.float32))
    return found


def make_run(head: str, e: Episode, labels: Tensor, gradients: bool) -> Callable[[], tuple[Tensor, ...]]:
    form = FORMS[head]
    params = {name: x.to(e.query.device) for name, x in make_params(head, e.query.shape[1]).items()}

    def infer() -> tuple[Tensor, ...]:
        with torch.inference_mode():
            return (form(e, params),)

    def learn() -> tuple[Tensor, ...]:
        y = form(e, params)
        if head in PROBABILITIES:
            loss = functional.nll_loss(y.log(), labels)
        else:
            loss = functional.cross_entropy(LOSS_SCALE.get(head, 1.0) * y, labels)
        return (y.detach(), *torch.autograd.grad(loss, (e.support, e.query, *params.values()))[:2])

    if not gradients:
        return infer
    for x in (e.support, e.query, *params.values()):
        x.requires_grad_(True)
    return learn


def main() -> None:
    from rival_torch import answer_lines, save

    p = argparse.ArgumentParser(description="PyTorch's side of every_head.py")
    p.add_argument("--features", type=Path, required=True)
    p.add_argument("--head", choices=sorted(FORMS), required=True)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--gradients", action="store_true")
    p.add_argument("--save", type=Path, metavar="DIR")
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(SEED)
    support, query = (torch.from_numpy(np.load(o.features / f"{x}.npy")).flatten(2) for x in ("support", "query"))
    labels = torch.from_numpy(np.load(o.features / "query_labels.npy"))
    run = make_run(o.head, Episode(support, query), labels, o.gradients)
    if o.save:
        save(run, o.save)
        folder = o.save / "params"
        folder.mkdir()
        for name, x in make_params(o.head, query.shape[1]).items():
            np.save(folder / f"{name}.npy", x.numpy())
    else:
        answer_lines(run)


if __name__ == "__main__":
    main()
