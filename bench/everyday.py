"""everyday.py - heads that need no training on sets of everyday pictures, beside logistic regression on the same episodes.

    python3 bench/everyday.py --data ../shared/data --model mobile.safetensors --records everyday.jsonl
    python3 bench/everyday.py --model mobile.safetensors --device cuda --jobs 6 --threads 2 --unknown build/unknown
    python3 bench/everyday_page.py everyday.jsonl docs/everyday.md

Each model and set is encoded once for the regression; `centra eval` is then run for each set, way and number of shots, and a line is
added to the file of records for each head. Heads that are there already are not run again, so that a run that was stopped goes on
and one with more heads adds these. Every
head is compared with the cosine to the class mean and with logistic regression, episode by episode. Logistic regression is fitted
here, on pooled vectors of length 1 and the episodes that `centra eval` has saved; the cosine is computed here too and must agree with
Centra's, or the features are not the same. --unknown names bench/unknown.c, compiled, which then is run for each model and set.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import machine

machine.use_python_with("numpy")  # may start this script anew, so it comes before what may be missing

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is loaded; its matrices are small here

import numpy as np

from everyday_page import COSINE, REGRESSION, SETS
from logistic import PENALTY, interval, logistic, unit

ARCHIVES = dict(zip(SETS, (("cub-valtest.tar", "test"), ("flowers102.tar", None), ("caltech101.tar", None),
                           ("plantvillage.tar", None)), strict=True))
# All that need no training; mcl-exact is mcl with another solver, and mean-direction the cosine. SLOW heads play the first so many of
# the same episodes. With all classes at once metaopt, label-prop and deepemd are left out: they solve problems of all shots.
HEADS = f"{COSINE},mcl-ridge,mcl-katz:gamma=40:beta=20,mcl:gamma=40:beta=20,unidirectional,proto,matching,r2d2:lambda=0.2,dsn,metaopt"
SLOW = (f"{COSINE},proto+mcl,matching+mcl,dn4,mn4,dmn4,frn,label-prop,"
        "baseline,baseline++,neg-cosine,neg-softmax,deepemd:sfc_epochs=20")
ALL_HEADS = f"{COSINE},mcl-ridge,mcl-katz:gamma=40:beta=20,unidirectional,proto,matching,r2d2:lambda=0.2"
ALL_SLOW = (f"{COSINE},mcl:gamma=40:beta=20,dsn,proto+mcl,matching+mcl,dn4,mn4,dmn4,frn,"
            "baseline,baseline++,neg-cosine,neg-softmax")
ENCODED_AT_ONCE = 512
UNKNOWN = re.compile(r"(\d+) episodes, \d+ known classes x (\d+), \d+ others: accuracy ([\d.]+) %, ECE ([\d.]+) before and ([\d.]+) "
                     r"after, AUROC ([\d.]+), at 0.05 ([\d.]+) % false alarms and ([\d.]+) % found")

Record = dict[str, Any]
Task = tuple[str, str, str, int]  # model, set, way, shot; way "unknown" for bench/unknown.c
Group = tuple[str, int]  # heads as centra eval takes them, the cosine first; episodes


def called(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:14])}: {done.stderr.strip()}")
    return done.stdout


def centra(o: argparse.Namespace, *words: str) -> str:
    return called([o.program, *words, "--quiet", "--threads", str(o.threads), *(["--device", o.device] if o.device else [])])


def name_of(model: str) -> str:
    return Path(model).name.removesuffix(".safetensors")


def unpacked(archive: Path, split: str | None, folder: Path) -> list[str]:
    """the pictures of the split, in the order of the data set"""
    with tarfile.open(archive) as t:
        names = sorted(m.name for m in t if m.isfile() and (split is None or m.name.startswith(split + "/")))
        t.extractall(folder, [t.getmember(n) for n in names])
    return [str(folder / n) for n in sorted(names, key=lambda n: n.encode())]


def pooled_path(o: argparse.Namespace, model: str, name: str) -> Path:
    return Path(o.pooled) / f"{name_of(model)}-{name}.npy"


def encode(o: argparse.Namespace, model: str, name: str) -> None:
    """pooled features [pictures, C] into the folder --pooled"""
    archive, split = ARCHIVES[name]
    rows = []
    with tempfile.TemporaryDirectory() as place:
        pictures = unpacked(Path(o.data) / archive, split, Path(place))
        out = str(Path(place) / "features.npy")
        for i in range(0, len(pictures), ENCODED_AT_ONCE):
            centra(o, "encode", "--model", model, "--out", out, *pictures[i:i + ENCODED_AT_ONCE])
            rows.append(np.load(out).mean((2, 3)))
    np.save(pooled_path(o, model, name), np.concatenate(rows))


def regression(x: np.ndarray, episodes: Path) -> tuple[np.ndarray, np.ndarray]:
    """accuracies in percent of logistic regression and of the cosine to the class mean, episode by episode"""
    seen: list[tuple[float, float]] = []
    for line in episodes.read_text().splitlines()[1:]:
        e = json.loads(line)
        way, right = e["way"], np.array(e["labels"])
        support, query = x[e["support"]], unit(x[e["queries"]])
        labels = np.repeat(np.arange(way), e["shot"])
        means = unit(np.stack([support[labels == c].mean(0) for c in range(way)]))
        guesses = logistic(unit(support), labels, query, way).argmax(1)
        seen.append((100 * float(np.mean(guesses == right)), 100 * float(np.mean((query @ means.T).argmax(1) == right))))
    both = np.array(seen)
    return both[:, 0], both[:, 1]


def less(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    return {"difference": float((a - b).mean()), "ci95": interval(a - b)}


def play(o: argparse.Namespace, task: Task, group: Group, saved: Path) -> list[tuple[Record, np.ndarray]]:
    """what centra eval says of each head, and its accuracy in each episode; the episodes themselves go to a file"""
    model, name, way, shot = task
    heads, episodes = group
    archive, split = ARCHIVES[name]
    path = Path(o.data) / archive
    each = saved.with_suffix(".accuracies")
    rows = json.loads(centra(
        o, "eval", "--weights", model, "--data", str(path), *(["--split", split] if split else []), "--way", way,
        "--shot", str(shot), "--query", str(o.all_query if way == "all" else o.query), "--episodes", str(episodes),
        "--head", heads, "--save-episodes", str(saved), "--save-accuracies", str(each), "--json"))
    return [(r, np.array(json.loads(line)["accuracy"])) for r, line in zip(rows, each.read_text().splitlines(), strict=True)]


def groups_of(o: argparse.Namespace, task: Task, there: set[str]) -> list[Group]:
    """the heads that a task lacks: those that play all episodes, and those that play fewer"""
    everything = task[2] == "all"
    both = (((o.all_heads, o.all_episodes), (o.all_slow, min(o.all_episodes, o.all_slow_episodes))) if everything else
            ((o.heads, o.episodes), (o.slow, min(o.episodes, o.slow_episodes))))
    out = []
    for heads, episodes in both:
        lacking = [h for h in heads.split(",") if h and h.partition(":")[0] not in there]
        if episodes and lacking:
            out.append((",".join([COSINE] + [h for h in lacking if h != COSINE]), episodes))
    return out


def measure(o: argparse.Namespace, task: Task, there: set[str]) -> list[Record]:
    model, name, way, shot = task
    with tempfile.TemporaryDirectory() as place:
        parts = [play(o, task, g, Path(place) / f"episodes{i}") for i, g in enumerate(groups_of(o, task, there))]
        # Episodes are the same from the first on, whatever their number, and the first group plays the most.
        fitted, plain = regression(np.load(pooled_path(o, model, name)).astype(np.float64), Path(place) / "episodes0")
    first, cosine = parts[0][0]
    if first["head"] != COSINE or abs(plain.mean() - cosine.mean()) > 0.05:
        raise RuntimeError(f"{task}: the cosine to the class mean has {plain.mean():.2f} here and {cosine.mean():.2f} in centra eval")
    key = {"model": name_of(model), "set": name, "way": way, "shot": shot}
    same = {"classes": first["way"], "query": first["query"], "seed": first["seed"],
            "data_fingerprint": first["data_fingerprint"], "device": first["device"]}
    out = [{**key, "head": REGRESSION, "options": {"C": 1 / PENALTY}, **same, "episodes": len(fitted),
            "accuracy": float(fitted.mean()), "ci95": interval(fitted), "paired": {COSINE: less(fitted, cosine)}}]
    for r, x in parts[0] + [seen for part in parts[1:] for seen in part[1:]]:
        paired = {REGRESSION: less(x, fitted[:len(x)]), **({} if r is first else {COSINE: less(x, cosine[:len(x)])})}
        out.append({**key, "head": r["head"], "options": r["options"], **same, "episodes": len(x), "accuracy": r["accuracy"],
                    "ci95": r["ci95"], "paired": paired})
    return [r for r in out if r["head"] not in there]


def ask_strangers(o: argparse.Namespace, model: str, name: str) -> list[Record]:
    archive, split = ARCHIVES[name]
    said = called([o.unknown, model, str(Path(o.data) / archive), split or "-", "5", str(o.unknown_episodes), "1", "mcl-ridge",
                   str(o.threads)])
    m = UNKNOWN.match(said)
    if not m:
        raise RuntimeError(f"{o.unknown} says '{said.strip()}'")
    number = [float(x) for x in m.groups()]
    return [{"kind": "unknown", "model": name_of(model), "set": name, "way": "unknown", "shot": int(number[1]), "head": "mcl-ridge",
             "episodes": int(number[0]), "accuracy": number[2], "ece": number[3], "ece_after": number[4], "auroc": number[5],
             "false_alarms": number[6], "found": number[7]}]


def work(o: argparse.Namespace, task: Task, there: set[str]) -> list[Record]:
    return ask_strangers(o, task[0], task[1]) if task[2] == "unknown" else measure(o, task, there)


def tasks_of(o: argparse.Namespace, records: list[Record]) -> list[tuple[Task, set[str]]]:
    """what has something left to run, and the heads that it has already"""
    there: dict[Task, set[str]] = {}
    for r in records:
        there.setdefault((r["model"], r["set"], r["way"], r["shot"]), set()).add(r["head"])
    ways = [(w, int(s)) for w in o.ways.split(",") if w for s in o.shots.split(",")] + ([("unknown", 5)] if o.unknown else [])
    tasks: list[Task] = [(m, n, w, s) for w, s in ways for m in o.model for n in o.sets.split(",")]
    have = [(t, there.get((name_of(t[0]), *t[1:]), set())) for t in tasks]
    return [(t, h) for t, h in have if (not h if t[2] == "unknown" else groups_of(o, t, h))]


def run(o: argparse.Namespace) -> None:
    path = Path(o.records)
    tasks = tasks_of(o, [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else [])
    Path(o.pooled).mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(o.jobs) as pool:
        missing = {(m, n) for (m, n, w, _), _ in tasks if w != "unknown" and not pooled_path(o, m, n).exists()}
        for f in [pool.submit(encode, o, m, n) for m, n in sorted(missing)]:
            f.result()
        running = {pool.submit(work, o, t, there): t for t, there in tasks}
        for f in concurrent.futures.as_completed(running):
            with path.open("a") as out:
                out.writelines(json.dumps(r) + "\n" for r in f.result())
            print(f"{time.monotonic() - begun:.0f} s: {running[f]}", file=sys.stderr, flush=True)


def main() -> None:
    p = argparse.ArgumentParser(description="Measures heads on sets of everyday pictures.")
    p.add_argument("--program", default="build/centra", help="the program (default build/centra)")
    p.add_argument("--data", default="../shared/data", help="the folder of the tars")
    p.add_argument("--model", action="append", default=[], help="a file of weights; may be given more than once")
    p.add_argument("--records", default="everyday.jsonl", help="the file of records (default everyday.jsonl)")
    p.add_argument("--sets", default=",".join(SETS), help="which sets")
    p.add_argument("--ways", default="5,all", help="classes of an episode (default 5,all); '' for --unknown alone")
    p.add_argument("--shots", default="1,5,10", help="known pictures of a class (default 1,5,10)")
    p.add_argument("--query", type=int, default=15, help="queries of a class (default 15)")
    p.add_argument("--episodes", type=int, default=2000, help="how many (default 2000)")
    p.add_argument("--heads", default=HEADS, help="as centra eval takes them")
    p.add_argument("--slow", default=SLOW, help="heads that play fewer episodes")
    p.add_argument("--slow-episodes", type=int, default=200, help="how many (default 200; 0: leave them out)")
    p.add_argument("--all-query", type=int, default=5, help="queries of a class with all classes (default 5)")
    p.add_argument("--all-episodes", type=int, default=20, help="episodes with all classes (default 20)")
    p.add_argument("--all-heads", default=ALL_HEADS, help="heads with all classes")
    p.add_argument("--all-slow", default=ALL_SLOW, help="heads that play fewer episodes with all classes")
    p.add_argument("--all-slow-episodes", type=int, default=5, help="how many (default 5; 0: leave them out)")
    p.add_argument("--unknown", help="bench/unknown.c, compiled: also asks for classes that are not known")
    p.add_argument("--unknown-episodes", type=int, default=100, help="episodes of that (default 100)")
    p.add_argument("--pooled", default="everyday-pooled", help="the folder to keep pooled features in, and to find them")
    p.add_argument("--jobs", type=int, default=1, help="runs side by side (default 1)")
    p.add_argument("--threads", type=int, default=2, help="of each (default 2)")
    p.add_argument("--device", help="of the program: cuda, for instance")
    o = p.parse_args()
    missing = [a for a, _ in (ARCHIVES[n] for n in o.sets.split(",")) if not (Path(o.data) / a).exists()]
    if missing:
        sys.exit(f"everyday.py: '{o.data}' has no {', '.join(missing)}; --data names the folder of the tars")
    run(o)


if __name__ == "__main__":
    main()
