"""`waypost backup` and `waypost restore`."""

from pathlib import Path
from typing import Any

from registry.cli.clean import print_json
from registry.cli.common import print_line
from registry.settings import Settings
from registry.wiring.backup import BackupManifest, check_backup, make_backup, restore_backup


def run_backup(settings: Settings, folder: Path, *, with_keys: bool, checks: bool, as_json: bool) -> None:
    manifest = make_backup(settings, folder, with_keys=with_keys)
    if checks:
        check_backup(folder)
    _show(folder, manifest, {"checked": checks}, as_json=as_json)


def run_check(folder: Path, *, as_json: bool) -> None:
    _show(folder, check_backup(folder), {"checked": True}, as_json=as_json)


def run_restore(settings: Settings, folder: Path, *, replaces: str | None, with_keys: bool, as_json: bool) -> None:
    result = restore_backup(settings, folder, replaces=replaces, with_keys=with_keys)
    _show(folder, result.manifest, {"restored": True, "signing_keys": result.keys}, as_json=as_json)
    if not as_json and not with_keys:
        print_line("API keys are revoked: make new ones with `waypost admin keys add`")


def _show(folder: Path, manifest: BackupManifest, result: dict[str, Any], *, as_json: bool) -> None:
    facts = {
        "folder": str(folder),
        "created_at": manifest.created_at,
        "waypost": manifest.waypost,
        "revision": manifest.revision,
        "server": manifest.server,
        "bytes": sum(file.bytes for file in manifest.files),
        "rows": sum(manifest.rows.values()),
        "signing_keys": len(manifest.key_files),
    } | result
    if as_json:
        print_json(facts)
        return
    done = "restored" if "restored" in result else "restores" if result.get("checked") else "written"
    print_line(f"{folder}: {done}; of {manifest.created_at}, waypost {manifest.waypost}, schema {manifest.revision}")
    print_line(f"{facts['rows']:,} rows, {facts['bytes']:,} bytes, {facts['signing_keys']} signing keys")
