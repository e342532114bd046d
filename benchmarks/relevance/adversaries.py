"""`python -m benchmarks.relevance.adversaries`: spam, questions without an answer, disturbed and strange questions.

Runs the product's own code, on the data sets beside the clone or on a named one.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from benchmarks.crawl.report import machine, table, write_into
from benchmarks.relevance.collection import Collection, Unreadable, read, shared_folders
from benchmarks.relevance.measures import Interval
from benchmarks.relevance.odd import disturbed
from benchmarks.relevance.spam import TRICKS, harms
from benchmarks.relevance.unanswerable import collect_evidence, evaluate
from registry.search.embedding import default_embedder

PACKAGES = ("tantivy", "numpy", "tokenizers", "usearch", "PyStemmer")
SHARE = 5  # per cent
COUNTS = (1, 20, 200)
KINDS = ("spam", "no-answer", "odd")
Rows = list[tuple[str, ...]]


def main() -> None:
    options = _options()
    folders = [options.data] if options.data else shared_folders()
    if not folders:
        sys.exit("no data: name a folder with --data, or set WAYPOST_SHARED")
    try:
        collections = [read(folder) for folder in folders]
    except Unreadable as error:
        sys.exit(str(error))
    for kind in options.only or KINDS:
        tables = []
        for collection in collections:
            rows = asyncio.run(_WAYS[kind](collection, max(1, len(collection.queries) // options.queries)))
            print(f"{collection.name}\n{table(rows, markdown=False)}\n", flush=True)
            tables.append(f"**{collection.name}**\n\n{table(rows, markdown=True)}")
        if options.page is not None:
            write_into(options.page, kind, "\n\n".join([*tables, machine(*PACKAGES)]))
    print(machine(*PACKAGES))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relevance.adversaries", description=__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder in the layout of benchmarks/relevance")
    parser.add_argument("--only", choices=KINDS, nargs="+", help="some of what is measured (all)")
    parser.add_argument("--queries", type=int, default=600, metavar="N", help="about so many of each data set (600)")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="also write the tables into their places on that page"
    )
    return parser.parse_args()


async def _spam(collection: Collection, every: int) -> Rows:
    share = max(1, round(len(collection.listings) * SHARE / 100))
    cases: list[tuple[str, str | None, int]] = [(f"{SHARE} % of all, every trick", None, share)]
    cases += [(name, name, count) for name in TRICKS for count in COUNTS]
    rows: Rows = [("spam", "services", "queries with spam among the first 5, %", "NDCG@10 lost, %")]
    for harm in await harms(collection, default_embedder(), cases, every):
        rows.append((harm.name, f"{harm.planted:,}", f"{harm.seen:.1f}", f"{harm.lost:.2f}"))
    return rows


async def _no_answer(collection: Collection, every: int) -> Rows:
    questions = await collect_evidence(collection, default_embedder(), every)
    result = evaluate(questions)
    rows: Rows = [("", "questions", "AUROC", "`confident`, %", f"above {result.threshold:.2f}, %")]
    for sort, share_above in result.above_threshold.items():
        area = _area(result.auroc[sort]) if sort in result.auroc else ""
        count = sum(question.sort == sort for question in questions)
        rows.append((sort, f"{count:,}", area, f"{result.flagged[sort]:.1f}", f"{share_above:.1f}"))
    return rows


def _area(interval: Interval) -> str:
    return f"{interval.mean:.3f} ({interval.low:.3f} to {interval.high:.3f})"


async def _odd(collection: Collection, every: int) -> Rows:
    rows: Rows = [("questions", "asked", "NDCG@10", "CPU ms p50", "p99")]
    for result in await disturbed(collection, default_embedder(), every):
        ndcg = "" if result.ndcg != result.ndcg else f"{result.ndcg:.1f}"
        rows.append((result.name, f"{result.queries:,}", ndcg, f"{result.p50:.1f}", f"{result.p99:.1f}"))
    return rows


_WAYS = {"spam": _spam, "no-answer": _no_answer, "odd": _odd}


if __name__ == "__main__":
    main()
