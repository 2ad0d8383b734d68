"""everyday.py - heads that need no training on sets of everyday pictures, beside logistic regression on the same episodes.

    python3 bench/everyday.py --data ../shared/data --model mobile.safetensors --records everyday.jsonl
    python3 bench/everyday.py --page docs/everyday.md --records everyday.jsonl

The first form runs `centra eval` for each set, way and number of shots and adds a line to the file of records for each head; what is
there already is not run again. Differences are to the first head, episode by episode. Logistic regression is fitted here, by Newton's
method on pooled vectors of length 1, on the episodes that `centra eval` has saved; the cosine to the class mean is computed here too
and must agree with Centra's, or the features are not the same. The second form writes the tables of a page, between its two marks.
"""
from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import machine

machine.use_python_with_torch()  # may start this script anew, so it comes before what may be missing

import numpy as np

SETS = {"cub": ("cub-valtest.tar", "test"), "flowers": ("flowers102.tar", None), "caltech": ("caltech101.tar", None),
        "plants": ("plantvillage.tar", None)}
HEADS = "meta-baseline,mcl-ridge,mcl-katz:gamma=40:beta=20,mcl-katz,unidirectional,proto,r2d2:lambda=0.2,matching"
COSINE, REGRESSION = "meta-baseline", "logistic regression"
PENALTY = 0.01  # 1 / C, on vectors of length 1: the best of 1, 0.1 and 0.01 on CUB's validation classes
ENCODED_AT_ONCE = 256
MARKS = ("<!-- tables -->", "<!-- end of tables -->")

Record = dict[str, Any]


