"""Decisions of operators: holds, API keys, the audit log, and the file of opt-outs."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_HOLDS: Final = "tests/actions/test_holds.py::"
_FILE: Final = "tests/store/test_opt_out_file.py::"
_REPLAY: Final = "tests/actions/test_replay.py::"
_API: Final = "tests/api/test_admin.py::"

GUARDS: Final = (
    Guard(
        "hold-listing",
        "held hosts are not listed",
        Edit(r" and not self\.of\(host\)"),
        (
            f"{_HOLDS}test_a_new_host_below_a_held_one_is_never_listed[quarantined]",
            f"{_HOLDS}test_a_new_host_below_a_held_one_is_never_listed[hidden]",
            f"{_HOLDS}test_nothing_shows_a_held_host",
        ),
    ),
    Guard(
        "hold-blocked-visits",
        "blocked hosts are neither visited nor queued",
        Edit(r' and "blocked" not in self\.kinds\(host\)'),
        (
            f"{_HOLDS}test_a_block_that_another_writer_overlooked_stops_the_lease",
            f"{_HOLDS}test_nobody_brings_a_blocked_host_into_the_queue",
        ),
    ),
    Guard(
        "hold-blocked-seeds",
        "blocked hosts are not seeded",
        Edit(r", _BLOCKED\)", ",)"),
        (f"{_HOLDS}test_nobody_brings_a_blocked_host_into_the_queue",),
    ),
    Guard(
        "hold-blocked-fence",
        "a visit that runs when its host is blocked records nothing",
        SKIP,
        (f"{_HOLDS}test_the_result_of_a_running_visit_of_a_blocked_host_is_dropped",),
    ),
    Guard(
        "hold-feed-redacted",
        "the feed says nothing of held services",
        SKIP,
        (f"{_HOLDS}test_the_feed_tells_a_tombstone_and_nothing_of_the_service",),
    ),
    Guard(
        "hold-mirror",
        "holds of a mirror win over its origin",
        Edit(r"bool\(.*\)", "False"),
        ("tests/actions/test_dumps.py::test_holds_of_the_copy_itself_win_and_stay",),
    ),
    Guard(
        "opt-out-file-first",
        "opt-outs are written to a file before they are committed",
        SKIP,
        (
            f"{_REPLAY}test_a_process_that_dies_before_its_commit_loses_no_opt_out",
            f"{_REPLAY}test_an_opt_out_that_cannot_be_written_to_the_file_does_not_take_effect",
        ),
    ),
    Guard(
        "opt-out-file-synced",
        "the file of opt-outs is on the disk before the commit",
        SKIP,
        (f"{_FILE}test_a_line_is_on_the_disk_when_append_returns",),
    ),
    Guard(
        "opt-out-file-sums",
        "changed lines of the file of opt-outs are not believed",
        NEVER,
        (f"{_FILE}test_a_changed_line_is_not_believed[host]",),
    ),
    Guard(
        "opt-outs-replayed",
        "opt-outs are replayed before anything is served or crawled",
        SKIP,
        (f"{_REPLAY}test_an_older_backup_brings_no_site_back",),
    ),
    Guard(
        "restore-merges-opt-outs",
        "a restore keeps the opt-outs of the backup and of the replaced database",
        SKIP,
        ("tests/flow/test_backup.py::test_an_older_backup_brings_no_site_back",),
    ),
    Guard(
        "backup-checksums",
        "a damaged backup is not restored",
        NEVER,
        ("tests/store/test_backup_folder.py::test_files_that_are_not_as_written_are_refused",),
    ),
    Guard(
        "backup-password-hidden",
        "passwords of the database are on no command line",
        NEVER,
        ("tests/store/test_backup_folder.py::test_no_secret_is_on_a_command_line",),
    ),
    Guard(
        "replay-readmitted",
        "a replay brings no ended opt-out back",
        Edit(r"ended_at is None or ended_at < line\.at", "True"),
        (f"{_REPLAY}test_an_opt_out_that_ended_at_another_machine_stays_ended",),
    ),
    Guard(
        "key-valid",
        "operations of operators need a key",
        NEVER,
        (f"{_API}test_every_operation_needs_a_key_with_its_scope",),
    ),
    Guard(
        "key-secret",
        "an API key needs its secret",
        Edit(r"token\.matches\(self\.digest\)", "True"),
        (f"{_API}test_wrong_revoked_and_expired_keys_are_told_alike",),
    ),
    Guard(
        "key-expired",
        "API keys expire",
        Edit(r"= self\.expires_at is not None and now >= self\.expires_at", "= False"),
        (f"{_API}test_wrong_revoked_and_expired_keys_are_told_alike",),
    ),
    Guard(
        "key-revoked",
        "revoked API keys are refused",
        Edit(r" and self\.revoked_at is None"),
        (f"{_API}test_wrong_revoked_and_expired_keys_are_told_alike",),
    ),
    Guard(
        "key-scope",
        "an API key does only what its scopes name",
        Edit(r"scope in self\.scopes", "True"),
        (f"{_API}test_every_operation_needs_a_key_with_its_scope",),
    ),
    Guard(
        "key-reads",
        "only the scope `read` shows what other scopes show",
        Edit(r' or self\.may\("read"\)', " or True"),
        (f"{_API}test_every_operation_needs_a_key_with_its_scope",),
    ),
    Guard(
        "key-made-scopes",
        "a key makes keys with its own scopes only",
        Edit(r"not set\(made\.scopes\) <= set\(by\.scopes\)", "False"),
        (f"{_API}test_a_key_makes_keys_that_can_do_and_last_no_more_and_revokes_them",),
    ),
    Guard(
        "key-made-expiry",
        "a key makes no key that lasts longer",
        Edit(r"expires_at > by\.expires_at", "False"),
        (f"{_API}test_a_key_makes_keys_that_can_do_and_last_no_more_and_revokes_them",),
    ),
    Guard(
        "admin-off",
        "the admin area is off where no key is valid",
        NEVER,
        ("tests/web/test_admin_area.py::test_the_area_is_off_without_a_valid_key",),
    ),
    Guard(
        "admin-reason",
        "operators say why",
        NEVER,
        ("tests/web/test_admin_area.py::test_a_refusal_stands_at_its_field_and_loses_nothing",),
    ),
    Guard(
        "audit-public",
        "the public log tells of decisions about hosts only",
        Edit(r", subjects=PUBLIC_SUBJECTS"),
        (
            f"{_API}test_everybody_reads_which_decisions_concern_a_host",
            f"{_API}test_everybody_reads_the_decisions_about_all_hosts",
        ),
    ),
    Guard(
        "audit-reasons",
        "reasons that may name persons are not public",
        Edit(r"return reason if .*", "return reason\n"),
        (f"{_API}test_everybody_reads_which_decisions_concern_a_host",),
    ),
)
