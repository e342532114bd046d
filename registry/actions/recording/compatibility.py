"""Notes which documents changed incompatibly without a new version: for formats that say when a change is one. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from registry.actions.recording.reconcile import Documents
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.model.documents import Json
from registry.core.model.observations import STORED_AS, Observation, from_text, to_text
from registry.core.reading.reader import Unreadable, read_json


def has_versions(slug: str | None) -> bool:
    """Return whether documents of the format are compared with their previous versions."""
    form = FORMAT_BY_SLUG.get(slug or "")
    return form is not None and form.is_unversioned_break is not None


def note_breaking_changes(documents: Documents, bodies: Mapping[tuple[str, bytes], bytes]) -> None:
    """Compare every document that this visit changed with its previous version. `bodies`: the stored ones."""
    for url, before in documents.replaced.items():
        current = documents.current[url]
        record = current.record
        form = FORMAT_BY_SLUG.get(record.format or "")
        after = documents.bodies.get((record.domain, record.sha256))
        if form is None or form.is_unversioned_break is None or after is None or (record.domain, before) not in bodies:
            continue
        is_break = form.is_unversioned_break(_value(bodies[record.domain, before]), _value(after))
        seen = from_text(record.headers.get(STORED_AS, ""))
        if is_break is None or is_break is (Observation.UNVERSIONED_CHANGE in seen):
            continue
        headers = {name: value for name, value in record.headers.items() if name != STORED_AS}
        if observed := seen ^ {Observation.UNVERSIONED_CHANGE}:
            headers[STORED_AS] = to_text(observed)
        changed = replace(record, headers=headers)
        documents.current[url] = replace(current, record=changed)
        documents.put[url] = changed


def _value(body: bytes) -> Json:
    try:
        return read_json(body)
    except Unreadable:
        return None
