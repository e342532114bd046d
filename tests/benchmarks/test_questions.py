"""The short questions: how they are read, split and counted."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.relevance.questions import (
    LANGUAGES,
    QUESTIONS,
    Judged,
    Outcome,
    answerable,
    asked,
    figures,
    read_questions,
)
from benchmarks.relevance.recorded import listings_of
from registry.core.reading.plain_text import split_name
from registry.search.embedding import default_embedder
from tests.support.shared import shared


async def test_recorded_sites_are_asked(tmp_path: Path) -> None:
    for host, name, text in (("mail.example", "Mailer", "Sends an email"), ("rain.example", "Sky", "Weather forecast")):
        folder = tmp_path / host / ".well-known"
        folder.mkdir(parents=True)
        card = {
            "name": name, "description": text, "version": "1.0.0", "protocolVersion": "0.3.0",
            "url": f"https://{host}/a2a", "capabilities": {}, "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "do", "name": text, "description": text, "tags": ["x"]}],
        }  # fmt: skip
        (folder / "agent-card.json").write_text(json.dumps(card))
    listings = listings_of(tmp_path)
    assert [listing.host for listing in listings] == ["mail.example", "rain.example"]
    questions = [
        Judged("short", "send an email", frozenset({"mail.example"}), frozenset({"sends_an_email"})),
        Judged("typo", "wether", frozenset({"rain.example"}), frozenset()),
        Judged("none", "play chess", frozenset(), frozenset()),
        Judged("short", "elsewhere", frozenset({"elsewhere.example"}), frozenset()),
    ]
    kept = answerable(questions, listings)
    assert [judged.text for judged in kept] == ["send an email", "wether", "play chess"]
    outcomes = await asked(listings, kept, default_embedder())
    assert [(outcome.row, outcome.capability, outcome.confident) for outcome in outcomes] == [
        (1, True, True),
        (1, None, True),
        (None, None, False),
    ]


def test_the_figures_are_shares_of_the_questions_that_they_name() -> None:
    right = Judged("short", "a", frozenset({"a.example"}), frozenset())
    none = Judged("none", "b", frozenset(), frozenset())
    rows = figures(
        [
            Outcome(right, 1, True, confident=True, first="", total=3, is_call_confident=True),
            Outcome(right, 2, None, confident=True, first="", total=1),
            Outcome(none, None, None, confident=False, first="", total=9),
        ]
    )
    shares = {row[0]: row[3] for row in rows[1:]}
    assert shares == {
        "English, with an answer: right at row 1": "50.0 of 2",
        "in the first three": "100.0 of 2",
        "right capability at row 1": "100.0 of 1",
        "confident where row 1 is right": "100.0 of 1",
        "confident where row 1 is wrong": "100.0 of 1",
        "confident where nothing answers": "0.0 of 1",
        "capability confident where it is right": "100.0 of 1",
        "capability confident where it or row 1 is wrong": "0.0 of 1",
        "capability confident where nothing answers": "0.0 of 1",
        "rows of an answer, mean": "2.0",
        "short: right at row 1": "50.0 of 2",
    }


def test_other_languages_are_counted_apart_from_english() -> None:
    def outcome(kind: str, row: int | None, *, confident: bool) -> Outcome:
        return Outcome(Judged(kind, "a", frozenset(), frozenset()), row, None, confident=confident, first="", total=1)

    outcomes = [
        outcome("short", 1, confident=True),
        outcome("language", 1, confident=True),
        outcome("de", 1, confident=True),
        outcome("de", 2, confident=False),
        outcome("de", None, confident=True),
        outcome("ja", 1, confident=False),
        outcome("none", None, confident=False),
        outcome("none-de", None, confident=True),
    ]
    shares = {row[0]: row[3] for row in figures(outcomes)[1:]}
    assert shares["English, with an answer: right at row 1"] == "100.0 of 1"
    assert shares["confident where nothing answers"] == "0.0 of 1"
    assert {name: share for name, share in shares.items() if "language" in name or name[:2] in LANGUAGES} == {
        "language: right at row 1": "100.0 of 1",
        "other languages: right at row 1": "50.0 of 4",
        "other languages: right at row 1, mean of the languages": "66.7 of 2",
        "de: right at row 1": "33.3 of 3",
        "ja: right at row 1": "100.0 of 1",
        "other languages: in the first three": "75.0 of 4",
        "other languages: right capability at row 1": "",
        "other languages: confident where row 1 is right": "50.0 of 2",
        "other languages: confident where row 1 is wrong": "50.0 of 2",
        "other languages: confident where nothing answers": "100.0 of 1",
    }


def test_questions_are_unique_and_say_whether_they_have_an_answer() -> None:
    questions = read_questions(QUESTIONS)
    assert [text for text, count in Counter(judged.text.casefold() for judged in questions).items() if count > 1] == []
    assert [judged for judged in questions if judged.is_answerable != bool(judged.hosts)] == []
    assert {judged.kind for judged in questions if not judged.is_english} == {
        "language",
        *LANGUAGES,
        *(f"none-{code}" for code in LANGUAGES),
    }


@pytest.mark.long  # it reads the whole corpus: 10 s
def test_answers_are_in_the_recorded_sites(tmp_path: Path) -> None:
    layout, labels = shared("tools", "corpus_sites.py"), shared("fidelity", "expected.jsonl")
    subprocess.run([sys.executable, layout, tmp_path, "--labels", labels], check=True, capture_output=True)
    names = {
        listing.host: {split_name(capability.name).casefold() for capability in listing.capabilities}
        for listing in listings_of(tmp_path)
    }
    questions = read_questions(QUESTIONS)
    folders = {folder.name for folder in tmp_path.iterdir()}
    assert {host for judged in questions for host in judged.hosts} - folders == set()
    assert [
        (judged.text, name)
        for judged in questions
        if judged.hosts <= names.keys()
        for name in judged.capabilities
        if not any(split_name(name).casefold() in names[host] for host in judged.hosts)
    ] == []
