"""Signatures of the crawler's requests: for which host, how long, by which key; and the files of the keys."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_CORE: Final = "tests/core/test_web_bot_auth.py::"
_VISITS: Final = "tests/crawler/test_signing.py::"
_FOR_ITS_HOST: Final = f"{_VISITS}test_sites_verify_every_request_and_no_signature_serves_another_host"

GUARDS: Final = (
    Guard(
        "signature-port",
        "only https on port 443 is signed",
        Edit(r' and url\.startswith\(f".*?"\)'),
        (f"{_CORE}test_nothing_but_https_on_port_443_is_signed[https://shop.example:8443/agent.json]",),
    ),
    Guard(
        "signature-authority",
        "a signature names its host",
        Edit(r"\{host_of\(url\)\}", "{key.id}"),
        (f"{_CORE}test_a_signature_is_valid_for_its_host_alone", _FOR_ITS_HOST),
    ),
    Guard(
        "signature-host",
        "a signature is sent to its host alone",
        Edit(r" or not url\.startswith\(self\._prefix\)"),
        (f"{_VISITS}test_signatures_are_renewed_long_before_they_expire",),
    ),
    Guard("signature-per-hop", "no signature survives a redirect", SKIP, (_FOR_ITS_HOST,)),
    Guard(
        "key-times",
        "keys sign in their time alone",
        Edit(r"key\.not_before <= now and ", ""),
        (f"{_CORE}test_keys_overlap_when_one_replaces_another",),
    ),
    Guard(
        "published-key",
        "no key that everybody has",
        NEVER,
        (f"{_CORE}test_other_files_are_refused_without_telling_their_content",),
    ),
    Guard(
        "key-file-mode",
        "private keys are readable by their owner only",
        Edit("0o600", "0o644"),
        ("tests/wiring/test_signing_keys.py::test_only_the_owner_reads_the_files",),
    ),
    Guard(
        "directory-authority",
        "the key directory is signed for this registry alone",
        Edit(r"authority_of\(.*\)", 'request.headers["host"]'),
        ("tests/api/test_key_directory.py::test_another_host_cannot_have_the_keys_signed_for_itself",),
    ),
)