def centra(o: argparse.Namespace, *words: str) -> str:
    command = [o.program, *words, "--quiet", "--threads", str(o.threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"everyday.py: {' '.join(command[:12])}: {done.stderr.strip()}")
    return done.stdout


def unpacked(archive: Path, split: str | None, folder: Path) -> list[str]:
    """the pictures of the split, in the order of the data set"""
    with tarfile.open(archive) as t:
        names = sorted(m.name for m in t if m.isfile() and (split is None or m.name.startswith(split + "/")))
        t.extractall(folder, [t.getmember(n) for n in names])
    return [str(folder / n) for n in sorted(names, key=lambda n: n.encode())]


def pooled(o: argparse.Namespace, model: str, name: str) -> np.ndarray:
    """[pictures, C]; with --pooled kept for the next call"""
    archive, split = SETS[name]
    rows = []
    keep = Path(o.pooled) / f"{Path(model).name.removesuffix('.safetensors')}-{name}.npy" if o.pooled else None
    if keep and keep.exists():
        return np.load(keep)
    with tempfile.TemporaryDirectory() as place:
        pictures = unpacked(Path(o.data) / archive, split, Path(place))
        out = str(Path(place) / "features.npy")
        for i in range(0, len(pictures), ENCODED_AT_ONCE):
            centra(o, "encode", "--model", model, "--out", out, *pictures[i:i + ENCODED_AT_ONCE])
            rows.append(np.load(out).mean((2, 3)))
    x = np.concatenate(rows).astype(np.float64)
    if keep:
        np.save(keep, x)
    return x


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def logistic(support: np.ndarray, labels: np.ndarray, query: np.ndarray, way: int) -> np.ndarray:
    """Multinomial, the bias hardly penalised. Weights stay in the span of the shots, so Newton's steps are taken there."""
    n, kernel, across = len(support), support @ support.T + 100, query @ support.T + 100
    a, y = np.zeros((n, way)), np.eye(way)[labels]
    for _ in range(20):
        z = kernel @ a
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        bend = p[:, :, None] * np.eye(way) - p[:, :, None] * p[:, None, :]
        matrix = (bend[:, :, None, :] * kernel[:, None, :, None]).reshape(n * way, n * way)
        step = np.linalg.solve(matrix + PENALTY * np.eye(n * way), -(p - y + PENALTY * a).reshape(-1)).reshape(n, way)
        a += step
        if np.abs(step).max() < 1e-6:
            break
    return across @ a


def interval(x: np.ndarray) -> float:
    return 1.96 * float(x.std(ddof=1)) / math.sqrt(len(x)) if len(x) > 1 else float("nan")


def regression(x: np.ndarray, episodes: Path, cosine: float) -> tuple[float, float, float, float]:
    """accuracy, its interval, the difference to the cosine, its interval"""
    seen: dict[str, list[float]] = {"regression": [], "cosine": []}
    for line in episodes.read_text().splitlines()[1:]:
        e = json.loads(line)
        way, right = e["way"], np.array(e["labels"])
        support, query = x[e["support"]], x[e["queries"]]
        labels = np.repeat(np.arange(way), e["shot"])
        means = unit(np.stack([support[labels == c].mean(0) for c in range(way)]))
        guesses = logistic(unit(support), labels, unit(query), way).argmax(1)
        seen["cosine"].append(100 * float(np.mean((unit(query) @ means.T).argmax(1) == right)))
        seen["regression"].append(100 * float(np.mean(guesses == right)))
    ours, plain = np.array(seen["regression"]), np.array(seen["cosine"])
    if abs(plain.mean() - cosine) > 0.05:
        sys.exit(f"everyday.py: the cosine to the class mean has {plain.mean():.2f} here and {cosine:.2f} in centra eval")
    return float(ours.mean()), interval(ours), float((ours - plain).mean()), interval(ours - plain)


def measure(o: argparse.Namespace, model: str, name: str, way: str, shot: int, kept: dict[str, np.ndarray]) -> list[Record]:
    archive, split = SETS[name]
    path = Path(o.data) / archive
    number = str(classes_of(path, split)) if way == "all" else way
    key = {"model": Path(model).name.removesuffix(".safetensors"), "set": name, "way": way, "shot": shot}
    with tempfile.TemporaryDirectory() as place:
        saved = Path(place) / "episodes"
        rows = json.loads(centra(
            o, "eval", "--weights", model, "--data", str(path), *(["--split", split] if split else []), "--way", number,
            "--shot", str(shot), "--query", str(o.query if way != "all" else o.all_query), "--episodes",
            str(o.episodes if way != "all" else o.all_episodes), "--head", o.heads if way != "all" else o.all_heads,
            "--save-episodes", str(saved), "--json"))
        out = [{**key, "head": r["head"], "options": r["options"], "classes": int(number), "query": r["query"],
                "episodes": r["episodes"], "accuracy": r["accuracy"], "ci95": r["ci95"], "paired": r["paired"]}
               for r in rows]
        if way != "all" and not o.no_regression:
            if name not in kept:
                kept[name] = pooled(o, model, name)
            mean, wide, difference, width = regression(kept[name], saved, out[0]["accuracy"])
            out.append({**out[0], "head": REGRESSION, "options": {"C": 1 / PENALTY}, "accuracy": mean, "ci95": wide,
                        "paired": {"against": COSINE, "difference": difference, "ci95": width}})
    return out


def classes_of(archive: Path, split: str | None) -> int:
    with tarfile.open(archive) as t:
        names = [m.name.split("/") for m in t if m.isfile()]
    return len({n[-2] for n in names if split is None or n[0] == split})


def run(o: argparse.Namespace) -> None:
    path = Path(o.records)
    lines = path.read_text().splitlines() if path.exists() else []
    there = {tuple(json.loads(line)[k] for k in ("model", "set", "way", "shot")) for line in lines}
    for model in o.model:
        kept: dict[str, np.ndarray] = {}
        for way in o.ways.split(","):
            for shot in o.shots.split(","):
                for name in o.sets.split(","):
                    if (Path(model).name.removesuffix(".safetensors"), name, way, int(shot)) in there:
                        continue
                    print(f"{model}: {name}, {way}-way {shot}-shot", file=sys.stderr)
                    found = measure(o, model, name, way, int(shot), kept)
                    with path.open("a") as f:
                        f.writelines(json.dumps(r) + "\n" for r in found)


def cell(r: Record) -> str:
    d = r["paired"]
    after = f" ({d['difference']:+.2f} +- {d['ci95']:.2f})" if d else ""
    return f"{r['accuracy']:.2f} +- {r['ci95']:.2f}{after}"


def title(r: Record) -> str:
    """the head, with what was said of its options"""
    if r["head"] == REGRESSION or r["head"] not in ("mcl-katz", "r2d2"):
        return r["head"]
    return f"{r['head']} " + (f"({r['options']['gamma']:g}/{r['options']['beta']:g})" if r["head"] == "mcl-katz" else
                              f"(lambda {r['options']['lambda']:g})")


def less_regression(rows: list[Record], name: str) -> str:
    """mcl-ridge less logistic regression. Both are paired with the cosine only, so the interval is that of independent
    differences, which is too wide: they rise and fall together."""
    seen = {r["head"]: r["paired"] for r in rows if r["set"] == name}
    if "mcl-ridge" not in seen or REGRESSION not in seen:
        return "-"
    a, b = seen["mcl-ridge"], seen[REGRESSION]
    return f"{a['difference'] - b['difference']:+.2f} +- {math.hypot(a['ci95'], b['ci95']):.2f}"


def tables(records: list[Record]) -> str:
    out = []
    for model, way, shot in dict.fromkeys((r["model"], r["way"], r["shot"]) for r in records):
        rows = [r for r in records if (r["model"], r["way"], r["shot"]) == (model, way, shot)]
        sets = [s for s in SETS if any(r["set"] == s for r in rows)]
        first = rows[0]
        out += [f"\n### {model}, {way}-way {shot}-shot\n",
                f"{first['episodes']} episodes, {first['query']} queries of a class.\n",
                "| head | " + " | ".join(sets) + " |", "| --- |" + " --- |" * len(sets)]
        for head in dict.fromkeys(map(title, rows)):
            cells = [next((cell(r) for r in rows if title(r) == head and r["set"] == s), "-") for s in sets]
            out.append(f"| {head} | " + " | ".join(cells) + " |")
        if any(r["head"] == REGRESSION for r in rows):
            cells = [less_regression(rows, s) for s in sets]
            out.append("| *mcl-ridge less logistic regression* | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def page(o: argparse.Namespace) -> None:
    records = [json.loads(line) for line in Path(o.records).read_text().splitlines()]
    path = Path(o.page)
    before, _, rest = path.read_text().partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    path.write_text(f"{before}{MARKS[0]}\n{tables(records)}\n{MARKS[1]}{after}")


def main() -> None:
    p = argparse.ArgumentParser(description="Measures heads on sets of everyday pictures.")
    p.add_argument("--program", default="build/centra", help="the program (default build/centra)")
    p.add_argument("--data", default="../shared/data", help="the folder of the tars")
    p.add_argument("--model", action="append", default=[], help="a model; may be given more than once")
    p.add_argument("--records", default="everyday.jsonl", help="the file of records (default everyday.jsonl)")
    p.add_argument("--sets", default=",".join(SETS), help="which sets")
    p.add_argument("--ways", default="5,all", help="classes of an episode (default 5,all)")
    p.add_argument("--shots", default="1,5,10", help="known pictures of a class (default 1,5,10)")
    p.add_argument("--query", type=int, default=15, help="queries of a class (default 15)")
    p.add_argument("--episodes", type=int, default=2000, help="how many (default 2000)")
    p.add_argument("--heads", default=HEADS, help="as centra eval takes them; the first is the one to compare with")
    p.add_argument("--all-query", type=int, default=5, help="queries of a class with all classes (default 5)")
    p.add_argument("--all-episodes", type=int, default=20, help="episodes with all classes (default 20)")
    p.add_argument("--all-heads", default=HEADS, help="heads with all classes")
    p.add_argument("--no-regression", action="store_true", help="leave logistic regression out")
    p.add_argument("--pooled", help="a folder to keep pooled features in, and to find them")
    p.add_argument("--threads", type=int, default=2, help="of the program (default 2)")
    p.add_argument("--page", help="write the tables of the records into this page instead of measuring")
    o = p.parse_args()
    missing = [a for a, _ in SETS.values() if not (Path(o.data) / a).exists()]
    if o.page:
        page(o)
    elif missing:
        sys.exit(f"everyday.py: '{o.data}' has no {', '.join(missing)}; --data names the folder of the tars")
    else:
        run(o)


if __name__ == "__main__":
    main()
