"""Translations compared with the documents of the host: key by key, and unchanged where the host serves the format."""

import json
import random
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assessing.assess import assess_body
from registry.core.format_support.manifest import TEXT_CHARS
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging.merge import HeldDocument, merge
from registry.core.model.services import Service
from registry.core.translating import TARGETS, Loss, SourceDocument, Translation, Untranslatable, translate
from registry.core.translating.source_losses import MAX_LOSSES
from tests.core.translations import NOW, detail_url

HOST = "kiosk.example"
SITE = f"https://{HOST}"
OWN: dict[str, dict[str, Any]] = {
    path.stem.removeprefix("kiosk-"): json.loads(path.read_text())
    for path in sorted((Path(__file__).parent / "documents").glob("kiosk-*.json"))
}
"""What one host would serve in each target format, with members that only its author knows."""

ENTRIES = {"awp": "actions", "atp": "capabilities", "awas": "actions", "adp": "capabilities", "woa": "agents",
           "a2a": "skills"}  # fmt: skip


def read(*documents: tuple[str, dict[str, Any]]) -> tuple[Service, list[SourceDocument]]:
    """Return the merged service of a host with these documents, by format, and the documents."""
    held, sources = [], []
    for number, (slug, value) in enumerate(documents):
        raw = json.dumps(value, ensure_ascii=False).encode()
        url = SITE + FORMAT_BY_SLUG[slug].paths[0]
        assessment = assess_body(raw, url, expected=slug)
        assert assessment.format == slug, assessment
        held.append(HeldDocument(url, url, assessment, str(number).encode(), NOW))
        sources.append(SourceDocument(url, raw, slug))
    service = merge(HOST, held).service
    assert service is not None
    return service, sources


def outcome(service: Service, target: str, sources: Sequence[SourceDocument]) -> Translation | Untranslatable:
    return translate(
        service, target, host=HOST, seen_at=NOW, score=80, detail_url=detail_url, sources=sources, version="3.1.4"
    )


def expressed(service: Service, target: str, sources: Sequence[SourceDocument] = ()) -> Translation:
    translation = outcome(service, target, sources)
    assert isinstance(translation, Translation), translation
    return translation


def translated(value: dict[str, Any], slug: str, target: str) -> Translation:
    service, sources = read((slug, value))
    return expressed(service, target, sources)


def reasons(losses: tuple[Loss, ...]) -> dict[str, str]:
    """Return the reasons of losses against the documents, by pointer."""
    return {loss.pointer: loss.why for loss in losses if loss.document is not None}


# --- a format translated into itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("slug", sorted(OWN))
def test_the_document_of_the_host_itself_is_returned_unchanged(slug: str) -> None:
    translation = translated(OWN[slug], slug, slug)
    assert translation.document == OWN[slug]
    assert translation.losses == ()
    assert translation.own_url == SITE + FORMAT_BY_SLUG[slug].paths[0]
    assert translation.compared_with == "documents"


def test_the_document_of_the_host_keeps_its_errors_but_no_invisible_text() -> None:
    value = {**OWN["adp"], "name": "Kiosk\U000e0041\U000e0042"}
    del value["auth"]  # an error
    assert translated(value, "adp", "adp").document == {**value, "name": "Kiosk"}


def test_a_second_document_of_the_same_format_is_compared_with_the_first() -> None:
    second = deepcopy(OWN["awp"])
    second["opening"]["hours"] = "at night"
    service, sources = read(("awp", OWN["awp"]))
    further = SourceDocument(f"{SITE}/.well-known/agent.json", json.dumps(second).encode(), "awp")
    translation = expressed(service, "awp", [further, *sources])
    assert translation.own_url == f"{SITE}/agent.json"
    assert (further.url, "/opening") in {(loss.document, loss.pointer) for loss in translation.losses}


@pytest.mark.parametrize("slug", sorted(OWN))
def test_of_two_documents_the_one_at_the_preferred_path_is_taken(slug: str) -> None:
    service, sources = read((slug, OWN[slug]))
    further = SourceDocument(f"{SITE}/a", json.dumps({**OWN[slug], "note": "an older one"}).encode(), slug)
    translation = expressed(service, slug, [further, *sources])
    assert translation.own_url == sources[0].url


@pytest.mark.parametrize("slug", sorted(OWN))
def test_what_only_the_format_knows_is_written_back_without_the_document(slug: str) -> None:
    service, _ = read((slug, OWN[slug]))
    translation = expressed(service, slug)
    assert translation.document["opening"] == {"hours": "from dawn to dusk"}
    assert translation.document[ENTRIES[slug]][0]["counter"] == "the one on the left"
    assert [loss for loss in translation.losses if loss.what == "members of its format"] == []
    assert translation.compared_with == "model"
    assert "x-synthetic" in translation.document or translation.document.get("source") == "synthetic"


