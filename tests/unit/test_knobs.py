"""Knobs: each kind of variable, what happens to nonsense, and the page about them."""

from pathlib import Path

import pytest

from groundstate import knobs
from groundstate.knobs.__main__ import document

REPOSITORY = Path(__file__).resolve().parents[2]


def test_every_knob_has_a_default() -> None:
    assert knobs.AFFINITY_MASK.get() == ""
    assert knobs.FLAT_DEVICE_HIERARCHY.get() == "COMPOSITE"
    assert knobs.ENABLE_PCI_ID_DEVICE_ORDER.get() is False
    assert knobs.SHARED_FORCE_DEVICE_ALLOC.get() is False
    assert knobs.TOPOLOGY.get() == "1"
    assert knobs.THREADS.get() is None
    assert knobs.MEMORY.get() is None
    assert knobs.DEVICE_TYPE.get() == "gpu"
    assert knobs.SYSFS_ROOT.get() == "/"


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("0", False), ("true", True), ("OFF", False), (" 1 ", True)]
)
def test_flag(monkeypatch: pytest.MonkeyPatch, text: str, value: object) -> None:
    monkeypatch.setenv("ZE_SHARED_FORCE_DEVICE_ALLOC", text)
    assert knobs.SHARED_FORCE_DEVICE_ALLOC.get() is value


@pytest.mark.parametrize(
    ("text", "value"),
    [("4", 4), ("0x10", 16), ("4294967295", 2**32 - 1)],
)
def test_number(monkeypatch: pytest.MonkeyPatch, text: str, value: object) -> None:
    monkeypatch.setenv("GROUNDSTATE_THREADS", text)
    assert knobs.THREADS.get() == value


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("10s", 10**10),
        ("500ms", 5 * 10**8),
        ("2min", 120 * 10**9),
        ("1.5 s", 15 * 10**8),
        ("250us", 250_000),
        ("1H", 3600 * 10**9),
        ("3", 3 * 10**9),
        ("0", None),
        ("0s", None),
    ],
)
def test_duration(monkeypatch: pytest.MonkeyPatch, text: str, nanoseconds: int | None) -> None:
    monkeypatch.setenv("GROUNDSTATE_KERNEL_LIMIT", text)
    assert knobs.KERNEL_LIMIT.get() == nanoseconds


@pytest.mark.parametrize("text", ["10q", "-1s", "s", "1 2s", "ten", "1e999s", "nan", "5 minutes"])
def test_invalid_duration_counts_as_unset(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.setenv("GROUNDSTATE_KERNEL_LIMIT", text)
    assert knobs.KERNEL_LIMIT.get() is None
    assert "expected a time such as 500ms, 10s or 2min" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-1", "two", "4294967296", "1.5", "0x"])
def test_out_of_range_number_counts_as_unset(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.setenv("GROUNDSTATE_THREADS", text)
    assert knobs.THREADS.get() is None
    message = capsys.readouterr().err
    assert "GROUNDSTATE_THREADS" in message
    assert text in message
    assert "using one for each CPU" in message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4096", 4096),
        ("64K", 64 << 10),
        ("512M", 512 << 20),
        ("8G", 8 << 30),
        ("8GB", 8 << 30),
        ("8GiB", 8 << 30),
        ("1.5g", 3 << 29),
        ("2 T", 2 << 40),
    ],
)
def test_size(monkeypatch: pytest.MonkeyPatch, text: str, value: object) -> None:
    monkeypatch.setenv("GROUNDSTATE_MEMORY", text)
    assert knobs.MEMORY.get() == value


@pytest.mark.parametrize("text", ["much", "-1G", "0", "G", "8GG", "8X", "inf", "nan", "1e400G"])
def test_invalid_size_counts_as_unset(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.setenv("GROUNDSTATE_MEMORY", text)
    assert knobs.MEMORY.get() is None
    assert "expected a size" in capsys.readouterr().err


def test_choice_is_read_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", "flat")
    assert knobs.FLAT_DEVICE_HIERARCHY.get() == "FLAT"


def test_unknown_choice_names_the_choices(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GROUNDSTATE_DEVICE_TYPE", "toaster")
    assert knobs.DEVICE_TYPE.get() == "gpu"
    assert "expected one of gpu, cpu, both; using gpu" in capsys.readouterr().err


def test_a_complaint_is_made_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "perhaps")
    assert knobs.ENABLE_PCI_ID_DEVICE_ORDER.get() is False
    assert knobs.ENABLE_PCI_ID_DEVICE_ORDER.get() is False
    assert capsys.readouterr().err.count("perhaps") == 1


def test_the_environment_is_read_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_THREADS", "3")
    assert knobs.THREADS.get() == 3
    monkeypatch.setenv("GROUNDSTATE_THREADS", "5")
    assert knobs.THREADS.get() == 5


def test_library_is_in_package_unless_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    package = Path(knobs.__file__).resolve().parents[1]
    assert Path(knobs.library()) == package / "_native" / "libze_groundstate.so.1"
    monkeypatch.setenv("GROUNDSTATE_LIBRARY", "/elsewhere/libze.so")
    assert knobs.library() == "/elsewhere/libze.so"


def test_only_knobs_reads_the_environment() -> None:
    package = Path(knobs.__file__).resolve().parents[1]
    readers = [
        path.name
        for path in package.rglob("driver/**/*.py")
        if "environ" in path.read_text() or "getenv" in path.read_text()
    ]
    assert readers == []


def test_knobs_have_distinct_names_and_sentences() -> None:
    assert len({knob.name for knob in knobs.KNOBS}) == len(knobs.KNOBS)
    for knob in knobs.KNOBS:
        assert knob.sentence.endswith(".")
        assert knob.values
        assert knob.described_default()


def test_the_page_about_knobs_is_current() -> None:
    assert (REPOSITORY / "docs" / "reference" / "knobs.md").read_text() == document()


@pytest.mark.parametrize("word", ["0", "off", "OFF", "no", "False", " off "])
def test_every_word_for_off_turns_the_cache_off(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE", word)
    assert knobs.cache_folder() is None


@pytest.mark.parametrize("path", ["cache", "./cache", "../cache", "none"])
def test_a_relative_cache_folder_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/somebody")
    monkeypatch.setenv("GROUNDSTATE_CACHE", path)
    assert knobs.cache_folder() == "/var/cache/somebody/groundstate"
    message = capsys.readouterr().err
    assert f"GROUNDSTATE_CACHE={path!r}: expected an absolute path" in message


def test_an_absolute_cache_folder_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("GROUNDSTATE_CACHE", "/var/cache/kernels/")
    assert knobs.cache_folder() == "/var/cache/kernels"
    monkeypatch.setenv("GROUNDSTATE_CACHE", "~/kernels")
    assert knobs.cache_folder() == "/home/somebody/kernels"


def test_nothing_is_kept_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache never lands in the current folder, whatever the environment lacks."""
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.delenv("GROUNDSTATE_CACHE", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert knobs.cache_folder() is None
