"""What is not handed to clients: addresses of their own networks."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_INSIDE = "tests/core/test_inside.py::"
_GATE = "tests/core/test_public_addresses.py::"
_ADDRESSES = "tests/core/test_openapi_addresses.py::"

GUARDS: Final = (
    Guard(
        "private-address",
        "IP addresses of private networks in any URL",
        Edit("return host if .* else None", "return None"),
        (f"{_INSIDE}test_an_address_of_a_private_network_is_known_in_every_spelling",),
    ),
    Guard(
        "private-name",
        "names of private networks in any URL",
        NEVER,
        (f"{_INSIDE}test_an_address_of_a_private_network_is_known_in_every_spelling",),
    ),
    Guard(
        "ambiguous-address",
        "addresses in which parsers read different hosts",
        Edit(r"not is_ambiguous\(written\)", "True"),
        ("tests/core/test_ambiguous.py::test_an_address_that_parsers_read_differently_is_left_out",),
    ),
    Guard(
        "ambiguous-url",
        "endpoints and pointers in which parsers read different hosts",
        Edit("return None if .* else parsed", "return parsed"),
        ("tests/core/test_ambiguous.py::test_a_relative_address_that_parsers_read_differently_is_found",),
    ),
    Guard(
        "one-reader",
        "addresses that only one parser can read",
        Edit(r"return bool\(.*\)", "return False"),
        ("tests/core/test_ambiguous.py::test_an_address_that_parsers_read_differently_is_left_out",),
    ),
    Guard(
        "reader-gate",
        "behind each reader, no address of a private network",
        Edit("if [^:]*:", "if True:"),
        (f"{_GATE}test_another_documents_public_address_takes_the_place", f"{_GATE}test_a_finding_names_the_member"),
    ),
    Guard(
        "merge-gate",
        "behind the merge, no address of a private network, however it is written",
        Edit("public_merged\\((.*), host\\)", r"(\1), ()"),
        (f"{_GATE}test_escapes_and_hidden_characters_do_not_help",),
    ),
    Guard(
        "own-document",
        "the own document of a host, in its translation",
        Edit("public_json\\((.*), url\\)", r"\1"),
        (f"{_GATE}test_the_own_document_of_a_host_is_handed_out_without_private_addresses",),
    ),
    Guard(
        "host-variables",
        "values that make the host of an example request private",
        NEVER,
        (f"{_GATE}test_values_of_a_variable_do_not_make_the_host_of_an_example_private",),
    ),
    Guard(
        "detail-host",
        "an endpoint of a detail that changes the host of the base_url",
        Edit("joined\\((.*), endpoint\\)", r"\1 + endpoint"),
        (f"{_GATE}test_a_detail_is_joined_only_to_its_own_host",),
    ),
    Guard(
        "base-path-delimiter",
        "a basePath without a slash that changes the host",
        Edit(r'f"/\{(.*)\}"', r"\1"),
        (f"{_ADDRESSES}test_host_and_base_path_are_joined_with_the_delimiters_that_they_lack",),
    ),
    Guard(
        "path-delimiter",
        "a path without a slash that changes the host",
        Edit(r'f"/\{key\}"', "key"),
        (f"{_ADDRESSES}test_a_path_cannot_lead_to_another_host",),
    ),
    Guard(
        "private-redirect",
        "names of private networks that a redirect leads to",
        Edit(r'target_host if .* else "no public host"', "target_host"),
        ("tests/core/test_verdicts.py::test_a_redirect_is_followed_or_stopped",),
    ),
)
