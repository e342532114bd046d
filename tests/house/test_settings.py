"""Settings have one owner: each field is described, read by somebody, and nobody reads the environment beside it."""

import ast
from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from registry.settings import Settings, variable
from tests.house.tree import Module, modules

FIELDS = sorted(Settings.model_fields)
OWNER = "registry/settings.py"

ENVIRONMENT = {
    OWNER: "finds the default data folder",
    "registry/__init__.py": "tells numpy, before it is imported, to calculate in one thread",
    "registry/wiring/workers.py": "hands the whole environment on to a child",
}
"""Who may look at the environment, and why."""


@pytest.mark.parametrize("name", FIELDS)
def test_a_setting_is_described(name: str) -> None:
    description = Settings.model_fields[name].description
    assert description and description[0].isupper() | (description[0] == "`") and description.rstrip().endswith(".")


@pytest.mark.parametrize("name", FIELDS)
def test_a_setting_is_read(name: str) -> None:
    assert name in _read_settings(), "nothing reads it: take it away"


def _read_settings() -> set[str]:
    """Attributes of anything called settings, and of Settings itself."""
    found = set()
    for module in modules("registry", "crawler"):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute):
                owner = node.value
                called = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
                if called.strip("_") == "settings" or (called == "self" and module.name == OWNER):
                    found.add(node.attr)
    return found


@pytest.mark.parametrize(
    "module", [m for m in modules("registry", "crawler") if m.name not in ENVIRONMENT], ids=lambda module: module.name
)
def test_nobody_else_reads_the_environment(module: Module) -> None:
    assert list(_readings(module.tree)) == []


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_the_exceptions_are_needed(name: str) -> None:
    tree = next(module.tree for module in modules("registry", "crawler") if module.name == name)
    assert list(_readings(tree))


def _readings(tree: ast.Module) -> Iterator[int]:
    """Lines that look at the environment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv"):
            yield node.lineno


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
        "trusted_proxies": "192.0.2.1", "log_level": "ERROR", "submit_wait": "15", "embedding": "minilm",
        "meili_url": "http://search.example:7700", "meili_index": "others",
    }  # fmt: skip
    for name in FIELDS:
        monkeypatch.setenv(
            variable(name), samples.get(name, "59.0" if Settings.model_fields[name].annotation is float else "61")
        )
    changed, defaults = Settings(), Settings.model_construct()
    assert [name for name in FIELDS if getattr(changed, name) == getattr(defaults, name)] == []
