"""`waypost check` as an operator and a CI job meet it: verdicts, places, exit codes, and one target beside another."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from registry.cli import app
from registry.cli.check import MAX_FILE
from registry.cli.porch import DONE, NO, USAGE
from registry.demo.server import serve
from registry.demo.sites import load_sites
from tests.support.builders import adp_detail, adp_manifest, awp_manifest

KEYS = {"target", "outcome", "score", "service", "documents"}
DOCUMENT_KEYS = {"url", "outcome", "format", "dialect", "findings"}
FINDING_KEYS = {"reason", "severity", "pointer", "line", "column", "evidence", "says", "fix", "spec"}
UNSAFE = re.compile(r"[^\n\x20-\x7e\xa1-\u10ff\u2010-\u2027\u2030-\u205e]")

BOOKSHOP = {
    "version": "1.0",
    "name": "Bookshop",
    "description": "Sells second-hand books.",
    "actions": [{"id": "find", "name": "Find", "description": "Finds a book.", "path": "/find", "method": "GET"}],
}
OPENAPI = """\
openapi: 3.1.0
info: {title: Tides, version: "1"}
servers: [{url: "https://tides.example"}]
paths:
  /tides:
    get: {operationId: tides, summary: Tells the tides., responses: {"200": {description: ok}}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test in a folder of its own: targets are what somebody would type there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, content: Any) -> str:
    """Text and bytes as they are, everything else as indented JSON."""
    raw = (
        content if isinstance(content, bytes) else (content if isinstance(content, str) else _dumped(content)).encode()
    )
    Path(name).write_bytes(raw)
    return name


