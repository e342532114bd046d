"""Forms of a front page that are tools: which are found, and what a visit makes of them."""

import time

import pytest

from registry.actions.recording.reconcile import reconcile
from registry.core.formats.webmcp_forms.html_forms import MAX_CONTROLS, MAX_FORMS, tool_forms
from registry.core.model.documents import Json, Outcome
from registry.core.visiting.visits import HostJob, Visit
from tests.core.plan.sites import HOME, HOST, answer
from tests.support.web import NOW, Page, Web, page, visit

URL = f"{HOME}/en/"
FORMS = f"{HOME}/#/webmcp-forms"
FIND = (
    '<form toolname="find" tooldescription="Finds rakes" action="/find">'
    '<input name="q" required toolparamdescription="Words"></form>'
)


def forms_of(markup: str) -> list[dict[str, Json]]:
    made = tool_forms(markup.encode(), URL)
    forms = made["forms"] if made is not None else []
    assert isinstance(forms, list)
    return [form for form in forms if isinstance(form, dict)]


def controls_of(markup: str) -> Json:
    (form,) = forms_of(f'<form toolname="t" id="f">{markup}')
    return form["controls"]


@pytest.mark.parametrize(
    "markup",
    [
        "<p>toolname is an attribute of forms</p>",
        '<div toolname="t"></div>',
        '<script>"<form toolname=t>"</script>',
        "<!-- <form toolname=t> -->",
        '<template><form toolname="t"></form></template>',
        '<textarea><form toolname="t"></textarea>',
        "",
    ],
)
def test_only_forms_of_the_page_itself_are_tools(markup: str) -> None:
    assert tool_forms(markup.encode(), URL) is None


@pytest.mark.parametrize(
    ("attributes", "action"),
    [
        ("action=find", f"{URL}find"),
        ("ACTION='/find?a=1&amp;b=2'", f"{HOME}/find?a=1&b=2"),
        ("action='https://pay.dev/x'", "https://pay.dev/x"),
        ("action='javascript:go()'", "javascript:go()"),
        ("action='#'", None),
        ("action=''", None),
        ("", None),
    ],
)
def test_the_action_is_resolved(attributes: str, action: str | None) -> None:
    (form,) = forms_of(f"<FORM toolName=t title='a>b' {attributes}><input name=a>")
    assert form.get("action") == action


def test_a_base_element_resolves_the_action() -> None:
    (form,) = forms_of("<base href='/shop/'><form toolname=t action=find>")
    assert form["action"] == f"{HOME}/shop/find"


@pytest.mark.parametrize(
    ("markup", "controls"),
    [
        ("<input name=a>", [{"name": "a", "type": "text"}]),
        ("<input name=a type=DATE required>", [{"name": "a", "type": "date", "required": True}]),
        ("<label for=x>Day</label><input id=x name=a>", [{"name": "a", "type": "text", "description": "Day"}]),
        ("<label>Day <b>of</b> <input name=a></label>", [{"name": "a", "type": "text", "description": "Day of"}]),
        ("<label>Day <input name=a toolparamdescription=D>", [{"name": "a", "type": "text", "description": "D"}]),
        ("<input name=a aria-description=D>", [{"name": "a", "type": "text", "description": "D"}]),
        (
            "<label>Size <select name=a><option value=''>any<option>L</select>!</label>",
            [{"name": "a", "type": "select", "description": "Size !", "options": ["", "L"]}],
        ),
        ("<input type=hidden name=csrf value=abc>", [{"name": "csrf", "type": "hidden"}]),
        ("<input type=submit name=a><button name=b></button><input name=c disabled>", []),
        ("</form><input name=late form=f>", [{"name": "late", "type": "text"}]),
        ("<input name=other form=g>", []),
    ],
)
def test_the_controls_of_a_form_are_its_parameters(markup: str, controls: list[Json]) -> None:
    assert controls_of(markup) == controls


@pytest.mark.parametrize(
    "markup",
    [
        "<form toolname=a tooldescription=b>" * 14_000,
        "<form toolname=a>" + "<input name=x>" * 35_000,
        "<form toolname=a>" + "<label>a" * 200 + "<b>x</b>" * 40_000 + "<input name=x>" * 1_000,
        "<form id=a toolname=a></form>" * 60 + "<input form=a name=b>" * 20_000,
        "<form toolname=a>" + "<!--" * 120_000,
        "<div>" * 80_000 + "<form toolname=a>",
    ],
    ids=["forms", "controls", "labels", "outside", "comments", "depth"],
)
def test_hostile_pages_cost_little(markup: str) -> None:
    began = time.process_time()
    for form in forms_of(markup):
        controls = form["controls"]
        assert isinstance(controls, list) and len(controls) <= MAX_CONTROLS
    assert len(forms_of(markup)) <= MAX_FORMS
    assert time.process_time() - began < 4


def visited(home: Page, *, whole_plan: bool = True) -> Visit:
    return visit(Web({HOST: {"/": home}}), job=HostJob(HOST, whole_plan=whole_plan))


def test_a_front_page_with_tools_is_a_document_without_a_request() -> None:
    done = visited(page(FIND, "text/html"))
    found = answer(done, FORMS).assessment
    assert (found.outcome, found.format) == (Outcome.FOUND, "webmcp-forms")
    assert found.service is not None
    (capability,) = found.service.capabilities
    assert capability.invocations[0].endpoint == f"{HOME}/find"
    plain = visited(page(FIND.replace("tool", "data-"), "text/html"))
    assert (plain.outcome, plain.requests, len(plain.answers)) == (Outcome.ABSENT, 20, 20)


@pytest.mark.parametrize(
    ("later", "outcome"),
    [
        (visited(page(FIND, "text/html")), Outcome.FOUND),
        (visited(page("<p>Closed</p>", "text/html")), Outcome.ABSENT),
        (visited(page("", "text/html", 500)), Outcome.FOUND),
        (visited(page("<p>Closed</p>", "text/html"), whole_plan=False), Outcome.FOUND),
    ],
    ids=["still there", "gone", "not readable", "not requested"],
)
def test_tools_are_lost_when_a_later_page_has_none(later: Visit, outcome: Outcome) -> None:
    first = reconcile(HOST, visited(page(FIND, "text/html")), (), NOW)
    stored = [current.record for current in first.current.values()]
    assert [record.url for record in stored if record.outcome is Outcome.FOUND] == [FORMS]
    assert reconcile(HOST, later, stored, NOW).current[FORMS].record.outcome is outcome
