"""The languages in which a document was served."""

import json

import pytest

from registry.core.assessing.assess import assess_body
from registry.core.reading.languages import MAX_LANGUAGES
from tests.support.builders import adp_manifest


def languages(header: str) -> tuple[str, ...]:
    raw = json.dumps(adp_manifest("b.example", "rent")).encode()
    url, headers = "https://b.example/.well-known/agent", {"content-language": header}
    service = assess_body(raw, url, "application/json", headers).service
    assert service is not None
    return service.languages


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("en", ("en",)), ("de-AT, en", ("de-at", "de", "en")), ("en, en-GB", ("en", "en-gb")), ("", ()),
        ('*, x" OR 1, \u0131\u0131, en_US', ()), ("zh-Hant-TW", ("zh-hant-tw", "zh")),
    ],
)  # fmt: skip
def test_tags_are_read_and_the_rest_is_left_out(header: str, expected: tuple[str, ...]) -> None:
    assert languages(header) == expected


def test_a_long_list_is_cut() -> None:
    assert len(languages(",".join(f"a{chr(97 + n)}" for n in range(26)))) == MAX_LANGUAGES
