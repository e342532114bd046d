"""Fingerprints are SHA-256 over RFC 8785, whichever encoder computes them."""

import hashlib
import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from registry.core.changes.versions import canonical, fingerprint

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
EXACT = st.integers(-(2**53) + 1, 2**53 - 1)
SCALARS = st.none() | st.booleans() | EXACT | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))


@given(VALUES)
def test_canonical_is_what_the_reference_encoder_writes(value: object) -> None:
    assert canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


def test_the_example_of_the_rfc() -> None:
    """RFC 8785 section 3.2.2, and the order of keys of section 3.2.3."""
    value = {"numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27], "literals": [None, True, False]}
    assert canonical(value) == b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}'
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    sorted_keys = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert list(json.loads(canonical(dict.fromkeys(keys)))) == sorted_keys


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": 2**53 + 1}, b'{"a":9007199254740992}'),
        ({"a": 2**64}, b'{"a":18446744073709552000}'),
        ({"a": 10**400}, f'{{"a":"{10**400:#x}"}}'.encode()),
        ({"\ud800": "\udfff"}, b'{"\\\\ud800":"\\\\udfff"}'),
        ({"a": 1.0}, b'{"a":1}'),
    ],
)
def test_what_the_rfc_leaves_out_has_a_fingerprint_too(value: object, written: bytes) -> None:
    assert canonical(value) == written
    assert fingerprint(value) == hashlib.sha256(written).hexdigest()
