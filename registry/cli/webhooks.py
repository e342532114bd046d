"""`waypost webhooks`: the receivers of changes, their state, and the secrets that sign the messages."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from registry.cli.clean import members, print_json
from registry.cli.common import DONE, NO, USAGE, AsJson, ConnectTo, DataFolder, fail, print_error, run_with_registry

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
        fail(f"--types: {error}", USAGE)

    async def work(waypost: "Waypost") -> int:
        webhook = await waypost.webhooks.add(url, wanted, domains or ())
        _show_secret(webhook, as_json=as_json)
        return DONE

    run_with_registry(work, data, connect_to)


@webhooks.command("list")
def show(data: DataFolder = None, as_json: AsJson = False) -> None:
    """Show all receivers and how they are doing."""

    async def work(waypost: "Waypost") -> int:
        found = await waypost.webhooks.all()
        if as_json:
            for webhook in found:
                print_json(_summary(webhook))
            return DONE
        for webhook in found:
            _show_summary(webhook, as_json=False)
        return DONE

    run_with_registry(work, data)


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


@webhooks.command()
def deliveries(
    webhook: Id,
    limit: Annotated[int, typer.Option(min=1, max=100)] = 20,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Show the latest attempts to deliver.

    The last 100 are kept.
    """

    async def work(waypost: "Waypost") -> int:
        attempts = await waypost.webhooks.deliveries(webhook, limit=limit)
        if as_json:
            for attempt in attempts:
                print_json({"message": attempt.message_id, **members(attempt, "purpose", "at", *_RESULT)})
            return DONE if attempts else NO
        from registry.cli.terminal import console, escaped

        for attempt in attempts:
            status = attempt.status if attempt.status is not None else "no answer"
            parts = (
                attempt.message_id,
                attempt.purpose,
                status,
                f"{attempt.duration_ms} ms",
                attempt.reason or "delivered",
            )
            console.print(escaped("  ".join([_time_text(attempt.at), *map(str, parts)])), soft_wrap=True)
        return DONE if attempts else NO

    run_with_registry(work, data)


@webhooks.command()
def rotate(
    webhook: Id,
    overlap: Annotated[
        int, typer.Option(min=0, max=720, metavar="HOURS", help="How long messages are signed with both secrets.")
    ] = 24,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Make a new secret and show it once."""

    async def work(waypost: "Waypost") -> int:
        rotated = await waypost.webhooks.rotate(webhook, timedelta(hours=overlap))
        if rotated is None:
            return _unknown()
        _show_secret(rotated, as_json=as_json)
        return DONE

    run_with_registry(work, data)


@webhooks.command()
def enable(webhook: Id, data: DataFolder = None, as_json: AsJson = False) -> None:
    """Enable a receiver that was disabled or is failing.

    It gets a challenge first, and then the changes that it missed.
    """

    async def work(waypost: "Waypost") -> int:
        enabled = await waypost.webhooks.enable(webhook)
        if enabled is None:
            return _unknown()
        _show_summary(enabled, as_json=as_json)
        return DONE

    run_with_registry(work, data)


@webhooks.command()
def remove(webhook: Id, data: DataFolder = None) -> None:
    """Delete a receiver, its secret and its deliveries."""

    async def work(waypost: "Waypost") -> int:
        return DONE if await waypost.webhooks.remove(webhook) else _unknown()

    run_with_registry(work, data)


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
        async with WebhookSender(waypost.settings) as sender:
            attempt, _ = await deliver(waypost, sender, outgoing)
        if as_json:
            message = outgoing.message
            print_json({"message": message.id, "purpose": message.purpose, **members(attempt, *_RESULT)})
        else:
            status = f", status {attempt.status}" if attempt.status is not None else ""
            result = attempt.reason or "delivered"
            console.print(f"{outgoing.message.id}: {escaped(result)}{status}, {attempt.duration_ms} ms")
        return NO if attempt.reason else DONE

    run_with_registry(work, data, connect_to)


def _unknown() -> int:
    print_error("there is no such webhook or message")
    return NO


def _show_secret(webhook: "WebhookRecord", *, as_json: bool) -> None:
    from registry.cli.terminal import console

    if as_json:
        print_json(_summary(webhook) | {"secret": webhook.secret})
        return
    _show_summary(webhook, as_json=False)
    console.print(f"  secret, shown this once: {webhook.secret}", soft_wrap=True)


def _show_summary(webhook: "WebhookRecord", *, as_json: bool) -> None:
    from registry.cli.terminal import console, escaped

    if as_json:
        print_json(_summary(webhook))
        return
    wanted = [f"types {', '.join(webhook.types)}"] if webhook.types else []
    wanted += [f"domains {', '.join(webhook.hosts)}"] if webhook.hosts else []
    told = [f"  {webhook.disabled_reason}"] if webhook.disabled_reason else []
    if webhook.failures and webhook.disabled_at is None:
        told = [f"  {webhook.failures} attempts failed, the next one is at {_time_text(webhook.due_at)}"]
    parts = "; ".join([webhook.state, *wanted, webhook.url])
    console.print(escaped(f"{webhook.id}: {parts}"), *map(escaped, told), sep="\n", soft_wrap=True)


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
