"""What is believed, followed and read of documents."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_PLAN = "tests/core/plan/"
_READER = "tests/core/test_reader.py::"
_YAML = "tests/core/test_yaml_reader.py::"
_FOLLOWING = "tests/core/test_following.py::"

GUARDS: Final = (
    Guard(
        "soft-404",
        "controls against soft 404",
        Edit(r"if not \w+:", "if True:"),
        (f"{_PLAN}test_controls.py::test_a_catch_all_page_is_an_absence",),
    ),
    Guard(
        "pointer-same-site",
        "what is named on another site is not asked for",
        NEVER,
        (f"{_FOLLOWING}test_other_pointers_are_ignored", f"{_FOLLOWING}test_other_hosts_become_candidates"),
    ),
    Guard(
        "pointer-depth",
        "depth of pointers",
        Edit(r"\w+ <= [\w.]+ and ", ""),
        (f"{_PLAN}test_pointers.py::test_catalogues_that_name_catalogues_end_at_depth_four",),
    ),
    Guard(
        "pointer-count",
        "pointers in a visit",
        Edit(r" or [\w.]+ >= [\w.]+:", ":"),
        (f"{_PLAN}test_pointers.py::test_at_most_ten_pointers_are_followed",),
    ),
    Guard(
        "private-endpoint",
        "endpoints that are not public",
        Edit("return [^#]*", "return True"),
        ("tests/core/test_endpoints.py::test_private_endpoints_are_removed",),
    ),
    Guard(
        "unfilled-host",
        "hosts that the author has not filled in",
        Edit(" and not [^#]*", ""),
        ("tests/core/test_endpoints.py::test_placeholders_are_named",),
    ),
    Guard(
        "shared-path-items",
        "a path item that thousands of paths refer to",
        NEVER,
        ("tests/core/test_openapi_operations.py::test_one_path_item_of_many_paths_is_not_multiplied",),
    ),
    Guard(
        "json-depth",
        "JSON: depth",
        Edit(r"if (\w+) == \w+ else", r"if \1 == -1 else"),
        (f"{_READER}test_limits_hold_exactly",),
    ),
    Guard("json-bytes", "JSON: bytes", NEVER, (f"{_READER}test_limits_hold_exactly",)),
    Guard(
        "json-utf-8",
        "JSON: UTF-8",
        Edit('"utf-8-sig"', '"utf-8-sig", "replace"'),
        (f"{_READER}test_a_bad_body_breaks_one_rule",),
    ),
    Guard("json-key", "JSON: length of a key", Edit(r"len\(\w+\) > \w+ or "), (f"{_READER}test_limits_hold_exactly",)),
    Guard("json-key", "JSON: NUL in a key", Edit(r' or "\\0" in \w+'), (f"{_READER}test_a_bad_body_breaks_one_rule",)),
    Guard(
        "truncated-json",
        "cut JSON is not read",
        Edit(r"if [\w.]+ and", "if False and"),
        ("tests/core/test_verdicts.py::test_cut_json_is_never_parsed_and_cut_text_keeps_whole_characters",),
    ),
    Guard("yaml-length", "YAML: characters", NEVER, (f"{_YAML}test_invalid_yaml_is_refused_with_its_rule",)),
    Guard("yaml-depth", "YAML: depth", NEVER, (f"{_YAML}test_invalid_yaml_is_refused_with_its_rule",)),
    Guard("yaml-cycle", "YAML: circles", NEVER, (f"{_YAML}test_invalid_yaml_is_refused_with_its_rule",)),
    Guard(
        "yaml-tag",
        "YAML: tags",
        Edit("if [^#]* or ", "if False and "),
        (f"{_YAML}test_invalid_yaml_is_refused_with_its_rule",),
    ),
    Guard("json-keys", "JSON: keys of an object", NEVER, (f"{_READER}test_limits_hold_exactly",)),
    Guard(
        "cut-caps",
        "JSON: what is cut is within the caps",
        Edit(r"check_caps\(root\)", "pass"),
        (f"{_READER}test_a_cut_value_is_checked_again",),
    ),
    Guard("json-items", "JSON: items of an array", NEVER, (f"{_READER}test_limits_hold_exactly",)),
    Guard(
        "json-text", "JSON: length of a text", Edit(r"len\(\w+\) > \w+ or "), (f"{_READER}test_limits_hold_exactly",)
    ),
    Guard("json-text", "JSON: NUL", Edit(r' or "\\0" in \w+'), (f"{_READER}test_a_bad_body_breaks_one_rule",)),
    Guard("json-infinite", "JSON: 1e999", NEVER, (f"{_READER}test_a_bad_body_breaks_one_rule",)),
    Guard("json-integer", "JSON: integers", NEVER, (f"{_READER}test_a_bad_body_breaks_one_rule",)),
    Guard(
        "json-strict",
        "JSON: a key twice",
        Edit("catch_duplicate_keys=True", "catch_duplicate_keys=False"),
        (f"{_READER}test_a_bad_body_breaks_one_rule",),
    ),
    Guard(
        "json-strict",
        "JSON: NaN",
        Edit("allow_inf_nan=False", "allow_inf_nan=True"),
        (f"{_READER}test_a_bad_body_breaks_one_rule",),
    ),
)
