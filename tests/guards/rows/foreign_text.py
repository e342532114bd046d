"""What is said of the texts of sites: where they stand, and which of them address the model of a reader."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_CORE: Final = "tests/core/injection/test_injection.py::"
_SHELLS: Final = "tests/core/calling/test_shells.py::"
_MARKED: Final = "tests/api/test_untrusted_text.py::test_every_text_of_a_site_is_marked_in_every_answer"

GUARDS: Final = (
    Guard(
        "injection-flags",
        "texts of documents are searched for prompt injection",
        Edit(r"flag_injections\(.*?\)", "(service, ())"),
        (f"{_CORE}test_a_finding_has_the_place_and_the_words",),
    ),
    Guard(
        "injection-invisible",
        "invisible characters do not hide a phrase",
        Edit("return .*", "return text\n"),
        (f"{_CORE}test_a_poisoned_text_is_found",),
    ),
    Guard(
        "injection-hidden",
        "invisible characters are flagged",
        NEVER,
        (f"{_CORE}test_a_finding_has_the_place_and_the_words",),
    ),
    Guard(
        "injection-mention",
        "a text that only speaks of injections is not flagged",
        Edit("if .* is None:", "if True:"),
        (f"{_CORE}test_an_honest_text_is_left_alone",),
    ),
    Guard(
        "injection-detail",
        "a capability has the flags of all its documents",
        Edit(r"flags_of\(.*\)", "first.injection_flags"),
        (f"{_CORE}test_a_poisoned_detail_flags_its_capability_and_the_service",),
    ),
    Guard(
        "shell-words",
        "a copied line has only words that every shell reads alike",
        Edit("raise .*", "return f\"'{word}'\""),
        (f"{_SHELLS}test_no_line_holds_what_another_shell_acts_on",),
    ),
    Guard(
        "shell-json",
        "JSON in a copied line has escapes for what a shell acts on",
        Edit(r"return .*", "return JsonText(text)"),
        (f"{_SHELLS}test_no_line_holds_what_another_shell_acts_on",),
    ),
    Guard(
        "line-breaks",
        "line separators of a text become line feeds",
        Edit(r'_BREAKS\.sub\("\\n", head\)', "head"),
        ("tests/core/test_plain_text.py::test_every_line_separator_becomes_a_line_feed",),
    ),
    Guard(
        "unbroken-json",
        "JSON on one line has escapes for line separators",
        Edit("return .*", "return line"),
        ("tests/core/test_plain_text.py::test_json_has_no_line_separators",),
    ),
    Guard(
        "mcp-lines",
        "a text of a site begins no line in a result of MCP",
        SKIP,
        ("tests/mcp/test_size.py::test_a_line_separator_of_a_text_begins_no_line",),
    ),
    Guard("untrusted-row", "texts of rows are marked", Edit(r"= \(.*\)", "= ()"), (_MARKED,)),
    Guard("untrusted-brief", "texts of brief rows are marked", Edit(r"= \(.*\)", "= ()"), (_MARKED,)),
    Guard(
        "untrusted-entry",
        "texts of entries are marked",
        Edit(r"= \(.*\)", "= ()"),
        ("tests/api/test_untrusted_text.py::test_every_text_of_a_site_is_marked_in_entries_of_ard",),
    ),
    Guard("untrusted-service", "texts of a service are marked", Edit(r"= \(.*\)", "= ()"), (_MARKED,)),
    Guard("untrusted-detail", "texts of a capability are marked", Edit("True", "[]"), (_MARKED,)),
)
