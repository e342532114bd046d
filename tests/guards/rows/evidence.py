"""What is shown of documents: of whom, as what, and at whose cost."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_API: Final = "tests/api/test_evidence.py::"
_HIDDEN: Final = f"{_API}test_nothing_is_shown_of_a_site_that_opted_out_or_is_hidden"

GUARDS: Final = (
    Guard("evidence-opt-out", "nothing is shown of a site that opted out", NEVER, (_HIDDEN,)),
    Guard("evidence-hidden", "nothing is shown of a hidden service", NEVER, (_HIDDEN,)),
    Guard(
        "evidence-wishes",
        "a site can forbid copies of its documents",
        NEVER,
        (f"{_API}test_a_site_can_forbid_copies_of_its_documents",),
    ),
    Guard(
        "evidence-sandbox",
        "no browser runs or embeds the bytes of a document",
        Edit("default-src 'none'; sandbox", "default-src *"),
        (f"{_API}test_the_bytes_are_a_download_with_their_digest",),
    ),
    Guard(
        "evidence-units",
        "bytes of documents cost units of work",
        SKIP,
        (f"{_API}test_the_bytes_of_a_large_document_cost_units",),
    ),
    Guard(
        "history-cursor-host",
        "a cursor of a history is of one host",
        NEVER,
        (f"{_API}test_a_cursor_is_of_one_host",),
    ),
    Guard(
        "history-bytes",
        "a page of a history compares a bounded number of bytes",
        Edit(r"return .*", "return None"),
        (f"{_API}test_versions_that_are_too_large_are_not_compared",),
    ),
    Guard(
        "uptime-unmeasured",
        "a visit that requested nothing is no check",
        NEVER,
        ("tests/core/test_evidence.py::test_what_a_visit_says_of_a_service",),
    ),
    Guard(
        "untrusted-evidence",
        "texts of evidence are marked",
        Edit(r"= \(.*\)", "= ()"),
        (f"{_API}test_texts_of_sites_are_marked",),
    ),
    Guard(
        "untrusted-history",
        "texts of versions are marked",
        Edit(r"= \(.*\)", "= ()"),
        (f"{_API}test_texts_of_sites_are_marked",),
    ),
)
