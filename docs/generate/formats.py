"""docs/formats.md: every format that is read, in the order of recognition, with its paths and its own rules."""

from docs.generate.markdown import codes, page, table
from registry.core.assessing.recognise import ROWS, Foreign
from registry.core.format_support.format import ROLES, Format
from registry.core.formats import FORMATS


def formats_page() -> str:
    """Return the page."""
    foreign = sorted({row.result.name for row in ROWS if isinstance(row.result, Foreign)})
    overview = table(
        ("format", "slug", "role", "paths", "rules"),
        (
            (form.title, f"[`{form.slug}`](#{form.slug})", form.role, codes(form.paths), str(len(form.rules)))
            for form in FORMATS
        ),
    )
    return page(
        "Formats",
        f"What waypost recognises, read and graded by one module each below `registry/core/formats/`: {len(FORMATS)} "
        "formats. Content decides what a document is, in the order of `registry/core/assessing/recognise.py`; the path "
        "never does, except for formats without any distinctive mark.",
        "*Paths*: where the format is usually served, most preferred first. *Rules*: rules of this format, or "
        "of a family of formats, only; rules of all documents are in [rubric.md](rubric.md).",
        overview,
        *(_format_section(form) for form in FORMATS),
        "## Recognised and left alone",
        "Documents of other schemes at the same paths are no manifests here; a visit names them as "
        f"`foreign:<name>`: {codes(foreign)}.",
    )


def _format_section(form: Format) -> str:
    facts = table(
        ("", ""),
        (
            ("specification", form.spec),
            ("role", f"`{form.role}`: {ROLES[form.role]}"),
            ("paths", codes(form.paths) or "none: found by pointers only"),
            ("media types", codes(form.media_types)),
        ),
    )
    rules = table(
        ("rule", "severity", "what is seen"), ((f"`{rule.code}`", rule.severity, rule.says) for rule in form.rules)
    )
    return "\n\n".join([f'<a id="{form.slug}"></a>', f"## {form.title}", facts, *([rules] if form.rules else [])])
