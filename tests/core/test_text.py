import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.reading.plain_text import split_name
from registry.core.wording.text import QUERY_TERMS, REQUEST_WORDS, TOKEN_CHARS, name_text, query_terms, stems


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getWeather_v2", "get Weather v2"), ("HTTPServer", "HTTP Server"),
        ("send-email.to/inbox", "send email to inbox"), ("list::all|now&then", "list all now then"),
        ("weather", "weather"), ("base64Encode", "base64 Encode"), ("", ""),
    ],
)  # fmt: skip
def test_names_split_where_a_reader_would(name: str, parts: str) -> None:
    assert split_name(name) == parts


def test_a_name_is_kept_beside_its_parts() -> None:
    assert name_text("sendEmail") == "sendEmail send Email"
    assert name_text("email") == "email"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Sending SENDS sent", ["send", "send", "sent"]),
        ("Bob's don't O\u2019Neil", ["bob", "dont", "oneil"]),
        ("snake_case, 3.5 e-mail!", ["snake", "case", "3", "5", "e", "mail"]),
        ("Grüße aus Köln", ["gruss", "aus", "koln"]),
        ("天気を調べる", ["天気", "を", "調", "べる"]),
        ("予約確認PDF", ["予約", "約確", "確認", "pdf"]),
        ("カメラ ガス", ["カメ", "メラ", "ガス"]),
        ("서울시청", ["서울", "울시", "시청"]),
        ("น้ำแข็ง", ["นา", "าแ", "แข", "ขง"]),
        ("หิมะ a\u0e31", ["หม", "มะ", "a"]),
        ("كِتاب मौसम", ["كتاب", "मौसम"]),
        ("வானிலை হোটেল කාලය ខែ", ["வானிலை", "হোটেল", "කාලය", "ខែ"]),
        ("🦊 \x00 --", []),
    ],
)
def test_stems(text: str, terms: list[str]) -> None:
    assert stems(text) == terms


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("de", "Buchungen", "Buchung"),
        ("de", "Straßenkarte überprüfen", "Strassenkarte ueberpruefen"),
        ("fr", "l'événement réservé", "evenements reserver"),
        ("es", "habitaciones", "habitación"),
        ("pt", "mapas e câmeras", "mapa e camera"),
        ("it", "dell'immagine", "immagini"),
        ("nl", "vertalingen", "vertaling"),
        ("pl", "tłumaczenia", "tłumaczenie"),
        ("ar", "الفنادق للغرف إيجار", "فنادق غرف ايجار"),
        ("ru", "ещё билеты", "еще билет"),
        ("xx", "parcels", "parcel"),
        ("en", "résumés, fiancée", "resumes, fiancee"),
    ],
)
def test_forms_of_a_word_have_one_stem_in_its_language(language: str, one: str, other: str) -> None:
    assert stems(one, language) == stems(other, language)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("I need to let customers reschedule a delivery", ["customers", "reschedule", "delivery"]),
        ("can you help me?", ["can", "you", "help", "me"]),
        ("What's the weather like", ["weather"]),
        ("I\u2019d like my id", ["id"]),
        ("whats up with shell scripts, id rather know", ["shell", "scripts", "id"]),
        ("emails, email and emailing", ["emails"]),
        ("", []),
        ("!!!", []),
    ],
)
def test_request_words_are_removed_from_queries(query: str, words: list[str]) -> None:
    assert list(query_terms(query).values()) == words


@pytest.mark.parametrize(
    ("language", "query", "words"),
    [
        ("de", "Ich möchte bitte ein Zimmer buchen", ["zimmer", "buchen"]),
        ("fr", "je voudrais la météo d'aujourd'hui", ["météo", "aujourd", "hui"]),
        ("es", "¿puedes mostrarme el tiempo en Lima?", ["mostrarme", "tiempo", "lima"]),
        ("it", "mi serve un'auto", ["auto"]),
        ("pl", "chciałbym kupić bilet", ["kupić", "bilet"]),
        ("ar", "أريد شراء تذكرة", ["شراء", "تذكرة"]),
        ("zh", "请帮我预订机票", ["预订", "订机", "机票"]),
        ("ja", "飛行機の予約をしたいです", ["飛行", "行機", "予約"]),
        ("ja", "すし", ["すし"]),
        ("de", "wie ist das", ["wie", "ist", "das"]),
    ],
)
def test_request_words_of_other_languages_are_removed(language: str, query: str, words: list[str]) -> None:
    assert list(query_terms(query, language).values()) == words


def test_words_that_name_what_services_do_are_no_request_words() -> None:
    words = {"find", "search", "check", "create", "list", "information", "tool", "app", "id", "shell"}
    assert not REQUEST_WORDS & words


@settings(max_examples=200)
@given(st.text(max_size=600))
def test_any_text_gives_bounded_terms_without_white_space(text: str) -> None:
    terms = query_terms(text)
    assert len(terms) <= QUERY_TERMS
    for stem in (*terms, *stems(text), *stems(text, "fr"), *query_terms(text, "ja")):
        assert stem.split() == [stem]
        assert len(stem) <= TOKEN_CHARS + 1


def test_long_queries_are_cut() -> None:
    many = " ".join(f"{chr(97 + n % 26)}{n}" for n in range(300))
    assert len(query_terms(many)) == QUERY_TERMS
    assert query_terms("x" * 10_000) == {"x" * TOKEN_CHARS: "x" * TOKEN_CHARS}
