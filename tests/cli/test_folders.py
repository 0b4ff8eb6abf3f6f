"""Folders for output stay only if there is something in them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from groundstate.cli.folders import output_folder


def test_empty_folder_is_removed_with_its_parents(tmp_path: Path) -> None:
    with output_folder(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_what_was_written(tmp_path: Path) -> None:
    with suppress(RuntimeError), output_folder(tmp_path / "a" / "b"):
        (tmp_path / "a" / "file").touch()
        raise RuntimeError
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["file"]


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    with output_folder(tmp_path):
        pass
    assert tmp_path.is_dir()


def test_failed_folder_removes_created_parents(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="too long"), output_folder(tmp_path / "a" / ("b" * 300)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_no_folder_is_wanted() -> None:
    with output_folder(None):
        pass
