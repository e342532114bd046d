"""The short questions: how they are read, split and counted."""

import json
from pathlib import Path

from benchmarks.relevance.questions import Judged, Outcome, answerable, asked, figures
from benchmarks.relevance.recorded import listings_of
from registry.search.embedding import default_embedder


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
            Outcome(right, 1, True, confident=True, first="", total=3),
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
        "rows of an answer, mean": "2.0",
        "short: right at row 1": "50.0 of 2",
    }
