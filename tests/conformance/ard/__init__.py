"""ARD, as its own conformance tool and a client of another registry see it."""

import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, Final

from tests.conformance.ard_spec import conformance_test
from tests.conformance.check import Check, Failed, Site, output_of
from tests.conformance.tools import Tools

CLIENT: Final = "hf-agentfinder==1.2.2"
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


def checks() -> Sequence[Check]:
    return (
        Check("ard", "registry: list, search, look-up, counts", "ard-spec conformance-test", _conforms),
        Check("ard", "a client searches, and asks for referrals", CLIENT.replace("==", " "), _searched),
    )


def _conforms(site: Site, tools: Tools) -> str:
    """Run the tool. Its versions before 0.9.1 do not look entries up."""
    tool = conformance_test()
    output = _COLOURS.sub("", output_of([sys.executable, tool, "registry", f"{site.url}/ard"]))
    version = re.search(r"Conformance CLI (v[0-9.]+)", tool.read_text())
    if "CONFORMANCE STATUS: PASS" not in output:
        raise Failed(output)
    return f"{version[1] if version else 'unknown version'}: {re.findall('Validated with .*', output)[-1]}"


def _searched(site: Site, tools: Tools) -> str:
    python = tools.python(CLIENT)
    arguments = ["search", "send an email", "--registry-url", f"{site.url}/ard", "--limit", "3"]
    client = python.with_name("agentfinder")
    shown = output_of([client, *arguments], environment={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"})
    answers: list[Any] = [
        json.loads(output_of([client, *arguments, "--json", "--federation", mode])) for mode in ("none", "referrals")
    ]
    if not answers[0]["results"] or answers[1]["referrals"] != []:
        raise Failed(json.dumps(answers))
    missing = [one["displayName"] for one in answers[0]["results"] if one["displayName"] not in shown]
    if missing:
        raise Failed(f"not shown: {missing}\n{shown}")
    return f"{len(answers[0]['results'])} results read, {answers[0]['results'][0]['identifier']} first"
