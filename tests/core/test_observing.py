"""What several answers show about a document: validators that are ignored, missing links, breaking changes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assessing.assess import Assessment
from registry.core.formats.awas.checks import is_unversioned_break
from registry.core.model.documents import FetchResult, Observation, Outcome, Probe, Purpose, from_text, to_text
from registry.core.visiting.results import observed
from registry.core.visiting.visits import ProbeResult
from tests.support.builders import NOW

HOME, MANIFEST = "https://paper.example/", "https://paper.example/.well-known/agent.json"
LINK = '</.well-known/agent.json>; rel="agent-manifest"'
BOTH = frozenset({Observation.NOT_REVALIDATED, Observation.NO_HOME_LINK})


def answer(url: str, status: int, *, sent: str | None = None, final_url: str = "", **headers: str) -> ProbeResult:
    purpose = Purpose.HOME if url == HOME else Purpose.MANIFEST
    probe = Probe(url, purpose, "S1", "*/*", 1_000, etag=sent)
    return ProbeResult(probe, FetchResult(url, final_url or url, NOW, status, headers), Assessment(Outcome.FOUND))


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (answer(MANIFEST, 304, sent='"1"'), {Observation.NO_HOME_LINK}),
        (answer(MANIFEST, 200, sent='"1"', etag='"1"'), BOTH),
        (answer(MANIFEST, 200, sent='"1"', etag='"2"'), None),
        (answer(MANIFEST, 200, etag='"1"'), None),
        (answer(MANIFEST, 503, sent='"1"', etag='"1"'), None),
        (answer(HOME, 200, link=LINK), {Observation.NOT_REVALIDATED}),
        (answer(HOME, 200, link=f"<{MANIFEST}>; rel=agent-manifest"), {Observation.NOT_REVALIDATED}),
        (answer(HOME, 200, link="</agent.json>; rel=agent-manifest"), BOTH),
        (answer(HOME, 200, link="</.well-known/agent.json>; rel=describedby"), BOTH),
        (answer(HOME, 200), BOTH),
        (answer(HOME, 404), None),
        (answer(HOME, 200, final_url="https://www.paper.example/"), None),
    ],
)
def test_an_answer_shows_one_thing_or_nothing(given: ProbeResult, seen: set[Observation] | None) -> None:
    """What an answer does not show stays as it was."""
    assert observed([given], MANIFEST, BOTH) == (BOTH if seen is None else seen)
    assert observed([given], MANIFEST) == (frozenset() if seen is None or given.fetched.status == 304 else seen & {
        Observation.NOT_REVALIDATED if given.probe.url == MANIFEST else Observation.NO_HOME_LINK
    })  # fmt: skip


def test_other_documents_of_the_host_show_nothing() -> None:
    assert observed([answer("https://paper.example/agent.json", 200, sent='"1"', etag='"1"')], MANIFEST) == frozenset()


def test_observations_are_stored_as_a_text() -> None:
    assert from_text(to_text(BOTH)) == BOTH
    assert from_text("gone_since not_revalidated") == {Observation.NOT_REVALIDATED}
    assert (to_text([]), from_text("")) == ("", frozenset())


KEYS = st.sampled_from(["version", "actions", "id", "path", "parameters", "name", "required"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(KEYS, values),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(ANYTHING, ANYTHING)
def test_no_two_values_raise_when_they_are_compared(before: Any, after: Any) -> None:
    assert is_unversioned_break(before, after) in (True, False, None)
    assert is_unversioned_break(before, before) is None or not isinstance(before, dict)


PARAMETERS = [{"name": "q", "type": "string", "required": True}, {"name": "page", "type": "number", "required": False}]
ACTION: dict[str, Any] = {"id": "find", "path": "/find", "method": "GET", "parameters": PARAMETERS}


def version(*actions: Any, number: str = "1.0") -> dict[str, Any]:
    return {"version": number, "name": "Kiosk", "description": "Sells papers.", "actions": list(actions)}


@pytest.mark.parametrize(
    ("after", "is_break"),
    [
        (version(ACTION), None),
        (version(ACTION, {**ACTION, "id": "buy"}), None),
        (version({**ACTION, "description": "Finds a paper."}), None),
        (version({**ACTION, "parameters": PARAMETERS[:1]}), None),
        (version(), True),
        (version({**ACTION, "path": "/search"}), True),
        (version({**ACTION, "method": "POST"}), True),
        (version({**ACTION, "parameters": [{"name": "page", "required": True}]}), True),
        (version({**ACTION, "parameters": [*PARAMETERS, {"name": "key", "required": True}]}), True),
        (version(number="1.1"), False),
        ([], None),
        (None, None),
        (version("find", {"id": 7}, {"id": "find", "parameters": 3}), True),
    ],
)
def test_a_change_that_breaks_callers_needs_a_new_version(after: Any, is_break: bool | None) -> None:
    assert is_unversioned_break(version(ACTION), after) is is_break
    assert is_unversioned_break("", after) is None
