"""Scores, losses, gradients and centralities of NumPy arrays."""
from __future__ import annotations

import unittest

import numpy as np
import rig

import centra


def by_hand(support, labels, query, alpha, gamma=20.0, beta=10.0):
    """docs/mcl.md as a fixed point that is repeated until it stays: class masses, centralities of query and support."""
    names = np.unique(labels)
    maps = np.stack([support[labels == name].mean(0) for name in names]).reshape(len(names), support.shape[1], -1)
    s = maps.transpose(0, 2, 1).reshape(-1, support.shape[1])
    s = s / np.linalg.norm(s, axis=1, keepdims=True)
    found = []
    for q in query.reshape(len(query), query.shape[1], -1):
        q = q.T / np.linalg.norm(q.T, axis=1, keepdims=True)
        phi = q @ s.T
        a = np.exp(gamma * phi)
        a /= a.sum(1, keepdims=True)
        b = np.exp(beta * phi)
        b /= b.sum(0)
        r, m = phi.shape
        w = np.full(r, 1 / r)
        for _ in range(200):
            w = alpha**2 * b @ (a.T @ w) + (1 - alpha**2) / (r + alpha * m) * (1 + alpha * b.sum(1))
        of_support = a.T @ w
        of_query = b @ ((1 - alpha**2) + alpha * (r + alpha * m) * of_support) / (m + alpha * r)
        found.append((of_support.reshape(len(names), -1).sum(1), of_query, of_support))
    return tuple(np.stack(part) for part in zip(*found))


