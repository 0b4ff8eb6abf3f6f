"""The compiler's modules are found faster, and are the ones that Python would have found."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import sys
from pathlib import Path

import pytest

from groundstate.compiler import module_finder
from groundstate.compiler.module_finder import Finder

NAME = "groundstate.compiler.some"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module that Python has compiled."""
    path = tmp_path / "some.py"
    path.write_text("answer = 1\n", encoding="utf-8")
    compiled = importlib.util.cache_from_source(str(path))
    py_compile.compile(
        str(path), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP, doraise=True
    )
    assert Path(compiled).is_file()
    return path


def answer(folder: Path) -> object:
    """What the module says that the finder finds in a folder."""
    spec = Finder.find_spec(NAME, [str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.answer


def test_modules_are_as_python_makes_them() -> None:
    for name in ("pipeline", "ir", "codegen.images.texels"):
        full = f"groundstate.compiler.{name}"
        found = importlib.util.find_spec(full)
        assert found is not None
        folder = [str(Path(module_finder.__file__).parent.joinpath(*name.split(".")[:-1]))]
        expected = importlib.machinery.PathFinder.find_spec(full, folder)
        assert expected is not None
        for each in ("name", "origin", "cached", "has_location", "submodule_search_locations"):
            assert getattr(found, each) == getattr(expected, each), (name, each)
        assert type(found.loader).__name__ == "Loader"
        assert found.loader.get_source(full) == expected.loader.get_source(full)  # type: ignore[union-attr]


def test_compiled_module_is_taken_as_it_is(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    status = source.stat()
    source.write_text("answer = 2\n", encoding="utf-8")
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert answer(source.parent) == 1


def test_changed_source_is_compiled_again(source: Path) -> None:
    source.write_text("answer = 'another'\n", encoding="utf-8")
    assert answer(source.parent) == "another"


@pytest.mark.parametrize("content", [b"", b"damaged", bytes(64)])
def test_damaged_file_is_left_to_python(source: Path, content: bytes) -> None:
    Path(importlib.util.cache_from_source(str(source))).write_bytes(content)
    assert answer(source.parent) == 1


def test_package_is_found_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "__init__.py").write_text("answer = 3\n", encoding="utf-8")
    spec = Finder.find_spec(NAME, [str(tmp_path)])
    assert spec is not None
    assert spec.submodule_search_locations == [str(tmp_path / "some")]
    assert answer(tmp_path) == 3


def test_other_modules_are_not_looked_for(source: Path) -> None:
    assert Finder.find_spec("some", [str(source.parent)]) is None
    assert Finder.find_spec("groundstate.compiler.missing", [str(source.parent)]) is None
    assert Finder.find_spec(NAME, None) is None
