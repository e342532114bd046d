"""Who gets a page, and who what programs read."""

import pytest

from registry.edge.responses import prefers_html

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


def accepting(*fields: str) -> bool:
    return prefers_html({"headers": [(b"accept", field.encode()) for field in fields]})


@pytest.mark.parametrize("accept", [BROWSER, "text/html", "TEXT/HTML; charset=utf-8", "text/plain;q=0.5, text/html"])
def test_a_page_is_for_those_who_name_html(accept: str) -> None:
    assert accepting(accept)


@pytest.mark.parametrize(
    "accept",
    [
        "*/*", "text/*", "", "application/json", "text/html;q=0", "text/html;q=0.5, application/json",
        "text/html;q=x", "text/html;q=0.9,text/plain", "text/html" + ", a/b" * 500,
    ],
)  # fmt: skip
def test_others_get_what_programs_read(accept: str) -> None:
    assert not accepting(accept)


def test_without_accept_there_is_no_page() -> None:
    assert not accepting()


def test_several_fields_are_one_list() -> None:
    assert accepting("application/xml;q=0.9", "text/html")
