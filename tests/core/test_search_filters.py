"""The table of filters is complete: every field of Filters has a row, and every row a value in the example."""

from dataclasses import fields
from datetime import UTC, date, datetime

import pytest

from registry.core import search_filters
from registry.core.model.listing import Filters, TrustLevel
from registry.core.search_filters import (
    EXAMPLE,
    FACETS,
    FILTERS,
    INDEX_FIELDS,
    NUMBERS,
    Facet,
    Number,
    make_filters,
    numbers_of,
    values_of,
)
from registry.search import generation
from registry.search.meilisearch import layout

TODAY = date(2026, 11, 21)


def test_every_field_of_filters_has_a_row() -> None:
    without_row = {"include_unverified", "hosts", "unique"}  # flags of the search, and ARD's publishers
    assert {row.field for row in FILTERS} == {field.name for field in fields(Filters)} - without_row


def test_the_example_has_a_value_for_every_filter() -> None:
    """Without one, the version of the layout would not depend on how the value is read."""
    assert {name for name, _ in values_of(EXAMPLE)} == set(FACETS)
    assert {name for name, number in numbers_of(EXAMPLE) if number} == set(NUMBERS)


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ("FACETS", Facet("price", lambda listing: [listing.pricing_type])),
        ("FACETS", Facet("auth", lambda listing: [listing.auth_type.upper()])),
        ("NUMBERS", Number("listed", lambda _: 7, "created_at")),
        ("NUMBERS", Number("seen", lambda listing: listing.seen_on, "seen_at", top=2**53)),
    ],
)
def test_another_field_is_another_layout(monkeypatch: pytest.MonkeyPatch, table: str, field: Facet | Number) -> None:
    assert search_filters._index_fields() == INDEX_FIELDS
    assert INDEX_FIELDS in generation.LAYOUT and INDEX_FIELDS in layout.LAYOUT
    monkeypatch.setitem(getattr(search_filters, table), field.name, field)
    assert search_filters._index_fields() != INDEX_FIELDS


def test_empty_values_do_not_filter() -> None:
    assert make_filters({}, include_unverified=False, today=TODAY) == Filters()
    assert make_filters({"category": ("all", "email")}, include_unverified=True, today=TODAY) == Filters(True)


def test_the_later_of_two_days_counts() -> None:
    for days, day in ((3, date(2026, 11, 18)), (30, date(2026, 11, 1))):
        given = {"seen_since": date(2026, 11, 1), "seen_within_days": days}
        assert make_filters(given, include_unverified=False, today=TODAY).seen_since == day


def test_a_row_of_the_database_passes_as_a_listing_does() -> None:
    row = EXAMPLE  # its fields have the names of the columns, except the dates
    passes = {"formats": ("awp", "adp"), "trust_levels": (TrustLevel.VERIFIED,), "min_score": 50, "max_score": 50}
    assert search_filters.make_check(Filters(**passes, tlds=("org",)))(row)  # type: ignore[arg-type]
    for name, value in {"formats": ("awp",), "auth_types": ("oauth2",), "min_score": 51, "max_score": 49}.items():
        assert not search_filters.make_check(Filters(**{name: value}))(row)  # type: ignore[arg-type]
    changed = EXAMPLE.updated_at
    assert changed is not None
    assert search_filters.make_check(Filters(updated_after=changed))(row)
    assert not search_filters.make_check(Filters(updated_after=datetime(2027, 1, 1, tzinfo=UTC)))(row)
