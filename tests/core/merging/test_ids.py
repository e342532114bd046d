"""What documents say of each other's capabilities refers to ids that exist after merging."""

from registry.core.merging.capabilities import merge_capabilities, with_known_ids
from registry.core.model.services import Capability, Invocation, Origin, Relations, Service, Workflow

HOST = "https://ferry.example"


def service(slug: str, *ids: str, relations: Relations = Relations()) -> Service:  # noqa: B008 - a frozen value
    calls = [
        Invocation("http", f"{HOST}/{position}", "GET", origin=Origin(f"{HOST}/{slug}", f"/{id}", slug))
        for position, id in enumerate(ids)
    ]
    capabilities = (Capability(id, f"{slug} {id}", invocations=(call,)) for id, call in zip(ids, calls, strict=True))
    return Service(capabilities=tuple(capabilities), relations=relations)


def test_relations_follow_the_id_that_a_capability_keeps() -> None:
    trip = Workflow("trip", steps=("find", "reserve"))
    relations = Relations((trip,), {"reserve": ("find",)}, degraded=("reserve",))
    services = [service("awp", "search", "book"), service("atp", "find", "reserve", relations=relations)]
    known = with_known_ids(relations, services)
    ids = {capability.id for capability in merge_capabilities(services)}
    assert ids == {"search", "book"}
    assert known.workflows[0].steps == ("search", "book")
    assert (known.dependencies, known.degraded) == ({"book": ("search",)}, ("book",))


def test_ids_that_a_capability_kept_and_unknown_ones_stay() -> None:
    relations = Relations(dependencies={"book": ("search", "call the harbour")})
    services = [service("awp", "search", "book"), service("atp", "find", "reserve")]
    assert with_known_ids(relations, services) == relations


def test_a_repeated_name_changes_no_id() -> None:
    capabilities = tuple(
        Capability(id, "Search", invocations=(Invocation("a2a_skill", f"{HOST}/a2a", "POST"),)) for id in ("one", "two")
    )
    relations = Relations(workflows=(Workflow("both", steps=("one", "two")),))
    united = merge_capabilities([Service(capabilities=capabilities)])
    assert [(capability.id, capability.name) for capability in united] == [("one", "Search"), ("two", "Search-2")]
    assert with_known_ids(relations, [Service(capabilities=capabilities)]) == relations
