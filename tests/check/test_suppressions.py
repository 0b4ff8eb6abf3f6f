"""Suppressions: what a line of a file matches, and what is wrong with one."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from groundstate import findings
from groundstate.check.kinds import KINDS
from groundstate.check.suppressions import SuppressionError, is_suppressed, parse, read
from groundstate.excerpt import Place
from groundstate.findings import Finding

READ = Finding(
    "memory",
    "out-of-bounds-read",
    "out-of-bounds read of 4 bytes",
    [Place("/src/vendor/inner.cl", 3, 1), Place("/src/app/blur.cl", 17, 9)],
    kernel="conv_3x3",
)
LEAK = Finding("host", "leaked-object", "an event is never destroyed")


@pytest.mark.parametrize(
    "line",
    [
        "out-of-bounds-read",
        "out-of-bounds-*",
        "*",
        "* file=inner.cl",
        "* file=vendor/*.cl",
        "* file=/src/*",
        "* file=blur.cl",  # where it was inlined into
        "out-of-bounds-read kernel=conv_*   # known",
        "* kernel=conv_3x3 file=*.cl",
    ],
)
def test_line_matches(line: str) -> None:
    assert is_suppressed(READ, parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# out-of-bounds-read",
        "out-of-bounds-write",
        "* file=other.cl",
        "* file=ner.cl",
        "* kernel=conv",
        "out-of-bounds-read kernel=conv_* file=other.cl",
    ],
)
def test_line_does_not_match(line: str) -> None:
    assert not is_suppressed(READ, parse(line))


def test_finding_without_file_or_kernel_is_matched_by_kind_alone() -> None:
    assert is_suppressed(LEAK, parse("leaked-*"))
    assert not is_suppressed(LEAK, parse("leaked-* file=*.c"))
    assert not is_suppressed(LEAK, parse("leaked-* kernel=a*"))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("file=*.cl", "known.txt:2: a line begins with a kind such as out-of-bounds-read, or *"),
        (
            "out-of-bound-read",
            "known.txt:2: there is no kind 'out-of-bound-read'; did you mean out-of-bounds-read",
        ),
        ("OUT-OF-BOUNDS-READ", "known.txt:2: there is no kind 'OUT-OF-BOUNDS-READ'; did you mean"),
        ("leak_*", "known.txt:2: there is no kind 'leak_*'; the kinds are "),
        ("x", "known.txt:2: there is no kind 'x'; the kinds are out-of-bounds-read, "),
        ("* line=3", "known.txt:2: 'line=3' is not understood; expected file=PATTERN or kernel="),
        ("* file=", "known.txt:2: 'file=' is not understood"),
        ("* blur.cl", "known.txt:2: 'blur.cl' is not understood"),
        ("* file=a file=b", "known.txt:2: 'file=b' is not understood"),
    ],
)
def test_wrong_line_is_named(line: str, sentence: str) -> None:
    with pytest.raises(SuppressionError) as raised:
        parse(f"# first\n{line}\n", "known.txt")
    assert str(raised.value).startswith(sentence)


def test_kinds_are_those_of_the_documentation() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"
    documented = []
    for line in page.read_text(encoding="utf-8").splitlines():
        first = line.split("|")[1] if line.startswith("| `") else ""
        for kind in re.findall("`([a-z-]+)`", first):
            stem = kind.removesuffix("-read")
            ends = ("-read", "-write", "-atomic") if "..." in first else ("",)
            documented += [(stem if "..." in first else kind) + end for end in ends]
    assert sorted(documented) == sorted(KINDS)


def test_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"\xff\x00")
    with pytest.raises(SuppressionError, match="junk: is not text"):
        read(tmp_path / "junk")


def test_suppressed_finding_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("leaked-object\n")
    (tmp_path / "b.txt").write_text("nonsense nonsense\n")
    paths = [tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "missing.txt"]
    monkeypatch.delenv("GROUNDSTATE_CHECK_OUTPUT", raising=False)
    monkeypatch.setenv("GROUNDSTATE_CHECK_SUPPRESS", os.pathsep.join(map(str, paths)))
    monkeypatch.setattr(findings, "_tellers", {})
    assert findings.report(LEAK) is False
    assert findings.report(READ) is True
    said = capfd.readouterr().err
    assert "never destroyed" not in said
    assert "out-of-bounds read" in said
    assert said.count("groundstate: GROUNDSTATE_CHECK_SUPPRESS: ") == 2
