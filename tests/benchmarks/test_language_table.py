"""Building the table of other languages: what is read of translations, which pieces there are, which English words."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embedding.language_pieces import pieces_of, tokenizer
from benchmarks.embedding.translations import READERS, translations
from benchmarks.embedding.word_translations import english_words

TREES = {"en": {"a": "Shopping cart", "b": "Hello {name}!", "c": "OK"}, "de": {"a": "Warenkorb", "b": "Hallo {name}!"}}
ANDROID = '<resources><string name="a">{}</string><string-array name="l"><item>{}</item></string-array></resources>'
PHP = "<?php\nreturn [\n    'cart' => [\n        'title' => '{}',\n    ],\n];\n"
LABELS = (
    '<resource><property key="k"><value xml:lang="en">Invoice</value>'
    '<value xml:lang="de">Rechnung</value></property></resource>'
)
GETTEXT = 'msgid "Sign out"\nmsgstr "Abmelden"\n\n#, fuzzy\nmsgid "Left"\nmsgstr "Rechts"\n'
FILES = {
    "medusa/src/i18n/translations/en.json": json.dumps(TREES["en"]),
    "medusa/src/i18n/translations/de.json": json.dumps(TREES["de"]),
    "aosp-email/res/values/strings.xml": ANDROID.format("Reply", "Forward"),
    "aosp-email/res/values-de/strings.xml": ANDROID.format("Antworten", "Weiterleiten"),
    "bagisto/lang/en/app.php": PHP.replace("{}", "Delivery"),
    "bagisto/lang/de/app.php": PHP.replace("{}", "Lieferung"),
    "ofbiz/config/AccountLabels.xml": LABELS,
    "django/locale/de/LC_MESSAGES/django.po": GETTEXT,
}
PAIRS = {
    ("Shopping cart", "Warenkorb", "medusa"),
    ("Hello !", "Hallo !", "medusa"),
    ("Reply", "Antworten", "aosp-email"),
    ("Forward", "Weiterleiten", "aosp-email"),
    ("Delivery", "Lieferung", "bagisto"),
    ("Invoice", "Rechnung", "ofbiz"),
    ("Sign out", "Abmelden", "django"),
}


def test_each_kind_of_file_gives_its_translations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    present = {name.partition("/")[0] for name in FILES}
    for absent in READERS.keys() - present:
        monkeypatch.delitem(READERS, absent)
    assert set(translations(tmp_path, "de")) == PAIRS
    assert not translations(tmp_path, "fr")


def test_words_and_used_parts_are_pieces() -> None:
    written = ["Wetterbericht senden", "Wetter heute", "Wetter heute senden"] * 8
    pieces, only_words = pieces_of({"de": written, "ja": ["天気"] * 20}, {"bericht": -9.0, "unused": -2.0})
    assert {"\u2581wetter", "\u2581heute", "天気"} <= pieces.keys()
    assert "unused" not in pieces
    assert "\u2581heute" in only_words
    assert tokenizer(pieces).encode("HEUTE").tokens == ["\u2581heute"]


def test_english_words_are_learned_from_pairs_alone() -> None:
    pairs = [("red house", (2, 3)), ("red car", (2, 4)), ("the house", (5, 3)), ("the car", (5, 4))] * 5
    table, words = english_words([pairs], 6, range(2, 6), {"the"})
    first = [words[number] for number in table[:, 0].tolist()]
    assert first == ["", "", "red", "house", "car", ""]
    assert np.array_equal(table, english_words([pairs], 6, range(2, 6), {"the"})[0])
