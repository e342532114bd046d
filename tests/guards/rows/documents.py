"""What is believed, followed and read of documents."""

from typing import Final

from tests.guards.guard import Guard

_PLAN = "tests/core/plan/"
_READER = "tests/core/test_reader.py::"
_YAML = "tests/core/test_yaml_reader.py::"
_FOLLOWING = "tests/core/test_following.py::"

GUARDS: Final = (
    Guard(
        "controls against soft 404",
        "registry/core/controls.py",
        "        if not samples:\n            return None",
        "        return None",
        (f"{_PLAN}test_controls.py::test_a_catch_all_page_is_an_absence",),
    ),
    Guard(
        "what is named on another site is not asked for",
        "registry/core/following.py",
        "if not same_site(host, home):",
        "if False:",
        (f"{_FOLLOWING}test_everything_else_is_left_alone", f"{_FOLLOWING}test_other_hosts_are_named"),
    ),
    Guard(
        "depth of pointers",
        "registry/core/plan.py",
        "case Request(probe) if depth <= probes.MAX_DEPTH and",
        "case Request(probe) if",
        (f"{_PLAN}test_pointers.py::test_catalogues_that_name_catalogues_end_at_depth_four",),
    ),
    Guard(
        "pointers in a visit",
        "registry/core/plan.py",
        "while self._queue and self._followed < probes.MAX_POINTERS:",
        "while self._queue:",
        (f"{_PLAN}test_pointers.py::test_at_most_ten_pointers_are_followed",),
    ),
    Guard(
        "endpoints that nobody outside should call",
        "registry/core/endpoints.py",
        'return addresses.refusal(host.strip("[]")) is None',
        "return True",
        ("tests/core/test_endpoints.py::test_what_nobody_outside_should_call_is_removed",),
    ),
    Guard(
        "JSON: depth",
        "registry/core/reader.py",
        "if depth == MAX_DEPTH else None",
        "if depth == -1 else None",
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: bytes",
        "registry/core/reader.py",
        "    if len(raw) > MAX_BYTES:",
        "    if False:",
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: UTF-8",
        "registry/core/reader.py",
        'raw.decode("utf-8-sig")',
        'raw.decode("utf-8-sig", "replace")',
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "JSON: length of a key",
        "registry/core/reader.py",
        'if len(key) > MAX_CHARS or "\\0" in key:',
        'if "\\0" in key:',
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: NUL in a key",
        "registry/core/reader.py",
        'if len(key) > MAX_CHARS or "\\0" in key:',
        "if len(key) > MAX_CHARS:",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "cut JSON is not read",
        "registry/core/assess.py",
        "if fetched.truncated and looks_like_json(",
        "if False and looks_like_json(",
        ("tests/core/test_verdicts.py::test_cut_json_is_never_parsed_and_cut_text_keeps_whole_characters",),
    ),
    Guard(
        "YAML: characters",
        "registry/core/yaml_reader.py",
        "    if len(text) > MAX_CHARS:",
        "    if False:",
        (f"{_YAML}test_what_is_refused",),
    ),
    Guard(
        "YAML: depth",
        "registry/core/yaml_reader.py",
        "        if self._depth > MAX_DEPTH:",
        "        if False:",
        (f"{_YAML}test_what_is_refused",),
    ),
    Guard(
        "YAML: aliases",
        "registry/core/yaml_reader.py",
        "        if self._aliases > MAX_ALIASES:",
        "        if False:",
        (f"{_YAML}test_what_is_refused",),
    ),
    Guard(
        "YAML: circles",
        "registry/core/yaml_reader.py",
        "        if anchor not in self._sizes:  # unknown, or the node that is being composed: a circle",
        "        if False:",
        (f"{_YAML}test_what_is_refused",),
    ),
    Guard(
        "YAML: tags",
        "registry/core/yaml_reader.py",
        'if node.tag.startswith("!") or',
        "if False and",
        (f"{_YAML}test_what_is_refused",),
    ),
    Guard(
        "JSON: keys of an object",
        "registry/core/reader.py",
        "if len(value) > MAX_KEYS:",
        "if False:",
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: items of an array",
        "registry/core/reader.py",
        "if len(value) > MAX_ITEMS:",
        "if False:",
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: length of a text",
        "registry/core/reader.py",
        'if len(value) > MAX_CHARS or "\\0" in value:',
        'if "\\0" in value:',
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: NUL",
        "registry/core/reader.py",
        'if len(value) > MAX_CHARS or "\\0" in value:',
        "if len(value) > MAX_CHARS:",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "JSON: 1e999",
        "registry/core/reader.py",
        "if not isfinite(value):",
        "if False:",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "JSON: integers",
        "registry/core/reader.py",
        "elif not -MAX_INTEGER <= value <= MAX_INTEGER:",
        "elif False:",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "JSON: a key twice",
        "registry/core/reader.py",
        "catch_duplicate_keys=True",
        "catch_duplicate_keys=False",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "JSON: NaN",
        "registry/core/reader.py",
        "allow_inf_nan=False",
        "allow_inf_nan=True",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
)
