"""The packed probe vector of a visit can be read back whatever its values; other bytes are refused."""

from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.assessing.assess import Assessment
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose, Via
from registry.core.visiting.visits import ProbeResult
from registry.store.visit_log_encoding import pack, unpack

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HOST = "pigeons.com"

texts = st.text(st.characters(), max_size=30)  # halves of surrogate pairs and NUL included
urls = st.one_of(
    texts.map(lambda path: f"https://{HOST}/{path}"), texts.map(lambda suffix: f"https://{HOST}.evil{suffix}")
)
answers = st.builds(
    lambda url, purpose, outcome, reason, form, status, kind, body, ms, final, hops, via: ProbeResult(
        Probe(url, purpose, "S2", "*/*", 1000, via),
        FetchResult(url, final or url, NOW, status, {"content-type": kind}, body, hops=tuple(hops), elapsed_ms=ms),
        Assessment(outcome, reason, form),
    ),
    urls, st.sampled_from(Purpose), st.sampled_from(Outcome), texts, st.sampled_from([None, "adp"]),
    st.sampled_from([None, 200, 304, 404, 503]), texts, st.binary(max_size=5), st.integers(0, 90_000),
    st.one_of(st.none(), urls), st.lists(urls, max_size=2),
    st.one_of(st.none(), st.builds(Via, texts, texts, texts, st.one_of(st.none(), texts))),
)  # fmt: skip


def storable(text: str) -> str:
    """Return the text as it can be stored: characters that no text column holds are replaced."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?").replace("\ufffd", "?")


@given(st.lists(answers, max_size=6))
def test_packed_probes_are_read_back(results: list[ProbeResult]) -> None:
    entries = unpack(HOST, pack(HOST, results))
    assert len(entries) == len(results)
    for entry, result in zip(entries, results, strict=True):
        assert storable(entry["url"]) == storable(result.probe.url)
        assert (entry["stage"], entry["purpose"]) == ("S2", result.probe.purpose.value)
        assert entry["outcome"] == result.assessment.outcome.value
        assert storable(entry.get("reason", "")) == storable(result.assessment.reason)
        assert (entry.get("status"), entry.get("format")) == (result.fetched.status, result.assessment.format)
        assert (entry["size"], entry["ms"]) == (len(result.fetched.body), result.fetched.elapsed_ms)
        assert ("final_url" in entry) == (result.fetched.final_url != result.probe.url)
        assert len(entry.get("hops", ())) == len(result.fetched.hops)
        if result.probe.via is not None:
            assert storable(entry["via"]["document"]) == storable(result.probe.via.document)


def test_the_entry_of_a_manifest_has_its_digest_and_format() -> None:
    probe = Probe(f"https://{HOST}/agent.json", Purpose.MANIFEST, "S2", "*/*", 1000)
    fetched = FetchResult(probe.url, probe.url, NOW, 200, {"content-type": "Application/JSON; charset=utf-8"}, b"{}")
    (entry,) = unpack(HOST, pack(HOST, [ProbeResult(probe, fetched, Assessment(Outcome.FOUND, "", "awp", "0.2"))]))
    assert entry["sha256"] == "44136fa355b3678a"  # of b"{}"
    assert (entry["type"], entry["format"], entry["dialect"]) == ("application/json", "awp", "0.2")


def test_rows_of_older_versions_are_read() -> None:
    old = [{"url": "https://pigeons.com/", "stage": "S0", "purpose": "home", "outcome": "absent", "size": 3, "ms": 4}]
    assert unpack(HOST, orjson.dumps(old)) == old
    assert unpack(HOST, b"") == []


@given(st.binary(min_size=1, max_size=60))
def test_anything_else_is_a_value_error(packed: bytes) -> None:
    for damaged in (packed, b"\x01" + packed, b"[" + packed):
        try:
            assert isinstance(unpack(HOST, damaged), list)
        except ValueError:
            continue


@pytest.mark.parametrize("cut", [1, 5, -1])
def test_a_cut_vector_is_refused(cut: int) -> None:
    probe = Probe(f"https://{HOST}/agent.json", Purpose.MANIFEST, "S2", "*/*", 1000)
    vector = pack(
        HOST,
        [ProbeResult(probe, FetchResult(probe.url, probe.url, NOW, 404), Assessment(Outcome.ABSENT, "status_404"))],
    )
    with pytest.raises(ValueError, match="vector"):
        unpack(HOST, vector[:cut])
