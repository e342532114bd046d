"""Web Bot Auth: the signature with which the crawler proves who it is, and the directory of its public keys.

Signatures are HTTP Message Signatures (RFC 9421) with Ed25519 and the tag `web-bot-auth`, as
draft-ietf-webbotauth-httpsig-protocol defines them; draft-meunier-webbotauth-httpsig-directory defines the directory. A
signature names the host that it is for, so no other host can use it. Keys are JSON Web Keys (RFC 8037), named by their
thumbprint (RFC 7638).
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

import orjson
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from registry.core.names.domains import host_of

DIRECTORY_PATH: Final = "/.well-known/http-message-signatures-directory"
DIRECTORY_TYPE: Final = "application/http-message-signatures-directory+json"
MAX_KEY_BYTES: Final = 8 * 1024  # of a key file
MAX_SECONDS: Final = 3_600  # longest validity of a request's signature
LABEL: Final = "sig1"

Draft = Literal["architecture-03", "protocol-00", "protocol-01"]
"""The revision that decides the form of Signature-Agent: a string; a dictionary with the address of the site; one with
the URL of the directory itself."""

_PUBLISHED_KEYS: Final = frozenset({"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"})
"""Thumbprints of private keys that everybody has: RFC 9421 appendix B.1.4."""


class BadKey(ValueError):
    """The text is not an Ed25519 private key that may be used; the message says why and never contains the key."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key. `id`: its thumbprint. It signs from `not_before` and is listed until `expires` (seconds since
    1970); None: for ever."""

    private: Ed25519PrivateKey = field(repr=False, compare=False)  # equal keys have equal ids
    id: str
    not_before: int = 0
    expires: int | None = None

    @classmethod
    def of(cls, private: Ed25519PrivateKey, not_before: int = 0, expires: int | None = None) -> Self:
        return cls(private, thumbprint(private.public_key().public_bytes_raw()), not_before, expires)

    @classmethod
    def read(cls, text: bytes) -> Self:
        """Return the key in a PEM file (PKCS #8, without password) or in a JSON Web Key. Raise BadKey."""
        if len(text) > MAX_KEY_BYTES:
            raise BadKey("is larger than a key can be")
        key = cls._from_jwk(text) if text.lstrip()[:1] == b"{" else cls.of(_from_pem(text))
        if key.id in _PUBLISHED_KEYS:  # guard: published-key
            raise BadKey("is the example of RFC 9421, which everybody can sign with")
        return key

    @classmethod
    def _from_jwk(cls, text: bytes) -> Self:
        try:
            members = orjson.loads(text)
            kind, secret = (members["kty"], members["crv"]), _decoded(members["d"])
            not_before, expires = members.get("nbf", 0), members.get("exp")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadKey("is not a private JSON Web Key") from None
        if kind != ("OKP", "Ed25519") or len(secret) != 32:
            raise BadKey("is not an Ed25519 key")
        if type(not_before) is not int or not (expires is None or type(expires) is int):
            raise BadKey("has times (`nbf`, `exp`) that are not whole seconds")
        key = cls.of(Ed25519PrivateKey.from_private_bytes(secret), not_before, expires)
        if members.get("x", key.public_jwk()["x"]) != key.public_jwk()["x"]:
            raise BadKey("has a public part that does not belong to its private part")
        return key

    def public_jwk(self) -> dict[str, Any]:
        """Return the public key as the directory lists it, with the times that are known."""
        times = {"nbf": self.not_before or None, "exp": self.expires}
        x = _encoded(self.private.public_key().public_bytes_raw())
        known_times = {name: at for name, at in times.items() if at is not None}
        return {"kty": "OKP", "crv": "Ed25519", "kid": self.id, "x": x, "use": "sig", **known_times}

    def private_jwk(self) -> bytes:
        """Return the content of a key file: the private key with its times."""
        return orjson.dumps(self.public_jwk() | {"d": _encoded(self.private.private_bytes_raw())})


def thumbprint(public: bytes) -> str:
    """Return the thumbprint of a public Ed25519 key (RFC 7638, RFC 8037 appendix A.3)."""
    required = f'{{"crv":"Ed25519","kty":"OKP","x":"{_encoded(public)}"}}'
    return _encoded(hashlib.sha256(required.encode()).digest())


def key_in_use(keys: Iterable[SigningKey], now: int, seconds: int = 0) -> SigningKey | None:
    """Return the latest key that signs now; None if no key does. It is still listed in `seconds`."""
    usable = [
        key for key in keys if key.not_before <= now and (key.expires is None or key.expires >= now + seconds)
    ]  # guard: key-times
    return max(usable, key=lambda key: (key.not_before, key.id), default=None)


def listed(keys: Iterable[SigningKey], now: int) -> list[SigningKey]:
    """Return the keys of the directory: they sign, will sign, or have signatures that are still valid."""
    return sorted((key for key in keys if key.expires is None or key.expires > now), key=lambda key: key.id)


def state_of(key: SigningKey, keys: Iterable[SigningKey], now: int) -> str:
    """Return what a key of these does now: "in use", "next", "old" (still listed) or "expired"."""
    if key.expires is not None and key.expires <= now:
        return "expired"
    if key.not_before > now:
        return "next"
    return "in use" if key == key_in_use(keys, now) else "old"


def authority_of(url: str) -> str:
    """Return host and port of an http or https URL as a request names them (RFC 9421 section 2.2.3)."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0].lower()
    return authority.removesuffix({"https": ":443", "http": ":80"}.get(scheme.lower(), " "))


def signs(url: str) -> bool:
    """Return whether a request for this URL may be signed: https on port 443 only, so that a signature never leaves TLS
    and never serves another service of the host."""
    host = host_of(url)
    return bool(host) and url.startswith(f"https://{host}/")  # guard: signature-port


def sign_request(
    key: SigningKey, url: str, agent: str, *, created: int, expires: int, nonce: str, draft: Draft
) -> dict[str, str]:
    """Return the fields that sign a request for `url`; nothing if it may not be signed. `agent`: the https address of
    the registry. They hold for every request to the same host until `expires`."""
    if not signs(url):
        return {}
    if draft == "architecture-03":
        field_value, component = f'"{agent}"', '"signature-agent"'
    else:
        agent = f"{agent}{DIRECTORY_PATH}" if draft == "protocol-01" else agent
        field_value, component = f'{LABEL}="{agent}"', f'"signature-agent";key="{LABEL}"'
    parameters = (
        f'("@authority" {component});created={created};expires={expires};keyid="{key.id}";alg="ed25519"'
        f';nonce="{nonce}";tag="web-bot-auth"'
    )
    # guard: signature-authority
    lines = (f'"@authority": {host_of(url)}', f'{component}: "{agent}"', f'"@signature-params": {parameters}')
    signature = base64.b64encode(key.private.sign("\n".join(lines).encode("ascii"))).decode()
    return {
        "Signature-Agent": field_value,
        "Signature-Input": f"{LABEL}={parameters}",
        "Signature": f"{LABEL}=:{signature}:",
    }


def directory(keys: Sequence[SigningKey]) -> bytes:
    """Return the key directory: a JSON Web Key Set of the public keys (RFC 7517 section 5)."""
    return orjson.dumps({"keys": [key.public_jwk() for key in keys]})


def sign_directory(
    keys: Sequence[SigningKey], authority: str, body: bytes, *, created: int, expires: int
) -> Mapping[str, str]:
    """Return the fields that sign the directory with each of its keys, bound to the authority that serves it and to its
    bytes (RFC 9421 section 2.4, RFC 9530)."""
    digest = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    inputs, signatures = [], []
    for number, key in enumerate(keys, 1):
        parameters = (
            f'("@authority";req "content-digest");created={created};expires={expires};keyid="{key.id}"'
            ';alg="ed25519";tag="http-message-signatures-directory"'
        )
        lines = (
            f'"@authority";req: {authority}', f'"content-digest": {digest}', f'"@signature-params": {parameters}',
        )  # fmt: skip
        signature = base64.b64encode(key.private.sign("\n".join(lines).encode("ascii"))).decode()
        inputs.append(f"sig{number}={parameters}")
        signatures.append(f"sig{number}=:{signature}:")
    return {"Content-Digest": digest, "Signature-Input": ", ".join(inputs), "Signature": ", ".join(signatures)}


def _from_pem(text: bytes) -> Ed25519PrivateKey:
    try:
        private = load_pem_private_key(text, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it has a password
        raise BadKey("is neither a PEM file without password nor a JSON Web Key") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise BadKey("is not an Ed25519 key")
    return private


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    """Return the bytes of a base64url text. Raise ValueError or TypeError."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError from error
