"""everyday_page.py - the tables of docs/everyday.md from its file of records.

    python3 bench/everyday_page.py docs/results/everyday.jsonl docs/everyday.md

A record is a line of JSON: the accuracy of one head with one model on one set, or what `bench/unknown.c` found ("kind": "unknown").
The tables stand between two marks of the page, and nothing else of it is touched.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SETS = ("cub", "flowers", "caltech", "plants")
COSINE, REGRESSION = "meta-baseline", "logistic regression"
MARKS = ("<!-- tables -->", "<!-- end of tables -->")
TOLD = {"mcl-katz": ("gamma", "beta"), "mcl": ("gamma", "beta"), "r2d2": ("lambda",)}  # options that stand beside the name

Record = dict[str, Any]


def difference(d: dict[str, float]) -> str:
    return f"{d['difference']:+.2f} +- {d['ci95']:.2f}"


def cell(r: Record, base: str) -> str:
    """the accuracy, and in brackets the difference to that head"""
    return f"{r['accuracy']:.2f} +- {r['ci95']:.2f}" + (f" ({difference(r['paired'][base])})" if base in r["paired"] else "")


def title(r: Record) -> str:
    values = [f"{r['options'][k]:g}" for k in TOLD.get(r["head"], ()) if k in r["options"]]
    return r["head"] + (f" {'/'.join(values)}" if values else "")


def accuracy_table(rows: list[Record]) -> list[str]:
    first = rows[0]
    sets = [s for s in SETS if any(r["set"] == s for r in rows)]
    way = "all classes" if first["way"] == "all" else f"{first['way']}-way"
    base = REGRESSION if any(REGRESSION in r["paired"] for r in rows) else COSINE
    classes = {r["set"]: r["classes"] for r in rows}
    heading = [f"{s} ({classes[s]})" for s in sets] if first["way"] == "all" else sets
    most = max(r["episodes"] for r in rows)
    fewer = sorted({f"{title(r)}: {r['episodes']:,}" for r in rows if r["episodes"] < most})
    out = [f"\n### {first['model']}, {way}, {first['shot']}-shot\n",
           f"{most:,} episodes{' (' + ', '.join(fewer) + ')' if fewer else ''}, {first['query']} queries of a class; in brackets the "
           f"difference to {'the cosine' if base == COSINE else base} on the same episodes.\n",
           "| head | " + " | ".join(heading) + " |", "| --- |" + " --- |" * len(sets)]
    for head in dict.fromkeys(map(title, rows)):
        cells = [next((cell(r, base) for r in rows if title(r) == head and r["set"] == s), "-") for s in sets]
        out.append(f"| {head} | " + " | ".join(cells) + " |")
    return out


def unknown_table(rows: list[Record]) -> list[str]:
    out = ["\n### None of these: 5 known classes of 5 pictures each, 5 others\n", "| model | set | head | episodes | accuracy | ECE before, after | AUROC | at 0.05: false alarms, "
           "strangers found |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for r in rows:
        out.append(f"| {r['model']} | {r['set']} | {r['head']} | {r['episodes']} | {r['accuracy']:.1f} % | {r['ece']:.3f}, "
                   f"{r['ece_after']:.3f} | {r['auroc']:.3f} | {r['false_alarms']:.1f} %, {r['found']:.1f} % |")
    return out


def tables(records: list[Record]) -> str:
    played = [r for r in records if r.get("kind") != "unknown"]
    order = list(dict.fromkeys(r["model"] for r in played))
    groups = sorted({(order.index(r["model"]), r["way"] == "all", r["shot"]) for r in played})
    out: list[str] = []
    for model, everything, shot in groups:
        out += accuracy_table([r for r in played if (r["model"], r["way"] == "all", r["shot"]) == (order[model], everything, shot)])
    strange = [r for r in records if r.get("kind") == "unknown"]
    return "\n".join(out + (unknown_table(strange) if strange else [])) + "\n"


def read(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def with_tables(page: str, records: list[Record]) -> str:
    before, _, rest = page.partition(MARKS[0])
    return f"{before}{MARKS[0]}\n{tables(records)}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}"


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: everyday_page.py RECORDS PAGE")
    page = Path(sys.argv[2])
    page.write_text(with_tables(page.read_text(), read(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
