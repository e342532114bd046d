"""Whatever a service says: its translation is valid, invents nothing, and lists what it loses."""

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from registry.core.assess import assess_body
from registry.core.merge import Held, merge
from registry.core.services import Service
from registry.core.translate import TARGETS, Translation, Untranslatable
from tests.core.translations import (
    ANY,
    HOST,
    NOW,
    REGISTRY,
    SITE,
    heard,
    known_urls,
    translated,
    unlisted,
    urls_in,
)
from tests.support.shared import shared

SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("target", TARGETS)
@SLOW
@given(service=ANY)
def test_any_service_is_translated_truthfully_or_not_at_all(target: str, service: Service) -> None:
    assert_truthful(service, target)


def assert_truthful(service: Service, target: str, host: str = HOST) -> Translation | Untranslatable:
    made = translated(service, target, host)
    if isinstance(made, Untranslatable):
        assert made.reasons
        assert not [one for one in made.reasons if "would not" in one], "the writer made what the reader refuses"
        return made
    assert unlisted(made, service, heard(made, service, target, host), target) == []
    ours = {f"https://{host}", f"https://{host}/", "https://atp.dev/schema/v1"}
    told = {one for one in urls_in(made.document) if not one.startswith(REGISTRY)}
    known = known_urls(service) | ours
    bases = {"/".join(one.split("/", 3)[:3]) for one in known} | {one.rstrip("/") for one in known}
    assert told <= known | bases, "an address that no document of the host names"
    return made


def test_every_real_service_is_translated_truthfully_or_not_at_all() -> None:
    folder = shared("corpus")
    made = dict.fromkeys(TARGETS, 0)
    with Path(folder, "INDEX.tsv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            path = row["served_path"] if row["served_path"].startswith("/") else "/.well-known/agent.json"
            url = SITE + path
            judged = assess_body(Path(folder, row["file"]).read_bytes(), url)
            service = merge(HOST, [Held(url, url, judged, b"", NOW)]).service
            for target in TARGETS if service is not None else ():
                made[target] += isinstance(assert_truthful(service, target), Translation)
    assert made["awp"] > 50
    assert made["adp"] > 50
    assert min(made["atp"], made["awas"], made["a2a"]) > 15
    assert made["woa"] == 2
