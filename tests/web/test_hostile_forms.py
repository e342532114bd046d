"""Whatever a form holds, it is read or refused."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.edge.problems import Problem
from registry.web.asking import _parsed, as_written
from registry.web.check import path_of, reading_of, sarif_of
from registry.web.text import visible
from tests.support.sarif import assert_sarif


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_no_body_is_a_fault(body: bytes) -> None:
    try:
        fields = _parsed(body)
    except Problem as problem:
        assert problem.kind.status == 400
    else:
        assert all(isinstance(value, str) for value in fields.values())


@given(st.text())
def test_what_was_written_is_written_again(text: str) -> None:
    written = as_written(text)
    assert visible(written) is written
    assert "<" not in written
    assert '"' not in written
    assert not any(char < " " and char not in "\t\n" for char in written)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "capabilities", "url", "skills", "openapi", "paths", "spec_version"])
                | st.text(max_size=5),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    )
)
def test_no_document_is_a_fault(value: Any) -> None:
    raw = json.dumps(value).encode()
    reading_of(raw, None)
    assert_sarif(json.loads(sarif_of(raw, "/.well-known/agent")))


@given(st.text(max_size=30))
def test_a_path_is_a_path_or_refused(text: str) -> None:
    try:
        path = path_of(text)
    except ValueError:
        return
    assert path is None or (path.startswith("/") and path.isascii() and " " not in path)
