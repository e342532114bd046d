"""Every shell reads the words of a copied line as they were meant, whatever a document puts into them."""

import json
import os
import re
import shutil
import subprocess
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import parse_qsl

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.core.calling.effort import Effort
from registry.core.calling.http import arguments_of, http_call
from registry.core.calling.request import FORM
from registry.core.model.services import Capability, Invocation, Service

SHELLS: Final = {
    "sh": ("sh",), "dash": ("dash",), "bash": ("bash", "--norc"), "zsh": ("zsh", "-f"), "ksh": ("ksh93",),
    "mksh": ("mksh",), "busybox": ("busybox", "sh"), "fish": ("fish", "--no-config"), "tcsh": ("tcsh", "-f"),
    "pwsh": ("pwsh", "-NoProfile", "-NonInteractive"),
}  # fmt: skip
"""How each shell is started; one that is not installed is skipped by name. `.ci/run` names Debian's packages."""

CURL: Final = """#!/bin/sh
for word in "$#" "$@"; do printf '%s\\0' "$word"; done >> "$OUT"
"""
"""Stands in for curl: appends the number of its words, and the words, each ended by NUL."""

HOSTILE: Final = (
    "\\'; touch OWNED; '", "\\\\'; touch OWNED #", "'; touch OWNED; '", '"; touch OWNED; "', "$(touch OWNED)",
    "`touch OWNED`", "(touch OWNED)", "\u2019; touch OWNED; \u2018", "\u201d; touch OWNED; \u201c", "!!", "!touch",
    "a!b", "\n touch OWNED\n", "\r\ntouch OWNED\r", "a\u2028touch OWNED\u2029", "\x85\x0b\x0c\x1c", "&touch OWNED",
    "a|touch OWNED", "> OWNED", "< /etc/passwd", "%PATH%", "${IFS}", "$HOME", "@/etc/passwd", "-oOWNED", "--output",
    "~", "{a,b}", "[a-z]", "*", "?", "^", "\\", "\\\\", "\\n", "\\u0027", "#", ";", "=", "=ls", "", " ", "1kb", "\ttab",
    "x\0y", "\x1b[31m", "e\u0301\u00e9\u65e5", "'--output", "a' -o OWNED '", '" -o OWNED "', "caf\u00e9 d'Or",
)  # fmt: skip

TEXTS: Final = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from([*"'\"\\$`!%^&|<>(){}[]*?~#;=@- \n\r\t\0aé日", *HOSTILE]), max_size=8).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
PLACES: Final = ("path", "query", "header", "cookie", "body", "fixed header", "url", "method", "name")
MEDIA: Final = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain")


def call_with(texts: dict[str, str], media_type: str) -> dict[str, Any]:
    """Return the call of a capability whose document has a text in each of these places."""
    params: dict[str, Any] = {"p": "path", "q": "query", "h": "header", "c": "cookie", "b": "body"}
    properties = {name: {"const": texts[place]} for name, place in params.items() if place in texts}
    places = [(name, place) for name, place in params.items() if place in texts]
    if "name" in texts and texts["name"] not in properties:
        properties[texts["name"]] = {"const": "x"}
    if media_type == "text/plain" and "body" in texts:
        places[-1] = ("b", "whole_body")
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    headers = (("X-Fixed", texts["fixed header"]),) if "fixed header" in texts else ()
    address = f"https://api.ferry.example/v1{texts.get('url', '')}" + ("/{p}" if "path" in texts else "")
    invocation = Invocation("http", address, places=tuple(places), headers=headers, media_type=media_type)
    capability = Capability("x", "x", params=schema, invocations=(invocation,))
    method = texts.get("method", "POST")
    return http_call(
        Service(), capability, invocation, method, lambda params, given: arguments_of(params, Effort(), given)
    )


def words_of(example: dict[str, Any]) -> list[str]:
    """Return the words that a request needs before its body."""
    is_multipart = example["headers"].get("Content-Type") == "multipart/form-data" and "body" in example
    headers = [
        word
        for name, value in example["headers"].items()
        if not (is_multipart and name == "Content-Type")
        for word in ("--header", f"{name}: {value}" if value else f"{name};")
    ]
    return ["--globoff", "--request", example["method"], "--url", example["url"], *headers]


