"""everyday_page.py - the tables of docs/everyday.md from its file of records.

    python3 bench/everyday_page.py docs/results/everyday.jsonl docs/everyday.md

A record is a line of JSON: the accuracy of one head with one model on one set, or what `bench/unknown.c` found ("kind": "unknown").
A summary and the tables stand between marks of the page, and nothing else of it is touched.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SETS = ("cub", "flowers", "caltech", "plants")
COSINE, REGRESSION = "meta-baseline", "logistic regression"
STANDARD = "mcl-ridge"
SEEN = {"resnet12-general": ("cub",)}  # sets whose classes a model was trained on: shown, but no part of any verdict
SUMMARY_MARKS = ("<!-- summary -->", "<!-- end of summary -->")
MARKS = ("<!-- tables -->", "<!-- end of tables -->")
TOLD = {"mcl-katz": ("gamma", "beta"), "mcl": ("gamma", "beta"), "r2d2": ("lambda",)}  # options that stand beside the name

Record = dict[str, Any]


def difference(d: dict[str, float]) -> str:
    return f"{d['difference']:+.2f} +- {d['ci95']:.2f}"


def cell(r: Record) -> str:
    """the accuracy, and in brackets the difference to the regression, which has none itself"""
    return f"{r['accuracy']:.2f} +- {r['ci95']:.2f}" + (f" ({difference(r['paired'][REGRESSION])})" if r["head"] != REGRESSION else "")


def title(r: Record) -> str:
    values = [f"{r['options'][k]:g}" for k in TOLD.get(r["head"], ()) if k in r["options"]]
    return r["head"] + (f" {'/'.join(values)}" if values else "")


def accuracy_table(rows: list[Record]) -> list[str]:
    first = rows[0]
    sets = [s for s in SETS if any(r["set"] == s for r in rows)]
    way = "all classes" if first["way"] == "all" else f"{first['way']}-way"
    classes = {r["set"]: r["classes"] for r in rows}
    heading = [s + (f" ({classes[s]})" if first["way"] == "all" else "") + (", seen" if s in SEEN.get(first["model"], ()) else "")
               for s in sets]
    most = max(r["episodes"] for r in rows)
    fewer = sorted({f"{title(r)}: {r['episodes']:,}" for r in rows if r["episodes"] < most})
    out = [f"\n### {first['model']}, {way}, {first['shot']}-shot\n",
           f"{most:,} episodes{' (' + ', '.join(fewer) + ')' if fewer else ''}, {first['query']} queries of a class; in brackets the "
           f"difference to {REGRESSION} on the same episodes.\n",
           "| head | " + " | ".join(heading) + " |", "| --- |" + " --- |" * len(sets)]
    for head in dict.fromkeys(map(title, rows)):
        cells = [next((cell(r) for r in rows if title(r) == head and r["set"] == s), "-") for s in sets]
        out.append(f"| {head} | " + " | ".join(cells) + " |")
    return out


def against_rival(rows: list[Record]) -> tuple[Record, str, float, float] | None:
    """of one model, set, way and number of shots: the standard head, the better of cosine and regression, difference, interval"""
    heads = {r["head"]: r for r in rows if r["head"] in (STANDARD, COSINE, REGRESSION)}
    if len(heads) < 3:
        return None
    ours, rival = heads[STANDARD], max((COSINE, REGRESSION), key=lambda h: heads[h]["accuracy"])
    d = ours["paired"][rival]
    return ours, rival, d["difference"], d["ci95"]


def verdict(difference: float, ci95: float) -> str:
    return "better" if difference > ci95 else "behind" if difference < -ci95 else "level"


def summary_cell(found: tuple[Record, str, float, float] | None, seen: bool) -> str:
    if not found:
        return "-"
    ours, rival, d, ci95 = found
    if seen:
        return f"{ours['accuracy']:.2f}, seen"
    said = f"{d:+.2f} +- {ci95:.2f}, {'cosine' if rival == COSINE else 'regression'}"
    return f"{ours['accuracy']:.2f} ({'**' + said + '**' if verdict(d, ci95) == 'better' else said})"


def counted(found: list[tuple[str, int, str, str]]) -> list[str]:
    """what the cells of few shots say together; (model, shot, set, verdict) each"""
    out = []
    for model in dict.fromkeys(f[0] for f in found):
        mine = [f for f in found if f[0] == model]
        number = {v: sum(f[3] == v for f in mine) for v in ("better", "level", "behind")}
        behind = ", ".join(f"{s} with {n}" for _, n, s, v in mine if v == "behind")
        out.append(f"- {model}: better in {number['better']} of {len(mine)}, level in {number['level']}, behind in {number['behind']}"
                   + (f" ({behind})" if behind else "") + ".")
    return out


def places(found: list[tuple[str, str, str, int]]) -> str:
    """conv4-cub (flowers 5-way 5, flowers all 10), ...; (model, set, way, shots) each"""
    of = {m: ", ".join(f"{s} {'all' if way == 'all' else way + '-way'} {n}" for model, s, way, n in found if model == m)
          for m in dict.fromkeys(f[0] for f in found)}
    return "; ".join(f"{m} ({where})" for m, where in of.items())


def cells_of(records: list[Record]) -> dict[tuple[str, str, str, int], list[Record]]:
    out: dict[tuple[str, str, str, int], list[Record]] = {}
    for r in records:
        out.setdefault((r["model"], r["set"], r["way"], r["shot"]), []).append(r)
    return dict(sorted(out.items()))


def where_behind(records: list[Record]) -> list[str]:
    """every cell where the standard head is behind the better of cosine and regression, whatever its classes and shots"""
    found = [(k, against_rival(rows)) for k, rows in cells_of(records).items() if k[1] not in SEEN.get(k[0], ())]
    behind = [k for k, f in found if f and verdict(*f[2:]) == "behind"]
    return [f"With any number of classes and shots `{STANDARD}` is behind in {len(behind)} of {sum(f is not None for _, f in found)}"
            + (f": {places(behind)}" if behind else "") + "."]


def beside_slow_heads(records: list[Record]) -> list[str]:
    """all classes at once, where heads were run that play fewer episodes: who is first, and who is well before the standard head"""
    first: dict[str, list[tuple[str, str, str, int]]] = {}
    before: dict[str, list[tuple[str, str, str, int]]] = {}
    count = 0
    for key, rows in cells_of([r for r in records if r["way"] == "all"]).items():
        compared = {r["head"]: r["paired"][REGRESSION] for r in rows if REGRESSION in r["paired"]}
        if STANDARD not in compared or len({r["episodes"] for r in rows}) < 2:
            continue
        count += 1
        first.setdefault(max(compared, key=lambda h: compared[h]["difference"]), []).append(key)
        for head, d in compared.items():
            if d["difference"] - compared[STANDARD]["difference"] > d["ci95"]:
                before.setdefault(head, []).append(key)
    if not count:
        return []
    others = sorted((h for h in first if h != STANDARD), key=lambda h: -len(first[h]))
    well = len({k for keys in before.values() for k in keys})
    return [f"All classes at once beside the slow heads: `{STANDARD}` has the largest difference to regression on the same episodes in "
            f"{len(first.get(STANDARD, []))} of {count}" + (", others in the rest:" if others else "."), "",
            *[f"- `{h}` in {len(first[h])}: {places(first[h])}" for h in others],
            *(["", f"In {well} of {count} a head is before it by more than that head's own interval:", ""] if before else []),
            *[f"- `{h}`: {places(keys)}" for h, keys in sorted(before.items(), key=lambda b: -len(b[1]))]]


def summary(records: list[Record]) -> str:
    played = [r for r in records if r.get("kind") != "unknown"]
    order = list(dict.fromkeys(r["model"] for r in played))
    out = [f"| model | classes | shots | {' | '.join(SETS)} |", "| --- | --- | --- |" + " --- |" * len(SETS)]
    few: list[tuple[str, int, str, str]] = []
    for model, way, shot in sorted({(r["model"], r["way"], r["shot"]) for r in played}, key=lambda k: (order.index(k[0]), k[1], k[2])):
        cells = []
        for name in SETS:
            found = against_rival([r for r in played if (r["model"], r["way"], r["shot"], r["set"]) == (model, way, shot, name)])
            seen = name in SEEN.get(model, ())
            cells.append(summary_cell(found, seen))
            if found and not seen and way == "5" and shot in (1, 5):
                few.append((model, shot, name, verdict(*found[2:])))
        out.append(f"| {model} | {way} | {shot} | " + " | ".join(cells) + " |")
    told = counted(few)
    if told:
        out += ["", f"5 classes with 1 and 5 shots, `{STANDARD}` beside the better of the two on each set:", "", *told,
                "", *where_behind(played), "", *beside_slow_heads(played)]
    return "\n".join(out).rstrip("\n") + "\n"


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


def between(page: str, marks: tuple[str, str], made: str) -> str:
    before, _, rest = page.partition(marks[0])
    return f"{before}{marks[0]}\n{made}\n{marks[1]}{rest.partition(marks[1])[2]}"


def with_tables(page: str, records: list[Record]) -> str:
    return between(between(page, SUMMARY_MARKS, "\n" + summary(records)), MARKS, tables(records))


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: everyday_page.py RECORDS PAGE")
    page = Path(sys.argv[2])
    page.write_text(with_tables(page.read_text(), read(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
