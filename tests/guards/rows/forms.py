"""Writes: whose forms and requests are taken, and how much of a client."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_FORMS = "tests/web/test_forms.py::"
_WRITES = "tests/edge/test_cross_site.py::"

GUARDS: Final = (
    Guard(
        "pages-of-other-sites",
        "writes and forms that pages of other sites send",
        NEVER,
        (
            f"{_WRITES}test_json_of_pages_of_other_sites_is_refused_where_it_writes",
            f"{_FORMS}test_forms_of_pages_of_other_sites_are_refused",
            f"{_FORMS}test_forms_of_other_origins_are_refused_where_the_browser_does_not_name_the_site",
        ),
    ),
    Guard(
        "json-only",
        "bodies that browsers send to other sites without asking",
        NEVER,
        (f"{_WRITES}test_other_media_types_are_refused_by_the_whole_api",),
    ),
    Guard(
        "token-where-needed",
        "an invented token lets no page of another site write",
        Edit(r"path\.startswith\(.*\) and "),
        (f"{_WRITES}test_a_token_lets_a_page_write_only_where_one_is_needed",),
    ),
    Guard("form-bytes", "bytes of a form with names", NEVER, (f"{_FORMS}test_small_forms_take_little",)),
    Guard(
        "session-cookie",
        "no script reads a session's token, and no other site sends it",
        Edit(r'httponly=True, samesite="strict"', 'samesite="lax"'),
        ("tests/web/test_sessions.py::test_a_cookie_goes_to_its_area_only_and_no_script_reads_it",),
    ),
    Guard(
        "opt-out-typed",
        "an owner types the host's name before everything is deleted",
        NEVER,
        ("tests/web/test_owner.py::test_a_refusal_stands_at_its_field_and_loses_nothing",),
    ),
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
