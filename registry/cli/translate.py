"""`waypost translate`: write a listed host, or a file, as a manifest of another format."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from registry.cli.check import CheckOptions, check_file
from registry.cli.check_result import ServedAs, encodable
from registry.cli.clean import json_text, print_json, visible
from registry.cli.common import DONE, NO
from registry.cli.terminal import errors
from registry.core.assessing.drafts import UNKNOWN_HOST
from registry.core.names.domains import host_of, host_syntax
from registry.core.translating import Loss, SourceDocument, Translation, Untranslatable, translate
from registry.settings import Settings

if TYPE_CHECKING:
    from registry.wiring import Waypost


async def translate_host(
    waypost: "Waypost", settings: Settings, name: str, target: str, version: str | None = None
) -> Translation | Untranslatable:
    """Translate the listed service of a host. Raise InvalidName for an invalid host name."""
    from registry.edge.responses import capability_url  # loads a web framework, which files do not need

    host = host_syntax(name)
    view = await waypost.queries.service(host, include_details=True)
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
        sources=await waypost.queries.sources(host),
        version=version,
    )


def translate_file(
    target: str, options: CheckOptions, to: str, version: str | None = None
) -> tuple[Translation | Untranslatable, ServedAs | None]:
    """Translate a file or standard input as if its own host served it. Return the translation and the assumed place.

    Needs no database. A document is refused if it would name a host that neither the file nor the caller names. Losses
    point into the file. Raise BadTarget.
    """
    checked = check_file(target, options)
    report = checked.report
    if report.service is None or report.score is None:
        reason = f"no service is described in it ({checked.reason or checked.outcome.value})"
        return Untranslatable((reason,)), checked.served_as
    document = checked.documents[0]
    host = host_of(document.url) or UNKNOWN_HOST
    source = SourceDocument(document.url, checked.sources[document.url], document.assessment.format or "")
    translation = translate(
        report.service,
        to,
        host=host,
        seen_at=datetime.now(UTC),
        score=report.score.value,
        sources=(source,),
        version=version,
    )
    if isinstance(translation, Untranslatable):
        return translation, checked.served_as
    if translation.own_url is None and host == UNKNOWN_HOST and host in json_text(translation.document):
        reason = "the document does not say which host serves it; --at https://HOST/PATH does"
        return Untranslatable((reason,)), checked.served_as
    losses = tuple(replace(loss, document=target if loss.document else None) for loss in translation.losses)
    return replace(translation, losses=losses), checked.served_as


def show(translation: Translation | Untranslatable, served_as: ServedAs | None, *, as_json: bool) -> int:
    """Print the document to standard output; the assumed place of a file and the losses go to standard error.

    Return the exit code.
    """
    if served_as is not None:
        _print(f"assumed: {served_as.in_words()}")
    document: Any = None
    reasons: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    compared_with = None
    if isinstance(translation, Untranslatable):
        reasons = translation.reasons
    else:
        document, losses, compared_with = translation.document, translation.losses, translation.compared_with
    if as_json:
        lost = [_loss_json(loss) for loss in losses]
        shown = {"document": document, "reasons": reasons, "losses": lost, "compared_with": compared_with}
        print_json({**shown, "served_as": served_as.to_json() if served_as else None})
    elif not reasons:
        print_json(document, indent=2)
        for line in loss_lines(losses):
            _print(f"lost: {line}")
    for reason in reasons:
        _print(f"not translated: {reason}")
    return NO if reasons else DONE


def _print(text: str) -> None:
    errors.print(Text(visible(text)), soft_wrap=True)


def loss_lines(losses: Iterable[Loss]) -> list[str]:
    """Return one line for each kind of loss, with its first JSON pointer and the number of others."""
    pointers_by_kind: dict[tuple[str, str], list[str]] = {}
    for loss in losses:
        pointers_by_kind.setdefault((loss.what, loss.why), []).append(_place(loss))
    return [
        f"{part}: {reason} ({pointers[0]}{f' and {len(pointers) - 1} more' if len(pointers) > 1 else ''})"
        for (part, reason), pointers in pointers_by_kind.items()
    ]


def _place(loss: Loss) -> str:
    """Return where the lost part is: in the file, in a document of the host, or in the model of the service."""
    if loss.document is None:
        return f"{loss.pointer} of the service"
    return f"{loss.document}#{loss.pointer}" if "://" in loss.document else loss.pointer


def _loss_json(loss: Loss) -> dict[str, str | None]:
    document = None if loss.document is None else encodable(loss.document)
    return {"document": document, "pointer": loss.pointer, "what": loss.what, "why": loss.why}
