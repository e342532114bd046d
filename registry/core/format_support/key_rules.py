"""Rules for documents with keys: key sets and DID documents."""

from registry.core.model.findings import ERROR, SAFETY, Rule

# fmt: off

PRIVATE_KEY = Rule(
    "identity.private_key", ERROR, points=5, section=SAFETY, spec="RFC 7517 section 9.2",
    says="The key set publishes a private key.",
    fix="Withdraw the key at once; publish public keys only.",
)
