"""docs/settings.md: every setting with its variable, type, default and meaning."""

import inspect
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from docs.generate.markdown import page, table
from registry.settings import Settings, meanings, variable


def settings_page() -> str:
    """Return the page."""
    said = meanings()
    rows = ((f"`{variable(name)}`", _type(field), _default(field), said[name])
            for name, field in Settings.model_fields.items())  # fmt: skip
    return page(
        "Settings",
        "Read from the environment when a command starts; a wrong value is refused with exit code 2. Their one owner "
        "is `registry/settings.py`. Nothing needs to be set to begin with.",
        table(("variable", "type", "default", "meaning"), rows),
        "Certificates of visited sites are verified with the system's store; `SSL_CERT_FILE` and `SSL_CERT_DIR` have "
        "their usual OpenSSL meaning.",
    )


def _type(field: FieldInfo) -> str:
    limits = [limit for constraint in field.metadata if (limit := _limit(constraint))]
    return ", ".join([_type_name(field.annotation), *limits])


def _type_name(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(annotation))
    if get_origin(annotation) is tuple:
        return "list"
    options = [option for option in get_args(annotation) if option is not type(None)]
    if options:
        return " or ".join(_type_name(option) for option in options)
    names = {"str": "text", "SecretStr": "text", "int": "integer", "float": "number", "Path": "folder", "bool": "flag"}
    return names[annotation.__name__]


def _limit(constraint: object) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return ", ".join(
        f"{sign} {getattr(constraint, name):g}" for name, sign in signs.items() if hasattr(constraint, name)
    )


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return (inspect.getdoc(field.default_factory) or "").partition("\n")[0].rstrip(".")
    if field.default is None or field.default == ():
        return "unset"
    return f"`{field.default}`"
