"""docs/everyday.md shows what its records say, and the regression that heads are compared with is one."""
from __future__ import annotations

import argparse
import json
import sys
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import everyday
import everyday_page
import logistic

RECORDS, PAGE = ROOT / "docs" / "results" / "everyday.jsonl", ROOT / "docs" / "everyday.md"


class Page(unittest.TestCase):
    def test_the_page_is_made_from_its_records(self) -> None:
        page = PAGE.read_text()
        self.assertEqual(page, everyday_page.with_tables(page, everyday_page.read(RECORDS)))

    def test_no_head_has_two_records_and_all_have_an_interval(self) -> None:
        seen = set()
        for r in everyday_page.read(RECORDS):
            key = (r["model"], r["set"], r["way"], r["shot"], r["head"], json.dumps(r.get("options"), sort_keys=True))
            self.assertNotIn(key, seen)
            seen.add(key)
            if r.get("kind") != "unknown":
                self.assertGreater(r["ci95"], 0)

    def test_a_table_shows_every_record(self) -> None:
        def record(**more: object) -> dict[str, object]:
            return {"model": "m", "set": "cub", "way": "5", "shot": 1, "head": "proto", "options": {}, "classes": 5, "query": 15,
                    "episodes": 2000, "accuracy": 61.239, "ci95": 0.5, "paired": {}, **more}

        against = {everyday_page.REGRESSION: {"difference": -1.5, "ci95": 0.25}}
        shown = everyday_page.tables([
            record(head=everyday_page.REGRESSION), record(paired=against), record(set="plants", accuracy=7.0, paired=against),
            record(head="dn4", episodes=200, paired=against),
            {"kind": "unknown", "model": "m", "set": "cub", "way": "unknown", "shot": 5, "head": "mcl-ridge", "episodes": 100,
             "accuracy": 90.0, "ece": 0.01, "ece_after": 0.02, "auroc": 0.8, "false_alarms": 3.0, "found": 30.0}])
        for line in ("### m, 5-way, 1-shot", "2,000 episodes (dn4: 200), 15 queries of a class; in brackets the difference to "
                     "logistic regression on the same episodes.", "| head | cub | plants |",
                     "| logistic regression | 61.24 +- 0.50 | - |", "| proto | 61.24 +- 0.50 (-1.50 +- 0.25) | 7.00 +- 0.50 (-1.50 +- 0.25) |",
                     "| m | cub | mcl-ridge | 100 | 90.0 % | 0.010, 0.020 | 0.800 | 3.0 %, 30.0 % |"):
            self.assertIn(line + "\n", shown)


class Summary(unittest.TestCase):
    def rows(self, ours: dict[str, object], regression: float, **more: object) -> list[dict[str, object]]:
        same = {"model": "m", "set": "cub", "way": "5", "shot": 1, "options": {}, "ci95": 0.5, **more}
        return [{**same, "head": everyday_page.COSINE, "accuracy": 60.0, "paired": {}},
                {**same, "head": everyday_page.REGRESSION, "accuracy": regression, "paired": {}},
                {**same, "head": everyday_page.STANDARD, "accuracy": 62.0, "paired": ours}]

    def test_the_better_of_the_two_is_the_rival(self) -> None:
        both = {everyday_page.COSINE: {"difference": 2.0, "ci95": 0.5}, everyday_page.REGRESSION: {"difference": 1.0, "ci95": 1.5}}
        self.assertEqual(everyday_page.against_rival(self.rows(both, 61.0))[1:], (everyday_page.REGRESSION, 1.0, 1.5))
        self.assertEqual(everyday_page.against_rival(self.rows(both, 59.0))[1:], (everyday_page.COSINE, 2.0, 0.5))
        self.assertIsNone(everyday_page.against_rival(self.rows(both, 61.0)[1:]))

    def test_verdicts_are_counted_and_what_is_behind_is_named(self) -> None:
        def to_regression(difference: float) -> dict[str, object]:
            return {everyday_page.REGRESSION: {"difference": difference, "ci95": 0.5}}

        shown = everyday_page.summary(self.rows(to_regression(1.0), 61.0) + self.rows(to_regression(0.5), 61.0, shot=5)
                                      + self.rows(to_regression(-0.6), 61.0, set="plants") + self.rows(to_regression(9.0), 61.0, shot=10))
        for line in ("| m | 5 | 1 | 62.00 (**+1.00 +- 0.50, regression**) | - | - | 62.00 (-0.60 +- 0.50, regression) |",
                     "| m | 5 | 5 | 62.00 (+0.50 +- 0.50, regression) | - | - | - |",
                     "- m: better in 1 of 3, level in 1, behind in 1 (plants with 1)."):
            self.assertIn(line + "\n", shown)

    def test_sets_that_a_model_was_trained_on_are_in_no_verdict(self) -> None:
        ahead = {everyday_page.REGRESSION: {"difference": 1.0, "ci95": 0.5}}
        shown = everyday_page.summary(self.rows(ahead, 61.0, model="resnet12-general")
                                      + self.rows(ahead, 61.0, model="resnet12-general", set="plants"))
        for line in ("| resnet12-general | 5 | 1 | 62.00, seen | - | - | 62.00 (**+1.00 +- 0.50, regression**) |",
                     "- resnet12-general: better in 1 of 1, level in 0, behind in 0."):
            self.assertIn(line + "\n", shown)

    def test_cells_behind_are_named_whatever_their_shots(self) -> None:
        def cell(difference: float, **more: object) -> list[dict[str, object]]:
            return self.rows({everyday_page.REGRESSION: {"difference": difference, "ci95": 0.5}}, 61.0, **more)

        played = cell(-0.6, shot=10) + cell(-0.7, way="all") + cell(-0.5, set="plants") + cell(-9.0, model="resnet12-general")
        self.assertEqual(everyday_page.where_behind(played), [
            "With any number of classes and shots `mcl-ridge` is behind in 2 of 3: m (cub 5-way 10, cub all 1)."])

    def test_slow_heads_that_are_first_or_well_before_are_counted(self) -> None:
        def cell(slow: float, **more: object) -> list[dict[str, object]]:
            rows = self.rows({everyday_page.REGRESSION: {"difference": 1.0, "ci95": 0.5}}, 61.0, way="all", episodes=20, **more)
            other = {**rows[2], "head": "dn4", "episodes": 5, "paired": {everyday_page.REGRESSION: {"difference": slow, "ci95": 2.0}}}
            return [*rows, other]

        alone = self.rows({everyday_page.REGRESSION: {"difference": 1.0, "ci95": 0.5}}, 61.0, way="all", episodes=20, set="caltech")
        shown = everyday_page.beside_slow_heads(cell(0.5) + cell(3.0, shot=5) + cell(3.1, shot=10) + alone)
        self.assertIn("1 of 3, others in the rest:", shown[0])
        self.assertEqual(shown[1:], ["", "- `dn4` in 2: m (cub all 5, cub all 10)", "",
                                     "In 1 of 3 a head is before it by more than that head's own interval:", "",
                                     "- `dn4`: m (cub all 10)"])
        self.assertEqual(everyday_page.beside_slow_heads(alone), [])


