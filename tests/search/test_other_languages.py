"""The table of other languages: near the English table's vectors, English words, refusal of wrong files."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.embedding.arrays import encode_arrays
from registry.core.ranking import parse_query
from registry.core.wording.language import language_of
from registry.search.column_store import read_arrays
from registry.search.embedding import (
    LANGUAGES,
    MODEL,
    TABLE,
    TABLE_SHA256,
    TOKENIZER,
    TOKENIZER_SHA256,
    AllLanguages,
    ModelFileError,
    default_embedder,
    load,
)
from registry.search.other_languages import BadTable, OtherLanguages

ASKED = [
    ("de", "Wie wird das Wetter am Wochenende?", "weather forecast", "invoice generator", "weather"),
    ("de", "ein Dokument ins Englische übersetzen", "document translation", "guitar tuner", "document"),
    ("fr", "envoyer un courriel à mes clients", "send an email to customers", "tide tables", "send"),
    ("fr", "télécharger une image", "image download", "calendar events", "image"),
    ("es", "crear un calendario de reuniones", "calendar of meetings", "weather forecast", "calendar"),
    ("es", "pagar con tarjeta de crédito", "credit card payment", "photo gallery", "card"),
    ("pt", "enviar uma mensagem para o cliente", "send a message to a customer", "road map", "message"),
    ("pt", "previsão do tempo para amanhã", "weather forecast for tomorrow", "tax invoice", "forecast"),
    ("it", "trovare un ristorante vicino", "restaurant search", "database backup", "restaurant"),
    ("it", "gli ordini del negozio online", "orders of an online shop", "earthquake map", "orders"),
    ("nl", "een foto uploaden naar de server", "photo upload to a server", "bank account", "photo"),
    ("nl", "de taal van een tekst herkennen", "language of a text", "car rental", "language"),
    ("pl", "wyślij wiadomość do klienta", "send a message to a customer", "mountain weather", "message"),
    ("pl", "wyszukiwanie zdjęć psów", "search for photos of dogs", "tax calculator", "image"),
    ("ja", "新しいパスワードを設定したい", "set a new password", "flight search", "password"),
    ("ja", "商品の在庫を調べる", "product stock", "music player", "product"),
    ("zh", "查询明天的天气", "weather tomorrow", "invoice generator", "weather"),
    ("zh", "上传图片文件", "upload an image file", "bank account", "upload"),
    ("ar", "البحث عن فندق قريب", "hotel search nearby", "source code review", "hotel"),
    ("ar", "ترجمة مستند إلى الإنجليزية", "document translation into English", "stock prices", "document"),
]
"""A language, a question in it, an English service that answers it, one that does not, and a word of the answer."""

HOSTILE = ["", "\x00", "\ud800ü\udfff", "ü" * 100_000, "天" * 100_000, "ﷺ" * 1_200, "e\u0301" * 5_000, "🌦️天気" * 500]


@pytest.mark.parametrize(("language", "question", "answer", "other", "_word"), ASKED)
def test_a_question_is_near_an_english_answer(
    language: str, question: str, answer: str, other: str, _word: str
) -> None:
    assert language_of(question) == language
    question_row, answer_row, other_row = default_embedder().encode([question, answer, other])
    assert question_row @ answer_row > question_row @ other_row + 0.1


@pytest.mark.parametrize(("_language", "question", "_answer", "_other", "word"), ASKED)
def test_a_question_has_english_terms_that_name_its_own_words(
    _language: str, question: str, _answer: str, _other: str, word: str
) -> None:
    english = default_embedder().english(question)
    assert word in english
    assert all(own in question for own in english.values())
    terms = parse_query(question, default_embedder()).terms
    assert set(english.values()) & set(terms.values())


def test_english_is_read_by_the_english_table_alone() -> None:
    texts = ["weather forecast for tomorrow", "send an invoice by e-mail", "PDF", "погода на завтра", "x" * 99]
    english = load(MODEL, TABLE_SHA256, TOKENIZER_SHA256)
    assert np.array_equal(default_embedder().encode(texts), english.encode(texts))
    assert not default_embedder().english("send an invoice by e-mail")


def test_accents_and_case_are_ignored() -> None:
    rows = default_embedder().encode(["prévisions météo pour la semaine", "PREVISIONS METEO pour la semaine"])
    assert np.array_equal(rows[0], rows[1])


def test_hostile_texts_have_valid_vectors() -> None:
    with np.errstate(all="raise"):
        rows = default_embedder().encode(HOSTILE)
        words = [default_embedder().english(text) for text in HOSTILE]
    norms = np.linalg.norm(rows, axis=1)
    assert np.all((norms == 0) | (np.abs(norms - 1) < 1e-5))
    assert max(map(len, words)) <= 24


@given(st.text(alphabet=st.characters(min_codepoint=0xC0, max_codepoint=0x9FFF), max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_text_is_read(text: str) -> None:
    row = default_embedder().encode([text])[0]
    assert np.isfinite(row).all()
    assert len(default_embedder().english(text)) <= 24


def test_the_table_fits_into_forty_megabytes() -> None:
    assert (MODEL / LANGUAGES).stat().st_size <= 40_000_000


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_damaged_table_is_refused_when_a_text_needs_it(tmp_path: Path, damage: str) -> None:
    for name in (TABLE, TOKENIZER):
        shutil.copy(MODEL / name, tmp_path / name)
    if damage == "cut":
        (tmp_path / LANGUAGES).write_bytes((MODEL / LANGUAGES).read_bytes()[:-1])
    embedder = AllLanguages(tmp_path)
    assert embedder.encode(["weather forecast"]).any()
    with pytest.raises(ModelFileError, match=LANGUAGES):
        embedder.encode(["天気予報"])


@pytest.mark.parametrize("name", ["rows", "english", "piece_scores", "pieces", "basis"])
def test_parts_that_do_not_fit_are_refused(name: str) -> None:
    arrays = read_arrays(memoryview((MODEL / LANGUAGES).read_bytes()))
    small = {key: array[:50] for key, array in arrays.items() if key not in ("pieces", "english_words", "basis")}
    small["pieces"] = np.frombuffer("\n".join(f"p{number}" for number in range(50)).encode(), "<u1")
    small |= {key: arrays[key] for key in ("english_words", "basis")}
    assert OtherLanguages(memoryview(encode_arrays(small))).dims == 256
    small[name] = small[name][:-2] if name != "pieces" else np.frombuffer(b"\xff\n" * 25, "<u1")
    with pytest.raises(BadTable):
        OtherLanguages(memoryview(encode_arrays(small))).encode("p1")