def test_members_of_operations_and_of_their_agent_are_written_back() -> None:
    value = deepcopy(OWN["woa"])
    value["agents"][0]["operations"] = [{"name": "sell", "description": "Sells.", "till": "green"}]
    service, _ = read(("woa", value))
    translation = expressed(service, "woa")
    (agent,) = translation.document["agents"]
    assert agent["counter"] == "the one on the left"
    assert agent["operations"][0]["till"] == "green"
    assert "agent" not in agent["operations"][0]


def test_members_that_would_make_the_document_invalid_are_not_written_back() -> None:
    service, _ = read(("awp", {**OWN["awp"], "protocols": {"mcp": "no object"}}))
    assert service.native["awp"]["protocols"] == {"mcp": "no object"}
    expressed(service, "awp")


# --- losses against the document ------------------------------------------------------------------------------------


def test_each_member_that_is_not_expressed_is_a_loss_at_its_place_in_the_document() -> None:
    lost = reasons(translated(OWN["awp"], "awp", "awas").losses)
    assert lost == {
        "/actions/0/counter": "AWAS has no place for it",
        "/actions/0/outputs": "AWAS has no place for it",
        "/actions/0/poll_endpoint": "AWAS has no place for it",
        "/actions/0/reversible": "AWAS has no place for it",
        "/actions/0/sensitivity": "AWAS has no place for it",
        "/auth/docs": "AWAS has no place for it",
        "/auth/renewal": "AWAS has no place for it",
        "/opening": "AWAS has no place for it",
    }


def test_translated_names_addresses_and_types_are_no_losses() -> None:
    """`float` is `number` in ATP, `/buy` an absolute address, the names of parameters are keys in AWP."""
    lost = reasons(translated(OWN["awp"], "awp", "atp").losses)
    assert not [pointer for pointer in lost if pointer.startswith(("/actions/0/inputs", "/actions/0/endpoint"))]
    assert lost["/actions/0/id"] == "ATP cannot express it exactly"
    lost = reasons(translated(OWN["awas"], "awas", "awp").losses)
    assert not [pointer for pointer in lost if "/path" in pointer or "/parameters" in pointer or "baseUrl" in pointer]


def test_marks_of_the_format_are_no_losses() -> None:
    lost = {
        slug: {pointer.split("/")[1] for pointer in reasons(translated(OWN[slug], slug, "awp").losses)}
        for slug in ("atp", "awas", "woa")
    }
    assert "@context" not in lost["atp"] and "@type" not in lost["atp"] and "version" in lost["atp"]
    assert "version" not in lost["awas"]
    assert "woa_version" not in lost["woa"]


def test_a_capability_that_is_left_out_is_one_loss_with_its_reason() -> None:
    value = deepcopy(OWN["awas"])
    value["actions"].append({"id": "look", "name": "Look around", "description": "A page.", "type": "navigation",
                             "path": "/look"})  # fmt: skip
    lost = {loss.pointer: loss for loss in translated(value, "awas", "awp").losses if loss.document}
    assert lost["/actions/1"].what == "capability Look around"
    assert "a page" in lost["/actions/1"].why or "method" in lost["/actions/1"].why
    assert not [pointer for pointer in lost if pointer.startswith("/actions/1/")]


def test_the_parameters_of_a_web_of_agents_operation_are_in_its_envelope() -> None:
    lost = reasons(translated(OWN["woa"], "woa", "awas").losses)
    assert [why for pointer, why in lost.items() if pointer.startswith("/agents/0/inputs") and "envelope" in why]


def test_a_flag_is_lost_only_if_a_client_would_take_the_contrary() -> None:
    value = deepcopy(OWN["atp"])
    value["capabilities"][0]["parameters"].append({"name": "fast", "type": "boolean", "required": False})
    value["capabilities"][0]["deprecated"] = False
    lost = reasons(translated(value, "atp", "awas").losses)
    assert not [pointer for pointer in lost if pointer.endswith("/required")]
    assert lost["/capabilities/0/deprecated"] == "AWAS has no place for it"


def test_every_document_of_the_host_is_compared() -> None:
    service, sources = read(("awp", OWN["awp"]), ("a2a", {**OWN["a2a"], "name": "Kiosk at the corner"}))
    translation = expressed(service, "atp", sources)
    places = {(loss.document, loss.pointer) for loss in translation.losses}
    assert (f"{SITE}/agent.json", "/opening") in places
    assert (SITE + FORMAT_BY_SLUG["a2a"].paths[0], "/opening") in places
    assert (SITE + FORMAT_BY_SLUG["a2a"].paths[0], "/skills/0") in places


def test_a_copy_at_another_path_is_not_compared_again() -> None:
    service, sources = read(("awp", OWN["awp"]))
    copy = SourceDocument(f"{SITE}/.well-known/agent.json", sources[0].raw, "awp")
    for order in ([copy, *sources], [*sources, copy]):
        translation = expressed(service, "awas", order)
        assert {loss.document for loss in translation.losses} == {f"{SITE}/agent.json", None}
        assert outcome(service, "awp", order).losses == ()


