"""Foreign text on a terminal: nothing invisible, and words as their language writes them."""

import pytest

from registry.cli.clean import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\x1b[2J\u202eb", "a\\x1b[2J\\u202eb"),
        ("\u0645\u06cc\u200c\u0631\u0648\u0645", "\u0645\u06cc\u200c\u0631\u0648\u0645"),  # Persian "I go"
        ("\U0001f468\u200d\U0001f4bb", "\U0001f468\u200d\U0001f4bb"),
        ("ig\u200dnore\u200c", "ig\\u200dnore\\u200c"),
    ],
)
def test_characters_that_show_nothing_are_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown
