"""What SARIF 2.1.0 (OASIS) demands of the logs that `waypost` writes: its MUSTs, for the members in use only.

The check is strict: a member that is not named here fails, since a consumer would ignore or refuse it.
"""

import re
from collections.abc import Set
from typing import Any
from urllib.parse import urlsplit

LEVELS = {"none", "note", "warning", "error"}

_PLACEHOLDER = re.compile(r"\{\d+\}")
_LINK = re.compile(r"\[[^\]]*\]\(")


def assert_sarif(log: Any) -> None:
    members(log, required={"version", "runs"}, optional={"$schema"})
    assert log["version"] == "2.1.0"
    assert urlsplit(log["$schema"]).path.endswith("sarif-schema-2.1.0.json")
    assert isinstance(log["runs"], list)
    for run in log["runs"]:
        _run(run)


def members(value: Any, *, required: set[str], optional: Set[str] = frozenset()) -> None:
    assert isinstance(value, dict)
    assert required <= value.keys() <= required | optional, value.keys()


def _run(run: Any) -> None:
    members(run, required={"tool", "results"}, optional={"columnKind", "invocations"})
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}  # 3.14.17
    members(run["tool"], required={"driver"})
    driver = run["tool"]["driver"]
    members(driver, required={"name"}, optional={"semanticVersion", "informationUri", "rules", "properties"})
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?(\+[\w.]+)?", driver["semanticVersion"])
    _absolute(driver.get("informationUri", "https://x"))
    for rule in driver["rules"]:
        _rule(rule)
    identifiers = [rule["id"] for rule in driver["rules"]]
    assert len(set(identifiers)) == len(identifiers)
    for invocation in run["invocations"]:
        members(invocation, required={"executionSuccessful"}, optional={"toolExecutionNotifications"})
        assert isinstance(invocation["executionSuccessful"], bool)
        for notice in invocation["toolExecutionNotifications"]:
            members(notice, required={"message"}, optional={"level"})
            assert notice["level"] in LEVELS
            _message(notice["message"])
    for result in run["results"]:
        _result(result, identifiers)


def _rule(rule: Any) -> None:
    """3.49: an identifier that does not change, and texts for readers."""
    optional = {"shortDescription", "help", "helpUri", "defaultConfiguration", "properties"}
    members(rule, required={"id"}, optional=optional)
    _message(rule["shortDescription"])
    _message(rule["help"])
    _absolute(rule.get("helpUri", "https://x"))
    members(rule["defaultConfiguration"], required={"level"})
    assert rule["defaultConfiguration"]["level"] in LEVELS
    tags = rule["properties"]["tags"]
    assert len(set(tags)) == len(tags)  # 3.8.2: a set


def _result(result: Any, rules: list[str]) -> None:
    optional = {"ruleIndex", "level", "locations", "partialFingerprints", "properties"}
    members(result, required={"message", "ruleId"}, optional=optional)
    assert rules[result["ruleIndex"]] == result["ruleId"]  # 3.27.6
    assert result["level"] in LEVELS
    _message(result["message"])
    for name, value in result["partialFingerprints"].items():
        assert re.fullmatch(r"[A-Za-z0-9]+/v\d+", name)  # 3.27.17: versioned hierarchical strings
        assert isinstance(value, str) and value
    assert len(result["locations"]) == 1
    location = result["locations"][0]
    members(location, required={"physicalLocation"}, optional={"logicalLocations"})
    for logical in location.get("logicalLocations", ()):
        members(logical, required={"fullyQualifiedName"})
        assert isinstance(logical["fullyQualifiedName"], str)
    physical = location["physicalLocation"]
    members(physical, required={"artifactLocation"}, optional={"region"})
    _artifact(physical["artifactLocation"])
    if "region" in physical:
        members(physical["region"], required={"startLine"}, optional={"startColumn"})
        for number in physical["region"].values():
            assert type(number) is int and number >= 1  # 3.30.5, 3.30.6


def _artifact(location: Any) -> None:
    """3.4.3, 3.4.4: a URI reference; relative if and only if it names a base."""
    members(location, required={"uri"}, optional={"uriBaseId"})
    uri = location["uri"]
    assert re.fullmatch(r"(%[0-9A-Fa-f]{2}|[\w.~:/?#@!$&'()*+,;=-])+", uri, re.ASCII), uri  # RFC 3986
    if "uriBaseId" in location:
        assert not urlsplit(uri).scheme
        assert not uri.startswith("/")
        assert ".." not in uri.split("/")  # 3.10.2
    else:
        _absolute(uri)


def _absolute(uri: str) -> None:
    assert urlsplit(uri).scheme in {"https", "http", "file"}, uri


def _message(message: Any) -> None:
    """3.11: plain text without links, with braces doubled so that they are no placeholders."""
    members(message, required={"text"})
    text = message["text"].replace("{{", "").replace("}}", "")
    assert text and "{" not in text and "}" not in text, text
    assert not _PLACEHOLDER.search(text)
    assert not _LINK.search(text)
