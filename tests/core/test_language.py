"""The language of a short text is detected by its script and the parts of its words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.wording.language import BUCKETS, LATIN, _table, language_of

FOREIGN = {
    "de": ["Ich brauche eine Übersetzung", "Kalender mit Kollegen teilen", "wie warm wird es heute", "Währungsrechner"],
    "fr": ["trouver un restaurant", "quelle heure est-il à Lima", "payer une facture", "météo"],
    "es": ["buscar hoteles baratos", "quiero escuchar música", "enviar dinero a mi hermano"],
    "pt": ["procurar hotéis baratos", "quero ouvir música", "mandar dinheiro para o meu irmão"],
    "it": ["trovare un albergo economico", "vorrei ascoltare la musica", "qual è il prezzo dell'oro"],
    "nl": ["goedkope hotels zoeken", "ik wil naar muziek luisteren", "hoeveel kost een postzegel"],
    "pl": ["szukam tanich hoteli", "chcę słuchać muzyki", "ile kosztuje znaczek"],
    "sv": ["hitta billiga hotell", "jag vill lyssna på musik"],
    "tr": ["ucuz oteller bul", "müzik dinlemek istiyorum"],
    "ja": ["安いホテルを探す", "音楽を聴きたい", "PDFをWordに変換"],
    "zh": ["寻找便宜的酒店", "我想听音乐", "把CSV文件转成JSON", "Excel转CSV"],
    "ko": ["저렴한 호텔 찾기"],
    "ar": ["البحث عن فنادق رخيصة", "كم سعر الذهب اليوم"],
    "ru": ["найти дешёвый отель"],
    "el": ["φθηνά ξενοδοχεία"],
    "he": ["מלונות זולים"],
    "th": ["โรงแรมราคาถูก"],
    "hi": ["सस्ते होटल"],
}
ENGLISH = [
    "find cheap hotels", "I want to listen to music", "how much is a stamp", "money transfer to Warsaw", "pizza",
    "restaurant near the Louvre", "translate 手紙 into English", 'what does "Feierabend" mean in English', "café bar",
    "kubernetes", "wetter-heute.example: https://a.example/wetter", "sms api",
    "gold price", "", "42", "?!", "\x00", "\ud800", "იაფი სასტუმროები", "எளிய வழி", "\U00020000\U00020001",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "language"), [(text, language) for language, texts in FOREIGN.items() for text in texts]
)
def test_foreign_questions_are_told(text: str, language: str) -> None:
    assert language_of(text) == language
    assert language_of(f"  {text}?\u200b") == language


@pytest.mark.parametrize("text", ENGLISH, ids=ascii)
def test_names_and_quoted_words_do_not_make_english_foreign(text: str) -> None:
    assert language_of(text) == "en"


@given(st.text(max_size=600))
def test_any_text_has_one_known_language(text: str) -> None:
    assert language_of(text) in {*LATIN, *FOREIGN}


def test_the_table_has_a_row_for_each_hash_and_a_column_for_each_language() -> None:
    assert _table().shape == (BUCKETS, len(LATIN))
