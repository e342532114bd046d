"""Translations of any service are valid, invent nothing, and list what they lose."""

import csv
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from registry.core.assessing.assess import assess_body
from registry.core.merging.merge import HeldDocument, held_from, merge
from registry.core.model.services import Service
from registry.core.translating import TARGETS, Translation, Untranslatable
from registry.demo.sites import SAMPLE_WEB, Site, load_sites
from tests.core.translations import (
    ANY,
    HOST,
    NOW,
    REGISTRY,
    SITE,
    invented,
    known_urls,
    read_translation,
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
    translation = translated(service, target, host)
    if isinstance(translation, Untranslatable):
        assert translation.reasons
        assert not [reason for reason in translation.reasons if "would not" in reason], (
            "the writer made what the reader refuses"
        )
        return translation
    reread = read_translation(translation, service, target, host)
    assert unlisted(translation, service, reread, target) == []
    assert invented(translation, service, reread, target) == []
    own_urls = {f"https://{host}", f"https://{host}/", "https://atp.dev/schema/v1"}
    written_urls = {url for url in urls_in(translation.document) if not url.startswith(REGISTRY)}
    known = known_urls(service) | own_urls
    bases = {"/".join(url.split("/", 3)[:3]) for url in known} | {url.rstrip("/") for url in known}
    assert written_urls <= known | bases, "an address that no document of the host names"
    return translation


def test_every_real_service_is_translated_truthfully_or_not_at_all() -> None:
    folder = shared("corpus")
    counts = dict.fromkeys(TARGETS, 0)
    with Path(folder, "INDEX.tsv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            path = row["served_path"] if row["served_path"].startswith("/") else "/.well-known/agent.json"
            url = SITE + path
            assessment = assess_body(Path(folder, row["file"]).read_bytes(), url)
            service = merge(HOST, [HeldDocument(url, url, assessment, b"", NOW)]).service
            if service is None:
                continue
            for target in TARGETS:
                counts[target] += isinstance(assert_truthful(service, target), Translation)
    assert counts["awp"] > 50
    assert counts["adp"] > 50
    assert min(counts["awas"], counts["a2a"]) > 15
    assert counts["atp"] >= 10  # only where a document names a version
    assert counts["woa"] == 0  # both documents are examples on reserved hosts


def test_the_services_of_whole_sites_are_translated_truthfully_or_not_at_all(tmp_path: Path) -> None:
    """Merged services of whole sites: the sample web, and the recorded sites if available."""
    folders = [SAMPLE_WEB]
    if Path(SHARED, "tools", "corpus_sites.py").is_file():
        subprocess.run([sys.executable, SHARED / "tools" / "corpus_sites.py", tmp_path / "sites"], check=True)
        folders.append(tmp_path / "sites")
    counts = dict.fromkeys(TARGETS, 0)
    for folder in folders:
        sites = {host: site for host, site in load_sites(folder).items() if site.file.state == "up"}
        web = Web({host: partial(_page, site) for host, site in sites.items()})
        for host in sites:
            service = merge(host, [held_from(answer) for answer in visit(web, host).answers]).service
            if service is None:
                continue
            for target in TARGETS:
                counts[target] += isinstance(assert_truthful(service, target, host), Translation)
    assert min(counts.values()) > 0, counts


def _page(site: Site, path: str) -> Page:
    reply = site.reply(path.partition("?")[0])
    return Page(reply.status, reply.body, {name.lower(): value for name, value in reply.headers.items()})
