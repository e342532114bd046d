"""The files of the keys that sign the crawler's requests."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from registry.settings import Settings
from registry.wiring.signing_keys import MAX_KEYS, OVERLAP_SECONDS, KeyFiles, KeysUnusable, agent_of

NOW = 1_800_000_000


def files(folder: Path, **changes: object) -> KeyFiles:
    return KeyFiles(Settings(data=folder, **changes))  # type: ignore[arg-type]  # settings of a test


def write_pem(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    private = Ed25519PrivateKey.generate()
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def test_only_the_owner_reads_the_files(tmp_path: Path) -> None:
    key_files = files(tmp_path)
    assert key_files.read() == []
    key = key_files.add(NOW)
    assert key_files.path.stat().st_mode & 0o777 == 0o700
    (path,) = key_files.path.iterdir()
    assert path.name == f"{key.id}.jwk" and path.stat().st_mode & 0o777 == 0o600


def test_a_rotation_ends_the_other_keys_after_the_new_one_has_begun(tmp_path: Path) -> None:
    key_files = files(tmp_path)
    write_pem(key_files.path / "of-another-tool.pem")
    first = key_files.read()[0]
    second = key_files.rotate(NOW, lead=1_000)
    assert not (key_files.path / "of-another-tool.pem").exists()  # its times could not be written there
    found = {key.id: (key.not_before, key.expires) for key in key_files.read()}
    assert found == {first.id: (0, NOW + 1_000 + OVERLAP_SECONDS), second.id: (NOW + 1_000, None)}
    third = key_files.rotate(NOW + 2_000 + OVERLAP_SECONDS, lead=10)
    assert {key.id for key in key_files.read()} == {second.id, third.id}  # the first has expired
    assert not key_files.remove(first.id) and key_files.remove(second.id)
    assert [key.id for key in key_files.read()] == [third.id]


def test_one_file_is_used_but_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    write_pem(path)
    key_files = files(tmp_path, signing_keys=path)
    (key,) = key_files.read()
    for change in (lambda: key_files.add(NOW), lambda: key_files.rotate(NOW, 0), lambda: key_files.remove(key.id)):
        with pytest.raises(KeysUnusable, match="WAYPOST_SIGNING_KEYS"):
            change()
    assert path.exists()


def test_other_files_of_the_folder_are_left_alone(tmp_path: Path) -> None:
    key_files = files(tmp_path)
    key_files.add(NOW)
    (key_files.path / "README").write_text("not a key")
    assert len(key_files.read()) == 1
    (key_files.path / "wrong.jwk").write_text("{}")
    with pytest.raises(KeysUnusable, match=r"wrong\.jwk is not a private JSON Web Key"):
        key_files.read()


def test_the_number_of_keys_is_bounded(tmp_path: Path) -> None:
    key_files = files(tmp_path)
    for _ in range(MAX_KEYS):
        key_files.add(NOW)
    with pytest.raises(KeysUnusable, match="remove some"):
        key_files.add(NOW)


@pytest.mark.parametrize(
    ("settings", "agent"),
    [
        ({"public_url": "https://Registry.example/here"}, "https://registry.example"),
        ({"public_url": "http://registry.example"}, None),
        ({"public_url": "https://régistry.example"}, None),
        ({"public_url": 'https://registry.example"'}, None),
        ({"public_url": "http://a.example", "signature_agent": "https://bot.example"}, "https://bot.example"),
    ],
)
def test_signatures_name_an_https_address(settings: dict[str, str], agent: str | None) -> None:
    assert agent_of(Settings(**settings)) == agent  # type: ignore[arg-type]  # settings of a test


@pytest.mark.parametrize(
    "agent", ["http://a.example", "https://a.example/x", 'https://a.example"', "https://ä.example"]
)
def test_addresses_unfit_for_a_signature_are_refused(agent: str) -> None:
    with pytest.raises(ValueError, match="signature_agent"):
        Settings(signature_agent=agent)
