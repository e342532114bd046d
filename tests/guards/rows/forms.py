"""The forms of the web pages: whose forms are taken, and how much of a client."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_FORMS = "tests/web/test_forms.py::"

GUARDS: Final = (
    Guard(
        "forms-of-other-sites",
        "forms that pages of other sites send",
        NEVER,
        (
            f"{_FORMS}test_forms_of_pages_of_other_sites_are_refused",
            f"{_FORMS}test_forms_of_other_origins_are_refused_where_the_browser_does_not_name_the_site",
        ),
    ),
    Guard("form-bytes", "bytes of a form with names", NEVER, (f"{_FORMS}test_small_forms_take_little",)),
    Guard(
        "forms-of-client",
        "submissions of a client by forms",
        Edit("submissions=_SUBMISSIONS, "),
        (
            "tests/web/test_submit.py::test_submissions_of_a_client_are_limited",
            "tests/web/test_opt_out.py::test_requests_of_a_client_are_limited",
        ),
    ),
)
