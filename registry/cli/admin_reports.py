"""`waypost admin reports`: what clients reported about hosts, and the operator's answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from registry.cli.clean import print_json
from registry.cli.common import DONE, NO, USAGE, AsJson, DataFolder, fail, print_error, run_async, with_registry

if TYPE_CHECKING:
    from registry.actions.reports import ReportRecord
    from registry.core.model.reports import ReportState
    from registry.wiring import Waypost

reports = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Read and answer reports about hosts.

    Neither a report nor its acceptance changes anything by itself. Run the command that it calls for, such as
    `waypost forget`. Exit code 1 when there is no such report. """,
)


@reports.command("list")
def show(
    closed: Annotated[bool, typer.Option("--closed", help="Show decided reports instead.")] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Show reports with their texts, the latest first."""

    async def work(waypost: "Waypost") -> int:
        states: list[ReportState] = ["accepted", "rejected"] if closed else ["open", "in_review"]
        page = await waypost.reports.page(states)
        for report in page.reports:
            texts = page.texts[report.id]
            if as_json:
                print_json(_summary(report) | {"texts": texts})
            else:
                _show(report, texts)
        return DONE

    _exit_after(work, data)


@reports.command()
def resolve(
    report: Annotated[str, typer.Argument(metavar="ID", help="The id that `list` shows.")],
    state: Annotated[str, typer.Argument(metavar="STATE", help="in_review, accepted, rejected or open.")],
    answer: Annotated[str, typer.Option(help="Read by the owner of the host and by everyone who filed it.")] = "",
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Decide a report, and answer it."""
    from registry.core.access.audit import OPERATOR
    from registry.core.model.reports import STATES

    if state not in STATES:
        fail(f"STATE must be one of {', '.join(STATES)}", USAGE)
    try:
        report_id = UUID(report)
    except ValueError:
        fail("ID must be the id of a report", USAGE)

    async def work(waypost: "Waypost") -> int:
        resolved = await waypost.reports.resolve(report_id, state, answer, actor=OPERATOR)
        if resolved is None:
            print_error("there is no such report")
            return NO
        if as_json:
            print_json(_summary(resolved.report))
        else:
            _show(resolved.report, [])
        return DONE

    _exit_after(work, data)


def _show(report: "ReportRecord", texts: Sequence[str]) -> None:
    from registry.cli.terminal import console, escaped

    times = f", reported {report.filings} times" if report.filings > 1 else ""
    console.print(escaped(f"{report.id}: {report.host} {report.code}, {report.state}{times}"), soft_wrap=True)
    for text in texts:
        console.print(escaped(f"  {text}"), soft_wrap=True)
    if report.answer:
        console.print(escaped(f"  answer: {report.answer}"), soft_wrap=True)


def _summary(report: "ReportRecord") -> dict[str, Any]:
    return {
        "id": str(report.id),
        "domain": report.host,
        "code": report.code,
        "state": report.state,
        "answer": report.answer or None,
        "filings": report.filings,
        "filed_at": report.filed_at,
        "updated_at": report.updated_at,
    }


def _exit_after(work: Any, data: Any) -> None:
    raise typer.Exit(run_async(with_registry(work, data)))
