"""Where redirects may lead, and to which host a document belongs."""

import pytest

from registry.core.model.documents import Outcome
from registry.core.names.domains import host_of
from tests.core.plan.sites import AWP, HOME, HOST, answer, paths, verdict
from tests.support.web import Page, Site, Web, moved, page, visit


def test_a_host_that_moved_to_www_is_an_alias() -> None:
    web = Web(
        {HOST: lambda path: moved(f"https://www.shop.example{path}"), "www.shop.example": {"/agent.json": page(AWP)}}
    )
    done = visit(web)
    assert (done.outcome, done.reason, done.alias_of) == (Outcome.REDIRECTED_AWAY, "alias", "www.shop.example")
    assert [c.host for c in done.candidates] == ["www.shop.example"]
    assert len(web.asked) == done.requests <= 6 and done.pending == ()
    assert visit(web, "www.shop.example").outcome is Outcome.FOUND


def test_a_moved_front_page_does_not_make_an_alias() -> None:
    web = Web({HOST: {"/": moved("https://www.shop.example/"), "/agent.json": page(AWP)}, "www.shop.example": {}})
    done = visit(web)
    assert (done.outcome, done.alias_of) == (Outcome.FOUND, None)
    # robots.txt of the other host was read before its page was requested
    assert web.asked.index("https://www.shop.example/robots.txt") < web.asked.index("https://www.shop.example/")


def test_robots_of_the_final_host_must_allow_the_final_path() -> None:
    sites: dict[str, Site] = {
        HOST: {"/agent.json": moved("https://api.shop.example/agent.json")},
        "api.shop.example": {"/robots.txt": page("User-agent: *\nDisallow: /", "text/plain"), "/agent.json": page(AWP)},
    }
    web = Web(sites)
    done = visit(web)
    assert "https://api.shop.example/agent.json" not in web.asked
    assert verdict(done, "https://api.shop.example/agent.json")[0] is Outcome.DISALLOWED
    assert "api.shop.example" in [c.host for c in done.candidates]


def test_a_document_belongs_to_the_host_that_served_it() -> None:
    sites: dict[str, Site] = {
        HOST: {"/agent.json": moved("https://api.shop.example/agent.json")},
        "api.shop.example": {"/agent.json": page(AWP)},
    }
    done = visit(Web(sites))
    assert answer(done, "https://api.shop.example/agent.json").assessment.outcome is Outcome.FOUND
    assert done.outcome is not Outcome.FOUND


def test_a_redirect_to_another_site_only_names_a_candidate() -> None:
    web = Web({HOST: lambda path: moved(f"https://other.example{path}"), "other.example": {"/agent.json": page(AWP)}})
    done = visit(web)
    assert (done.outcome, done.reason) == (Outcome.REDIRECTED_AWAY, "to other.example")
    assert [c.host for c in done.candidates] == ["other.example"]
    assert all(host_of(url) == HOST for url in web.asked) and len(web.asked) == 3


def test_a_path_that_redirects_to_a_path_of_the_plan_is_asked_once() -> None:
    web = Web({HOST: {"/agent.json": moved("/.well-known/agent.json"), "/.well-known/agent.json": page(AWP)}})
    done = visit(web)
    assert web.asked.count(HOME + "/.well-known/agent.json") == 1
    assert done.outcome is Outcome.FOUND


def test_a_redirect_that_the_budget_has_no_request_for_is_not_followed() -> None:
    def site(path: str) -> Page:
        hop = path.partition("?")[2] or "0"
        is_moved = path.startswith("/.well-known/ard")
        return moved(f"{path.partition('?')[0]}?{int(hop) + 1}") if is_moved else page("", status=404)

    web = Web({HOST: site})
    done = visit(web, budget=5)
    assert len(web.asked) == done.requests == 5
    assert verdict(done, "/.well-known/ard.json") == (Outcome.SKIPPED, "redirect_budget")


def test_robots_txt_also_applies_to_the_target_of_a_redirect() -> None:
    robots = page("User-agent: *\nDisallow: /private/", "text/plain")
    web = Web({HOST: {"/robots.txt": robots, "/agent.json": moved("/private/a.json"), "/private/a.json": page(AWP)}})
    assert verdict(visit(web), "/agent.json") == (Outcome.DISALLOWED, "robots")
    assert f"{HOME}/private/a.json" not in web.asked


def test_an_unreachable_redirect_target_does_not_end_the_visit() -> None:
    site = {"/agent.json": moved("https://gone.shop.example/a"), "/.well-known/agent.json": page(AWP)}
    done = visit(Web({HOST: site}))
    assert done.outcome is Outcome.FOUND and "/.well-known/ucp" in paths(done)


@pytest.mark.parametrize(
    ("location", "outcome", "reason"),
    [
        ("/", Outcome.ABSENT, "redirect_home"),
        ("/login?next=/agent.json", Outcome.ABSENT, "redirect_home"),
        ("http://shop.example/agent.json", Outcome.REFUSED_ADDRESS, "redirect_http"),
        ("https://127.0.0.1/agent.json", Outcome.REFUSED_ADDRESS, "redirect_address"),
        ("/agent.json", Outcome.SERVER_ERROR, "redirect_loop"),
    ],
)
def test_bad_redirects_of_one_path_do_not_end_the_host(location: str, outcome: Outcome, reason: str) -> None:
    done = visit(Web({HOST: {"/agent.json": moved(location), "/.well-known/agent.json": page(AWP)}}))
    assert verdict(done, "/agent.json") == (outcome, reason)
    assert done.outcome is Outcome.FOUND
