"""`python -m benchmarks.relevance.questions --sites DIR`: short questions asked of a small registry of recorded sites.

questions.tsv holds one question per row: its kind, the question, the hosts that answer it (commas; empty: none does),
and the names of the capabilities that answer it (semicolons; empty: not judged). Answers were judged by reading the
documents of the sites, before the questions were asked. A host that is not listed counts as no answer.

The kind of a question in another language is the language's ISO 639-1 code, or "none-" and the code where nothing
answers it. The kind "language" is an older mixture.

Half of the questions were used while the search was changed ("tuned on"), the other half only for the figures
("unseen"): the parity of the first byte of the sha256 of the question decides.
"""

import argparse
import asyncio
import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from benchmarks.crawl.report import machine, table, write_into
from benchmarks.relevance import neural
from benchmarks.relevance.recorded import listings_of
from benchmarks.relevance.systems import DEFAULT, Variant, documents, indexed
from registry.actions.queries.discover import ranked
from registry.core.model.listing import Hit, Listing, Query
from registry.core.ranking import Embedder, explain
from registry.core.reading.plain_text import split_name
from registry.demo.sites import BadSite
from registry.search.backend import Backend

QUESTIONS: Final = Path(__file__).with_name("questions.tsv")
NO_ANSWER: Final = "none"
TYPOS: Final = "typo"
MIXED: Final = "language"
LANGUAGES: Final = ("de", "fr", "es", "pt", "it", "nl", "pl", "ja", "zh", "ar")
TUNED_ON, UNSEEN = "tuned on", "unseen"
_FIRST: Final = 3
_PACKAGES: Final = ("tantivy", "numpy", "tokenizers", "PyStemmer")

Rows = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, and what answers it. `hosts` is empty if no site of the folder does."""

    kind: str
    text: str
    hosts: frozenset[str]
    capabilities: frozenset[str]

    @property
    def is_answerable(self) -> bool:
        return self.kind.partition("-")[0] != NO_ANSWER

    @property
    def is_english(self) -> bool:
        return self.kind != MIXED and self.kind.rpartition("-")[2] not in LANGUAGES

    @property
    def half(self) -> str:
        return UNSEEN if sha256(self.text.encode()).digest()[0] % 2 else TUNED_ON


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the product answered. `row`: the first right row, from 1; None if it is not among the first hundred.

    `capability`: whether the first capability shown in row 1 is right; None if row 1 is wrong or it was not judged.
    `is_call_confident`: whether that capability is confident.
    """

    judged: Judged
    row: int | None
    capability: bool | None
    confident: bool
    first: str
    total: int
    is_call_confident: bool = False


def main() -> None:
    options = _options()
    try:
        listings = listings_of(options.sites)
    except BadSite as error:
        sys.exit(str(error))
    questions = answerable(read_questions(QUESTIONS), listings)
    for name, embedder in [(variant.name, variant.embedder()) for variant in (Variant(DEFAULT), *neural.installed())]:
        outcomes = asyncio.run(asked(listings, questions, embedder))
        rows = figures(outcomes)
        print(f"{name}: {len(questions)} questions, {len(listings)} services, in per cent\n")
        print(table(rows, markdown=False), end="\n\n", flush=True)
        if options.wrong:
            _print_wrong(outcomes, options.wrong)
        if options.page is not None and name == DEFAULT:
            write_into(options.page, "questions", "\n\n".join([table(rows, markdown=True), machine(*_PACKAGES)]))
    print(machine(*_PACKAGES))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relevance.questions", description=__doc__)
    parser.add_argument(
        "--sites", type=Path, required=True, metavar="DIR", help="recorded sites, as for `waypost demo --sites`"
    )
    parser.add_argument("--wrong", choices=(TUNED_ON, UNSEEN), help="also list what went wrong in that half")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the table into its place on that page")
    return parser.parse_args()


def read_questions(path: Path) -> list[Judged]:
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            Judged(
                row["kind"],
                row["question"],
                frozenset(filter(None, row["hosts"].split(","))),
                frozenset(filter(None, row["capabilities"].split(";"))),
            )
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def answerable(questions: Sequence[Judged], listings: Sequence[Listing]) -> list[Judged]:
    """Return the questions that some listing answers, and those that none is meant to answer."""
    hosts = {listing.host for listing in listings}
    return [judged for judged in questions if not judged.is_answerable or not hosts.isdisjoint(judged.hosts)]


async def asked(listings: Sequence[Listing], questions: Sequence[Judged], embedder: Embedder | None) -> list[Outcome]:
    async with indexed(embedder, documents(listings, embedder)) as backend:
        return [await _outcome(backend, judged, embedder) for judged in questions]


async def _outcome(backend: Backend, judged: Judged, embedder: Embedder | None) -> Outcome:
    answer = await ranked(backend, Query(judged.text), embedder)
    hosts = answer.ranking.hosts[:100]
    if not hosts:
        return Outcome(judged, None, None, confident=False, first="", total=0)
    row = next((number for number, host in enumerate(hosts, start=1) if host in judged.hosts), None)
    best = explain(answer.ranking, 0)
    capability = _is_right(best, judged) if row == 1 and judged.capabilities else None
    is_call_confident = bool(best.capabilities) and best.capabilities[0].confident
    total = len(answer.ranking)
    return Outcome(judged, row, capability, answer.is_confident, _label(best), total, is_call_confident)