class Score(unittest.TestCase):
    def test_scores_loss_and_centralities_are_those_of_the_formula(self):
        support, labels, query, answers = rig.episode()
        scores, of_query, of_support = by_hand(support, labels, query, 0.5)
        seen = centra.score(support, labels, query, answers)
        np.testing.assert_allclose(seen.scores, scores, atol=1e-12)
        np.testing.assert_array_equal(seen.labels, [7, 17, 27])
        np.testing.assert_array_equal(seen.predictions, seen.labels[scores.argmax(1)])
        own = scores[np.arange(len(query)), (answers - 7) // 10]
        self.assertAlmostEqual(seen.loss, -np.log(own).mean(), 12)
        c = centra.centrality(support, labels, query)
        self.assertEqual((c.query.shape, c.support.shape), ((4, 2, 3), (4, 3, 2, 3)))
        np.testing.assert_allclose(c.query.reshape(4, -1), of_query, atol=1e-12)
        np.testing.assert_allclose(c.support.reshape(4, -1), of_support, atol=1e-12)

    def test_options_reach_the_head(self):
        support, labels, query, _ = rig.episode()
        seen = centra.score(support, labels, query, head="mcl-katz", gamma=5, beta=3.5, alpha=0.25).scores
        np.testing.assert_allclose(seen, by_hand(support, labels, query, 0.25, 5, 3.5)[0], atol=1e-12)
        plain = centra.score(support, labels, query, head="proto+mcl", options={"pool": "mean"}).scores
        np.testing.assert_allclose(plain, centra.score(support, labels, query, head="proto").scores, atol=1e-12)
        detached = centra.Head("proto+mcl", options={"pool.detach": True})
        self.assertEqual(detached.score(support, labels, query).scores.shape, (4, 3))

    def test_gradients_agree_with_differences(self):
        support, labels, query, answers = rig.episode()
        head, step = centra.Head("mcl"), 1e-6
        g = head.score(support, labels, query, answers, gradients=True)
        for array, gradient in ((support, g.grad_support), (query, g.grad_query)):
            self.assertEqual(array.shape, gradient.shape)
            for at in list(np.ndindex(array.shape))[::17]:
                kept = array[at]
                array[at] = kept + step
                above = head.score(support, labels, query, answers).loss
                array[at] = kept - step
                below = head.score(support, labels, query, answers).loss
                array[at] = kept
                self.assertAlmostEqual((above - below) / (2 * step), gradient[at], 6)

    def test_backward_of_scores_is_the_gradient_of_the_loss(self):
        support, labels, query, answers = rig.episode()
        head = centra.Head("mcl-katz")
        r = head.score(support, labels, query, answers, gradients=True)
        index = (answers - 7) // 10
        up = np.zeros_like(r.scores)
        up[np.arange(4), index] = -1 / (4 * r.scores[np.arange(4), index])
        ds, dq = head.backward(support, labels, query, scores=up)
        np.testing.assert_allclose(ds, r.grad_support, atol=1e-12)
        np.testing.assert_allclose(dq, r.grad_query, atol=1e-12)
        with self.assertRaisesRegex(ValueError, r"scores is float64 \(3, 4\); it must be float64 \(4, 3\)"):
            head.backward(support, labels, query, scores=up.T)
        with self.assertRaisesRegex(centra.UsageError, "nothing to go back from"):
            head.backward(support, labels, query)

    def test_dense_arrays_are_not_copied_and_others_give_the_same(self):
        from centra._arrays import features
        support, labels, query, _ = rig.episode(np.float32)
        self.assertTrue(np.shares_memory(features("x", support), support))
        wanted = centra.score(support, labels, query).scores
        turned = np.asfortranarray(support)
        wide = np.stack([query, query + 1], axis=-1)[..., 0]
        self.assertFalse(turned.flags.c_contiguous or wide.flags.c_contiguous)
        for s, q in ((turned, query), (support, wide), (turned[::1], wide)):
            np.testing.assert_array_equal(centra.score(s, labels, q).scores, wanted)
        backwards = centra.score(support[::-1], labels[::-1], query).scores  # negative strides
        np.testing.assert_allclose(backwards, wanted, atol=1e-6)
        readonly = support.copy()
        readonly.flags.writeable = False
        np.testing.assert_array_equal(centra.score(readonly, labels.tolist(), query).scores, wanted)
        flat = centra.score(support.reshape(6, 6, 6), labels, query.reshape(4, 6, 6)).scores
        np.testing.assert_array_equal(flat, wanted)

    def test_wrong_arrays_are_refused_in_words(self):
        support, labels, query, answers = rig.episode(np.float32)
        cases = [
            ((support.astype(int), labels, query), TypeError, "support has type int64; features must be float32 or float64"),
            ((support.astype(">f4"), labels, query), TypeError, "support has type >f4"),
            ((support, labels, query.astype(np.float64)), TypeError, "support is float32 and query float64; they must be alike"),
            ((support[0, 0], labels, query), ValueError, r"support has shape \(2, 3\); it must be \[pictures, channels"),
            ((support[:0], labels, query), ValueError, r"support has shape \(0, 6, 2, 3\), which is empty"),
            ((support, labels, query[:, :5]), ValueError, "support has 6 channels and query 5"),
            ((support, labels[:5], query), ValueError, r"support_labels has shape \(5,\); there are 6 pictures"),
            ((support, labels * 1.0, query), TypeError, "support_labels has type float64; labels must be integers"),
            ((support, labels, query, answers + 1), centra.InputError, "query"),
            ((support, np.array([2**63] * 6, np.uint64), query), ValueError, "a label above"),
        ]
        for arguments, kind, words in cases:
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                centra.score(*arguments)
        with self.assertRaisesRegex(ValueError, "gradients are those of the loss"):
            centra.score(support, labels, query, gradients=True)
        with self.assertRaisesRegex(centra.UsageError, "head proto has no centralities"):
            centra.centrality(support, labels, query, head="proto")

    def test_every_head_is_described_and_scores(self):
        known = centra.heads()
        self.assertEqual([h.name for h in known], sorted(h.name for h in known))
        self.assertEqual(len(known), len({h.name for h in known}))
        listed = rig.run("list", "heads")
        support, labels, query, _ = rig.episode(np.float32)
        for h in known:
            with self.subTest(h.name):
                self.assertIn(h.name, listed)
                with centra.Head(h.name) as head:
                    if h.base:
                        with self.assertRaisesRegex(centra.UsageError, "base classes"):
                            head.score(support, labels, query)
                        head.set_base(support[::-1], labels)
                    scores = head.score(support, labels, query).scores
                self.assertEqual(scores.shape, (4, 3))
                self.assertTrue(np.isfinite(scores).all())
                if h.probabilities:
                    np.testing.assert_allclose(scores.sum(1), 1, atol=1e-5)
        gamma = next(o for h in known if h.name == "mcl" for o in h.options if o.name == "gamma")
        self.assertEqual((gamma.type, gamma.standard), ("float", "20"))


if __name__ == "__main__":
    unittest.main()
