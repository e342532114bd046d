"""Documents that tests of the core share, and the service that a host with some documents has."""

import base64
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from registry.core.format_support.signatures import canonical
from registry.core.merging.merge import HeldDocument, merge
from registry.core.model.services import Service

CARD_PATH = "/.well-known/agent-card.json"
KEY = Ed25519PrivateKey.from_private_bytes(b"w" * 32)


def a2a_card(host: str, **members: Any) -> dict[str, Any]:
    """Return a valid A2A card with one skill, `ask`."""
    return {
        "protocolVersion": "0.3.0", "name": "Orchard", "description": "Talks about fruit.", "url": f"https://{host}/a2a",
        "version": "1.0.0", "capabilities": {}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "ask", "name": "Ask", "description": "Answers.", "tags": []}], **members,
    }  # fmt: skip


def service_of(host: str, *documents: HeldDocument) -> Service:
    service = merge(host, documents).service
    assert service is not None
    return service


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def public_key(**members: str) -> dict[str, str]:
    return {"kty": "OKP", "crv": "Ed25519", "x": b64(KEY.public_key().public_bytes_raw()), **members}


def signed(card: dict[str, Any], **header: Any) -> dict[str, Any]:
    """Return the card with a signature of KEY (A2A 1.0 section 8.4)."""
    protected = b64(json.dumps({"alg": "EdDSA", "kid": "k1", **header}).encode())
    payload = b64((canonical(card, "signatures") or "").encode())
    signature = b64(KEY.sign(f"{protected}.{payload}".encode()))
    return {**card, "signatures": [{"protected": protected, "signature": signature}]}
