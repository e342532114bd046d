"""`python -m benchmarks.relevance`: does the right service come first, and which part of the product is to thank.

Without `--data`: the data sets beside the clone, or where WAYPOST_SHARED says. The system `default` is what a user
gets, through the product's own code; all queries of a folder are asked.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.crawl.report import machine, table, write_into
from benchmarks.relevance import neural, systems
from benchmarks.relevance.collection import Collection, Unreadable, read, shared_folders
from benchmarks.relevance.measures import MEASURES, Interval, Scores, differences, means

PACKAGES = ("tantivy", "numpy", "tokenizers", "usearch", "PyStemmer")


def main() -> None:
    options = _options()
    folders = [options.data] if options.data else shared_folders()
    if not folders:
        sys.exit("no data: name a folder with --data, or set WAYPOST_SHARED")
    try:
        tables = [_measured(read(folder), options) for folder in folders]
    except Unreadable as error:
        sys.exit(str(error))
    if options.page is not None:
        write_into(options.page, "parts" if options.parts else "relevance",
                   "\n\n".join([*tables, machine(*PACKAGES)]))  # fmt: skip
    if not options.json:
        print(machine(*PACKAGES))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relevance", description=__doc__)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="a folder with services.jsonl, queries.jsonl, qrels.tsv"
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON for each system")
    parser.add_argument("--parts", action="store_true", help="the product with each part removed once, beside it whole")
    parser.add_argument("--queries", type=int, metavar="N", help="about so many of each folder, evenly taken (all)")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the tables into their place on that page")
    return parser.parse_args()


def _measured(collection: Collection, options: argparse.Namespace) -> str:
    """Prints as it goes; gives the tables for a page."""
    every = max(1, len(collection.queries) // options.queries) if options.queries else 1
    scores = _scores(collection, every, parts=options.parts)
    if options.json:
        for name, one in scores.items():
            print(json.dumps(_line(collection, name, one)), flush=True)
    rows = _parts(scores) if options.parts else _systems(scores)
    kinds = _kinds(collection, scores[systems.DEFAULT], every)
    title = f"{collection.name}: {len(scores[systems.DEFAULT]):,} queries, {len(collection.listings):,} services"
    if not options.json:
        print(f"{title}, in per cent\n", table(rows, markdown=False), "", table(kinds, markdown=False), "", sep="\n")
    shown = [f"**{title}**", table(rows, markdown=True)]
    return "\n\n".join(shown if options.parts else [*shown, table(kinds, markdown=True)])


def _scores(collection: Collection, every: int, *, parts: bool) -> dict[str, Scores]:
    if parts:
        whole = systems.COMPARED[:1]
        return systems.product(collection, (*whole, *systems.PARTS), every)
    scores = systems.product(collection, (*systems.COMPARED, *neural.installed()), every)
    return scores | {systems.PLAIN: systems.plain(collection)[::every]}


def _line(collection: Collection, name: str, scores: Scores) -> dict[str, object]:
    shares = {measure: round(100 * float(mean), 3) for measure, mean in zip(MEASURES, scores.mean(axis=0), strict=True)}
    return {"system": name, "data": collection.name, "queries": len(scores), **shares}


def _systems(scores: dict[str, Scores]) -> list[tuple[str, ...]]:
    rows = [("", *MEASURES)]
    return rows + [(name, *(_interval(one) for one in means(found))) for name, found in scores.items()]


def _parts(scores: dict[str, Scores]) -> list[tuple[str, ...]]:
    """What the whole loses where a part is missing: paired differences."""
    whole = scores[systems.DEFAULT]
    rows = [("", *MEASURES), (systems.DEFAULT, *(_interval(one) for one in means(whole)))]
    return rows + [
        (name, *(_interval(one, signed=True) for one in differences(found, whole)))
        for name, found in scores.items()
        if name != systems.DEFAULT
    ]


def _kinds(collection: Collection, scores: Scores, every: int) -> list[tuple[str, ...]]:
    kinds = [one.kind for one in collection.queries[::every]]
    rows: list[tuple[str, ...]] = [(systems.DEFAULT, "queries", *MEASURES)]
    for kind in dict.fromkeys(kinds):
        mine = scores[[one == kind for one in kinds]]
        rows.append((kind, f"{len(mine):,}", *(_interval(one) for one in means(mine))))
    return rows


def _interval(one: Interval, *, signed: bool = False) -> str:
    form = "+.1f" if signed else ".1f"
    return f"{one.mean:{form}} ({one.low:{form}} to {one.high:{form}})"


if __name__ == "__main__":
    main()
