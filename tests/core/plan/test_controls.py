"""Control requests that detect sites with the same response for everything."""

import json

from registry.core.model.documents import Outcome, Purpose
from tests.core.plan.sites import AWP, HOST, adp, answer, verdict
from tests.support.web import Page, Web, moved, page, visit


def test_a_catch_all_page_is_an_absence() -> None:
    done = visit(
        Web({HOST: lambda path: page(f"<!doctype html><title>Shop</title><a href='{path}'>here</a>", "text/html")})
    )
    assert done.outcome is Outcome.ABSENT
    assert {a.assessment.reason for a in done.answers if a.probe.purpose is Purpose.MANIFEST} == {"control_equal"}
    assert done.requests == 20  # no further control, since nothing depends on it


def test_a_hit_without_extension_is_compared_with_a_control_without_extension() -> None:
    def site(path: str) -> Page:
        extension_less = path.startswith("/.well-known/") and "." not in path.rpartition("/")[2]
        return page(adp(1)) if extension_less else page("", "text/plain", 404)

    done = visit(Web({HOST: site}))
    controls = [a.probe.url for a in done.answers if a.probe.purpose is Purpose.CONTROL]
    assert len(controls) == 2 and "." not in controls[1].rpartition("/")[2]
    # Every path returns one real manifest, which counts once, at its own path.
    assert verdict(done, "/.well-known/agent")[0] is Outcome.FOUND
    assert verdict(done, "/.well-known/ucp") == (Outcome.ABSENT, "control_equal")
    assert verdict(done, "/.well-known/api-catalog") == (Outcome.ABSENT, "control_equal")


def test_a_refusal_of_every_unknown_text_counts_as_absence() -> None:
    def site(path: str) -> Page:
        if path == "/":
            return page("<p>Welcome", "text/html")
        return page("denied", "text/plain", 403 if path.endswith(".txt") and path != "/robots.txt" else 404)

    done = visit(Web({HOST: site}))
    assert verdict(done, "/llms.txt") == (Outcome.ABSENT, "control_equal")
    assert sum(a.probe.purpose is Purpose.CONTROL for a in done.answers) == 2


def test_a_real_refusal_stays_one() -> None:
    site = {"/": page("<p>Welcome", "text/html"), "/.well-known/agent": page("log in first", "text/plain", 401)}
    assert verdict(visit(Web({HOST: site})), "/.well-known/agent") == (Outcome.REFUSED, "status_401")


def test_a_json_echo_may_hide_one_real_document() -> None:
    def site(path: str) -> Page:
        if path == "/agent.json":
            return page(AWP)
        if path == "/.well-known/ai-actions.json":  # only a weak test would take this for a catalogue
            return page('{"actions": [{"id": "x", "path": "/x"}], "different": "from the echo, in many words"}')
        return page(json.dumps({"ok": True, "path": path, "message": "nothing here, but have a nice day"}))

    done = visit(Web({HOST: site}))
    assert verdict(done, "/agent.json") == (Outcome.FOUND, "echo_host")
    assert verdict(done, "/.well-known/ai-actions.json") == (Outcome.NOT_A_MANIFEST, "echo_host")
    assert verdict(done, "/.well-known/agent.json") == (Outcome.ABSENT, "control_equal")


def test_redirects_of_unknown_names_to_another_site_are_absences() -> None:
    """The front page is served here and everything else redirects away, which only shows that documents are absent."""

    def site(path: str) -> Page:
        if path in ("/", "/robots.txt"):
            return page("<p>Welcome", "text/html")
        return page(AWP) if path == "/agent.json" else moved(f"https://other.example{path}")

    done = visit(Web({HOST: site, "other.example": {}}))
    assert verdict(done, "/.well-known/woa.json") == (Outcome.ABSENT, "control_equal")
    assert verdict(done, "/agent.json")[0] is Outcome.FOUND
    assert "other.example" in [c.host for c in done.candidates]
    elsewhere = visit(Web({HOST: lambda path: moved("https://third.example/") if "woa" in path else site(path)}))
    assert verdict(elsewhere, "/.well-known/woa.json") == (Outcome.REDIRECTED_AWAY, "to third.example")


def test_lazy_controls_make_twenty_two_requests_at_most() -> None:
    def site(path: str) -> Page:
        if path == "/":
            return page("<p>Welcome", "text/html")
        name = path.rpartition("/")[2]
        return page("denied", "text/plain", 404 if name.endswith(".json") or name == "robots.txt" else 403)

    done = visit(Web({HOST: site}))
    assert sum(a.probe.purpose is Purpose.CONTROL for a in done.answers) == 3
    assert (done.outcome, done.requests) == (Outcome.ABSENT, 22)
    assert {verdict(done, path) for path in ("/llms.txt", "/.well-known/agent", "/.well-known/ucp")} == {
        (Outcome.ABSENT, "control_equal")
    }


def test_a_control_unmasks_what_was_found_before_it() -> None:
    """The catch-all answers only names without extension; its first response was taken for a document."""

    def site(path: str) -> Page:
        return page(adp(1)) if "." not in path.rpartition("/")[2] and path != "/" else page("", "text/plain", 404)

    done = visit(Web({HOST: site}))
    assert verdict(done, "/.well-known/api-catalog") == (Outcome.ABSENT, "control_equal")
    assert answer(done, "/.well-known/api-catalog").fetched.body == b""
