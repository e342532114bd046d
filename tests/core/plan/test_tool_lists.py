"""A conversation with an MCP endpoint ends within its bounds, whatever the endpoint answers."""

import json
from collections.abc import Generator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.model.documents import FetchResult, Outcome, Probe
from registry.core.visiting import tool_lists
from registry.core.visiting.tool_lists import McpReply, Method, events_in, reply_of
from tests.core.manifests import json_values
from tests.support.web import NOW

URL = "https://shop.example/mcp"
CARD = tool_lists.via("https://shop.example/.well-known/mcp/server-card.json")
MESSAGES = 1 + 2 + tool_lists.MAX_PAGES

members: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(
        ["tools", "nextCursor", "capabilities", "supportedVersions", "protocolVersion", "serverInfo", "_meta"]
    ),
    json_values | st.just([{"name": "order"}]) | st.just({"tools": {}}) | st.sampled_from(["2025-11-25", "next"]),
)
answers = st.lists(
    st.one_of(
        st.none(),
        st.tuples(st.sampled_from([200, 202, 400, 401, 404, 500]), st.booleans(), members | json_values),
    ),
    max_size=MESSAGES,
)


def fetched(status: int, is_stream: bool, reply: Any) -> FetchResult:
    body = json.dumps(reply).encode()
    media_type = "text/event-stream" if is_stream else "application/json"
    return FetchResult(
        URL, URL, NOW, status, {"content-type": media_type}, b"data: %s\n\n" % body if is_stream else body
    )


@given(answers)
def test_any_answers_end_a_conversation(given_answers: Sequence[tuple[int, bool, Any] | None]) -> None:
    methods: list[str] = []

    def exchange(probe: Probe) -> Generator[Probe, FetchResult, FetchResult | None]:
        yield from ()  # it never waits
        assert probe.url == URL and probe.post is not None
        methods.append(probe.post.method)
        given_answer = given_answers[len(methods) - 1] if len(methods) <= len(given_answers) else None
        if given_answer is None:
            return None
        status, is_stream, result = given_answer
        return fetched(status, is_stream, {"jsonrpc": "2.0", "id": probe.post.request_id, "result": result})

    with pytest.raises(StopIteration) as end:
        next(tool_lists.conversation(URL, CARD, exchange))
    listed = end.value.value
    assert len(methods) <= MESSAGES and set(methods) <= set(Method)
    result = tool_lists.answer(URL, CARD, listed, NOW)
    assert (result.assessment.outcome is Outcome.FOUND) is (listed.document is not None)
    assert result.assessment.format == ("mcp-tools-list" if listed.document is not None else None)


@given(st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_reply_or_none(message: bytes) -> None:
    assert isinstance(reply_of(message, 1), McpReply | None)


def test_only_the_reply_to_the_request_counts() -> None:
    def message(**changes: Any) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": 2, "result": {}} | changes).encode()

    assert reply_of(message(), 2) == McpReply({})
    assert reply_of(b"[" + message(id=1) + b"," + message() + b"]", 2) == McpReply({})
    assert reply_of(message(id=1), 2) is reply_of(message(method="ping"), 2) is reply_of(message(result=[]), 2) is None
    assert reply_of(b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600}}', 2) == McpReply(None, -32600)
    assert reply_of(b'{"jsonrpc": "2.0", "id": 3, "error": {"code": -32600}}', 2) is None


def test_the_data_of_events_is_joined() -> None:
    stream = b": hello\r\n\r\nevent: message\ndata: {\ndata: }\nid: 1\n\ndata:x\r\rdata: cut"
    assert list(events_in(stream)) == [b"{\n}", b"x", b"cut"]
