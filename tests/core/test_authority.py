"""Who may speak for whom."""

import pytest

from registry.core.names.authority import Relation, is_own_answer, relation


@pytest.mark.parametrize(
    ("speaker", "subject", "expected"),
    [
        ("shop.example", "shop.example", Relation.SAME),
        ("shop.example", "www.shop.example", Relation.SAME),
        ("www.shop.example", "shop.example", Relation.SAME),
        ("www.api.shop.example", "api.shop.example", Relation.SAME),
        ("shop.example", "api.shop.example", Relation.BELOW),
        ("api.shop.example", "v1.api.shop.example", Relation.BELOW),
        ("www.shop.example", "api.shop.example", Relation.BELOW),
        ("u1.platform.example", "platform.example", Relation.SITE),
        ("u1.platform.example", "www.platform.example", Relation.SITE),
        ("u1.platform.example", "u2.platform.example", Relation.SITE),
        ("a.u1.platform.example", "u1.platform.example", Relation.SITE),
        ("shop.example", "other.example", Relation.FOREIGN),
        ("shop.example", "notshop.example", Relation.FOREIGN),
        ("u1.github.io", "u2.github.io", Relation.FOREIGN),
        ("github.io", "u2.github.io", Relation.FOREIGN),
        ("www.github.io", "github.io", Relation.FOREIGN),
    ],
)
def test_the_relation_of_two_hosts(speaker, subject, expected):
    assert relation(speaker, subject) is expected


@pytest.mark.parametrize(
    ("urls", "expected"),
    [
        (["https://shop.example/a"], True),
        (["https://shop.example/a", "https://www.shop.example/b"], True),
        (["https://shop.example/a", "https://u1.shop.example/a"], False),
        (["https://shop.example/a", "https://u1.shop.example/a", "https://shop.example/users/u1"], False),
        (["https://shop.example/a", "nonsense"], False),
    ],
)
def test_a_redirect_to_another_host_leaves_the_answer_to_it(urls, expected):
    assert is_own_answer("shop.example", urls) is expected
