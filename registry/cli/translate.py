"""`waypost translate`: a listed host, or a file, as a manifest of another format."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

from registry.cli.check import Asked, check_file
from registry.cli.checked import visible
from registry.core.domains import host_of, host_syntax
from registry.core.translate import Loss, Translation, Untranslatable, translate
from registry.settings import Settings

if TYPE_CHECKING:
    from registry.wiring import Waypost

DONE, NO = 0, 1


async def translate_host(
    waypost: "Waypost", settings: Settings, name: str, target: str
) -> Translation | Untranslatable:
    """What the registry knows of a host. Raises InvalidName for what is no host name."""
    from registry.api.answers import capability_url  # loads a web framework: files need none of it

    host = host_syntax(name)
    view = await waypost.service(host, include_details=True)
    if view is None:
        return Untranslatable(("no service is listed under this host, and there is no such file",))
    base = settings.public_url.rstrip("/")
    return translate(
        view.service,
        target,
        host=host,
        seen_at=view.record.seen_at,
        score=view.record.score,
        detail_url=lambda capability: capability_url(base, host, capability),
    )


def translate_file(target: str, asked: Asked, to: str) -> Translation | Untranslatable:
    """A file or standard input, read as its own host would serve it; needs no database. Raises BadTarget."""
    checked = check_file(target, asked)
    report = checked.report
    if report.service is None or report.score is None:
        return Untranslatable((f"no service is described in it ({checked.reason or checked.outcome.value})",))
    host = host_of(checked.documents[0].url) or ""
    return translate(report.service, to, host=host, seen_at=datetime.now(UTC), score=report.score.value)


def show(made: Translation | Untranslatable, errors: Console, *, as_json: bool) -> int:
    """The document on standard output, what is lost on standard error; gives the exit code."""
    if isinstance(made, Untranslatable):
        if as_json:
            typer.echo(_line({"document": None, "reasons": made.reasons, "losses": []}))
        for reason in made.reasons:
            errors.print(Text(visible(f"not translated: {reason}")), soft_wrap=True)
        return NO
    if as_json:
        typer.echo(_line({"document": made.document, "reasons": [], "losses": [_row(one) for one in made.losses]}))
    else:
        typer.echo(json.dumps(made.document, ensure_ascii=True, indent=2))
        for line in told(made.losses):
            errors.print(Text(visible(f"lost: {line}")), soft_wrap=True)
    return DONE


def told(losses: Iterable[Loss]) -> list[str]:
    """One line for each kind of loss, with the first place and how many more there are."""
    places: dict[tuple[str, str], list[str]] = {}
    for loss in losses:
        places.setdefault((loss.what, loss.why), []).append(loss.pointer)
    return [
        f"{what}: {why} ({found[0]}" + (f" and {len(found) - 1} more)" if len(found) > 1 else ")")
        for (what, why), found in places.items()
    ]


def _row(loss: Loss) -> dict[str, str]:
    return {"pointer": loss.pointer, "what": loss.what, "why": loss.why}


def _line(value: object) -> str:
    """One object on one line. ASCII only: what a site wrote cannot steer a terminal."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
