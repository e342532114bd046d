"""Every answer about a service says what is known of it, and no service passes for another site."""

from datetime import UTC, datetime
from typing import Any

import orjson

from registry.core.merging.trust import CHECKED, IDENTITIES, REASONS, meaning_of_level
from registry.core.model.listing import IdentityState, TrustLevel
from registry.mcp import results
from tests.actions.ownership.test_ownership import owner_of
from tests.api.sites import ELSEWHERE, PIGEON
from tests.support.api import Api
from tests.support.builders import Page, adp_manifest, awp_manifest, crawl

CLAIMS = "claims-paypal.com"
PAYPAL = "api.paypal.com"
DOUBT = "It uses the name of PayPal; this host is not on paypal.com. A document says that it is another site."
CYRILLIC = "xn--hst-sed.test"  # with a Cyrillic o


async def with_impostors(api: Api) -> None:
    """Add the sites of impostors, and one of an owner, to the registry; visited and indexed."""
    await crawl(
        api.store,
        {
            CLAIMS: {"/agent.json": Page({**awp_manifest(CLAIMS), "domain": "paypal.com"})},
            CYRILLIC: {"/agent.json": Page({**awp_manifest(CYRILLIC), "domain": "hоst.test"})},
            PAYPAL: {"/.well-known/agent": Page({**adp_manifest(PAYPAL, "refund"), "name": "PayPal"})},
        },
        datetime.now(UTC),
    )
    await api.waypost.search.drain()


async def test_no_impostor_has_the_name_the_level_or_the_rank_of_another(own_api: Api) -> None:
    await with_impostors(own_api)
    found = [row["service"] for row in (await own_api.json("/api/discover", q="paypal"))["data"]]
    assert [service["domain"] for service in found][:1] == [PAYPAL]
    by_host = {row["domain"]: row for row in (await own_api.json("/api/services", limit=100))["data"]}
    assert (by_host[PAYPAL]["name"], by_host[PAYPAL]["verified"]) == ("PayPal", True)
    for host in (CLAIMS, CYRILLIC):
        row = by_host[host]
        assert (row["name"], row["verified"], row["trust_level"]) == (host, False, "community")
        assert row["trust"]["checked"] == "part"
    record = (await own_api.json(f"/api/services/{CLAIMS}"))["data"]["trust"]
    assert record["since"] and set(record["reasons_since"]) == {"known_name", "claims_other_site"}
    assert by_host[CLAIMS]["trust"] == {
        "identity": "in-doubt",
        "doubt": DOUBT,
        "checked": "part",
        "since": record["since"],
        "reasons_since": {reason["reason"]: reason["since"] for reason in record["explained"]},
        "reasons": ["known_name", "claims_other_site"],
        "resembles": {"name": "PayPal", "domain": "paypal.com", "seen_in": "host"},
    }
    assert (by_host[CYRILLIC]["confusable"], by_host[CYRILLIC]["trust"]["reasons"]) == (True, ["look_alike_host"])


async def test_rows_and_records_say_what_is_known(own_api: Api) -> None:
    rows: list[dict[str, Any]] = (await own_api.json("/api/services", limit=100))["data"]
    rows += [row["service"] for row in (await own_api.json("/api/discover", q="parcel"))["data"]]
    for row in rows:
        level = TrustLevel(row["trust_level"])
        assert row["trust"]["checked"] == CHECKED[level]
        assert (row["trust"]["identity"] == "in-doubt") is (row["trust"]["doubt"] is not None)
        assert bool(row["trust"]["reasons"]) is not row["verified"]
    record = (await own_api.json(f"/api/services/{PIGEON}"))["data"]
    assert record["trust"].pop("since") and record["trust"].pop("claimed") == ["claims"]
    assert record["trust"] == {
        "identity": "host-checked",
        "doubt": None,
        "checked": "host",
        "reasons": [],
        "reasons_since": {},
        "resembles": None,
        "means": IDENTITIES[IdentityState.HOST_CHECKED].means,
        "explained": [],
    }
    trust = (await own_api.json(f"/api/services/{ELSEWHERE}"))["data"]["trust"]
    assert trust["reasons_since"] == {reason["reason"]: reason.pop("since") for reason in trust["explained"]}
    assert all(trust["reasons_since"].values())
    [row, *_] = [row for row in rows if row["domain"] == ELSEWHERE]
    entries = (await own_api.json("/ard/agents", pageSize=100))["items"]
    known = [one["metadata"] for one in entries if one["metadata"]["waypost:host"] == ELSEWHERE]
    assert known[0]["waypost:trustReasons"] == "claims_other_site calls_other_site"
    assert known[0]["waypost:trustSince"] == row["trust"]["since"] == trust["since"] is not None
    assert trust["reasons"] == ["claims_other_site", "calls_other_site"]
    assert trust["explained"][1] == {
        "reason": "calls_other_site",
        "says": REASONS["calls_other_site"].says,
        "fix": REASONS["calls_other_site"].fix,
    }


async def test_a_capability_says_what_is_known_of_its_host(own_api: Api) -> None:
    await with_impostors(own_api)
    for host, known in ((PIGEON, ("host-checked", None)), (CLAIMS, ("in-doubt", DOUBT))):
        name = (await own_api.json(f"/api/services/{host}"))["data"]["manifest"]["capabilities"][0]["name"]
        path = f"/api/services/{host}/capabilities/{name}"
        record = await own_api.json(path)
        assert (record["identity"], record["doubt"]) == known
        tool = (await own_api.json(path, **{"as": "anthropic-tool"}))["data"]
        assert (tool["identity"], tool["doubt"]) == known
        assert ("its identity is in doubt" in tool["tool"]["description"]) is (host == CLAIMS)
        said = results.capability(orjson.dumps(record), host, path, "low", 20_000)
        assert (said.content["identity"], said.content.get("doubt")) == known
        assert (f"warning: identity in doubt. {DOUBT}" in said.text) is (host == CLAIMS)