def test_what_comes_from_a_text_is_compared_with_the_model() -> None:
    service, sources = read(("awp", OWN["awp"]))
    text = SourceDocument(f"{SITE}/llms.txt", b"# Kiosk\n\n> Papers.\n", "llms-txt")
    broken = SourceDocument(f"{SITE}/x.json", b"{", "a2a")
    translation = expressed(service, "awas", [text, broken, *sources])
    assert reasons(translation.losses) == reasons(translated(OWN["awp"], "awp", "awas").losses)
    of_model = expressed(service, "awas", [text, broken])
    assert of_model.compared_with == "model"
    assert {loss.document for loss in of_model.losses} == {None}


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            escaped = str(key).replace("~", "~0").replace("/", "~1")
            yield from leaves(item, f"{pointer}/{escaped}")
    else:
        yield pointer, value


def with_unknown_members(value: Any, chance: random.Random) -> Any:
    """Return a copy of the value with members that no format knows, each with a text that occurs nowhere else."""
    if isinstance(value, list):
        return [with_unknown_members(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    copy = {key: with_unknown_members(item, chance) for key, item in value.items()}
    if chance.random() < 0.6:
        copy[f"own{chance.randrange(10**6)}"] = chance.choice(
            [f"mark {chance.getrandbits(60)}", {"deep": [f"mark {chance.getrandbits(60)}"]}]
        )
    return copy


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("slug", sorted(OWN))
@settings(max_examples=8, deadline=None)
@given(chance=st.randoms(use_true_random=False))
def test_a_member_that_no_reader_knows_is_in_the_translation_or_in_the_losses(
    slug: str, target: str, chance: random.Random
) -> None:
    value = with_unknown_members(OWN[slug], chance)
    service, sources = read((slug, value))
    translation = outcome(service, target, sources)
    if isinstance(translation, Untranslatable):
        assert slug != target
        return
    written, lost = json.dumps(translation.document), [loss.pointer for loss in translation.losses if loss.document]
    unseen = [
        pointer
        for pointer, text in leaves(value)
        if isinstance(text, str)
        and text.startswith("mark ")
        and text not in written
        and not any(pointer == place or pointer.startswith(f"{place}/") for place in lost)
    ]
    assert unseen == []


# --- hosts and versions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("slug", ["awp", "awas", "woa", "adp"])
def test_no_version_is_invented(slug: str, target: str) -> None:
    """Documents of these formats name no version of the service; ATP and A2A demand one."""
    service, sources = read((slug, OWN[slug]))
    translation = translate(service, target, host=HOST, seen_at=NOW, score=80, detail_url=detail_url, sources=sources)
    if isinstance(translation, Untranslatable):
        assert target != "atp" or slug == "adp" or "no document of the host names one" in translation.reasons[0]
        return
    assert target not in ("atp", "a2a")
    assert "0.0.0" not in json.dumps(translation.document)
    assert translation.document.get("version") == ("1.0" if target == "awas" else None)


def test_a_version_that_is_not_semantic_is_written_as_it_is() -> None:
    value = {**OWN["atp"], "version": "spring 26"}
    service, _ = read(("atp", value))
    translation = expressed(service, "atp")
    assert translation.document["version"] == "spring 26"


def test_the_caller_names_the_version_only_where_no_document_does() -> None:
    assert translated(OWN["awp"], "awp", "atp").document["version"] == "3.1.4"
    assert translated(OWN["a2a"], "a2a", "awp").document.get("version") is None
    service, _ = read(("atp", OWN["atp"]))
    assert expressed(service, "atp").document["version"] == "1.2.0"


# --- hostile and large ----------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("slug", sorted(OWN))
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_value_at_any_place_is_compared_without_an_error(slug: str, data: st.DataObject) -> None:
    value = deepcopy(OWN[slug])
    holder = data.draw(st.sampled_from([value, value[ENTRIES[slug]][0]]))
    for key in data.draw(st.lists(st.sampled_from(sorted(holder)) | st.text(max_size=8), max_size=3)):
        holder[key] = data.draw(JSON)
    raw = json.dumps(value).encode()
    url = SITE + FORMAT_BY_SLUG[slug].paths[0]
    service = merge(HOST, [HeldDocument(url, url, assess_body(raw, url, expected=slug), b"", NOW)]).service
    for target in TARGETS if service is not None else ():
        assert service is not None
        outcome(service, target, [SourceDocument(url, raw, slug)])


@pytest.mark.slow
def test_a_large_document_is_compared_within_bounds() -> None:
    value = deepcopy(OWN["awp"])
    action = value["actions"][0]
    value["actions"] = [
        {**action, "id": f"buy_{number}", "note": "x" * 500, f"own{number}": number} for number in range(1_500)
    ]
    service, sources = read(("awp", value))
    translation = expressed(service, "awas", sources)
    of_document = [loss for loss in translation.losses if loss.document]
    assert len(of_document) == MAX_LOSSES + 1
    assert of_document[-1].what.endswith("more members")
    assert max(len(loss.what) for loss in of_document) < TEXT_CHARS
