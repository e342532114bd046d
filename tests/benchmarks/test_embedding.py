"""Building the embedding table: what it reads, what it leaves out, and that the fit follows its gradient."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embedding import inputs
from benchmarks.embedding.sources import SOURCES
from benchmarks.embedding.texts import all_texts, candidates, digest
from registry.search.embedding import MODEL, TOKENIZER_SHA256
from tests.support.shared import shared

LINES = [
    ("parcel-tracker", "Track a parcel of any courier by its number"),
    ("parcel-tracker-copy", "Track a parcel of any courier by its number!"),
    ("short", "Too short a"),
    ("foreign", "Просто строка не на том языке for the test"),
    ("eslint-rules", "Shared eslint plugin config for the typescript build"),
    ("weather-map", "Weather forecast on a map for the next days"),
    ("no-small-words", "Fast parser generator toolkit library"),
]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder of sources in the layout that the build reads."""
    packages = tmp_path / "packages"
    packages.mkdir()
    rows = ["name\tversion\tsummary", *(f"{name}\t1\t{line}" for name, line in LINES)]
    (packages / "index.tsv").write_text("\n".join(rows) + "\n")
    content: dict[str, str] = {
        "gorilla": json.dumps({"code": "###Instruction: Count the birds in a picture.\n###Output: none"})
        + "\n"
        + json.dumps({"question": [[{"role": "user", "content": "Where does my train leave?"}]]}),
        "seal-tools": json.dumps({"api_name": "getTideTimes", "api_description": "Tell when the tide is high"}),
        "self-instruct": json.dumps({"instruction": "Plan a birthday for a child of six"}),
        "taskbench": json.dumps(
            [{"user_request": "Order a cake for Friday"}, {"id": "cut_hair", "desc": "Book a cut"}]
        ),
        "toolalpaca": json.dumps(
            {"Name": "Tides", "Description": "When the sea is where", "Instructions": ["High tide?"]}
        ),
    }
    for folder, text in content.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "data.jsonl").write_text(text)
        (tmp_path / folder / "LICENSE").write_text("not read")
    return tmp_path


def test_every_source_gives_its_requests_and_descriptions(texts: Path) -> None:
    found = {source: text for source, text, _ in candidates(texts, 10) if source != "packages"}
    assert set(found) == {source.folder for source in SOURCES}
    found_texts = {text for _, text, _ in candidates(texts, 10)}
    assert {
        "Count the birds in a picture.",
        "Where does my train leave?",
        "get Tide Times: Tell when the tide is high",
        "Plan a birthday for a child of six",
        "Order a cake for Friday",
        "cut hair: Book a cut",
        "Tides: When the sea is where",
        "High tide?",
    } <= found_texts


def test_texts_of_evaluation_sets_are_left_out(texts: Path) -> None:
    unfiltered, _ = all_texts(texts, frozenset(), 10)
    apart = frozenset({digest("  TELL when the tide; is high"), digest("weather forecast on a map for the next days")})
    filtered, counts = all_texts(texts, apart, 10)
    assert len(unfiltered) - len(filtered) == 2
    assert counts["left out, in an evaluation set"] == 2
    assert not any("tide is high" in text or "on a map" in text.lower() for text in filtered)


def test_texts_of_an_evaluation_set_are_known_by_their_digests(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "queries.jsonl").write_text('{"qid": "q1", "text": "Where is my parcel?"}\n')
    service = {
        "id": "s1",
        "name": "A",
        "description": "Finds lost parcels",
        "capabilities": [{"name": "find it all now"}],
    }
    (folder / "services.jsonl").write_text(json.dumps(service) + "\n")
    known = inputs.evaluation_digests(tmp_path)
    assert known == {digest("where is my PARCEL"), digest("finds lost parcels"), digest("Find it all now")}


def test_the_list_of_digests_comes_from_the_shared_sets() -> None:
    """Every digest in apart.txt comes from these sets."""
    known = inputs.evaluation_digests(shared("relevance"))
    assert inputs.apart() <= known
    assert inputs.apart()


def test_another_input_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/same", "a/changed", "a/unknown"):
        (tmp_path / name).write_text(name)
    (tmp_path / "a" / "LICENSE").write_text("anything")
    fingerprint = hashlib.sha256(b"a/same").hexdigest()
    with pytest.raises(SystemExit) as error:
        inputs.verify(tmp_path, {"a/same": fingerprint, "a/changed": fingerprint, "a/gone": fingerprint})
    message = str(error.value)
    assert [part in message for part in ("a/changed: other sha256", "a/unknown: not listed", "a/gone: missing")] == [
        True
    ] * 3
    assert "a/same:" not in message


def test_the_shipped_tokenizer_is_that_of_the_teacher() -> None:
    assert inputs.MODEL["tokenizer.json"] == TOKENIZER_SHA256


def test_every_licence_that_is_owed_is_beside_the_table() -> None:
    names = {path.name for path in (MODEL / "licences").iterdir()}
    assert names == {"Apache-2.0.txt", "MIT-public-apis.txt", "MIT-taskbench.txt"}
    card = (MODEL / "MODEL_CARD.md").read_text()
    assert all(f"licences/{name}" in card for name in names)
    assert all(source.folder in card for source in SOURCES)


def test_the_fit_follows_its_gradient_and_learns() -> None:
    """Compare the gradient with differences of the loss, number by number; then learn a few epochs from a teacher."""
    pytest.importorskip("scipy", reason="scipy is needed to build a table")
    from benchmarks.embedding import fit

    draw = np.random.default_rng(5)
    texts = [draw.integers(0, 12, draw.integers(1, 7)).tolist() for _ in range(40)]
    corpus = fit.Corpus.of(texts)
    truth = draw.normal(size=(12, 6)).astype(np.float32)
    aims = np.stack([truth[text].sum(axis=0) for text in texts])
    aims /= np.linalg.norm(aims, axis=1, keepdims=True)
    table = fit.Gated(
        draw.normal(size=(12, 6)),
        draw.normal(size=(12, fit.RANK)) * 0.3,
        draw.normal(size=(12, fit.RANK)) * 0.3,
        draw.normal(size=(12, 1)) * 0.3,
    )
    chosen_texts = np.arange(9)

    def loss() -> float:
        return -fit._gradients(table, corpus, aims, chosen_texts)[2]

    tokens, gradients, _ = fit._gradients(table, corpus, aims, chosen_texts)
    for part, gradient in zip((table.rows, table.keys, table.queries, table.bias), gradients, strict=True):
        for row, column in [(int(draw.integers(len(tokens))), int(draw.integers(part.shape[1]))) for _ in range(12)]:
            original = part[tokens[row], column]
            part[tokens[row], column] = original + 1e-4
            above = loss()
            part[tokens[row], column] = original - 1e-4
            slope = (above - loss()) / 2e-4
            part[tokens[row], column] = original
            assert gradient[row, column] == pytest.approx(slope, abs=1e-3)

    start = draw.normal(0, 0.05, size=(12, 6)).astype(np.float32)
    learning = fit.Fit(start, corpus, aims, seed=1, epochs=200)
    cosines = [learning.epoch() for _ in range(200)]
    assert cosines[-1] > 0.97 > cosines[0]
