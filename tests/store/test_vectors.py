"""The packed vector of a visit says what the answers said, whatever they were, and refuses what it did not write."""

from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.assess import Assessment
from registry.core.documents import Fetched, Outcome, Probe, Purpose, Via
from registry.core.visits import Answer
from registry.store.vectors import pack, unpack

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HOST = "pigeons.com"

texts = st.text(st.characters(), max_size=30)  # halves of surrogate pairs and NUL included
urls = st.one_of(texts.map(lambda path: f"https://{HOST}/{path}"), texts.map(lambda rest: f"https://{HOST}.evil{rest}"))
answers = st.builds(
    lambda url, purpose, outcome, reason, form, status, kind, body, ms, final, hops, via: Answer(
        Probe(url, purpose, "S2", "*/*", 1000, via),
        Fetched(url, final or url, NOW, status, {"content-type": kind}, body, hops=tuple(hops), elapsed_ms=ms),
        Assessment(outcome, reason, form),
    ),
    urls, st.sampled_from(Purpose), st.sampled_from(Outcome), texts, st.sampled_from([None, "adp"]),
    st.sampled_from([None, 200, 304, 404, 503]), texts, st.binary(max_size=5), st.integers(0, 90_000),
    st.one_of(st.none(), urls), st.lists(urls, max_size=2),
    st.one_of(st.none(), st.builds(Via, texts, texts, texts, st.one_of(st.none(), texts))),
)  # fmt: skip


def plain(text: str) -> str:
    """As it can be kept: what no text column holds is replaced."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?").replace("\ufffd", "?")


@given(st.lists(answers, max_size=6))
def test_what_was_asked_and_what_came_is_read_back(given_answers: list[Answer]) -> None:
    entries = unpack(HOST, pack(HOST, given_answers))
    assert len(entries) == len(given_answers)
    for entry, one in zip(entries, given_answers, strict=True):
        assert plain(entry["url"]) == plain(one.probe.url)
        assert (entry["stage"], entry["purpose"]) == ("S2", one.probe.purpose.value)
        assert entry["outcome"] == one.assessment.outcome.value
        assert plain(entry.get("reason", "")) == plain(one.assessment.reason)
        assert (entry.get("status"), entry.get("format")) == (one.fetched.status, one.assessment.format)
        assert (entry["size"], entry["ms"]) == (len(one.fetched.body), one.fetched.elapsed_ms)
        assert ("final_url" in entry) == (one.fetched.final_url != one.probe.url)
        assert len(entry.get("hops", ())) == len(one.fetched.hops)
        if one.probe.via is not None:
            assert plain(entry["via"]["document"]) == plain(one.probe.via.document)


def test_where_a_manifest_was_the_digest_begins_like_the_body() -> None:
    probe = Probe(f"https://{HOST}/agent.json", Purpose.MANIFEST, "S2", "*/*", 1000)
    came = Fetched(probe.url, probe.url, NOW, 200, {"content-type": "Application/JSON; charset=utf-8"}, b"{}")
    (entry,) = unpack(HOST, pack(HOST, [Answer(probe, came, Assessment(Outcome.FOUND, "", "awp", "0.2"))]))
    assert entry["sha256"] == "44136fa355b3678a"  # of b"{}"
    assert (entry["type"], entry["format"], entry["dialect"]) == ("application/json", "awp", "0.2")


def test_rows_from_before_are_read() -> None:
    old = [{"url": "https://pigeons.com/", "stage": "S0", "purpose": "home", "outcome": "absent", "size": 3, "ms": 4}]
    assert unpack(HOST, orjson.dumps(old)) == old
    assert unpack(HOST, b"") == []


@given(st.binary(min_size=1, max_size=60))
def test_anything_else_is_a_value_error(packed: bytes) -> None:
    for one in (packed, b"\x01" + packed, b"[" + packed):
        try:
            assert isinstance(unpack(HOST, one), list)
        except ValueError:
            continue


@pytest.mark.parametrize("cut", [1, 5, -1])
def test_a_cut_vector_is_refused(cut: int) -> None:
    probe = Probe(f"https://{HOST}/agent.json", Purpose.MANIFEST, "S2", "*/*", 1000)
    whole = pack(
        HOST, [Answer(probe, Fetched(probe.url, probe.url, NOW, 404), Assessment(Outcome.ABSENT, "status_404"))]
    )
    with pytest.raises(ValueError, match="vector"):
        unpack(HOST, whole[:cut])
