"""centra.torch against PyTorch's own autograd."""
from __future__ import annotations

import gc
import threading
import unittest

import numpy as np

try:
    import torch
except ImportError as problem:
    raise unittest.SkipTest(f"no PyTorch (python3-torch): {problem}") from None

import centra
from centra.torch import MCLHead, centrality, centrality_pool, mcl_loss, mcl_scores

HEADS = {"mcl": 0.999, "mcl-katz": 0.5, "mcl-exact": 1.0, "unidirectional": 0.0}


def walk(support, labels, query, alpha, gamma=20.0, beta=10.0):
    """docs/mcl.md written down in PyTorch: probabilities, and centralities of query and support."""
    names, index = torch.unique(labels, return_inverse=True)
    maps = torch.stack([support[index == i].mean(0) for i in range(len(names))]).flatten(2)  # [N, C, r]
    s = torch.nn.functional.normalize(maps, dim=1).permute(0, 2, 1).flatten(0, 1)  # [M, C]
    q = torch.nn.functional.normalize(query.flatten(2), dim=1)  # [n, C, r]
    phi = torch.einsum("nci,mc->nim", q, s)
    a, b = torch.softmax(gamma * phi, 2), torch.softmax(beta * phi, 1)  # query to support; support to query
    n, r, m = phi.shape
    eye, one = torch.eye(r, dtype=phi.dtype), torch.ones(n, 1, r, dtype=phi.dtype)
    k = eye - alpha**2 * b @ a.transpose(1, 2)
    enters = (1 - alpha**2) / (r + alpha * m) * (1 + alpha * b.sum(2, keepdim=True))
    # that the weights sum to 1 follows from the equation, except for alpha = 1
    w = torch.linalg.lstsq(torch.cat([k, one], 1), torch.cat([enters, one[:, :, :1]], 1))[0]
    pi_support = (a.transpose(1, 2) @ w).squeeze(2)
    back = (1 - alpha**2) + alpha * (r + alpha * m) * pi_support
    pi_query = (b @ back[:, :, None]).squeeze(2) / (m + alpha * r)
    return pi_support.view(n, len(names), -1).sum(2), pi_query, pi_support


def episode(dtype=torch.float64, ways=3, shots=2, queries=4, channels=6, side=(2, 3), seed=0):
    r = torch.Generator().manual_seed(seed)
    support = torch.randn(ways * shots, channels, *side, generator=r, dtype=dtype)
    query = torch.randn(queries, channels, *side, generator=r, dtype=dtype)
    labels = torch.arange(ways * shots) % ways * 10 + 7
    return support, labels, query, torch.arange(queries) % ways * 10 + 7