async def test_submissions_say_it_too(own_api: Api) -> None:
    manifest = adp_manifest("lamps.dev", "light")
    pasted = (await own_api.post("/api/services", json={"manifest": manifest})).json()["data"]
    assert (pasted["trust"]["checked"], pasted["trust"]["reasons"]) == ("none", ["not_fetched"])


async def test_the_rubric_explains_levels_and_reasons(own_api: Api) -> None:
    table = (await own_api.json("/api/rubric"))["trust"]
    assert [level["trust_level"] for level in table["levels"]] == ["verified", "community", "unverified"]
    assert [one["identity"] for one in table["identities"]] == list(IDENTITIES)
    assert [reason["reason"] for reason in table["reasons"]] == list(REASONS)


async def test_the_api_document_says_what_verified_means(own_api: Api) -> None:
    schemas = (await own_api.json("/openapi.json"))["components"]["schemas"]
    means = meaning_of_level(TrustLevel.VERIFIED)
    for name in ("FoundService", "ListedService", "ServiceData", "SubmittedData"):
        assert means in schemas[name]["properties"]["verified"]["description"]
        assert means in schemas[name]["properties"]["trust_level"]["description"]


async def test_every_interface_says_the_doubt(own_api: Api) -> None:
    await with_impostors(own_api)
    brief = (await own_api.json("/api/discover", q="paypal", view="brief"))["data"]
    brief += (await own_api.json("/api/discover", q="claims-paypal.com", view="brief"))["data"]
    by_host = {row["domain"]: row for row in brief}
    assert (by_host[CLAIMS]["identity"], by_host[CLAIMS]["doubt"]) == ("in-doubt", DOUBT)
    assert "doubt" not in by_host[PAYPAL] and by_host[PAYPAL]["identity"] == "host-checked"
    entries = (await own_api.json("/ard/agents", pageSize=100))["items"]
    known = {one["metadata"]["waypost:host"]: one["metadata"] for one in entries}
    assert (known[CLAIMS]["waypost:identity"], known[CLAIMS]["waypost:doubt"]) == ("in-doubt", DOUBT)
    assert known[PAYPAL]["waypost:doubt"] is None
    record = (await own_api.json(f"/api/services/{CLAIMS}"))["data"]["trust"]
    one = (await own_api.json(f"/api/services/{CLAIMS}/identity"))["data"]
    assert {name: one[name] for name in ("identity", "doubt", "means", "resembles")} == {
        name: record[name] for name in ("identity", "doubt", "means", "resembles")
    }
    assert one["listed"] and not one["owned"]


async def test_an_unlisted_host_is_known_by_its_name(own_api: Api) -> None:
    one = (await own_api.json("/api/services/login.paypa1.com/identity"))["data"]
    assert (one["listed"], one["identity"]) == (False, "in-doubt") and "paypal.com" in one["doubt"]
    other = (await own_api.json("/api/services/orchard.example/identity"))["data"]
    assert (other["listed"], other["identity"], other["doubt"]) == (False, "not-checked", None)
    assert (await own_api.get("/api/services/no host/identity")).status_code == 404


async def test_lists_and_searches_take_the_words_of_both_kinds(own_api: Api) -> None:
    await with_impostors(own_api)

    async def found(words: str) -> set[str]:
        listed = (await own_api.json("/api/services", limit=100, trust_level=words))["data"]
        hosts = {row["domain"] for row in listed}
        answer = await own_api.json("/api/discover", q="paypal hst agent pigeon parcel", limit=50, trust_level=words)
        assert {row["service"]["domain"] for row in answer["data"]} <= hosts
        return hosts

    doubted, checked = await found("in-doubt"), await found("host-checked")
    assert {CLAIMS, CYRILLIC} <= doubted and PAYPAL in checked and not doubted & checked
    assert doubted | await found("partly-checked") == await found("community")
    assert await found("owner-proven") == set() and await found("host-checked,owner-proven") == await found("verified")
    assert await found("in-doubt,verified") == doubted | checked
    rows = (await own_api.json("/api/services", limit=100, identity="in-doubt"))["data"]
    assert {row["domain"] for row in rows} == doubted
    answer = await own_api.json("/api/discover", q=CLAIMS, identity="in-doubt", facets="identity,trust_level")
    assert answer["facets"]["counts"] == {"identity": {"in-doubt": 1}, "trust_level": {"community": 1}}
    assert (await own_api.get("/api/services?trust_level=owner_proven")).status_code == 400


async def test_a_proven_ownership_is_found_and_wins_over_no_doubt(own_api: Api) -> None:
    await with_impostors(own_api)
    for host in (PIGEON, CLAIMS):
        await owner_of(own_api.store, host)
    await own_api.waypost.search.drain()  # guarded by the trigger on claims
    owned = {"identity": "owner-proven", "limit": 50}
    assert [row["domain"] for row in (await own_api.json("/api/services", **owned))["data"]] == [PIGEON]
    found = await own_api.json("/api/discover", q="parcel", **owned)
    assert [row["service"]["domain"] for row in found["data"]] == [PIGEON]
    one = (await own_api.json(f"/api/services/{CLAIMS}"))["data"]
    assert (one["ownership"]["state"], one["trust"]["identity"], one["trust"]["doubt"]) == ("proven", "in-doubt", DOUBT)
    counted = (await own_api.json("/api/stats"))["data"]
    assert sum(counted["identities"].values()) == counted["services"]
