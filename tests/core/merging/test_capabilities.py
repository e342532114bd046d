"""Merging capabilities: idempotent, independent of the order of documents, and without loss of invocations."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assessing.assess import Assessment
from registry.core.merging.capabilities import merge_capabilities
from registry.core.merging.merge import HeldDocument, merge
from registry.core.model.documents import Outcome
from registry.core.model.services import Capability, Invocation, InvocationKind, Origin, Service
from tests.support.holding import NOW

HOST = "many.example"
FORMATS = ("adp", "awp", "a2a", "openapi", "mcp-json", "ucp")
KINDS: tuple[InvocationKind, ...] = ("http", "rpc", "mcp_tool", "a2a_skill", "instructions")

calls = st.builds(
    Invocation,
    kind=st.sampled_from(KINDS),
    endpoint=st.sampled_from([None, f"https://{HOST}/a", f"https://{HOST}/b"]),
    method=st.sampled_from([None, "GET", "POST"]),
    name=st.sampled_from([None, "x", "y"]),
)
names = st.sampled_from(["a", "b", "A", "a ", "c"])
capabilities = st.builds(
    Capability,
    id=names,
    name=names,
    description=st.sampled_from([None, "one", "two"]),
    tags=st.sampled_from([(), ("t",)]),
    invocations=st.lists(calls, min_size=1, max_size=3, unique=True).map(tuple),
)


@st.composite
def documents(draw: st.DrawFn) -> list[HeldDocument]:
    found = []
    for index, slug in enumerate(draw(st.lists(st.sampled_from(FORMATS), min_size=1, max_size=4))):
        url = f"https://{HOST}/{index}"
        own = draw(st.lists(capabilities, max_size=4))
        placed = tuple(
            replace(
                capability,
                invocations=tuple(replace(call, origin=Origin(url, f"/{n}", slug)) for call in capability.invocations),
            )
            for n, capability in enumerate(own)
        )
        service = Service(name=draw(st.sampled_from(["n", "m"])), capabilities=placed)
        judged = Assessment(Outcome.FOUND, format=slug, service=service)
        found.append(HeldDocument(url, url, judged, bytes([index]), NOW))
    return found


def keys(service: Service) -> set[tuple[str, str | None, str | None, str | None]]:
    return {
        (call.kind, call.endpoint, call.method, call.name)
        for capability in service.capabilities
        for call in capability.invocations
    }


@settings(max_examples=150, deadline=None)
@given(documents(), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(held_documents: list[HeldDocument], random: object) -> None:
    expected = merge(HOST, held_documents)
    shuffled = [*held_documents, *held_documents]
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # random.Random
    assert merge(HOST, shuffled) == expected


@settings(max_examples=150, deadline=None)
@given(documents())
def test_no_invocation_is_lost_or_invented(held_documents: list[HeldDocument]) -> None:
    service = merge(HOST, held_documents).service
    expected = set().union(
        *(keys(document.assessment.service) for document in held_documents if document.assessment.service)
    )
    if service is None:  # nothing can be called
        assert not any(endpoint for _, endpoint, _, _ in expected)
    else:
        assert keys(service) == expected


@settings(max_examples=150, deadline=None)
@given(documents())
def test_merging_again_changes_nothing(held_documents: list[HeldDocument]) -> None:
    service = merge(HOST, held_documents).service
    if service is not None:
        assert merge_capabilities([service]) == service.capabilities


@settings(max_examples=150, deadline=None)
@given(documents())
def test_names_are_unique_and_sources_are_known(held_documents: list[HeldDocument]) -> None:
    service = merge(HOST, held_documents).service
    found = service.capabilities if service else ()
    assert len({capability.name for capability in found}) == len(found)
    assert all(capability.origin is not None for capability in found)
    for capability in found:
        assert set(capability.provenance) <= set(Capability.__dataclass_fields__)


def test_capabilities_of_one_document_are_never_merged_but_each_with_its_counterpart() -> None:
    call = Invocation("http", f"https://{HOST}/rpc", "POST")
    service = Service(capabilities=tuple(Capability(name, name, invocations=(call,)) for name in "ab"))
    for services in ([service], [service, service]):
        assert [capability.id for capability in merge_capabilities(services)] == ["a", "b"]


def test_spellings_of_one_name_are_the_same_and_other_names_are_not() -> None:
    """The index has the id where the card has a name; names in other scripts stay distinct."""
    card, index = Invocation("a2a_skill", name="trim-wick"), Invocation("instructions")
    first = Service(capabilities=(Capability("trim-wick", "Trim Wick", invocations=(card,)),))
    second = Service(capabilities=(Capability("trim-wick", "trim-wick", invocations=(index,)),))
    (capability,) = merge_capabilities([first, second])
    assert capability.invocations == (card, index)
    services = [
        Service(capabilities=(Capability("a", name, invocations=(index,)),)) for name in ("灯", "蝋燭", "!", "?")
    ]
    assert len(merge_capabilities(services)) == 4
