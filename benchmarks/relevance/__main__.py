"""`python -m benchmarks.relevance`: how well the search ranks services, and what each part of the product contributes.

Without `--data`: the data sets beside the clone, or those in WAYPOST_SHARED. The system `default` is the product as
shipped, run through its own code; all queries of a folder are asked.
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
    """Measure a collection, print the results and return the tables for a page."""
    every = max(1, len(collection.queries) // options.queries) if options.queries else 1
    scores = _scores(collection, every, parts=options.parts)
    if options.json:
        for name, system_scores in scores.items():
            print(json.dumps(_line(collection, name, system_scores)), flush=True)
    rows = _parts(scores) if options.parts else _systems(scores)
    kinds = _kinds(collection, scores[systems.DEFAULT], every)
    title = f"{collection.name}: {len(scores[systems.DEFAULT]):,} queries, {len(collection.listings):,} services"
    if not options.json:
        print(f"{title}, in per cent\n", table(rows, markdown=False), "", table(kinds, markdown=False), "", sep="\n")
    sections = [f"**{title}**", table(rows, markdown=True)]
    return "\n\n".join(sections if options.parts else [*sections, table(kinds, markdown=True)])


def _scores(collection: Collection, every: int, *, parts: bool) -> dict[str, Scores]:
    if parts:
        default = systems.COMPARED[:1]
        return systems.product(collection, (*default, *systems.PARTS), every)
    scores = systems.product(collection, (*systems.COMPARED, *neural.installed()), every)
    return scores | {systems.PLAIN: systems.plain(collection)[::every]}


def _line(collection: Collection, name: str, scores: Scores) -> dict[str, object]:
    shares = {measure: round(100 * float(mean), 3) for measure, mean in zip(MEASURES, scores.mean(axis=0), strict=True)}
    return {"system": name, "data": collection.name, "queries": len(scores), **shares}


def _systems(scores: dict[str, Scores]) -> list[tuple[str, ...]]:
    rows = [("", *MEASURES)]
    return rows + [
        (name, *(_interval(interval) for interval in means(system_scores))) for name, system_scores in scores.items()
    ]


def _parts(scores: dict[str, Scores]) -> list[tuple[str, ...]]:
    """Return the rows of the whole product and of the paired differences without each part."""
    default_scores = scores[systems.DEFAULT]
    rows = [("", *MEASURES), (systems.DEFAULT, *(_interval(interval) for interval in means(default_scores)))]
    return rows + [
        (name, *(_interval(interval, signed=True) for interval in differences(part_scores, default_scores)))
        for name, part_scores in scores.items()
        if name != systems.DEFAULT
    ]


def _kinds(collection: Collection, scores: Scores, every: int) -> list[tuple[str, ...]]:
    kinds = [query.kind for query in collection.queries[::every]]
    rows: list[tuple[str, ...]] = [(systems.DEFAULT, "queries", *MEASURES)]
    for kind in dict.fromkeys(kinds):
        kind_scores = scores[[query_kind == kind for query_kind in kinds]]
        rows.append((kind, f"{len(kind_scores):,}", *(_interval(interval) for interval in means(kind_scores))))
    return rows


def _interval(interval: Interval, *, signed: bool = False) -> str:
    form = "+.1f" if signed else ".1f"
    return f"{interval.mean:{form}} ({interval.low:{form}} to {interval.high:{form}})"


if __name__ == "__main__":
    main()
