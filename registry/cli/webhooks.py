"""`waypost webhooks`: the receivers of changes, their state, and the secrets that sign the messages."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from registry.cli import common
from registry.cli.clean import members, print_json
from registry.cli.common import DONE, NO, AsJson, ConnectTo, DataFolder, on_registry, print_error, print_line

if TYPE_CHECKING:
    from registry.actions.webhooks import Outgoing, WebhookRecord
    from registry.wiring import Waypost

webhooks = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Tell receivers of changes (Standard Webhooks).

    A worker sends messages that the change feed has moved. A receiver gets them once it has answered a challenge; it
    then reads the feed. Exit code 1 when there is no such webhook, or when a message was not delivered. """,
)

_RESULT = ("status", "duration_ms", "reason")

Id = Annotated[str, typer.Argument(metavar="ID", help="The id that `add` and `list` show.")]


@webhooks.command()
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="An https URL on port 443.")],
    types: Annotated[
        str | None, typer.Option(metavar="TYPES", help="Only these events, comma separated; service.* is allowed.")
    ] = None,
    domains: Annotated[
        list[str] | None,
        typer.Option("--domain", metavar="DOMAIN", help="Only events of this host and all below it. May be repeated."),
    ] = None,
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Add a receiver and show its secret once.

    Give the receiver the secret. The worker sends it a challenge at intervals until it answers; `verify` sends one at
    once.
    """
    from registry.core.changes.kinds import ALL, Types, UnknownKind

    try:
        wanted = ALL if types is None else Types.of(types.split(","))
    except UnknownKind as error:
        common.fail(f"--types: {error}", common.USAGE)

    async def work(waypost: "Waypost") -> int:
        webhook = await waypost.webhooks.add(url, wanted, domains or ())
        _show_secret(webhook, as_json=as_json)
        return DONE

    common.run_with_registry(work, data, connect_to, creates=True)


@webhooks.command("list")
@on_registry
async def show(waypost: "Waypost", as_json: AsJson = False) -> int:
    """Show all receivers and how they are doing."""
    for webhook in await waypost.webhooks.all():
        _show_summary(webhook, as_json=as_json)
    return DONE


@webhooks.command()
def verify(webhook: Id, connect_to: ConnectTo = None, data: DataFolder = None, as_json: AsJson = False) -> None:
    """Send a challenge now."""
    _send(lambda waypost: waypost.webhooks.challenge(webhook), data, connect_to, as_json=as_json)


@webhooks.command("test")
def trial(webhook: Id, connect_to: ConnectTo = None, data: DataFolder = None, as_json: AsJson = False) -> None:
    """Send a test message without an event now.

    The state of the receiver stays the same. Disabled receivers get the message too.
    """
    _send(lambda waypost: waypost.webhooks.trial(webhook), data, connect_to, as_json=as_json)


@webhooks.command()
def redeliver(
    webhook: Id,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The id of a message; `deliveries` shows them.")],
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Send an earlier message about events again.

    It is sent unchanged, with the same id.
    """
    _send(lambda waypost: waypost.webhooks.again(webhook, message), data, connect_to, as_json=as_json)


def _send(
    choose: "Callable[[Waypost], Awaitable[Outgoing | None]]",
    data: Path | None,
    connect_to: list[str] | None,
    *,
    as_json: bool,
) -> NoReturn:
    """Send one message from this process, record it and print the result."""

    async def work(waypost: "Waypost") -> int:
        from crawler.webhooks import WebhookSender, deliver
        from registry.cli.terminal import console, escaped

        outgoing = await choose(waypost)
        if outgoing is None:
            return _unknown()
        message = outgoing.message
        async with WebhookSender(waypost.settings) as sender:
            attempt, _ = await deliver(waypost, sender, outgoing)
        if as_json:
            print_json({"message": message.id, "purpose": message.purpose, **members(attempt, *_RESULT)})
        else:
            status = f", status {attempt.status}" if attempt.status is not None else ""
            result = escaped(attempt.reason or "delivered")
            console.print(f"{message.id}: {result}{status}, {attempt.duration_ms} ms")
        return NO if attempt.reason else DONE

    common.run_with_registry(work, data, connect_to)


@webhooks.command()
@on_registry
async def deliveries(
    waypost: "Waypost", webhook: Id, limit: Annotated[int, typer.Option(min=1, max=100)] = 20, as_json: AsJson = False
) -> int:
    """Show the latest attempts to deliver.

    The last 100 are kept.
    """
    attempts = await waypost.webhooks.deliveries(webhook, limit=limit)
    for attempt in attempts:
        if as_json:
            print_json({"message": attempt.message_id, **members(attempt, "purpose", "at", *_RESULT)})
            continue
        status = attempt.status if attempt.status is not None else "no answer"
        result = f"{attempt.duration_ms} ms  {attempt.reason or 'delivered'}"
        print_line(f"{_time_text(attempt.at)}  {attempt.message_id}  {attempt.purpose}  {status}  {result}")
    return DONE if attempts else NO


@webhooks.command()
@on_registry
async def rotate(
    waypost: "Waypost",
    webhook: Id,
    overlap: Annotated[
        int, typer.Option(min=0, max=720, metavar="HOURS", help="How long messages are signed with both secrets.")
    ] = 24,
    as_json: AsJson = False,
) -> int:
    """Make a new secret and show it once."""
    rotated = await waypost.webhooks.rotate(webhook, timedelta(hours=overlap))
    if rotated is None:
        return _unknown()
    _show_secret(rotated, as_json=as_json)
    return DONE


@webhooks.command()
@on_registry
async def enable(waypost: "Waypost", webhook: Id, as_json: AsJson = False) -> int:
    """Enable a receiver that was disabled or is failing.

    It gets a challenge first, and then the changes that it missed.
    """
    enabled = await waypost.webhooks.enable(webhook)
    if enabled is None:
        return _unknown()
    _show_summary(enabled, as_json=as_json)
    return DONE


@webhooks.command()
@on_registry
async def remove(waypost: "Waypost", webhook: Id) -> int:
    """Delete a receiver, its secret and its deliveries."""
    return DONE if await waypost.webhooks.remove(webhook) else _unknown()


def _unknown() -> int:
    print_error("there is no such webhook or message")
    return NO


def _show_secret(webhook: "WebhookRecord", *, as_json: bool) -> None:
    if as_json:
        print_json(_summary(webhook) | {"secret": webhook.secret})
    else:
        _show_summary(webhook, as_json=False)
        print_line(f"  secret, shown this once: {webhook.secret}")


def _show_summary(webhook: "WebhookRecord", *, as_json: bool) -> None:
    if as_json:
        print_json(_summary(webhook))
        return
    wanted = [f"types {', '.join(webhook.types)}"] if webhook.types else []
    wanted += [f"domains {', '.join(webhook.hosts)}"] if webhook.hosts else []
    print_line(f"{webhook.id}: {'; '.join([webhook.state, *wanted, webhook.url])}")
    if webhook.failures and webhook.disabled_at is None:
        print_line(f"  {webhook.failures} attempts failed, the next one is at {_time_text(webhook.due_at)}")
    elif webhook.disabled_reason:
        print_line(f"  {webhook.disabled_reason}")


def _summary(webhook: "WebhookRecord") -> dict[str, Any]:
    return {
        **members(webhook, "id", "url", "types", "state", "created_at", "verified_at", "disabled_at"),
        **members(webhook, "disabled_reason", "failures", "first_failure_at"),
        "domains": webhook.hosts,
        "pending": webhook.message_id,
        "next_attempt_at": webhook.due_at if webhook.message_id or webhook.verified_at is None else None,
    }


def _time_text(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
