"""Merging capabilities: idempotent, the same in any order of documents, and no way to call anything is lost."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assess import Assessment
from registry.core.documents import Outcome
from registry.core.merge import Held, merge
from registry.core.merging.capabilities import merged
from registry.core.services import Capability, Invocation, InvocationKind, Origin, Service
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
def documents(draw: st.DrawFn) -> list[Held]:
    found = []
    for index, slug in enumerate(draw(st.lists(st.sampled_from(FORMATS), min_size=1, max_size=4))):
        url = f"https://{HOST}/{index}"
        own = draw(st.lists(capabilities, max_size=4))
        placed = tuple(
            replace(one, invocations=tuple(replace(i, origin=Origin(url, f"/{n}", slug)) for i in one.invocations))
            for n, one in enumerate(own)
        )
        service = Service(name=draw(st.sampled_from(["n", "m"])), capabilities=placed)
        judged = Assessment(Outcome.FOUND, format=slug, service=service)
        found.append(Held(url, url, judged, bytes([index]), NOW))
    return found


def keys(service: Service) -> set[tuple[str, str | None, str | None, str | None]]:
    return {(i.kind, i.endpoint, i.method, i.name) for one in service.capabilities for i in one.invocations}


@settings(max_examples=150, deadline=None)
@given(documents(), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(held: list[Held], random: object) -> None:
    expected = merge(HOST, held)
    shuffled = [*held, *held]
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # random.Random
    assert merge(HOST, shuffled) == expected


@settings(max_examples=150, deadline=None)
@given(documents())
def test_no_way_to_call_is_lost_and_none_is_invented(held: list[Held]) -> None:
    service = merge(HOST, held).service
    told = set().union(*(keys(one.assessment.service) for one in held if one.assessment.service))
    assert (keys(service) if service else set()) == told


@settings(max_examples=150, deadline=None)
@given(documents())
def test_merging_again_changes_nothing(held: list[Held]) -> None:
    service = merge(HOST, held).service
    if service is not None:
        assert merged([service]) == service.capabilities


@settings(max_examples=150, deadline=None)
@given(documents())
def test_names_are_unique_and_sources_are_known(held: list[Held]) -> None:
    service = merge(HOST, held).service
    found = service.capabilities if service else ()
    assert len({one.name for one in found}) == len(found)
    assert all(one.origin is not None for one in found)
    for one in found:
        assert set(one.provenance) <= set(Capability.__dataclass_fields__)


def test_one_documents_capabilities_are_never_folded() -> None:
    call = Invocation("http", f"https://{HOST}/rpc", "POST")
    service = Service(
        capabilities=(Capability("a", "a", invocations=(call,)), Capability("b", "b", invocations=(call,)))
    )
    assert [one.id for one in merged([service])] == ["a", "b"]


def test_the_second_of_two_matches_is_taken_where_the_first_is_the_documents_own() -> None:
    """Two operations of one document, two of another: each joins its twin."""
    call = Invocation("http", f"https://{HOST}/rpc", "POST")
    first = Service(capabilities=(Capability("a", "a", invocations=(call,)), Capability("b", "b", invocations=(call,))))
    second = Service(
        capabilities=(Capability("a", "a", invocations=(call,)), Capability("b", "b", invocations=(call,)))
    )
    assert [one.id for one in merged([first, second])] == ["a", "b"]


def test_spellings_of_one_name_are_the_same_and_other_names_are_not() -> None:
    """The index writes the id where the card writes a name; names in other scripts are told apart."""
    card, index = Invocation("a2a_skill", name="trim-wick"), Invocation("instructions")
    first = Service(capabilities=(Capability("trim-wick", "Trim Wick", invocations=(card,)),))
    second = Service(capabilities=(Capability("trim-wick", "trim-wick", invocations=(index,)),))
    (one,) = merged([first, second])
    assert one.invocations == (card, index)
    lamps = [Service(capabilities=(Capability("a", name, invocations=(index,)),)) for name in ("灯", "蝋燭", "!", "?")]
    assert len(merged(lamps)) == 4
