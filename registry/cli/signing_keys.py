"""`waypost keys`: the keys that sign the crawler's requests. Private keys are never printed."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from registry.cli import common
from registry.cli.clean import print_json
from registry.cli.common import DONE, NO, USAGE, AsJson, DataFolder, exit_on_error, print_error, print_line

if TYPE_CHECKING:
    from registry.core.web_bot_auth import SigningKey
    from registry.wiring.signing_keys import KeyFiles

keys = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Sign the crawler's requests (Web Bot Auth).

    Sites can then verify who asks. All processes of this data folder use a change within ten seconds. Exit code 1 when
    there is no such key. """,
)

Now = Annotated[bool, typer.Option("--now", help="Sign with it at once, for example when the old key was stolen.")]


@keys.command("list")
def list_keys(data: DataFolder = None, as_json: AsJson = False) -> None:
    """List the keys: which one signs, which come next, which are still listed for sites."""
    with exit_on_error():
        found = _files(data).read()
    for key in found:
        _show(key, found, as_json=as_json)
    raise typer.Exit(DONE if found else NO)


@keys.command()
def new(data: DataFolder = None, as_json: AsJson = False) -> None:
    """Make a key. The first one signs at once, further ones in a day; the others stay.

    `rotate` also ends the others.
    """
    from registry.core.web_bot_auth import key_in_use
    from registry.wiring.signing_keys import LEAD_SECONDS, LEAST_LEAD_SECONDS

    now = int(time.time())
    with exit_on_error():
        files = _files(data)
        lead = LEAST_LEAD_SECONDS if key_in_use(files.read(), now) is None else LEAD_SECONDS
        _show(files.add(now + lead), files.read(), as_json=as_json)


@keys.command()
def rotate(now: Now = False, data: DataFolder = None, as_json: AsJson = False) -> None:
    """Make a key that replaces all others in a day, so that sites learn it before its first signature.

    The others stay listed until their last signatures have expired. Expired keys are deleted.
    """
    from registry.core.web_bot_auth import key_in_use
    from registry.wiring.signing_keys import LEAD_SECONDS, LEAST_LEAD_SECONDS

    at = int(time.time())
    with exit_on_error():
        files = _files(data)
        is_first = key_in_use(files.read(), at) is None
        files.rotate(at, LEAST_LEAD_SECONDS if now or is_first else LEAD_SECONDS)
        found = files.read()
    for key in found:
        _show(key, found, as_json=as_json)


@keys.command()
def remove(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="The id that `list` shows.")],
    force: Annotated[bool, typer.Option("--force", help="Also the key that signs now.")] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Delete a key. Sites refuse its signatures once they have read the directory again.

    Without --force, the key that signs now is refused: rotate first.
    """
    from registry.core.web_bot_auth import key_in_use

    with exit_on_error():
        files = _files(data)
        used = key_in_use(files.read(), int(time.time()))
        if used is not None and used.id == key_id and not force:
            common.fail("this key signs now: run `waypost keys rotate` first, or add --force", USAGE)
        removed = files.remove(key_id)
    if as_json:
        print_json({"id": key_id, "removed": removed})
    elif removed:
        print_line(f"{key_id}  removed")
    else:
        print_error("there is no key with this id")
    raise typer.Exit(DONE if removed else NO)


def _files(data: Path | None) -> "KeyFiles":
    """Return the key files of the settings, and say why their keys would sign nothing."""
    from registry.wiring.signing_keys import KeyFiles, agent_of

    settings = common.read_settings(data=data)
    if agent_of(settings) is None:
        print_error("nothing is signed: WAYPOST_PUBLIC_URL or WAYPOST_SIGNATURE_AGENT must be an https address")
    return KeyFiles(settings)


def _show(key: "SigningKey", found: "list[SigningKey]", *, as_json: bool) -> None:
    from registry.core.web_bot_auth import state_of

    state = state_of(key, found, int(time.time()))
    times: dict[str, Any] = {"signs_from": _time(key.not_before or None), "listed_until": _time(key.expires)}
    if as_json:
        print_json({"id": key.id, "state": state, **times})
        return
    shown = [f"{name.replace('_', ' ')} {at}" for name, at in times.items() if at is not None]
    print_line("  ".join([key.id, state, *shown]))


def _time(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
