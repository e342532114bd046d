"""Words that are spelt nearly like another one, and which words of a question are corrected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.ranking import CorpusStats, make_record, parse_query
from registry.core.ranking.spelling import corrected, corrections, neighbours, unknown_words
from registry.core.ranking.vocabulary import MAX_CHARS, Neighbour, Vocabulary, is_kept
from tests.search.listings import listing
from tests.support.candidates import count_corpus
from tests.support.embedder import WordEmbedder

STATS = count_corpus(
    make_record(listing(f"h{n}.example", text))
    for n, text in enumerate(
        ["Invoice parser: reads invoices", "Invoice mailer", "PDF printer", "Shipping label", "Move a booking"]
    )
)
LETTERS = st.text(alphabet="abvé", min_size=3, max_size=10)  # of these, only b and v are beside each other


class Knowing(WordEmbedder):
    def __init__(self, *known: str) -> None:
        super().__init__()
        self._known = known

    def knows(self, word: str) -> bool:
        return word in self._known


def distance(first: str, second: str) -> int:
    """Optimal string alignment, written for one pair."""
    rows = [[max(row, column) for column in range(len(second) + 1)] for row in range(len(first) + 1)]
    for row in range(1, len(first) + 1):
        for column in range(1, len(second) + 1):
            rows[row][column] = min(
                rows[row - 1][column] + 1,
                rows[row][column - 1] + 1,
                rows[row - 1][column - 1] + (first[row - 1] != second[column - 1]),
            )
            if first[row - 2 : row] == second[column - 2 : column][::-1] and min(row, column) > 1:
                rows[row][column] = min(rows[row][column], rows[row - 2][column - 2] + 1)
    return rows[-1][-1]


def is_key_beside(word: str, other: str) -> bool:
    return word.replace("v", "b") == other.replace("v", "b")


@given(LETTERS, st.sets(LETTERS, max_size=30))
def test_neighbours_are_the_words_within_the_edits_that_the_length_allows(word: str, words: set[str]) -> None:
    allowed = 2 if len(word) >= 8 else 1
    expected = [
        Neighbour(other, edits)
        for other in sorted(words)
        if 0 < (edits := distance(word, other)) <= allowed
        and (edits == 1 or other[0] == word[0])
        and (len(word) > 4 or len(other) != len(word) or sorted(word) == sorted(other) or is_key_beside(word, other))
        and (len(word) > 3 or sorted(word) == sorted(other) or (len(other) == 4 and word[0] == other[0]))
    ]
    assert Vocabulary.of(words).near(word) == expected


@pytest.mark.parametrize("word", ["", "ab", "mp3", "w" * (MAX_CHARS + 1), "a b", "天"])
def test_other_words_have_no_neighbours(word: str) -> None:
    assert not is_kept(word)
    assert Vocabulary.of([word, "word"]).near(word) == []


@given(st.sets(st.text(max_size=25)))
def test_a_vocabulary_is_read_back_unchanged(words: set[str]) -> None:
    assert set(Vocabulary.of(words).words()) == {word for word in words if is_kept(word)}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("invocie parsr", {"invocie": "invoice", "parsr": "parser"}),
        ("pfd", {"pfd": "pdf"}),
        ("shiping lable", {"shiping": "shipping", "lable": "label"}),
        ("invoice", {}),
        ("zebra", {}),
        ("mocing", {}),
        ("mpve", {"mpve": "move"}),
        ("mive", {"mive": "move"}),
        ("mqve", {}),
        ("mve", {"mve": "move"}),
        ("ove", {}),
        ("invoiceparser", {"invoiceparser": "invoice parser"}),
        ("in voice par ser", {"par ser": "parser"}),
        ("re-ads", {"re ads": "reads"}),
        ("ship ping", {"ship ping": "shipping"}),
        ("an invoice of Moove", {}),
        ("天気 ééé", {}),
        ("wir mieten eine Wohnung", {}),
    ],
)
def test_misspelt_words_are_corrected(question: str, expected: dict[str, str]) -> None:
    assert corrections(parse_query(question), STATS, Knowing()) == expected


def test_without_an_embedder_short_words_are_mostly_right() -> None:
    question = parse_query("mive mve pfd invoiceparser moving invocie")
    assert corrections(question, STATS, None) == {"pfd": "pdf", "invocie": "invoice"}


def test_a_word_that_the_embedder_knows_is_spelt_right() -> None:
    question = parse_query("movie")
    assert corrections(question, STATS, Knowing()) == {"movie": "move"}
    assert corrections(question, STATS, Knowing("movie")) == {}


def test_the_word_of_most_services_is_the_likeliest() -> None:
    assert neighbours("inovices", STATS, 3)[0] == "invoices"
    stats = count_corpus(
        make_record(listing(f"h{n}.example", text)) for n, text in enumerate(["Brake", "Bread", "Bread", "Break"])
    )
    assert neighbours("breax", stats, 2) == ("bread", "break")


def test_a_slip_of_a_finger_is_likelier_than_a_far_key() -> None:
    texts = ["Chart", "Heart", "Heart", "Heart", "Hart", "Hart"]
    stats = count_corpus(make_record(listing(f"h{n}.example", text)) for n, text in enumerate(texts))
    assert neighbours("hcart", stats, 3) == ("hart", "chart", "heart")


def test_only_the_misspelt_words_are_replaced() -> None:
    question = parse_query("Read my Invocie, please: INVOCIE no. 7")
    assert corrected(question, {"invocie": "invoice"}) == "read my invoice, please: invoice no. 7"
    assert corrected(parse_query("An E-mail, an e mail"), {"e mail": "email"}) == "an email, an email"


def test_words_of_services_that_are_gone_are_no_corrections() -> None:
    stats = CorpusStats(
        1, 1.0, STATS.terms[:0], STATS.df[:0], Vocabulary.of(["invoice"])
    )  # the vocabulary forgets a word with the next build only
    assert corrections(parse_query("invocie"), stats, None) == {}


class Translating(WordEmbedder):
    """Knows that a word of another language means "invoice"."""

    def english(self, text: str) -> dict[str, str]:
        return {"invoice": "Invoyce"} if "Invoyce" in text else {}


def test_a_word_of_another_language_that_has_a_known_english_one_is_not_misspelt() -> None:
    question = parse_query("die Invoyce für den Kunden drucken", Translating())
    assert question.language == "de"
    assert "invoyce" in question.terms.values()
    assert "invoyce" not in unknown_words(question, STATS)