def _dumped(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def check(*arguments: str, input: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["check", *arguments], input=input, catch_exceptions=False)


def checked(*arguments: str, input: bytes | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in check("--json", *arguments, input=input).stdout.splitlines()]


def findings(one: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Of the first document, by reason."""
    return {finding["reason"]: finding for finding in one["documents"][0]["findings"]}


def complete() -> dict[str, Any]:
    """An ADP manifest without a finding of severity warning."""
    return {**adp_manifest("kiosk.example", "sell_ticket"), "description": "Sells tickets for trams and ferries."}


# --- verdicts and exit codes ----------------------------------------------------------------------------------------


def test_a_good_file_passes() -> None:
    result = check(write("agent", complete()))
    assert result.exit_code == DONE
    assert re.fullmatch(r"agent: found \(adp/1\.0\), score \d+/100", result.stdout.splitlines()[0])


@pytest.mark.parametrize(
    ("content", "options", "code"),
    [
        (complete(), (), DONE),
        (complete(), ("--strict",), DONE),
        ({**complete(), "base_url": "https://kiosk.example/"}, (), DONE),
        ({**complete(), "base_url": "https://kiosk.example/"}, ("--strict",), NO),
        ({**complete(), "spec_version": 2}, (), NO),
        ({"hello": "world"}, (), NO),
        ({"available": False, "awp_version": "0.2"}, (), NO),
        ("{", (), NO),
        ("", (), NO),
        (b"\x00\xff\xfe binary", (), NO),
        ("<!doctype html><title>404</title>", (), NO),
        (complete(), ("--format", "adp"), DONE),
        (complete(), ("--format", "awp"), NO),
        (complete(), ("--format", "nothing"), USAGE),
        (complete(), ("--json", "--sarif"), USAGE),
        (complete(), ("no-such-file-or-host",), USAGE),
    ],
    ids=str,
)
def test_exit_codes(content: Any, options: tuple[str, ...], code: int) -> None:
    assert check(write("agent", content), *options).exit_code == code


def test_no_target_is_wrong_usage() -> None:
    assert check().exit_code == USAGE


def test_the_worst_target_decides() -> None:
    good, bad = write("good", complete()), write("bad", "[")
    assert [check(*targets).exit_code for targets in ((good,), (good, bad), (bad, good))] == [DONE, NO, NO]
    assert check(bad, "gone.json", good).exit_code == USAGE


# --- places ---------------------------------------------------------------------------------------------------------


def test_findings_name_line_and_column() -> None:
    manifest = complete()
    manifest["auth"] = {"type": "api_key"}
    manifest["capabilities"].append({"name": "größer", "description": "x", "detail_url": "http://10.0.0.1/x"})
    target = write("agent", manifest)
    source = Path(target).read_text().splitlines()
    found = findings(checked(target)[0])
    private, header = found["endpoint.not_public"], found["adp.header"]
    assert source[private["line"] - 1][private["column"] - 1 :] == '"http://10.0.0.1/x"'
    assert source[header["line"] - 1][header["column"] - 1 :] == "{"  # where the missing member belongs
    assert source[header["line"] - 1].strip() == '"auth": {'
    shown = check(target).stdout
    assert f"\nagent:{private['line']}:{private['column']}: warning: An endpoint is not" in shown


@pytest.mark.parametrize(
    ("content", "reason", "line", "column"),
    [
        ('{\n  "ä": 1,\n}', "document.trailing_comma", 3, 1),
        ('{"ключ": "значение" "b"}', "document.not_json", 1, 21),
        (b'{"a":\n "\xff"}', "document.encoding", 2, 3),
        ('{"a":\n [99999999999999999]}', "document.number", 2, 3),
        ("", "document.empty", 1, 1),
    ],
)
def test_what_cannot_be_read_names_its_place(content: Any, reason: str, line: int, column: int) -> None:
    target = write("agent", content)
    found = findings(checked(target)[0])[reason]
    assert (found["line"], found["column"]) == (line, column)
    assert f"\nagent:{line}:{column}: error: " in check(target).stdout


def test_points_are_traced_to_what_a_capability_leaves_unsaid() -> None:
    manifest = awp_manifest("bikes.example")
    manifest["actions"].append({"id": "buy", "description": "Buys a bicycle.", "endpoint": "/buy", "method": "POST"})
    target = write("agent.json", manifest)
    (one,) = checked(target)
    unsaid = next(line for line in one["score_lines"] if line["reason"] == "capability.without_params")
    assert (unsaid["pointer"], unsaid["document"]) == ("/actions/1", one["documents"][0]["url"])
    source = Path(target).read_text().splitlines()
    assert source[unsaid["line"] - 1][unsaid["column"] - 1 :] == "{"
    lost = sum(line["points"] for line in one["score_lines"])
    assert one["score"] == round(100 - lost)


# --- one object per target, in order --------------------------------------------------------------------------------


def test_json_is_one_object_per_target_in_order() -> None:
    names = [write(f"{number}.json", complete() if number % 3 else "{") for number in range(200)]
    results = checked(*names)
    assert [one["target"] for one in results] == names
    assert [one["outcome"] for one in results] == ["found" if number % 3 else "malformed" for number in range(200)]
    for one in results:
        assert one.keys() >= KEYS
        assert all(document.keys() >= DOCUMENT_KEYS for document in one["documents"])
        assert all(f.keys() >= FINDING_KEYS for document in one["documents"] for f in document["findings"])


@pytest.mark.parametrize(
    "bad", ["gone.json", "folder", "http://kiosk.example/agent", "https://127.0.0.1/", "localhost", "a b", "x" * 5_000]
)
def test_a_target_that_cannot_be_read_hides_no_other(bad: str) -> None:
    Path("folder").mkdir()
    first, last = write("first", complete()), write("last", complete())
    result = check("--json", first, bad, last)
    results = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one["target"], one["outcome"]) for one in results] == [
        (first, "found"), (bad, "error"), (last, "found"),
    ]  # fmt: skip
    assert results[1]["reason"] and results[1].keys() == results[0].keys()
    assert bad in result.stderr
    assert result.exit_code == USAGE


def test_standard_input_is_read_once() -> None:
    raw = _dumped(complete()).encode()
    result = check("--json", "-", "--at", "/.well-known/agent", "-", input=raw)
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert (first["target"], first["outcome"], first["documents"][0]["format"]) == ("-", "found", "adp")
    assert (second["outcome"], result.exit_code) == ("error", USAGE)
    assert check("-", input=b"").exit_code == NO


def test_a_pipe_is_read_like_a_file() -> None:
    os.mkfifo("pipe")
    writer = subprocess.Popen([sys.executable, "-c", f"open('pipe', 'w').write({_dumped(complete())!r})"])
    try:
        assert [one["outcome"] for one in checked("pipe")] == ["found"]
    finally:
        writer.wait(timeout=180)


def test_huge_files_are_told_by_their_size() -> None:
    with Path("huge").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    one, other = checked(write("large", b" " * 5_000_000), "huge")
    assert (one["outcome"], other["outcome"]) == ("too_large", "too_large")
    assert findings(one)["document.too_large"] and findings(other)["document.too_large"]


# --- recognition ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "options", "form"),
    [
        ("create_parcel.json", adp_detail("create_parcel"), (), "adp-detail"),
        ("create_parcel.json", adp_detail("create_parcel"), ("--at", "/caps/create_parcel"), "adp-detail"),
        ("tides.yaml", OPENAPI, (), "openapi"),
        ("tides.json", {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}}, (), "openapi"),
        ("llms.txt", "# Kiosk\n\n> Sells tickets.\n\n- [API](https://kiosk.example/api)\n", (), "llms-txt"),
        ("shop.json", BOOKSHOP, (), None),
        ("shop.json", BOOKSHOP, ("--format", "awas"), "awas"),
        ("shop.json", BOOKSHOP, ("--at", "/.well-known/ai-actions.json"), "awas"),
        ("ai-actions.json", BOOKSHOP, (), "awas"),
    ],
)
def test_files_are_recognised(name: str, content: Any, options: tuple[str, ...], form: str | None) -> None:
    (one,) = checked(write(name, content), *options)
    assert one["documents"][0]["format"] == form
    assert (one["outcome"] == "found") is (form is not None)


def test_a_file_is_not_blamed_for_calls_to_its_own_host() -> None:
    """A document that does not name its host is judged as if the host that it calls served it."""
    card = {"serverInfo": {"name": "tides", "version": "1"}, "endpoint": "https://mcp.tides.example/mcp"}
    openapi = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "servers": [{"url": "https://api.t.example"}],
               "paths": {"/t": {"get": {"operationId": "t"}}}}  # fmt: skip
    for one in checked(write("card.json", card), write("api.json", openapi)):
        assert not [line for line in one["score_lines"] if line["reason"] == "endpoint.off_site"], one["target"]


def test_why_a_file_is_no_manifest_is_told() -> None:
    shown = check(write("page", "<!doctype html><html></html>"), write("other.json", {"jsonrpc": "2.0", "id": 1}))
    assert "page: not_a_manifest (html)" in shown.stdout
    assert "[document.foreign]" in shown.stdout
    assert "fix: " in shown.stdout


# --- hostile texts --------------------------------------------------------------------------------------------------

STEERING = "\x1b]0;owned\x07\x1b[31m\x9b2J\r\b\u202e\u2028[bold red]"


def hostile() -> dict[str, Any]:
    manifest = complete()
    manifest["auth"] = {"type": STEERING}
    manifest["capabilities"] = [{"name": STEERING, "description": STEERING, "detail_url": "javascript:" + STEERING}]
    manifest["inputs"] = {STEERING: {STEERING: "{{ template }}"}}
    awp = awp_manifest("bikes.example")
    awp["actions"][0]["inputs"] = {STEERING: "{{ x }}", f"{STEERING}/~": 7}
    awp["actions"][0]["endpoint"] = f"http://{STEERING}"
    awp[STEERING] = "{{ site.url }}"
    return {"agent": manifest, "agent.json": awp, "keys.json": {STEERING: STEERING, "b": 1}}


@pytest.mark.parametrize("option", [(), ("--json",), ("--sarif",)], ids=str)
def test_texts_of_files_never_steer_the_terminal(option: tuple[str, ...]) -> None:
    names = [write(name, content) for name, content in hostile().items()]
    found = [finding for one in checked(*names) for finding in one["documents"][0]["findings"]]
    assert any("\x1b" in finding["pointer"] for finding in found)
    names += [write("\x1b[31mred\x07.json", "{"), "gone\x1b[2J[bold]"]
    result = check(*option, *names)
    assert "2J" in result.stdout
    assert not UNSAFE.findall(result.stdout)
    assert not UNSAFE.findall(result.stderr)
    if option:
        assert result.stdout.isascii()


def test_names_of_files_need_not_be_text() -> None:
    name = os.fsdecode(b"caf\xe9.json")
    Path(name).write_text("{")
    assert checked(name)[0]["target"] == "caf\ufffd.json"
    assert check(name).exit_code == check("--sarif", name).exit_code == NO


# --- the real command, and real hosts -------------------------------------------------------------------------------

Run = subprocess.CompletedProcess[str]


def run(*arguments: str, env: Mapping[str, str] | None = None, **options: Any) -> Run:
    command = [sys.executable, "-m", "registry.cli", "check", *arguments]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run(command, text=True, timeout=120, env={**os.environ, **(env or {})}, **options)


@pytest.mark.slow
def test_the_command_itself() -> None:
    good = write("agent", complete())
    done = run("--json", good)
    assert (done.returncode, json.loads(done.stdout)["outcome"], done.stderr) == (DONE, "found", "")
    with Path(write("bad", '{"a": }')).open() as bad:
        done = run("-", stdin=bad)
    assert done.returncode == NO
    assert "-:1:7: error: " in done.stdout
    assert run("gone", good).returncode == USAGE
    plain = run("--strict", write("slash", {**complete(), "base_url": "https://kiosk.example/"}), env={"LC_ALL": "C"})
    assert (plain.returncode, "\x1b" in plain.stdout) == (NO, False)


@pytest.mark.slow
def test_output_that_nobody_reads_or_can_show_is_no_fault() -> None:
    target = write("agent", {**complete(), "spec_version": "größer"})
    narrow = run(target, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert narrow.returncode == NO
    assert "gr\\xf6\\xdfer" in narrow.stdout
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        cut = run("--json", target, stdout=theirs)
    finally:
        os.close(theirs)
    assert (cut.returncode, cut.stderr) == (NO, "")


@pytest.fixture
def online(here: Path) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Environment and options that reach a small web on loopback over TLS."""
    manifest = {**complete(), "base_url": "https://kiosk.example/"}
    web = here / "web"
    for path, content in {
        "kiosk.example/.well-known/agent": _dumped(manifest),
        "kiosk.example/caps/sell_ticket": _dumped(adp_detail("sell_ticket")),
        "broken.example/agent.json": '{"awp_version": "0.2",\n "domain": }',
        "empty.example/_index": "<h1>nothing</h1>",
    }.items():
        target = web / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    with serve(load_sites(web), here) as served:
        env = {
            "SSL_CERT_FILE": str(served.ca_file), "WAYPOST_REQUEST_DELAY": "0", "WAYPOST_RESOLVE": "table",
        }  # fmt: skip
        yield env, [option for one in served.connect_to for option in ("--connect-to", one)]


@pytest.mark.slow
def test_domains_and_urls_are_told_the_same_way(online: tuple[dict[str, str], list[str]]) -> None:
    env, options = online
    targets = ["kiosk.example", "https://kiosk.example/caps/sell_ticket", "broken.example", "empty.example", "agent"]
    write("agent", complete())
    done = run("--json", *options, *targets, env=env)
    kiosk, detail, broken, empty, file = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == NO
    assert (kiosk["outcome"], kiosk["service"]["capabilities"][0]["name"]) == ("found", "sell_ticket")
    slash = next(f for f in kiosk["documents"][0]["findings"] if f["reason"] == "adp.base_slash")
    assert (slash["line"], slash["column"]) == (5, 15)
    assert detail["target"] == targets[1]
    (unread,) = [f for d in broken["documents"] for f in d["findings"] if f["reason"] == "document.not_json"]
    assert (broken["outcome"], unread["line"], unread["column"]) == ("malformed", 2, 12)
    assert (empty["outcome"], empty["score"]) != ("found", 0)
    assert (file["target"], file["outcome"]) == ("agent", "found")
    assert "visiting" not in done.stderr
    shown = run(*options, "broken.example", env=env)
    assert "https://broken.example/agent.json:2:12: error: " in shown.stdout


def test_a_person_at_a_terminal_sees_what_is_waited_for(online: tuple[dict[str, str], list[str]]) -> None:
    env, options = online
    ours, theirs = os.openpty()
    try:
        done = run(*options, "--json", "empty.example", env={**env, "TERM": "xterm"}, stderr=theirs)
        os.set_blocking(ours, False)
        assert b"1/1: visiting empty.example" in os.read(ours, 100_000)
        assert len(done.stdout.splitlines()) == 1
    finally:
        os.close(ours)
        os.close(theirs)
