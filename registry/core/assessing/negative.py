"""Files that declare a protocol absent, published because scanners ask for the path."""

from typing import Final

from registry.core.formats import FORMATS
from registry.core.model.documents import Document

_MEMBERS: Final = (
    *((form.absence_member, form.slug) for form in FORMATS if form.absence_member is not None),
    ("protocol", ""),
)


def stated_absence(document: Document) -> str | None:
    """Return the slug of the format declared absent, "" if only other parts of the file can tell, else None."""
    value = document.value
    if not isinstance(value, dict):
        return None
    for key, slug in _MEMBERS:
        member = value.get(key)
        if isinstance(member, dict) and member.get("available") is False:
            return slug
    return "" if value.get("available") is False else None
