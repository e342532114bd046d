"""The same question with other punctuation is the same question."""

import numpy as np
import pytest

from registry.core.ranking.parsed_query import parse_query
from registry.search.embedding import default_embedder


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        (
            "send an e-mail to Oslo",
            [
                "send an e-mail to Oslo?", "send an e-mail to Oslo!!", "send an e-mail to Oslo…",
                "send an e-mail to Oslo .", "“send an e-mail to Oslo”", "«send an e-mail to Oslo»",
                "¿send an e-mail to Oslo?", "(send an e-mail) to Oslo", "send an e-mail to Oslo。",
                "send an e-mail to Oslo？", "ｓｅｎｄ　ａｎ　ｅ－ｍａｉｌ to Oslo", "SEND AN E-MAIL TO OSLO",
                "send an e\u2011mail to Oslo", "send an e\u2010mail to Oslo", "send an e\u2013mail to Oslo",
                "send\u00a0an\u202fe-mail to\u2009Oslo", "send an e-mail, to Oslo;", "send an e-mail \u2014 to Oslo",
                "send an e-mail\u2014to Oslo", "*send* an _e-mail_ to Oslo", "send an 'e-mail' to ‘Oslo’",
                "send an e\u00ad-mail to Oslo", "send an e-mail\nto Oslo؟",
            ],
        ),
        ("what's the tide-table of tidal-mill.example", ["What’s the tide\u2011table of “tidal\u2011mill.example”?!"]),
        (
            "convert 1,000 USD at 3.5 % in C++",
            ["(convert 1,000 USD at 3.5 % in C++)?", "convert “1,000” USD at 3.5 % in C++…"],
        ),
        ("天気予報", ["天気予報。", "「天気予報」", "天気予報？", "天気予報！"]),
    ],
)  # fmt: skip
def test_punctuation_changes_neither_words_nor_vectors(text: str, forms: list[str]) -> None:
    embedder = default_embedder()
    plain = parse_query(text, embedder)
    assert plain.whole is not None and plain.needs is not None
    for form in forms:
        question = parse_query(form, embedder)
        assert question.whole is not None and question.needs is not None, form
        assert dict(question.terms) == dict(plain.terms), form
        assert (question.objects, question.ways) == (plain.objects, plain.ways), form
        assert set(question.names) == set(plain.names), form
        np.testing.assert_array_equal(question.whole, plain.whole, form)
        np.testing.assert_array_equal(question.needs, plain.needs, form)


@pytest.mark.parametrize("other", ["convert 1000 USD at 35 % in C", "convert 1 000 USD at 3 5 in C#"])
def test_marks_inside_words_count(other: str) -> None:
    embedder = default_embedder()
    first, second = (parse_query(text, embedder).whole for text in ("convert 1,000 USD at 3.5 % in C++", other))
    assert first is not None and second is not None and not np.array_equal(first, second)


@pytest.mark.parametrize("text", ["?", "…", "—", "。", '""', "- - -"])
def test_punctuation_alone_asks_for_nothing(text: str) -> None:
    question = parse_query(text, default_embedder())
    assert not question.terms and question.whole is None
