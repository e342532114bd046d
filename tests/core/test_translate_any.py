"""Whatever a service says: its translation is valid, invents nothing, and lists what it loses."""

import csv
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from registry.core.assess import assess_body
from registry.core.merge import Held, held_from, merge
from registry.core.services import Service
from registry.core.translate import TARGETS, Translation, Untranslatable
from registry.demo.sites import SAMPLE_WEB, Site, load_sites
from tests.core.translations import (
    ANY,
    HOST,
    NOW,
    REGISTRY,
    SITE,
    heard,
    invented,
    known_urls,
    translated,
    unlisted,
    urls_in,
)
from tests.support.shared import SHARED, shared
from tests.support.web import Page, Web, visit

pytestmark = pytest.mark.slow  # many generated services

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
    read = heard(made, service, target, host)
    assert unlisted(made, service, read, target) == []
    assert invented(made, service, read, target) == []
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
            if service is None:
                continue
            for target in TARGETS:
                made[target] += isinstance(assert_truthful(service, target), Translation)
    assert made["awp"] > 50
    assert made["adp"] > 50
    assert min(made["atp"], made["awas"], made["a2a"]) > 15
    assert made["woa"] == 2


def test_the_services_of_whole_sites_are_translated_truthfully_or_not_at_all(tmp_path: Path) -> None:
    """Several documents of a host as one service: the sample web, and the recorded sites where they are there."""
    folders = [SAMPLE_WEB]
    if Path(SHARED, "tools", "corpus_sites.py").is_file():
        subprocess.run([sys.executable, SHARED / "tools" / "corpus_sites.py", tmp_path / "sites"], check=True)
        folders.append(tmp_path / "sites")
    made = dict.fromkeys(TARGETS, 0)
    for folder in folders:
        sites = {host: site for host, site in load_sites(folder).items() if site.file.state == "up"}
        web = Web({host: partial(_page, site) for host, site in sites.items()})
        for host in sites:
            service = merge(host, [held_from(one) for one in visit(web, host).answers]).service
            if service is None:
                continue
            for target in TARGETS:
                made[target] += isinstance(assert_truthful(service, target, host), Translation)
    assert min(made.values()) > 0, made


def _page(site: Site, path: str) -> Page:
    reply = site.reply(path.partition("?")[0])
    return Page(reply.status, reply.body, {name.lower(): value for name, value in reply.headers.items()})
