"""The languages in which a document was served."""

import pytest

from registry.core.assessing.assess import assess_body
from registry.core.reading.languages import MAX_LANGUAGES, declared_languages


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("en", ("en",)),
        ("de-AT, en", ("de-at", "de", "en")),
        ("en, en-GB", ("en", "en-gb")),
        ("", ()),
        ('*, x" OR 1, \u0131\u0131, en_US', ()),
        ("zh-Hant-TW", ("zh-hant-tw", "zh")),
    ],
)
def test_tags_are_read_and_the_rest_is_left_out(header: str, expected: tuple[str, ...]) -> None:
    assert declared_languages({"content-language": header}) == expected


def test_a_long_list_is_cut() -> None:
    many = ",".join(f"a{chr(97 + n % 26)}" for n in range(26))
    assert len(declared_languages({"content-language": many})) == MAX_LANGUAGES


def test_without_a_header_there_is_no_language() -> None:
    assert declared_languages({}) == ()


def test_a_service_has_the_languages_its_document_was_served_in() -> None:
    body = (
        b'{"spec_version":"1.0","name":"Bikes","description":"Rents bikes by the hour","base_url":"https://b.example"'
    )
    body += b',"auth":{"type":"none"},"capabilities":[]}'
    assessment = assess_body(
        body, "https://b.example/.well-known/agent", "application/json", {"content-language": "fr-CA"}
    )
    assert assessment.service is not None
    assert assessment.service.languages == ("fr-ca", "fr")
