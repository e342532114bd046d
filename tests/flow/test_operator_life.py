"""docs/operators.md is followed literally: the whole life of an entry, against a demo with a site of one's own."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.demo import served_demo
from tests.support.hang import HANG_SECONDS, NETWORK_ENVIRONMENT
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow

HOST = "tea-shop.example"
BROKEN = {
    "awp_version": "0.2", "domain": HOST, "intent": "Sells tea by post",
    "actions": [{"id": "find", "endpoint": "/tea", "method": "GET"}, {"id": "buy"}],
}  # fmt: skip
BUY = {"id": "buy", "endpoint": "/orders", "method": "POST"}
TOO_EARLY = 429


def commands() -> dict[str, list[str]]:
    """Return the commands of the page by the number of their section, each with its continuation lines."""
    text = (ROOT / "docs/operators.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        number, stop, _ = part.partition(". ")
        if stop and number.isdigit():
            blocks = "".join(re.findall(r"```sh\n(.*?)```", part, re.DOTALL))
            found[number] = [line for line in blocks.replace("\\\n", "").splitlines() if line.strip()]
    return found


@dataclass
class Operator:
    """Somebody with a shell. `known`: what earlier answers gave, by the word that stands for it on the page."""

    folder: Path
    base: str
    known: dict[str, str]

    def run(self, command: str) -> Any:
        """Return the JSON that a command prints."""
        for word, value in self.known.items():
            command = re.sub(rf"\b{word}\b", value, command)
        environment = {"PATH": os.environ["PATH"], "R": self.base, "H": HOST, **NETWORK_ENVIRONMENT}
        if "OWNER_TOKEN" in self.known:
            environment["OWNER"] = f"Authorization: Bearer {self.known['OWNER_TOKEN']}"
        done = subprocess.run(
            ["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=HANG_SECONDS, check=True
        )
        return json.loads(done.stdout)

    def publish(self, path: str, text: str) -> None:
        target = self.folder / path.removeprefix(f"https://{HOST}").removeprefix("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def found(self, question: str) -> bool:
        """Return whether a search finds the site."""
        answer = self.run(f"curl -s '$R/api/discover?q={question}'".replace("'", '"'))
        return HOST in {row["service"]["domain"] for row in answer["data"]}


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    site = tmp_path / "sites" / HOST
    site.mkdir(parents=True)
    (site / "agent.json").write_text(json.dumps(BROKEN))
    with served_demo(tmp_path, site.parent) as base:
        yield Operator(site, base, {})


def test_the_page_has_the_commands_that_are_followed() -> None:
    assert {number: len(lines) for number, lines in commands().items()} == {
        "1": 1, "2": 1, "3": 0, "4": 1, "5": 2, "6": 6, "7": 1,
    }  # fmt: skip


def test_the_whole_life_of_an_entry(operator: Operator) -> None:
    page = commands()
    submitted = operator.run(page["1"][0])["data"]
    assert (submitted["accepted"], submitted["refused"]) == (1, [])
    operator.known["ID"] = submitted["id"]

    while (listed := operator.run(page["2"][0])["data"]["hosts"][0])["state"] in ("waiting", "visiting"):
        time.sleep(0.5)
    assert (listed["state"], listed["findings"][0]["reason"]) == ("listed", "awp.action_call")
    assert listed["findings"][0]["fix"]

    operator.publish("agent.json", json.dumps({**BROKEN, "actions": [BROKEN["actions"][0], BUY]}))
    while (verified := operator.run(page["4"][0])).get("status") == TOO_EARLY:
        time.sleep(5)  # as `Retry-After` says: the site was visited less than a minute ago
    assert verified["data"]["verified"], verified
    service = operator.run('curl -s "$R/api/services/$H"')["data"]
    assert {capability["id"] for capability in service["manifest"]["capabilities"]} == {"find", "buy"}

    claim = operator.run(page["5"][0])["data"]
    operator.known |= {"ID": claim["id"], "CLAIM_TOKEN": claim["claim_token"]}
    operator.publish(claim["at"], claim["publish"])
    proven = operator.run(page["5"][1])["data"]
    assert (proven["state"], proven["answer"]) == ("proven", "published")
    operator.known["OWNER_TOKEN"] = proven["owner_token"]

    setting, hide, show, recheck, note, owned = page["6"]
    assert setting == 'OWNER="Authorization: Bearer OWNER_TOKEN"'
    assert operator.run(hide)["data"]["changed"]
    assert not operator.found("tea+by+post")
    assert operator.run('curl -s "$R/api/services/$H"')["status"] == 404
    assert operator.run(show)["data"]["changed"]
    assert operator.run(recheck)["data"]["changed"]
    assert operator.run(note)["data"]["note"] == "Closed on Sundays."
    assert operator.run(owned)["data"]["note"] == "Closed on Sundays."
    service = operator.run('curl -s "$R/api/services/$H"')["data"]
    assert (service["ownership"]["state"], service["owner_note"]) == ("proven", "Closed on Sundays.")

    assert operator.run(page["7"][0])["data"]["changed"]
    gone = operator.run('curl -s "$R/api/services/$H"')
    assert gone["status"] == 410 and "Prove by DNS" in gone["way_back"]
    assert operator.run('curl -s "$R/api/opt-outs/$H"')["data"]["opted_out"]
    again = operator.run('curl -s "$R/api/services" --json "{\\"domain\\": \\"$H\\"}"')
    assert (again["status"], again["type"].rpartition("/")[2]) == (403, "opted-out")
