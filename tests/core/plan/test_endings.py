"""What a visit keeps, and what ends it."""

from hashlib import sha256

import pytest

from registry.core.model.documents import Outcome, Purpose
from registry.core.visiting.visits import RobotsRecord
from tests.core.plan.sites import AWP, HOME, HOST, adp, answer, details_site, paths, verdict
from tests.support.web import NOW, Broken, Page, Web, moved, page, visit

# --- what a visit keeps


def test_an_html_page_at_robots_txt_is_not_kept() -> None:
    done = visit(Web({HOST: lambda path: page("<html><p>Our shop", "text/html")}))
    assert done.robots == RobotsRecord(200, b"", NOW)


def test_only_bodies_to_be_stored_are_kept() -> None:
    site = {
        "/robots.txt": page("User-agent: *\nAllow: /", "text/plain"),
        "/": page("<html><head></head><p>Welcome", "text/html", set_cookie="a=b"),
        "/agent.json": page(AWP, etag='"1"', set_cookie="a=b"),
        "/.well-known/agent.json": page('{"awp_version": '),
        "/.well-known/woa.json": page('{"error": "none", "available": false}'),
        "/.well-known/awas.json": page('{"jsonrpc": "2.0", "id": 1, "result": {}}'),
        "/llms.txt": page("<html><p>Not here", "text/html"),
    }
    done = visit(Web({HOST: site}))
    stored_paths = {path for path in site if answer(done, path).fetched.body}
    assert stored_paths == {"/agent.json", "/.well-known/agent.json", "/.well-known/woa.json", "/.well-known/awas.json"}
    for path, served in site.items():
        fetched = answer(done, path).fetched
        assert (fetched.size, fetched.sha256) == (len(served.body), sha256(served.body).digest())
    assert answer(done, "/agent.json").fetched.headers == {"content-type": "application/json", "etag": '"1"'}
    assert answer(done, "/").fetched.headers == {"content-type": "text/html"}


# --- endings


@pytest.mark.parametrize(
    ("broken", "outcome", "reason"),
    [
        (Broken(Outcome.UNREACHABLE, "nxdomain"), Outcome.UNREACHABLE, "nxdomain"),
        (Broken(Outcome.UNREACHABLE, "connect_timeout"), Outcome.UNREACHABLE, "connect_timeout"),
        (Broken(Outcome.UNREACHABLE, "refused"), Outcome.UNREACHABLE, "refused"),
        (Broken(Outcome.TLS_ERROR, "certificate_expired"), Outcome.TLS_ERROR, "certificate_expired"),
        (Broken(Outcome.REFUSED_ADDRESS, "Loopback (127.0.0.0/8)"), Outcome.REFUSED_ADDRESS, "Loopback (127.0.0.0/8)"),
        (Broken(Outcome.UNREACHABLE, "request_timeout"), Outcome.DISALLOWED, "robots_request_timeout"),
        (Broken(Outcome.SERVER_ERROR, "redirect_not_ascii"), Outcome.DISALLOWED, "robots_redirect_not_ascii"),
        (Broken(Outcome.SKIPPED, "redirect_budget"), Outcome.DISALLOWED, "robots_redirect_budget"),
        (page("", status=503), Outcome.DISALLOWED, "robots_503"),
        (page("", status=429, retry_after="120"), Outcome.RATE_LIMITED, "robots_429"),
        (page("User-agent: WaypostBot\nDisallow: /", "text/plain"), Outcome.DISALLOWED, "opt_out"),
    ],
)
def test_the_first_request_may_be_the_last(broken: Page | Broken, outcome: Outcome, reason: str) -> None:
    web = Web({HOST: lambda path: broken})
    done = visit(web)
    assert (done.outcome, done.reason, len(web.asked)) == (outcome, reason, 1)


def test_a_general_disallow_gives_every_path_a_verdict_without_a_request() -> None:
    web = Web({HOST: {"/robots.txt": page("User-agent: *\nDisallow: /", "text/plain"), "/agent.json": page(AWP)}})
    done = visit(web)
    assert len(web.asked) == done.requests == 1
    assert (done.outcome, done.reason) == (Outcome.DISALLOWED, "robots")
    assert verdict(done, "/agent.json") == (Outcome.DISALLOWED, "robots")
    assert done.robots is not None and done.robots.status == 200


@pytest.mark.parametrize(
    ("other", "reason", "is_own"), [(f"www.{HOST}", "opt_out", True), (f"u1.{HOST}", "robots", False)]
)
def test_robots_of_another_host_are_obeyed_and_opt_nobody_out(other: str, reason: str, is_own: bool) -> None:
    text = page("User-agent: WaypostBot\nDisallow: /", "text/plain")
    web = Web({HOST: {"/robots.txt": moved(f"https://{other}/robots.txt")}, other: {"/robots.txt": text}})
    done = visit(web)
    assert (done.outcome, done.reason) == (Outcome.DISALLOWED, reason)
    assert web.asked == [f"https://{HOST}/robots.txt", f"https://{other}/robots.txt"]
    assert done.robots is not None and done.robots.is_own is is_own


def test_robots_may_forbid_some_paths_only() -> None:
    robots = page("User-agent: *\nDisallow: /.well-known/\nAllow: /.well-known/agent$", "text/plain")
    web = Web({HOST: {"/robots.txt": robots, "/.well-known/agent": page(adp(0)), "/.well-known/woa.json": page("{}")}})
    done = visit(web)
    assert HOME + "/.well-known/agent" in web.asked and HOME + "/.well-known/woa.json" not in web.asked
    assert verdict(done, "/.well-known/woa.json")[0] is Outcome.DISALLOWED