def _is_right(hit: Hit, judged: Judged) -> bool:
    """Return whether the first capability shown is one of those judged right, whatever separates its words."""
    right = {split_name(name).casefold() for name in judged.capabilities}
    return bool(hit.capabilities) and split_name(hit.capabilities[0].name).casefold() in right


def _label(hit: Hit) -> str:
    return f"{hit.host} {hit.capabilities[0].name if hit.capabilities else ''}".strip()


def figures(outcomes: Sequence[Outcome]) -> Rows:
    """Return the table: one row per figure, one column per half, and both."""
    halves = [
        [outcome for outcome in outcomes if outcome.judged.half == TUNED_ON],
        [outcome for outcome in outcomes if outcome.judged.half == UNSEEN],
        list(outcomes),
    ]
    columns = [_figures(half) for half in halves]
    return [("", TUNED_ON, UNSEEN, "all")] + [
        (name, *(column.get(name, "") for column in columns)) for name in columns[-1]
    ]  # fmt: skip


def _figures(outcomes: Sequence[Outcome]) -> dict[str, str]:
    with_answer = [outcome for outcome in outcomes if outcome.judged.is_answerable]
    without = [outcome for outcome in outcomes if not outcome.judged.is_answerable]
    english = [outcome for outcome in with_answer if outcome.judged.is_english]
    right = [outcome for outcome in english if outcome.row == 1]
    wrong = [outcome for outcome in english if outcome.row != 1]
    wrong_calls = [outcome for outcome in english if outcome.row != 1 or outcome.capability is False]
    figures = {
        "English, with an answer: right at row 1": _share([outcome.row == 1 for outcome in english]),
        "in the first three": _share([(outcome.row or 99) <= _FIRST for outcome in english]),
        "right capability at row 1": _share([o.capability for o in english if o.capability is not None]),
        "confident where row 1 is right": _share([outcome.confident for outcome in right]),
        "confident where row 1 is wrong": _share([outcome.confident for outcome in wrong]),
        "confident where nothing answers": _share(
            [outcome.confident for outcome in without if outcome.judged.is_english]
        ),
        "capability confident where it is right": _share([o.is_call_confident for o in right if o.capability]),
        "capability confident where it or row 1 is wrong": _share([o.is_call_confident for o in wrong_calls]),
        "capability confident where nothing answers": _share(
            [outcome.is_call_confident for outcome in without if outcome.judged.is_english]
        ),
        "rows of an answer, mean": f"{sum(outcome.total for outcome in english) / max(1, len(english)):.1f}",
    }
    kinds = dict.fromkeys(outcome.judged.kind for outcome in with_answer if outcome.judged.kind not in LANGUAGES)
    for kind in kinds:
        figures[f"{kind}: right at row 1"] = _share([o.row == 1 for o in with_answer if o.judged.kind == kind])
    return figures | _other_languages(with_answer, without)


def _other_languages(with_answer: Sequence[Outcome], without: Sequence[Outcome]) -> dict[str, str]:
    asked_in = [outcome for outcome in with_answer if outcome.judged.kind in LANGUAGES]
    if not asked_in:
        return {}
    rows = {
        code: [outcome.row == 1 for outcome in asked_in if outcome.judged.kind == code]
        for code in dict.fromkeys(outcome.judged.kind for outcome in asked_in)
    }
    mean = 100 * sum(sum(row) / len(row) for row in rows.values()) / len(rows)
    right = [outcome.confident for outcome in asked_in if outcome.row == 1]
    wrong = [outcome.confident for outcome in asked_in if outcome.row != 1]
    nothing = [outcome.confident for outcome in without if not outcome.judged.is_english]
    return {
        "other languages: right at row 1": _share([outcome.row == 1 for outcome in asked_in]),
        "other languages: right at row 1, mean of the languages": f"{mean:.1f} of {len(rows)}",
        **{f"{code}: right at row 1": _share(row) for code, row in rows.items()},
        "other languages: in the first three": _share([(outcome.row or 99) <= _FIRST for outcome in asked_in]),
        "other languages: right capability at row 1": _share(
            [o.capability for o in asked_in if o.capability is not None]
        ),
        "other languages: confident where row 1 is right": _share(right),
        "other languages: confident where row 1 is wrong": _share(wrong),
        "other languages: confident where nothing answers": _share(nothing),
    }


def _share(answers: Sequence[bool]) -> str:
    return f"{100 * sum(answers) / len(answers):.1f} of {len(answers)}" if answers else ""


def _print_wrong(outcomes: Sequence[Outcome], half: str) -> None:
    for outcome in outcomes:
        judged = outcome.judged
        fault = _fault(outcome)
        if judged.half == half and fault:
            print(f"{fault:<18} {judged.kind:<9} {judged.text[:70]:<70} {outcome.row or '-':>3} {outcome.first[:80]}")
    print()


def _fault(outcome: Outcome) -> str:
    if not outcome.judged.is_answerable:
        return "confident" if outcome.confident else ""
    if outcome.row != 1:
        return "wrong, confident" if outcome.confident else "wrong"
    if outcome.capability is False:
        return "capability"
    return "" if outcome.confident else "not confident"


if __name__ == "__main__":
    main()
