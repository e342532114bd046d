"""Every real service document of the shared corpus has a valid ADP view."""

import csv
from pathlib import Path

from registry.core.assessing.assess import assess_body
from registry.core.formats.adp.detail_view import adp_detail, why_no_detail
from registry.core.formats.adp.manifest_view import adp_manifest
from registry.core.merging.listing import make_listing
from registry.core.merging.trust import trust_of
from registry.core.model.listing import TrustLevel
from tests.support import shapes
from tests.support.shapes import assert_shape
from tests.support.shared import shared

HOST = "served.example.dev"


def test_real_services_have_manifests_details_and_listings() -> None:
    folder = shared("corpus")
    services = details = 0
    with Path(folder, "INDEX.tsv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            path = row["served_path"] if row["served_path"].startswith("/") else "/.well-known/agent.json"
            assessment = assess_body(Path(folder, row["file"]).read_bytes(), f"https://{HOST}{path}")
            if assessment.service is None:
                continue
            services += 1
            trust = trust_of(HOST, assessment.service).level
            assert trust is not TrustLevel.UNVERIFIED
            assert make_listing("example.dev", HOST, assessment.service, 50, trust, [row["format"]], None).name
            manifest = adp_manifest(HOST, assessment.service, lambda name: f"https://registry.example/{name}")
            assert_shape(shapes.MANIFEST, manifest)
            for capability in assessment.service.capabilities:
                detail = adp_detail(HOST, assessment.service, capability)
                if detail is None:
                    assert why_no_detail("www.shop.com", capability), row["file"]
                else:
                    details += 1
                    assert_shape(shapes.DETAIL, detail)
    assert services > 300
    assert details > 200
