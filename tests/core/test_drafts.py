"""Documents without a host or a pointer are judged as if the host that they name served them."""

import json
from typing import Any

import pytest

from registry.core.assessing.drafts import UNKNOWN_HOST, judge_draft
from registry.core.format_support.common_rules import CLAIM_ELSEWHERE, PROVIDER_ELSEWHERE
from registry.core.formats import FORMATS
from registry.core.model.documents import Outcome
from tests.core.documents import a2a_card
from tests.core.test_corpus import INDEX, ROWS, format_and_dialect, judge, path_of
from tests.support.builders import adp_detail, adp_manifest, awp_manifest


def raw(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("value", "host"),
    [
        (adp_manifest("api.kiosk.example", "a"), "api.kiosk.example"),
        (awp_manifest("Bikes.Example"), "bikes.example"),
        ({"domain": 7, "base_url": "https://shop.com/v1"}, "shop.com"),
        ({"domain": "localhost", "url": "https://10.0.0.1/", "baseUrl": "https://shop.com"}, "shop.com"),
        ({"domain": "no host at all"}, None),
        ({"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "servers": [{"url": "https://api.shop.com"}],
          "paths": {"/t": {"get": {"operationId": "t"}}}}, "api.shop.com"),
        ([], None),
    ],
)  # fmt: skip
def test_the_host_is_the_one_that_the_document_names(value: Any, host: str | None) -> None:
    draft = judge_draft(raw(value), "/agent.json")
    assert (draft.host, draft.url) == (host, f"https://{host or UNKNOWN_HOST}/agent.json")


@pytest.mark.parametrize(
    ("value", "claims"),
    [
        ({"origin": "https://mill.com", "version": "1.3", "identity": {"did": "did:web:wind.org"}}, {"/identity/did"}),
        (adp_manifest("mill.com", "a") | {"domain": "wind.org", "base_url": "https://mill.com"}, {"/domain"}),
        (a2a_card("mill.com", provider={"organization": "Wind", "url": "https://wind.org"}), {"/provider/url"}),
    ],
)
def test_only_a_named_host_makes_a_claim_one_of_another_site(value: Any, claims: set[str]) -> None:
    def claimed(host: str | None) -> set[str]:
        found = judge_draft(raw(value), "/.well-known/agent.json", host=host).assessment.findings
        return {finding.pointer for finding in found if finding.rule in (CLAIM_ELSEWHERE, PROVIDER_ELSEWHERE)}

    assert claimed("mill.com") == claims
    assert claimed(None) == set()


def test_formats_that_need_a_pointer_are_tried_last() -> None:
    detail = judge_draft(raw(adp_detail("create_parcel")), "/anything")
    assert (detail.assessment.outcome, detail.assessment.format) == (Outcome.FOUND, "adp-detail")
    both = {**adp_manifest("kiosk.example", "a"), **{k: v for k, v in adp_detail("a").items() if k != "name"}}
    assert judge_draft(raw(both), "/anything").assessment.format == "adp"


def test_an_expectation_excludes_guesses() -> None:
    assert judge_draft(raw(adp_detail("a")), "/x", expected="awas").assessment.outcome is Outcome.NOT_A_MANIFEST


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff", b"{", b"[]", b"<html>", b"# text\n", b'{"a": 1}', b"\0" * 100],
    ids=lambda body: repr(body[:9]),
)
def test_nothing_raises_and_nothing_becomes_a_manifest(body: bytes) -> None:
    assert judge_draft(body, "/x").assessment.outcome is not Outcome.FOUND
    for form in FORMATS:
        assessment = judge_draft(body, "/x", None, form.slug).assessment
        assert assessment.format in (None, form.slug)


@pytest.mark.skipif(not ROWS, reason="shared test data absent: corpus/INDEX.tsv (set WAYPOST_SHARED)")
def test_real_documents_are_recognised_as_with_their_host_and_pointer() -> None:
    differences = {
        row["file"]: (format_and_dialect(draft.assessment), format_and_dialect(judge(row)))
        for row in ROWS
        for draft in [judge_draft((INDEX.parent / row["file"]).read_bytes(), path_of(row))]
        if format_and_dialect(draft.assessment) != format_and_dialect(judge(row))
    }
    assert differences == {}
