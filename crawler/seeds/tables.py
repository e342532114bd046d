"""Reads names from one column of a CSV or TSV file. Each line is a row; a malformed row affects only itself."""

import csv
from collections.abc import Iterator
from itertools import chain
from typing import Final

from crawler.seeds.lines import seed
from crawler.seeds.opened import OpenList
from crawler.seeds.source import BadSource, SeedSource
from registry.core.names.domains import InvalidName, canonical_host
from registry.core.names.seeds import Refusal, Seed

CSV: Final = SeedSource("csv", "a column of a table (CSV or TSV)", "the name of the file")
TRANCO: Final = SeedSource(
    "tranco", "a list of rank,domain as Tranco publishes it", "the name of the file, or `--name`"
)

TRANCO_COLUMN: Final = "2"
HEADINGS: Final = ("domain", "host", "hostname", "fqdn", "rootdomain", "root_domain", "website", "site", "url", "name")
"""Headings of the column of names, in lower case, the most reliable first."""

MAX_SHOWN: Final = 200

_DELIMITERS = ("\t", ",", ";")

_Line = tuple[int, str] | Refusal


def names(
    source: OpenList, *, column: str | None = None, urls: bool = False, list_name: str | None = None
) -> Iterator[Seed | Refusal]:
    """Return the names of one column. `column`: its heading or its number from 1; by default the first row decides.
    Raise BadSource at once if there is no such column."""
    lines = source.lines()
    leading: list[_Line] = []
    for line in lines:
        leading.append(line)
        if not isinstance(line, Refusal):
            break
    if not leading or isinstance(leading[-1], Refusal):
        return iter([refusal for refusal in leading if isinstance(refusal, Refusal)])
    first_row = leading[-1][1]
    delimiter = max(_DELIMITERS, key=first_row.count)
    column_index, has_header = _find_column(_cells(first_row, delimiter) or [first_row], column, source.name)
    if has_header:
        leading.pop()
    return _read_column(chain(leading, lines), delimiter, column_index, urls, list_name or source.name)


def _read_column(
    lines: Iterator[_Line], delimiter: str, column_index: int, urls: bool, referrer: str
) -> Iterator[Seed | Refusal]:
    for line in lines:
        if isinstance(line, Refusal):
            yield line
            continue
        number, text = line
        cells = _cells(text, delimiter)
        if cells is None:
            yield Refusal(text[:MAX_SHOWN], "bad_row", "the quotes of this row do not end in it", referrer, number)
        elif column_index < len(cells):
            yield seed(cells[column_index].strip(), referrer, number, urls=urls)
        else:
            yield Refusal(text[:MAX_SHOWN], "short_row", f"the row has no column {column_index + 1}", referrer, number)


def _cells(text: str, delimiter: str) -> list[str] | None:
    """Return the cells of a row (RFC 4180, any delimiter); None if a quote is not closed."""
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def _find_column(cells: list[str], column: str | None, name: str) -> tuple[int, bool]:
    """Return the index of the column, from 0, and whether the row is a header. Raise BadSource."""
    headings = [cell.strip().lower() for cell in cells]
    if column is None:
        return _guess_column(headings, name)
    if column.isascii() and column.isdigit():
        column_index = int(column[:6]) - 1
        if not 0 <= column_index < len(cells):
            raise BadSource(f"{name}: the first row has {len(cells)} columns, and no column {column}")
        return column_index, headings[column_index] in HEADINGS
    if column.strip().lower() not in headings:
        raise BadSource(f"{name}: no column is called {column!r}; there are: {', '.join(headings)[:MAX_SHOWN]}")
    return headings.index(column.strip().lower()), True


def _guess_column(headings: list[str], name: str) -> tuple[int, bool]:
    if heading := next((candidate for candidate in HEADINGS if candidate in headings), None):
        return headings.index(heading), True
    for column_index, cell in enumerate(headings):
        try:
            canonical_host(cell)
        except InvalidName:
            continue
        return column_index, False
    raise BadSource(f"{name}: no column of the first row holds a host name; say which with --column")
