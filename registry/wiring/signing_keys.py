"""The files of the keys that sign the crawler's requests: a folder that every process of the registry reads again.

Each file has one private key: PEM as other tools write it, or a JSON Web Key with times as `waypost keys` does. Only
their owner may read the files. A rotation lists the new key before it signs, and the old one until its signatures have
expired (draft-ietf-webbotauth-httpsig-protocol, "Key Rotation").
"""

import contextlib
import logging
import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from registry.core.web_bot_auth import MAX_KEY_BYTES, MAX_SECONDS, BadKey, SigningKey, listed
from registry.settings import Settings

DIRECTORY_SECONDS: Final = 3_600  # for which verifiers may keep the key directory
LEAD_SECONDS: Final = 24 * DIRECTORY_SECONDS
"""From the listing of a new key to its first signature, by default: much longer than verifiers keep the directory."""

OVERLAP_SECONDS: Final = 2 * MAX_SECONDS
"""For which a key stays listed after its last signature: the longest validity, and as much for clocks that differ."""

REREAD_SECONDS: Final = 10.0  # how soon every process uses changed files
LEAST_LEAD_SECONDS: Final = 30
"""From a new key to its first signature, at least: by then every process lists the key."""

MAX_KEYS: Final = 20
_HTTPS: Final = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(?=/|$)")  # in ASCII, as signatures are
_SUFFIXES: Final = frozenset({".jwk", ".json", ".pem"})

_log = logging.getLogger(__name__)


class KeysUnusable(Exception):
    """The key files cannot be read or written, or not as asked; the message names the file and the problem."""


class KeyFiles:
    """The key files of the settings. Raise KeysUnusable from all methods if a file is not what it should be."""

    def __init__(self, settings: Settings) -> None:
        self.path = settings.signing_keys or settings.data / "signing-keys"

    def read(self) -> list[SigningKey]:
        """Return all keys, expired ones too; none if there is no folder."""
        return [key for _, key in self._files()]

    def add(self, not_before: int) -> SigningKey:
        """Make a key that signs from `not_before`, and return it."""
        while True:
            key = SigningKey.of(Ed25519PrivateKey.generate(), not_before)
            if key.id[0].isalnum():  # a leading hyphen would look like an option on a command line
                break
        self._require_folder()
        if len(self.read()) >= MAX_KEYS:
            raise KeysUnusable(f"{self.path} has {MAX_KEYS} keys: remove some first")
        self._write(key)
        return key

    def rotate(self, now: int, lead: int) -> SigningKey:
        """Make a key that takes over in `lead` seconds, end the others after it, and delete expired ones."""
        self._require_folder()
        takeover = now + lead
        new_key = self.add(takeover)
        for path, key in self._files():
            if key.expires is not None and key.expires <= now:
                self._delete(path)
            elif key.id != new_key.id and (key.expires is None or key.expires > takeover + OVERLAP_SECONDS):
                self._write(replace(key, expires=takeover + OVERLAP_SECONDS))
                if path.name != _file_name(key):  # of another tool: its content is in the new file
                    self._delete(path)
        return new_key

    def remove(self, key_id: str) -> bool:
        """Delete a key. Return False if no key has this id."""
        self._require_folder()
        paths = [path for path, key in self._files() if key.id == key_id]
        for path in paths:
            self._delete(path)
        return bool(paths)

    def put(self, content: bytes) -> bool:
        """Add a key from the content of a key file, of a backup. Return False if it is here already."""
        with self._explained(self.path):
            key = SigningKey.read(content)
        self._require_folder()
        if any(known.id == key.id for known in self.read()):
            return False
        self._write(key)
        return True

    def paths(self) -> list[Path]:
        """Return the key files; none if there is no folder."""
        with self._explained(self.path):
            if self.path.is_dir():
                paths = sorted(path for path in self.path.iterdir() if path.suffix in _SUFFIXES)
            else:
                paths = [self.path] if self.path.exists() else []
        return paths[: 2 * MAX_KEYS]

    def _files(self) -> list[tuple[Path, SigningKey]]:
        found = []
        for path in self.paths():
            with self._explained(path), path.open("rb") as file:
                found.append((path, SigningKey.read(file.read(MAX_KEY_BYTES + 1))))
        return found

    def _require_folder(self) -> None:
        with self._explained(self.path):
            if self.path.exists() and not self.path.is_dir():
                raise KeysUnusable(f"{self.path} is one file: name a folder in WAYPOST_SIGNING_KEYS")
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _write(self, key: SigningKey) -> None:
        """Write the file of a key at once and whole, readable by its owner only."""
        path = self.path / _file_name(key)
        new_path = path.with_suffix(".new")
        with self._explained(path):
            new_path.unlink(missing_ok=True)
            # guard: key-file-mode
            with os.fdopen(os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(key.private_jwk())
                file.flush()
                os.fsync(file.fileno())
            new_path.replace(path)

    def _delete(self, path: Path) -> None:
        with self._explained(path):
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _explained(self, path: Path) -> Iterator[None]:
        try:
            yield
        except BadKey as error:
            raise KeysUnusable(f"{path} {error}") from None
        except OSError as error:
            raise KeysUnusable(f"{error.filename or path}: {error.strerror}") from None


class KeyRing:
    """The keys of one process, read again every REREAD_SECONDS. If that fails, the keys read before stay in force."""

    def __init__(self, settings: Settings) -> None:
        self._files = KeyFiles(settings)
        self._keys: list[SigningKey] = []
        self._reread_at = 0.0
        self._has_failed = False

    def keys(self) -> list[SigningKey]:
        """Return the keys that are not expired."""
        now = time.monotonic()
        if now >= self._reread_at:
            self._reread_at = now + REREAD_SECONDS
            self._read()
        return listed(self._keys, int(time.time()))

    def check(self) -> None:
        """Raise KeysUnusable if a file is not what it should be."""
        self._files.read()

    def _read(self) -> None:
        try:
            self._keys, self._has_failed = self._files.read(), False
        except KeysUnusable as error:
            if not self._has_failed:
                _log.warning("signing keys: %s; the keys read before stay in force", error)
            self._has_failed = True


def agent_of(settings: Settings) -> str | None:
    """Return the https address that Signature-Agent names; None without one: then nothing can be signed."""
    if settings.signature_agent is not None:
        return settings.signature_agent.lower()
    found = _HTTPS.match(settings.public_url)
    return found and found[0].lower()


def _file_name(key: SigningKey) -> str:
    return f"{key.id}.jwk"
