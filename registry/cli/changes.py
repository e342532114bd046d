"""`waypost changes`: print the change feed, line by line."""

from datetime import UTC
from typing import Final

from rich.console import Console

from registry.actions.feed import ExpiredCursor, FeedRow, InvalidCursor, decode
from registry.api.feed import event_row
from registry.cli.clean import print_json
from registry.cli.common import DONE, NO, USAGE, fail, print_error
from registry.cli.terminal import console as stdout
from registry.cli.terminal import escaped
from registry.core.changes.kinds import ALL, Types, UnknownKind, payload_of
from registry.wiring import Waypost

_AT_ONCE: Final = 100
_WAIT_SECONDS: Final = 60.0


def types_of(text: str | None) -> Types:
    """Return the filter in a comma-separated list; end the command with wrong usage when no kind of event matches."""
    try:
        return ALL if text is None else Types.of(text.split(","))
    except UnknownKind as error:
        fail(f"--types {error}", USAGE)


async def show_changes(
    waypost: Waypost, types: Types, cursor: str | None, console: Console = stdout, *, follow: bool, as_json: bool
) -> int:
    """Print the events after a cursor; with `follow` also new events. Return the exit code."""
    try:
        place = decode(cursor, types) if cursor else None
        page = await waypost.feed.latest(types) if follow and not cursor else await waypost.feed.page(place, types)
        while True:
            for event in page.events:
                if as_json:
                    print_json(event_row(event))
                else:
                    console.print(_line(event), soft_wrap=True)
            if not page.has_more and not follow:
                break
            while not page.has_more and not await waypost.feed.wait(page.place, _WAIT_SECONDS):
                pass
            page = await waypost.feed.page(page.place, types, _AT_ONCE)
    except InvalidCursor as error:
        print_error(f"--cursor: {error}")
        return USAGE
    except ExpiredCursor:
        print_error("the events after this cursor are not all kept; begin without --cursor")
        return NO
    if not as_json:
        console.print(f"[dim]go on from here with --cursor {page.cursor}[/]", soft_wrap=True)
    return DONE


def _line(event: FeedRow) -> str:
    payload = payload_of(event.kind, event.data)
    facts = [payload["state"], *(str(payload[name]) for name in ("reason", "how") if name in payload)]
    if "score" in payload:
        facts.append(f"score {payload['score']}")
    if payload.get("changed"):
        facts.append("changed: " + " ".join(payload["changed"]))
    at = event.at.astimezone(UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}Z  {event.kind:<18} [cyan]{event.host}[/]  {escaped(', '.join(facts))}"
