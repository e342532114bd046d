"""Settings have one owner: each field is described and used, and only the owner reads environment variables."""

import ast
from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from registry.settings import Settings, allowed, meanings, variable
from tests.house.tree import modules

FIELDS = sorted(Settings.model_fields)
OWNER = "registry/settings.py"

ENVIRONMENT = {
    OWNER: "finds the default data folder",
    "crawler/run.py": "honours SCRAPY_SETTINGS_MODULE, as Scrapy does",
    "registry/cli/common.py": "honours NO_COLOR, and answers a shell that asks for completions",
    "registry/__init__.py": "tells numpy, before it is imported, to calculate in one thread",
    "registry/store/postgres_programs.py": "hands the whole environment on to PostgreSQL's programs",
    "registry/wiring/workers.py": "hands the whole environment on to a child",
}
"""Modules that may read environment variables, with the reason."""


def test_every_setting_has_a_description() -> None:
    descriptions = {name: meanings().get(name) or "?" for name in FIELDS}
    assert [
        name
        for name, text in descriptions.items()
        if not (text[0].isupper() or text[0] == "`") or not text.rstrip().endswith(".")
    ] == []


def test_every_setting_is_read() -> None:
    assert set(FIELDS) - _read_settings() == set(), "nothing reads these settings: remove them"


def _read_settings() -> set[str]:
    """Return the attributes read from anything called settings, and from self in the owner."""
    names = set()
    for module in modules("registry", "crawler"):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute):
                owner = node.value
                owner_name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
                if owner_name.strip("_") == "settings" or (owner_name == "self" and module.name == OWNER):
                    names.add(node.attr)
    return names


def test_only_listed_modules_read_the_environment() -> None:
    readers = {module.name for module in modules("registry", "crawler") if list(_readings(module.tree))}
    assert readers == set(ENVIRONMENT)


def _readings(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that read environment variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv"):
            yield node.lineno


def test_a_pattern_is_explained_in_words() -> None:
    fields = Settings.model_fields.items()
    patterns = {name for name, field in fields if any(getattr(one, "pattern", None) for one in field.metadata)}
    assert len(patterns) > 5
    assert {name for name in patterns if allowed(name).startswith("a text")} == set()
    assert {name for name in FIELDS if "None" in allowed(name) or not allowed(name)} == set()


@pytest.mark.parametrize("name", ["data", "database_url", "opt_out_file", "contact_email", "log_level", "dumps"])
def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    unset = getattr(Settings(), name)
    monkeypatch.setenv(variable(name), "")
    assert getattr(Settings(), name) == unset


def test_a_wrong_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable("request_delay"), "-1")
    with pytest.raises(ValidationError, match="request_delay"):
        Settings()


def test_each_variable_sets_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = {
        "data": "/somewhere", "database_url": "postgresql://somewhere/db", "public_url": "https://registry.example",
        "contact_url": "https://registry.example/us",
        "contact_email": "us@registry.example", "connect_to": "a.example:443:127.0.0.1:1", "resolve": "table",
        "suffix_list_url": "https://mirror.example/list", "ipv4_registry_url": "", "ipv6_registry_url": "",
        "dumps": "/dumps", "dump_restricted": "false", "dump_terms_url": "https://registry.example/terms",
        "trusted_proxies": "192.0.2.1", "refused_networks": "192.0.2.0/24",
        "log_level": "ERROR", "submit_wait": "15", "embedding": "minilm",
        "meili_url": "http://search.example:7700", "meili_index": "others",
        "mcp_tools": "all", "call_checks": "all", "ard_peers": "https://finder.example/ard",
        "serve_metrics": "127.0.0.1:9101", "traces": "otlp", "errors": "otlp", "access_log": "true",
        "archive_visits": "true",
        "signature_agent": "https://bot.example", "signature_draft": "protocol-01",
    }  # fmt: skip
    for name in FIELDS:
        monkeypatch.setenv(
            variable(name), samples.get(name, "59.0" if Settings.model_fields[name].annotation is float else "61")
        )
    changed, defaults = Settings(), Settings.model_construct()
    assert [name for name in FIELDS if getattr(changed, name) == getattr(defaults, name)] == []
