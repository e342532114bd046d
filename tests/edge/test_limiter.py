"""Fixed windows of the rate limiter on a test clock, and what counts as one client."""

import pytest

from registry.core.access.clients import NETWORK_FACTOR
from registry.edge import limiter
from registry.edge.limiter import ClientIdentifier, RateLimiter


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_the_allowance_is_reset_in_the_next_window() -> None:
    clock = Clock()
    limit = RateLimiter("work", limit=2, window=60, clock=clock)
    assert [(taken.remaining, taken.refused) for taken in (limit.take("a") for _ in range(3))] == [
        (1, False),
        (0, False),
        (0, True),
    ]
    assert limit.take("b").remaining == 1
    clock.now = 1_020.0  # 17 * 60
    assert limit.take("a").remaining == 1


def test_the_announced_wait_is_long_enough() -> None:
    clock = Clock()
    limit = RateLimiter("work", limit=1, window=60, clock=clock)
    limit.take("a")
    clock.now = 1_000.4
    refused = limit.take("a")
    assert refused.refused
    clock.now += refused.reset
    assert not limit.take("a").refused


def test_units_are_counted_together_and_what_is_refused_is_not_counted() -> None:
    limit = RateLimiter("work", limit=10, window=60, clock=Clock())
    taken = [limit.take("a", units) for units in (7, 4, 3, 1)]
    assert [(one.remaining, one.refused) for one in taken] == [(3, False), (3, True), (0, False), (0, True)]


def test_headers_follow_the_draft_and_never_go_below_zero() -> None:
    limit = RateLimiter("work", limit=1, window=60, clock=Clock())
    limit.take("a")
    assert limiter.fields([limit.take("a")]) == [
        (b"ratelimit-policy", b'"work";q=1;w=60'),
        (b"ratelimit", b'"work";r=0;t=20'),
    ]
    both = limiter.fields([limit.take("b"), RateLimiter("submissions", 5, 3_600, Clock()).take("b", 2)])
    assert both == [
        (b"ratelimit-policy", b'"work";q=1;w=60, "submissions";q=5;w=3600'),
        (b"ratelimit", b'"work";r=0;t=20, "submissions";r=3;t=2600'),
    ]


def test_memory_is_bounded_and_further_clients_share_one_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limiter, "MAX_CLIENTS", 2)
    limit = RateLimiter("work", limit=1, window=60, clock=Clock())
    assert [limit.take(client).refused for client in "abcd"] == [False, False, False, True]
    assert limit.take("a").refused


def test_forwarded_addresses_count_only_from_trusted_proxies() -> None:
    no_proxies = ClientIdentifier(())
    assert no_proxies.key("203.0.113.7", "198.51.100.1") == "203.0.113.7"
    proxies = ClientIdentifier(("10.0.0.0/8", "192.0.2.1"))
    assert proxies.key("10.1.2.3", "198.51.100.1") == "198.51.100.1"
    assert proxies.key("10.1.2.3", "6.6.6.6, 198.51.100.1, 192.0.2.1") == "198.51.100.1"
    assert proxies.key("203.0.113.7", "198.51.100.1") == "203.0.113.7"
    assert proxies.key("10.1.2.3", "") == "10.1.2.3"


def test_a_client_with_a_whole_ipv6_network_is_one_client() -> None:
    clients = ClientIdentifier(())
    assert clients.key("2001:db8:1:2::1", "") == clients.key("2001:db8:1:2:ffff::9", "")
    assert clients.key("2001:db8:1:2::1", "") != clients.key("2001:db8:1:3::1", "")
    assert clients.key("::ffff:203.0.113.7", "") == "203.0.113.7"


@pytest.mark.parametrize("peer", [None, "", "/run/socket", "999.1.1.1"])
def test_peers_without_an_address_share_one_count(peer: str | None) -> None:
    assert ClientIdentifier(("10.0.0.0/8",)).key(peer, "198.51.100.1") == "unknown"


def test_the_clients_of_one_ipv6_network_share_sixteen_allowances() -> None:
    clients = ClientIdentifier(())
    limit = RateLimiter("units", limit=2, window=60, clock=Clock())
    keys = [clients.key(f"2001:db8:1:{number:x}::1", "") for number in range(200)]
    assert len(set(keys)) == 200
    assert [limit.take(key).refused for key in keys].count(False) == 2 * NETWORK_FACTOR
    assert not limit.take(clients.key("2001:db8:2::1", "")).refused, "another network"
    assert not limit.take("203.0.113.7").refused
