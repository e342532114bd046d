"""Tables: names in one column of a CSV or TSV file. A row is a line; one that cannot be read costs only itself."""

import csv
from collections.abc import Iterator
from itertools import chain
from typing import Final

from crawler.seeds.lines import seed
from crawler.seeds.opened import Opened
from crawler.seeds.source import BadSource, Source
from registry.core.domains import InvalidName, canonical_host
from registry.core.seeds import Refusal, Seed

CSV: Final = Source("csv", "a column of a table (CSV or TSV)", "the name of the file")
TRANCO: Final = Source("tranco", "a list of rank,domain as Tranco publishes it", "the name of the file, or `--name`")

TRANCO_COLUMN: Final = "2"
HEADINGS: Final = ("domain", "host", "hostname", "fqdn", "rootdomain", "root_domain", "website", "site", "url", "name")
"""What the column of names is called, in lower case, in lists that have a header; the surest first."""

MAX_SHOWN: Final = 200

_DELIMITERS = ("\t", ",", ";")

_Line = tuple[int, str] | Refusal


def names(
    source: Opened, *, column: str | None = None, urls: bool = False, called: str | None = None
) -> Iterator[Seed | Refusal]:
    """The names of one column. `column`: its heading, or its number from 1; else it is found by the first row.

    Raises BadSource, before anything is taken, where there is no such column.
    """
    lines = source.lines()
    before: list[_Line] = []
    for line in lines:
        before.append(line)
        if not isinstance(line, Refusal):
            break
    if not before or isinstance(before[-1], Refusal):
        return iter([one for one in before if isinstance(one, Refusal)])
    first = before[-1][1]
    delimiter = max(_DELIMITERS, key=first.count)
    place, has_header = _column(_cells(first, delimiter) or [first], column, source.name)
    if has_header:
        before.pop()
    return _column_of(chain(before, lines), delimiter, place, urls, called or source.name)


def _column_of(
    lines: Iterator[_Line], delimiter: str, place: int, urls: bool, referrer: str
) -> Iterator[Seed | Refusal]:
    for line in lines:
        if isinstance(line, Refusal):
            yield line
            continue
        number, text = line
        cells = _cells(text, delimiter)
        if cells is None:
            yield Refusal(text, "bad_row", "the quotes of this row do not end in it", referrer, number)
        elif place < len(cells):
            yield seed(cells[place].strip(), referrer, number, urls=urls)
        else:
            yield Refusal(text, "short_row", f"the row has no column {place + 1}", referrer, number)


def _cells(text: str, delimiter: str) -> list[str] | None:
    """The cells of a row (RFC 4180, any delimiter); None where a quote is never closed."""
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def _column(cells: list[str], column: str | None, name: str) -> tuple[int, bool]:
    """Which column it is, from 0, and whether the row is a header. Raises BadSource."""
    headings = [cell.strip().lower() for cell in cells]
    if column is None:
        return _found(headings, name)
    if column.isascii() and column.isdigit():
        place = int(column[:6]) - 1
        if not 0 <= place < len(cells):
            raise BadSource(f"{name}: the first row has {len(cells)} columns, and no column {column}")
        return place, headings[place] in HEADINGS
    if column.strip().lower() not in headings:
        raise BadSource(f"{name}: no column is called {column!r}; there are: {', '.join(headings)[:MAX_SHOWN]}")
    return headings.index(column.strip().lower()), True


def _found(headings: list[str], name: str) -> tuple[int, bool]:
    if heading := next((one for one in HEADINGS if one in headings), None):
        return headings.index(heading), True
    for place, cell in enumerate(headings):
        try:
            canonical_host(cell)
        except InvalidName:
            continue
        return place, False
    raise BadSource(f"{name}: no column of the first row holds a host name; say which with --column")