class Torch(unittest.TestCase):
    def close(self, seen, wanted, bound):
        self.assertEqual(tuple(seen.shape), tuple(wanted.shape))
        self.assertLess(float((seen - wanted).abs().max()), bound)

    def test_loss_and_its_gradients_are_those_of_autograd(self):
        for name, alpha in HEADS.items():
            with self.subTest(name):
                s, labels, q, answers = episode()
                mine = [s.clone().requires_grad_(), q.clone().requires_grad_()]
                own = [s.clone().requires_grad_(), q.clone().requires_grad_()]
                loss = mcl_loss(mine[0], labels, mine[1], answers, head=name)
                p = walk(own[0], labels, own[1], alpha)[0]
                wanted = torch.nn.functional.nll_loss(p.log(), (answers - 7) // 10)
                self.close(loss, wanted, 1e-10)
                (3 * loss).backward()
                (3 * wanted).backward()
                for x, y in zip(mine, own):
                    self.close(x.grad, y.grad, 1e-8)

    def test_gradcheck_of_scores_and_centralities(self):
        for name in HEADS:
            with self.subTest(name):
                s, labels, q, answers = episode()
                head = MCLHead(name)
                s.requires_grad_(), q.requires_grad_()
                self.assertTrue(torch.autograd.gradcheck(lambda a, b: head(a, labels, b), (s, q)))
                self.assertTrue(torch.autograd.gradcheck(lambda a, b: head.centrality(a, labels, b), (s, q)))
                self.assertTrue(torch.autograd.gradcheck(lambda a, b: head.loss(a, labels, b, answers), (s, q)))

    def test_scores_and_centralities_have_autograds_values_and_gradients(self):
        for name, alpha in HEADS.items():
            with self.subTest(name):
                s, labels, q, _ = episode(seed=1)
                mine = [s.clone().requires_grad_(), q.clone().requires_grad_()]
                own = [s.clone().requires_grad_(), q.clone().requires_grad_()]
                p = mcl_scores(mine[0], labels, mine[1], head=name)
                of_q, of_s = centrality(mine[0], labels, mine[1], head=name)
                wp, wq, ws = walk(own[0], labels, own[1], alpha)
                self.close(p, wp, 1e-9)
                self.close(of_q.flatten(1), wq, 1e-9)
                self.close(of_s.flatten(1), ws, 1e-9)
                r = torch.Generator().manual_seed(5)
                up = [torch.randn(x.shape, generator=r, dtype=x.dtype) for x in (wp, wq, ws)]
                ((p * up[0]).sum() + (of_q.flatten(1) * up[1]).sum() + (of_s.flatten(1) * up[2]).sum()).backward()
                ((wp * up[0]).sum() + (wq * up[1]).sum() + (ws * up[2]).sum()).backward()
                for x, y in zip(mine, own):
                    self.close(x.grad, y.grad, 1e-7)

    def test_centrality_pool_is_the_plug_in_of_the_heads(self):
        """Compared with proto+mcl, whose scores are minus the distances of the pooled vectors."""
        s, labels, q, answers = episode(seed=2)
        for mode in ("query", "support", "both"):
            with self.subTest(mode):
                x, y = s.clone().requires_grad_(), q.clone().requires_grad_()
                pooled, classes = centrality_pool(x, labels, y, mode)
                if classes.dim() == 2:
                    classes = classes.expand(len(pooled), -1, -1)
                distance = ((pooled[:, None] - classes) ** 2).sum(2)
                wanted = centra.score(s.numpy(), labels.numpy(), q.numpy(), answers.numpy(), head="proto+mcl", gradients=True,
                                      options={"pool": f"mcl-{mode}", "temperature": 1})
                scale = torch.from_numpy(wanted.scores) / -distance.detach()
                self.close(scale, scale[0, 0].expand_as(scale), 1e-9)
                torch.nn.functional.cross_entropy(-distance * scale[0, 0], (answers - 7) // 10).backward()
                self.close(x.grad, torch.from_numpy(wanted.grad_support), 1e-9)
                self.close(y.grad, torch.from_numpy(wanted.grad_query), 1e-9)

    def test_detach_keeps_gradients_out_of_the_weights(self):
        s, labels, q, _ = episode(seed=3)
        q.requires_grad_()
        pooled, _ = centrality_pool(s, labels, q, "query", detach=True)
        pooled.sum().backward()
        weights = centrality(s, labels, q.detach())[0]
        self.close(q.grad, weights[:, None].expand_as(q), 1e-12)

    def test_single_precision_is_near_and_uses_the_memory_where_it_lies(self):
        s, labels, q, answers = episode(torch.float32, side=(5, 5), channels=64)
        seen = []
        original = centra.Head.score

        def spy(head, support, *rest, **more):
            seen.append(support.ctypes.data)
            return original(head, support, *rest, **more)

        try:
            centra.Head.score = spy
            loss = mcl_loss(s, labels, q, answers)
        finally:
            centra.Head.score = original
        self.assertEqual(seen, [s.data_ptr()])
        self.assertEqual(loss.dtype, torch.float32)
        wanted = torch.nn.functional.nll_loss(walk(s.double(), labels, q.double(), 0.5)[0].log(), (answers - 7) // 10)
        self.close(loss.double(), wanted, 1e-5)

    def test_strided_tensors_are_copied(self):
        s, labels, q, answers = episode()
        wide = torch.stack([s, s + 1], dim=4)[..., 0].requires_grad_()
        self.assertFalse(wide.is_contiguous())
        mcl_loss(wide, labels, q, answers).backward()
        dense = s.clone().requires_grad_()
        mcl_loss(dense, labels, q, answers).backward()
        self.close(wide.grad, dense.grad, 1e-15)

    def test_refuses_in_words(self):
        s, labels, q, answers = episode()
        for wrong, words in (((s.half(), labels, q.half(), answers), "float16"),
                             ((s, labels.double(), q, answers), "labels must be integers"),
                             ((s.numpy(), labels, q, answers), "must be a torch.Tensor"),
                             ((s, labels, q.float(), answers), "must be alike")):
            with self.assertRaisesRegex(TypeError, words):
                mcl_loss(*wrong)
        with self.assertRaisesRegex(TypeError, "on meta.*CPU"):
            mcl_loss(s.to("meta"), labels, q, answers)
        with self.assertRaisesRegex(ValueError, "mode is 'mean'"):
            centrality_pool(s, labels, q, "mean")

    def test_no_second_derivative(self):
        s, labels, q, answers = episode()
        q.requires_grad_()
        g, = torch.autograd.grad(mcl_loss(s, labels, q, answers), q, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "does not require grad"):
            torch.autograd.grad(g.sum(), q)

    def test_training_step_learns(self):
        torch.manual_seed(0)
        net = torch.nn.Conv2d(3, 8, 3)
        head = MCLHead(gamma=20, beta=10)
        self.assertIn("gamma=20", repr(head))
        optimiser = torch.optim.SGD(net.parameters(), 0.5)
        x, labels = torch.randn(6, 3, 6, 6), torch.arange(6) % 3
        y, answers = x.repeat(2, 1, 1, 1) + 0.3 * torch.randn(12, 3, 6, 6), torch.arange(12) % 3
        losses = []
        for _ in range(30):
            optimiser.zero_grad()
            loss = head.loss(net(x), labels, net(y), answers)
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
        self.assertLess(losses[-1], 0.8 * losses[0])

    def test_threads_of_their_own(self):
        s, labels, q, answers = episode(torch.float32)
        wanted = float(mcl_loss(s, labels, q, answers))
        seen = []

        def work():
            seen.extend(float(mcl_loss(s, labels, q, answers)) for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(seen, [wanted] * 80)
        gc.collect()


if __name__ == "__main__":
    unittest.main()
