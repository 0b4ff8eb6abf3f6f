"""The disk cache: what is put in comes out, what is damaged does not, and old entries go first."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from groundstate import signing
from groundstate.cli.main import main
from groundstate.compiler.cache import disk


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(path))
    monkeypatch.delenv("GROUNDSTATE_CACHE_SIZE", raising=False)
    disk._written_since_looking.clear()
    signing._keys.clear()
    return path


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.parent != folder)


def test_put_and_get() -> None:
    assert disk.get(b"key") is None
    disk.put(b"key", b"value")
    disk.put(b"empty", b"")
    assert disk.get(b"key") == b"value"
    assert disk.get(b"empty") == b""
    assert disk.get(b"other") is None


def test_a_later_value_replaces_the_first() -> None:
    disk.put(b"key", b"one")
    disk.put(b"key", b"two")
    assert disk.get(b"key") == b"two"
    assert disk.size()[0] == 1


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 40])
def test_damaged_entry_is_a_miss_and_is_deleted(folder: Path, damage: bytes) -> None:
    disk.put(b"key", b"value")
    (path,) = files(folder)
    path.write_bytes(damage)
    assert disk.get(b"key") is None
    assert not path.exists()


def test_the_folder_is_private(folder: Path) -> None:
    disk.put(b"key", b"value")
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_folder_writable_by_others_is_not_used(
    folder: Path, capsys: pytest.CaptureFixture[str], mode: int
) -> None:
    disk.put(b"key", b"value")
    folder.chmod(mode)
    assert disk.get(b"key") is None
    disk.put(b"another", b"value")
    assert len(files(folder)) == 1
    assert "nothing is kept there; chmod go-w it" in capsys.readouterr().err


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.parametrize("level", ["folder", "file"])
def test_entry_path_writable_by_others_is_ignored(folder: Path, level: str, mode: int) -> None:
    disk.put(b"key", b"value")
    (path,) = files(folder)
    (path if level == "file" else path.parent).chmod(mode)
    assert disk.get(b"key") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
@pytest.mark.parametrize("level", ["root", "folder", "file", "key"])
def test_what_another_user_owns_is_not_used(folder: Path, level: str) -> None:
    disk.put(b"key", b"value")
    (path,) = files(folder)
    owned = {"root": folder, "folder": path.parent, "file": path, "key": folder / "key"}[level]
    os.chown(owned, 65534, 65534)
    signing._keys.clear()
    assert disk.get(b"key") is None


def test_entry_with_unkeyed_digest_is_not_trusted(folder: Path) -> None:
    """Whoever cannot read the key cannot write an entry."""
    disk.put(b"key", b"value")
    (path,) = files(folder)
    path.write_bytes(hashlib.sha256(b"forged").digest() + b"forged")
    assert disk.get(b"key") is None


def test_entry_under_another_name_is_not_trusted(folder: Path) -> None:
    disk.put(b"key", b"value")
    disk.put(b"other", b"something else")
    own, other = (folder.joinpath(*disk._place(key)) for key in (b"key", b"other"))
    own.write_bytes(other.read_bytes())
    assert disk.get(b"key") is None


def test_a_key_that_others_can_read_is_replaced(folder: Path) -> None:
    disk.put(b"key", b"value")
    key = folder / "key"
    before = key.read_bytes()
    key.chmod(0o644)
    signing._keys.clear()
    assert disk.get(b"key") is None
    disk.put(b"key", b"value")
    assert disk.get(b"key") == b"value"
    assert key.read_bytes() != before
    assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("what", ["entry", "key", "growth"])
@pytest.mark.parametrize("how", ["pipe", "link", "folder", "socket"])
def test_non_regular_file_does_not_hang_or_count(
    folder: Path, tmp_path: Path, what: str, how: str
) -> None:
    disk.put(b"key", b"value")
    path = {"entry": files(folder)[0], "key": folder / "key", "growth": folder / "growth"}[what]
    elsewhere = tmp_path / "elsewhere"
    path.replace(elsewhere)
    if how == "pipe":
        os.mkfifo(path)
    elif how == "link":
        path.symlink_to(elsewhere)
    elif how == "folder":
        path.mkdir()
    else:
        os.mknod(path, 0o600 | stat.S_IFSOCK)
    signing._keys.clear()
    disk._written_since_looking.clear()
    if what != "growth":
        assert disk.get(b"key") is None
    disk.put(b"another", b"value")


def test_concurrent_processes_agree_on_one_key(folder: Path) -> None:
    program = (
        "from groundstate import private_files\n"
        "from groundstate.compiler.cache import disk\n"
        "with disk._root(make=True) as root: print(private_files.key(root.fd).hex())"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(6)
    ]
    assert len({each.communicate()[0] for each in started}) == 1


def test_switched_off(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE", "0")
    disk.put(b"key", b"value")
    assert disk.get(b"key") is None
    assert disk.clear() == 0
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(tmp_path / "file" / "cache"))
    disk.put(b"key", b"value")
    assert disk.get(b"key") is None


def test_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GROUNDSTATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    disk.put(b"key", b"value")
    assert files(tmp_path / "groundstate")


def test_what_was_not_used_for_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    value = bytes(1000)
    for number in range(8):
        disk.put(b"%d" % number, value)
        age(b"%d" % number, 100 - number)
    assert disk.get(b"0") == value  # it is the oldest, and has now been used
    monkeypatch.setenv("GROUNDSTATE_CACHE_SIZE", "5K")
    disk._written_since_looking.clear()
    disk.put(b"new", value)
    assert disk.size()[1] <= 5 * 1024
    assert disk.get(b"new") == value
    assert disk.get(b"0") == value
    assert disk.get(b"1") is None
    assert disk.get(b"7") == value


def noted(folder: Path) -> int:
    return sum(map(int, (folder / disk.GROWTH).read_text().split()))


def age(key: bytes, seconds: int) -> None:
    root = os.environ["GROUNDSTATE_CACHE"]
    path = os.path.join(root, *disk._place(key))
    then = os.stat(path).st_mtime - seconds
    os.utime(path, (then, then))


def test_cache_size_is_not_recounted_per_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.put(b"first", b"x" * 1000)
    counted = []
    monkeypatch.setattr(disk, "entries", lambda root: counted.append(root) or iter(()))
    disk._written_since_looking.clear()  # as in another process
    disk.put(b"second", b"x" * 1000)
    assert not counted
    assert noted(folder) == 2 * (1000 + disk.DIGEST_BYTES)


@pytest.mark.parametrize("damage", [None, b"nonsense", b"1\n" * 40_000])
def test_what_is_noted_wrongly_is_counted_anew(folder: Path, damage: bytes | None) -> None:
    disk.put(b"first", b"x" * 1000)
    notes = folder / disk.GROWTH
    notes.unlink() if damage is None else notes.write_bytes(damage)
    disk._written_since_looking.clear()
    disk.put(b"second", b"x" * 1000)
    assert noted(folder) == 2 * (1000 + disk.DIGEST_BYTES)


def test_the_limit_holds_within_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE_SIZE", "64K")
    for number in range(200):
        disk.put(b"%d" % number, bytes(2000))
    # It is looked at again for each sixteenth of the limit.
    assert disk.size()[1] <= 64 * 1024 * 17 // 16 + 2100


def test_many_threads() -> None:
    wrong: list[bytes | None] = []

    def work() -> None:
        for number in range(50):
            key = b"%d" % (number % 7)
            disk.put(key, key * 1000)
            if (found := disk.get(key)) != key * 1000:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_command(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    disk.put(b"key", bytes(2048 - disk.DIGEST_BYTES))
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(folder),
        "1 entry, 2.0 KiB of at most 1.0 GiB",
    ]
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"Freed 2.0 KiB in {folder}.\n"
    assert files(folder) == []


def test_command_when_switched_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE", "0")
    assert main(["cache"]) == 0
    assert "GROUNDSTATE_CACHE" in capsys.readouterr().out