class Plan(unittest.TestCase):
    """Heads that have records are not run again; those that have none are, beside the cosine that all are compared with."""

    def options(self, **more: object) -> argparse.Namespace:
        same = {"heads": "meta-baseline,proto,mcl:gamma=40", "episodes": 2000, "slow": "meta-baseline,dn4", "slow_episodes": 200,
                "all_heads": "meta-baseline,proto", "all_episodes": 20, "all_slow": "meta-baseline,dn4", "all_slow_episodes": 5,
                "ways": "5,all", "shots": "1", "model": ["there/m.safetensors"], "sets": "cub", "unknown": None}
        return argparse.Namespace(**{**same, **more})

    def test_only_heads_without_a_record_are_run(self) -> None:
        task = ("m", "cub", "5", 1)
        groups = everyday.groups_of(self.options(), task, set())
        self.assertEqual(groups, [("meta-baseline,proto,mcl:gamma=40", 2000), ("meta-baseline,dn4", 200)])
        some = {"meta-baseline", "logistic regression", "proto", "dn4"}
        self.assertEqual(everyday.groups_of(self.options(), task, some), [("meta-baseline,mcl:gamma=40", 2000)])
        self.assertEqual(everyday.groups_of(self.options(), task, some | {"mcl"}), [])
        self.assertEqual(everyday.groups_of(self.options(slow_episodes=0), task, {"meta-baseline", "proto", "mcl"}), [])

    def test_all_classes_have_heads_of_their_own(self) -> None:
        groups = everyday.groups_of(self.options(), ("m", "cub", "all", 1), {"meta-baseline"})
        self.assertEqual(groups, [("meta-baseline,proto", 20), ("meta-baseline,dn4", 5)])

    def test_tasks_are_those_that_lack_something(self) -> None:
        def record(way: str, head: str) -> dict[str, object]:
            return {"model": "m", "set": "cub", "way": way, "shot": 1, "head": head}

        done = [record("all", h) for h in ("meta-baseline", "proto", "dn4")] + [record("5", "proto")]
        self.assertEqual(everyday.tasks_of(self.options(), done), [(("there/m.safetensors", "cub", "5", 1), {"proto"})])
        asked = everyday.tasks_of(self.options(unknown="program", ways=""), done)
        self.assertEqual(asked, [(("there/m.safetensors", "cub", "unknown", 5), set())])
        told = [{"model": "m", "set": "cub", "way": "unknown", "shot": 5, "head": "mcl-ridge"}]
        self.assertEqual(everyday.tasks_of(self.options(unknown="program", ways=""), told), [])


class Regression(unittest.TestCase):
    def problem(self) -> tuple[np.ndarray, np.ndarray]:
        r = np.random.default_rng(5)
        x = logistic.unit(r.normal(size=(30, 12)) + np.repeat(np.eye(3, 12), 10, 0))
        return x @ x.T + logistic.BIAS, np.eye(3)[np.repeat(np.arange(3), 10)]

    def test_both_ways_find_the_point_without_a_slope(self) -> None:
        kernel, y = self.problem()
        for solve in (logistic.newton, logistic.truncated):
            a = solve(kernel, y)
            slope = logistic.softmax(kernel @ a) - y + logistic.PENALTY * a
            self.assertLess(np.abs(slope).max(), 2e-5)
        self.assertLess(np.abs(kernel @ (logistic.newton(kernel, y) - logistic.truncated(kernel, y))).max(), 1e-2)

    def test_intervals_are_students(self) -> None:
        for n, t, near in ((5, 2.57058, 3e-3), (19, 2.09302, 1e-4), (99, 1.98422, 1e-4), (1999, 1.96115, 1e-4)):
            self.assertAlmostEqual(logistic.student(n), t, delta=near)
        x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        self.assertAlmostEqual(logistic.interval(x), 2.5706 * np.sqrt(3.5 / 6), delta=3e-3)


if __name__ == "__main__":
    unittest.main()
