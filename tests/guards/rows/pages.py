"""What keeps foreign text on the web pages from acting."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_TEXT = "tests/web/test_text.py::"
_HTML = "tests/web/test_html.py::"

GUARDS: Final = (
    Guard(
        "pages-escaping",
        "markup of sites is text on pages",
        Edit("autoescape=True", "autoescape=False"),
        (f"{_HTML}test_markup_of_sites_is_text",),
    ),
    Guard(
        "pages-hidden-characters",
        "hidden characters are shown on pages",
        Edit(r"_HIDDEN\.sub\(.*\)", "value"),
        (f"{_TEXT}test_a_mark_names_the_character", f"{_TEXT}test_no_character_without_a_shape_is_left"),
    ),
    Guard(
        "pages-foreign-links",
        "pages link to http and https addresses of public hosts only",
        NEVER,
        (f"{_TEXT}test_other_addresses_are_not_linked_to",),
    ),
    Guard(
        "pages-policy",
        "the policy of pages",
        Edit('"Content-Security-Policy": POLICY,'),
        (f"{_HTML}test_a_page_has_the_strict_policy",),
    ),
)
