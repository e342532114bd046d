"""What key sets and DID documents share: how keys are read, and the rule about private keys published by mistake."""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from registry.core.format_support.manifest import MAX_TEXTS, Notes, list_of
from registry.core.format_support.signatures import MAX_KEYS, Key, public_keys
from registry.core.model.documents import Document, Json
from registry.core.model.findings import ERROR, SAFETY, Rule
from registry.core.reading.json_pointer import at

# fmt: off
PRIVATE_KEY = Rule(
    "identity.private_key", ERROR, points=5, section=SAFETY, spec="RFC 7517 section 9.2",
    says="The key set publishes a private key.",
    fix="Withdraw the key at once; publish public keys only.",
)
# fmt: on

_PRIVATE: Final = ("d", "p", "q", "k")


def read_keys(entries: Iterable[tuple[str, Json]], notes: Notes) -> tuple[Key, ...]:
    """Return the public keys among the first MAX_KEYS entries, which are JSON Pointers and keys."""
    found: list[Key] = []
    for pointer, key in islice(entries, MAX_KEYS):
        if public := public_keys([key]):
            found += public
            notes.mark_read(pointer)
    return tuple(found)


def note_private_keys(document: Document, name: str, key_member: str | None, notes: Notes) -> None:
    """Add a finding for each private key in the list `name`, whose items hold their key in `key_member`, if given. The
    finding names the private members, never their values."""
    for index, item in enumerate(list_of(document.value, name)[:MAX_TEXTS]):
        key = item.get(key_member) if key_member and isinstance(item, dict) else item
        private_members = [member for member in _PRIVATE if isinstance(key, dict) and member in key]
        if private_members:
            notes.add(PRIVATE_KEY, at("", name, index), ", ".join(private_members))
