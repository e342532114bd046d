"""The benchmark of relevance: its measures, its data, its variants, its adversaries."""

import json
from math import log2
from pathlib import Path

import numpy as np
import pytest

from benchmarks.relevance import __main__ as command
from benchmarks.relevance import spam, systems
from benchmarks.relevance.collection import Collection, Unreadable, read
from benchmarks.relevance.measures import Interval, differences, means, score
from benchmarks.relevance.unanswerable import ANSWERED, NONSENSE, Evidence, auroc, auroc_interval, evaluate, outside
from registry.core.model.listing import Listing
from registry.core.names.domains import registrable_domain
from registry.core.ranking.signals import SIGNALS
from registry.core.wording.fields import CAPABILITIES
from tests.search.listings import listing

SERVICES = (
    {"id": "a/1", "name": "PigeonPost", "description": "Sends parcels.", "capabilities": [
        {"name": "trackParcel", "description": "Where a parcel is"}]},
    {"id": "b", "name": "Cloud Nine", "description": None, "capabilities": [{"name": "forecast", "description": None}]},
    {"id": "c", "name": "Babel", "description": "Translates \u2028 documents", "capabilities": None},
)  # fmt: skip
QUERIES = (
    {"qid": "q1", "text": "I need to send a parcel", "set": "short"},
    {"qid": "q2", "text": "will it rain? what does the forecast say", "set": "short"},
    {"qid": "q3", "text": "translate this document", "set": "long"},
)
LABELS = "q1\ta/1\t1\nq2\tb\t2\nq2\tc\t1\nq3\tc\t1\nq3\tnowhere\t1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "services.jsonl").write_text(
        "\n".join(json.dumps(service, ensure_ascii=False) for service in SERVICES) + "\n"
    )
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, QUERIES)))
    (tmp_path / "qrels.tsv").write_text(LABELS)
    return tmp_path


def test_measures_have_their_standard_definitions() -> None:
    assert score(["x", "y"], {"x": 1}) == (1.0, 1.0, 1.0, 1.0)
    assert score(["x", "y"], {"z": 1}) == (0.0, 0.0, 0.0, 0.0)
    hit1, hit5, ndcg, mrr = score(["n", "y", "x"], {"x": 2, "y": 1})
    assert (hit1, hit5, mrr) == (0.0, 1.0, 0.5)
    assert ndcg == pytest.approx((1 / log2(3) + 3 / log2(4)) / (3 + 1 / log2(3)))
    assert score([f"n{number}" for number in range(5)] + ["x"], {"x": 1}) == (
        0.0,
        0.0,
        pytest.approx(1 / log2(7)),
        1 / 6,
    )
    assert score([f"n{number}" for number in range(10)] + ["x"], {"x": 1}) == (0.0, 0.0, 0.0, 0.0)
    assert score(["x"], {}) == (0.0, 0.0, 0.0, 0.0)


def test_intervals_hold_the_mean_and_are_the_same_every_time() -> None:
    scores = np.random.default_rng(1).random((200, 4))
    first, again = means(scores), means(scores)
    assert first == again
    assert all(interval.low < interval.mean < interval.high for interval in first)
    assert first[0].mean == pytest.approx(100 * scores[:, 0].mean())
    narrow, wide = differences(scores, scores - 0.1)[0], means(scores)[0]
    assert narrow.mean == pytest.approx(10)
    assert narrow.high - narrow.low < 1e-6 < wide.high - wide.low  # paired, so common variation cancels out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("services.jsonl", '{"id": "a"}\n', "services.jsonl:1"),
        ("queries.jsonl", '{"qid": "q", "text": "x"}\n{', "queries.jsonl:2"),
        ("queries.jsonl", "[1]", "queries.jsonl:1"),
        ("queries.jsonl", "\n", "no queries"),
        ("qrels.tsv", "q1\ta/1\n", "qrels.tsv:1"),
        ("qrels.tsv", "q1\ta/1\t1\nq1\tb\tmany\n", "qrels.tsv:2"),
    ],
)
def test_an_invalid_folder_is_reported_by_file_and_line(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(Unreadable, match=message):
        read(folder)
    (folder / name).unlink()
    with pytest.raises(Unreadable, match=name):
        read(folder)


def test_the_command_prints_one_object_for_each_system(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["relevance", "--data", str(folder), "--json"])
    command.main()
    lines = {result["system"]: result for result in map(json.loads, capsys.readouterr().out.splitlines())}
    assert {systems.DEFAULT, systems.WITHOUT_VECTORS, systems.PLAIN} <= set(lines)
    assert set(lines[systems.DEFAULT]) >= {"system", "queries", "hit@1", "hit@5", "ndcg@10", "mrr@10"}
    assert lines[systems.DEFAULT]["queries"] == 3
    assert lines[systems.DEFAULT]["hit@5"] == 100.0


def test_each_variant_is_measured_and_the_product_restored(folder: Path) -> None:
    collection = read(folder)
    before = [signal.of for signal in SIGNALS], systems.text.REQUEST_WORDS, systems.fields.split_name
    scores = systems.product(collection, (*systems.COMPARED, *systems.PARTS))
    assert list(scores) == [variant.name for variant in (*systems.COMPARED, *systems.PARTS)]
    assert all(len(rows) == len(collection.queries) for rows in scores.values())
    assert ([signal.of for signal in SIGNALS], systems.text.REQUEST_WORDS, systems.fields.split_name) == before
    assert systems.text.REQUEST_WORDS


def own_collection() -> Collection:
    return Collection(
        "own", [listing(f"s{n}.example", f"Name{n}: rain forecast {n}", (f"do{n}", "x")) for n in range(30)], []
    )


@pytest.mark.parametrize("trick", spam.TRICKS)
def test_spam_is_deterministic_and_as_described(folder: Path, trick: str) -> None:
    collection = Collection("own", own_collection().listings, read(folder).queries)
    planted = spam.planted(collection, trick, 20)
    assert planted == spam.planted(collection, trick, 20)
    assert len({service.host for service in planted}) == 20
    assert not {service.host for service in planted} & {service.host for service in collection.listings}
    domains = {registrable_domain(service.host) for service in planted}
    assert len(domains) == (1 if trick == "copies at one domain" else 20)
    if trick == "500 capabilities":
        assert all(len(service.capabilities) > CAPABILITIES for service in planted)
    if trick == "copies of a victim":
        texts: set[Listing | str] = {service.description for service in collection.listings}
        assert {service.description for service in planted} <= texts


def test_auroc_and_the_halves() -> None:
    assert auroc(np.array([2.0, 3.0]), np.array([1.0])) == 1.0
    assert auroc(np.array([1.0]), np.array([1.0])) == 0.5
    assert auroc(np.array([1.0, 3.0]), np.array([2.0])) == 0.5
    questions = [Evidence(f"a{n}", ANSWERED, 0.8, confident=True) for n in range(40)]
    questions += [Evidence(f"n{n}", NONSENSE, 0.1, confident=False) for n in range(40)]
    result = evaluate(questions)
    assert result.auroc == {NONSENSE: Interval(1.0, 1.0, 1.0)}
    assert auroc_interval(np.array([1.0, 3.0]), np.array([2.0])) == Interval(0.5, 0.0, 1.0)
    assert len(set(outside())) >= 500
    assert (result.above_threshold, result.flagged) == (
        {ANSWERED: 100.0, NONSENSE: 0.0},
        {ANSWERED: 100.0, NONSENSE: 0.0},
    )