def body_of(example: dict[str, Any], words: list[str]) -> object:
    """Return what the words that follow those of `words_of` send, in the form of the example's body."""
    media_type = example["headers"].get("Content-Type")
    if media_type == "multipart/form-data":
        assert words[::2] == ["--form-string"] * (len(words) // 2)
        return dict(word.split("=", 1) for word in words[1::2])
    assert (words[0], len(words)) == ("--data-raw", 2)
    if media_type == "application/json" or (media_type == "text/plain" and not isinstance(example["body"], str)):
        return json.loads(words[1])
    return dict(parse_qsl(words[1], keep_blank_values=True)) if media_type == FORM else words[1]


def run(shell: str, lines: list[str], folder: Path) -> list[list[str]]:
    """Return the words of each line as a shell passes them to `curl`; nothing else may happen in the folder."""
    work, programs = folder / "work", folder / "bin"
    for path in (work, programs):
        path.mkdir(exist_ok=True)
    (programs / "curl").write_text(CURL)
    (programs / "curl").chmod(0o755)
    out = folder / "words"
    out.write_bytes(b"")
    script = folder / ("script.ps1" if shell == "pwsh" else "script")
    script.write_text("\n".join(lines) + "\n")
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "OUT": str(out),
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run([*SHELLS[shell], str(script)], cwd=work, env=environment, capture_output=True, timeout=60)
    assert not list(work.iterdir()), (shell, lines, list(work.iterdir()))
    assert (done.stderr, done.returncode) == (b"", 0), (shell, lines, done.stderr)
    words = iter(out.read_text().split("\0")[:-1])
    return [list(islice(words, int(number))) for number in words]


def assert_read(shell: str, calls: list[dict[str, Any]]) -> None:
    """Fail unless a shell reads every line of these calls as their requests say."""
    offered = [call for call in calls if "curl" in call]
    assert all(call["curl_omitted"].endswith("; send the example instead") for call in calls if call not in offered)
    with TemporaryDirectory() as folder:
        read = run(shell, [call["curl"] for call in offered], Path(folder))
    assert len(read) == len(offered)
    for call, words in zip(offered, read, strict=True):
        example, expected = call["example"], words_of(call["example"])
        assert words[: len(expected)] == expected, call["curl"]
        if "body" in example:
            assert body_of(example, words[len(expected) :]) == example["body"], call["curl"]
        else:
            assert words == expected


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if shutil.which(SHELLS[name][0]) is None:
        pytest.skip(f"{name} is not installed")
    return name


@pytest.mark.slow
def test_hostile_texts_stay_in_their_words(shell: str) -> None:
    calls = [call_with({place: text}, media) for place in PLACES for text in HOSTILE for media in MEDIA]
    assert_read(shell, calls)
    assert sum("curl" in call for call in calls) > len(calls) * 2 // 3


@pytest.mark.slow
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    st.lists(
        st.tuples(st.dictionaries(st.sampled_from(PLACES), TEXTS, min_size=1, max_size=4), st.sampled_from(MEDIA)),
        min_size=20,
        max_size=60,
    )
)
def test_every_shell_reads_the_words_of_the_request(shell: str, drawn: list[tuple[dict[str, str], str]]) -> None:
    assert_read(shell, [call_with(texts, media_type) for texts, media_type in drawn])


@pytest.mark.parametrize("text", HOSTILE)
def test_no_line_holds_what_another_shell_acts_on(text: str) -> None:
    """For shells that are not to be had: what PowerShell and cmd.exe take for quotes, and what ends a word there."""
    for place in PLACES:
        for media_type in MEDIA:
            line = call_with({place: text}, media_type).get("curl", "")
            assert line.isascii() and (line.isprintable() or not line)
            for single, double in re.findall(r"'([^']*)'|\"([^\"]*)\"", line):
                assert not (
                    '"' in single and " " in single
                )  # Windows PowerShell drops the quotes: one word all the same
                outside = re.sub(r'"[^"]*"', "", single)  # cmd.exe knows double quotes only
                assert not set(outside) & set("&|<>^%") and not set(double) & set("$`\\!")


def test_a_line_that_is_too_long_is_left_out_with_a_reason() -> None:
    call = call_with({"body": "a" * 9_000}, "application/json")
    assert "curl" not in call
    assert call["curl_omitted"] == "the line would have more than 8,000 characters; send the example instead"