CHALLENGE = page("<html><script>window._cf_chl_opt={}</script>", "text/html", 403)


def test_two_challenges_in_a_row_end_the_visit() -> None:
    web = Web({HOST: lambda path: page("", "text/plain", 404) if "robots" in path else CHALLENGE})
    done = visit(web)
    assert (done.outcome, done.reason, len(web.asked)) == (Outcome.REFUSED_BY_FIREWALL, "challenge:cloudflare", 3)


def test_a_challenge_in_place_of_a_random_name_is_no_soft_404() -> None:
    challenge = page("<html><script>window._cf_chl_opt={}</script>", "text/html")  # with status 200
    answers = {"/robots.txt": page("", "text/plain", 404), "/": page("<p>hi", "text/html")}
    done = visit(Web({HOST: lambda path: answers.get(path, challenge)}))
    assert (done.outcome, done.reason) == (Outcome.REFUSED_BY_FIREWALL, "challenge:cloudflare")


def test_documents_that_a_site_exempts_from_its_challenge_are_found() -> None:
    assert visit(Web({HOST: {"/": CHALLENGE, "/agent.json": page(AWP)}})).outcome is Outcome.FOUND


BLOCKED = page("<html><h1>Access Denied</h1>Reference&#32;&#35;18.2f", "text/html", 403)
"""A page of a firewall that refuses without a check, as Akamai words it."""


def test_two_refusals_of_a_firewall_in_a_row_end_the_visit() -> None:
    answers = {"/robots.txt": page("", "text/plain", 404), "/": page("<p>hi", "text/html")}
    web = Web({HOST: lambda path: answers.get(path, BLOCKED)})
    done = visit(web)
    assert (done.outcome, done.reason, len(web.asked)) == (Outcome.REFUSED_BY_FIREWALL, "block:akamai", 4)


@pytest.mark.parametrize("path", ["/agent.json", "/.well-known/agent"])
def test_a_path_that_a_firewall_refuses_is_unknown_and_the_others_are_requested(path: str) -> None:
    web = Web({HOST: {"/": page("<p>hi", "text/html"), path: BLOCKED}})
    done = visit(web)
    assert verdict(done, path) == (Outcome.REFUSED_BY_FIREWALL, "block:akamai")
    assert (done.outcome, done.reason) == (Outcome.REFUSED_BY_FIREWALL, "block:akamai")  # never "absent"
    assert len(web.asked) >= 20


@pytest.mark.parametrize(
    ("home", "outcome"),
    [(404, Outcome.REFUSED), (403, Outcome.REFUSED_BY_FIREWALL), (429, Outcome.REFUSED_BY_FIREWALL)],
)
def test_a_403_without_marks_is_its_network_s_if_the_front_page_is_refused_too(home: int, outcome: Outcome) -> None:
    refused = page("no", "text/plain", 403, cf_ray="9a")
    answers = {"/robots.txt": page("", "text/plain", 404), "/": page("no", "text/plain", home, cf_ray="9a")}
    done = visit(Web({HOST: lambda path: answers.get(path, refused)}))
    assert verdict(done, "/agent.json")[0] is outcome


@pytest.mark.parametrize("status", [429, 503])
def test_a_firewall_in_place_of_robots_txt_is_no_wish_of_the_site(status: int) -> None:
    web = Web({HOST: {"/robots.txt": page("<title>Attention Required! | Cloudflare", "text/html", status)}})
    done = visit(web)
    assert (done.outcome, done.reason, len(web.asked)) == (Outcome.REFUSED_BY_FIREWALL, "block:cloudflare", 1)


@pytest.mark.parametrize(("reason", "requests"), [("request_timeout", 6), ("reset", 6), ("refused", 2)])
def test_timeouts_end_the_host_after_five_in_a_row(reason: str, requests: int) -> None:
    web = Web(
        {HOST: lambda path: page("", "text/plain", 404) if "robots" in path else Broken(Outcome.UNREACHABLE, reason)}
    )
    done = visit(web)
    assert (done.outcome, done.reason, len(web.asked)) == (Outcome.UNREACHABLE, reason, requests)


def test_single_timeouts_do_not_end_the_host() -> None:
    def site(path: str) -> Page | Broken:
        if path in ("/", "/llms.txt", "/.well-known/woa.json"):
            return Broken(Outcome.UNREACHABLE, "request_timeout")
        return page(AWP) if path == "/agent.json" else page("", "text/plain", 404)

    assert visit(Web({HOST: site})).outcome is Outcome.FOUND


def test_two_rate_limits_end_the_visit() -> None:
    def site(path: str) -> Page:
        if path.endswith("woa.json") or path.endswith("ai-actions.json"):
            return page("slow down", "text/plain", 429, retry_after="7200" if "woa" in path else "60")
        return page(AWP) if path == "/agent.json" else page("", "text/plain", 404)

    done = visit(Web({HOST: site}))
    assert paths(done)[-1] == "/.well-known/ai-actions.json"
    assert (done.outcome, done.reason, done.retry_after) == (Outcome.FOUND, "awp", 7200)


def test_an_interrupted_visit_keeps_pending_details() -> None:
    web = Web({HOST: details_site(9)})
    whole = visit(web)
    cut = visit(web, steps=len([a for a in whole.answers if a.probe.purpose is not Purpose.DETAIL]) + 4)
    assert [p.url for p in cut.pending] == [f"{HOME}/d/{n}" for n in range(4, 9)]
