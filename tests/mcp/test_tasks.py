"""Tasks done end to end from the text of MCP alone, over the sample web, and judged by its documents."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from benchmarks.mcp.task_client import SECRET, rows_of
from benchmarks.mcp.task_judge import Place, Sent, judge
from benchmarks.mcp.tasks import TASKS, Task, done, tasks_of
from registry.demo.sites import SAMPLE_WEB, load_sites
from tests.mcp.serving import connected, served
from tests.support.api import Api
from tests.support.builders import Page, crawl

SAMPLE = load_sites(SAMPLE_WEB)
PAGES = {
    host: {
        path: Page(site.reply(path).body, media_type=site.reply(path).headers["Content-Type"]) for path in site.files
    }
    for host, site in SAMPLE.items()
    if site.file.state == "up"
}


def task(question: str, host: str, path: str, pointer: str, capability: str, /, **values: str) -> Task:
    return Task(question, values, (Place(host, path, pointer, capability),))


DONE = [
    task(
        "send an email", "mailroom.example", "/v1/capabilities/send_email", "", "send_email",
        to="guest@mail.example", subject="Your room", body="It is ready.",
    ),
    task(
        "subscribe to storm warnings", "weatherglass.example", "/.well-known/awas.json", "/actions/1",
        "Storm warnings", place="Porto",
    ),
    task(
        "find free tables for guests", "tablefor.example", "/.well-known/agent.json", "/actions/0", "find_tables",
        place="Porto", guests="4",
    ),
    task(
        "make a playlist from a mood", "tuneful.example", "/.well-known/mcp/server-card.json", "/tools/0",
        "make_playlist", mood="calm",
    ),
    task(
        "theatre tickets", "concierge.example", "/.well-known/agent-card.json", "/skills/1", "Theatre tickets",
        text="Two tickets for Saturday",
    ),
    task(
        "translate a text into another language", "babelfold.example", "/.well-known/woa.json",
        "/agents/0/operations/0", "Translator: translate", text="Good tide", to="pt",
    ),
]  # fmt: skip
"""A task of each kind: ADP, AWAS, AWP, MCP, A2A, WoA."""

PACKAGE = "knots.example"
BARE = "ropes.example"
ODD = {
    PACKAGE: {
        "/.well-known/mcp/server.json": Page(
            {
                "name": "example.knots/knots", "description": "Ties nautical knots for sailors.", "version": "1.0.0",
                "packages": [{
                    "registryType": "npm", "identifier": "knots", "version": "1.0.0", "transport": {"type": "stdio"},
                }],
            }
        ),
        "/": Page('<link rel="describedby" href="/.well-known/mcp/server.json">', media_type="text/html"),
    },
    BARE: {
        "/.well-known/ai-actions.json": Page(
            {
                "version": "1.0.0", "last_updated": "2026-02-03T00:00:00Z",
                "actions": [{
                    "action_id": "splice_rope", "http_method": "GET", "endpoint": "/splice",
                    "description": "Splice two mooring ropes",
                }],
            }
        )
    },
}  # fmt: skip
"""A server that is started on the caller's machine, and a service without a name, credentials and protocols."""


async def test_tasks_are_done_from_the_text_alone(own_api: Api) -> None:
    await crawl(own_api.store, {**PAGES, **ODD}, datetime.now(UTC))
    await own_api.waypost.search.reindex()
    outcomes = await done(DONE, own_api.waypost, SAMPLE)
    assert {outcome.task.text: outcome.fault for outcome in outcomes if outcome.fault is not None} == {}
    for outcome in outcomes:
        assert outcome.sent is not None
        assert outcome.place is not None
        for name, altered in _altered(outcome.sent, outcome.task):
            refused = judge(altered, outcome.place, SAMPLE[outcome.place.host], outcome.task.values)
            assert refused is not None, f"{outcome.task.text}: {name}"
    async with served(own_api.waypost, own_api.waypost.settings) as address, connected(address) as client:
        for question, host, kind in (
            ("tie nautical knots", PACKAGE, "mcp_server"),
            ("splice mooring ropes", BARE, "http"),
        ):
            text = (await client.call_tool("discover_services", {"q": question})).content[0].text
            assert (rows_of(text)[0].host, rows_of(text)[0].kind) == (host, kind), text


def _altered(sent: Sent, asked: Task) -> Iterator[tuple[str, Sent]]:
    """Yield requests that the document does not describe, each with what is wrong."""
    yield "host", replace(sent, url=sent.url.replace("://", "://other."))
    yield "path", replace(sent, url=sent.url.replace(".example/", ".example/other/"))
    yield "method", replace(sent, method="PUT" if sent.body is None else "GET")
    yield "placeholder", replace(sent, headers={**sent.headers, "X-Key": "YOUR_KEY"})
    if SECRET in " ".join(sent.headers.values()):
        kept = {name: value for name, value in sent.headers.items() if SECRET not in value}
        if asked.answers[0].host != "tuneful.example":  # its card names no place for them
            yield "credentials", replace(sent, headers=kept)
    if sent.body is not None:
        yield "body", replace(sent, body={})
        yield "no body", replace(sent, body=None)
    else:
        yield "query", replace(sent, url=sent.url.partition("?")[0])


def test_the_table_has_sixty_tasks_over_many_sites() -> None:
    tasks = tasks_of(TASKS)
    assert len({row.text for row in tasks}) == len(tasks) == 60
    assert all(any(place.path is not None for place in row.answers) for row in tasks)
    assert len({place.host for row in tasks for place in row.answers if place.path is not None}) >= 35
