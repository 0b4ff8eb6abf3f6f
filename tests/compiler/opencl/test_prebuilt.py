"""SPIR-V that was compiled earlier stands in for a clang, and what the tests keep is up to date."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from groundstate.compiler.opencl import options, prebuilt
from groundstate.compiler.opencl.frontend import CompileError, compile_opencl, compile_with_log
from tests import prebuilt as tests_prebuilt

SOURCE = "kernel void f(global int *a) { a[get_global_id(0)] += NUMBER; }"
WORDS = ["-DNUMBER=3", "-cl-std=CL1.2"]
SPIRV = b"\x03\x02\x23\x07 and so on"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDSTATE_PREBUILT_SPIRV", str(tmp_path / "spirv"))
    return tmp_path / "spirv"


@pytest.fixture
def no_clang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_CLANG", "no-such-clang")


def put(source: str = SOURCE, words: list[str] = WORDS, spirv: bytes = SPIRV) -> None:
    log = "old.cl:1:2: warning: a\nold.cl:3:4: warning: b"
    prebuilt.put(source, "old.cl", options.parse(words), log, spirv)


def test_prebuilt_spirv_is_used_without_clang(folder: Path, no_clang: None) -> None:
    put()
    compiled = compile_with_log(SOURCE, options=WORDS, name="new.cl")
    assert compiled.spirv == SPIRV
    assert compiled.log == "new.cl:1:2: warning: a\nnew.cl:3:4: warning: b"


def test_other_sources_and_options_are_told_apart(folder: Path, no_clang: None) -> None:
    put()
    for source, words in (
        (SOURCE + " ", WORDS),
        (SOURCE, ["-DNUMBER=4", "-cl-std=CL1.2"]),
        (SOURCE, ["-DNUMBER=3"]),
        (SOURCE, [*WORDS, "-cl-opt-disable"]),
    ):
        with pytest.raises(CompileError, match="no-such-clang"):
            compile_opencl(source, options=words)


def test_prebuilt_compile_error_is_raised_again(folder: Path, no_clang: None) -> None:
    put(spirv=b"")
    with pytest.raises(CompileError, match=r"new\.cl:1:2: warning: a"):
        compile_opencl(SOURCE, options=WORDS, name="new.cl")


@pytest.mark.parametrize(
    "source", ['#include "a.h"\n', "#embed <a>\n", "constant char *name = __FILE__;"]
)
def test_source_with_include_or_file_has_no_entry(folder: Path, source: str) -> None:
    put(source + SOURCE)
    assert not folder.exists()
    assert prebuilt.get(source + SOURCE, options.parse(WORDS)) is None


def test_include_folders_ignored_without_includes(folder: Path, no_clang: None) -> None:
    put(words=[*WORDS, "-I", "/somewhere"])
    assert compile_opencl(SOURCE, options=[*WORDS, "-I/elsewhere"]) == SPIRV


def test_damaged_entry_is_as_none(folder: Path, no_clang: None) -> None:
    put()
    (path,) = folder.iterdir()
    for content in (b"", b"\xff", b"\x02\0\0\0{}", path.read_bytes()[:40]):
        path.write_bytes(content)
        with pytest.raises(CompileError, match="no-such-clang"):
            compile_opencl(SOURCE, options=WORDS)


def test_entries_are_found_in_zip_files(folder: Path, no_clang: None) -> None:
    put()
    (path,) = folder.iterdir()
    (folder / "inner").mkdir()
    with zipfile.ZipFile(folder / "inner" / "some.zip", "w") as archive:
        archive.write(path, path.name)
    path.unlink()
    assert compile_opencl(SOURCE, options=WORDS) == SPIRV


def test_unwritable_prebuilt_folder_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GROUNDSTATE_PREBUILT_SPIRV", str(tmp_path / "file" / "folder"))
    put()
    assert prebuilt.get(SOURCE, options.parse(WORDS)) is None


@pytest.mark.needs_compiler
def test_what_clang_makes_is_added(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compile_opencl(SOURCE, options=WORDS)
    with pytest.raises(CompileError) as first:
        compile_opencl(SOURCE)
    assert len(list(folder.iterdir())) == 2
    monkeypatch.setenv("GROUNDSTATE_CLANG", "no-such-clang")
    assert compile_opencl(SOURCE, options=WORDS) == made
    with pytest.raises(CompileError) as second:
        compile_opencl(SOURCE)
    assert second.value.log == first.value.log


# --- The SPIR-V of the tests ----------------------------------------------------------------------

ARCHIVES = tests_prebuilt.archives()


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_kept_spirv_is_filed_under_its_source(archive: Path) -> None:
    assert tests_prebuilt.module_of(archive).exists(), "its test file is gone: make spirv"
    for name, entry in tests_prebuilt.entries(archive):
        assert name == prebuilt.file_name(entry.source, entry.options)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_kept_spirv_is_what_the_compiler_makes(archive: Path) -> None:
    """Another version of the compiler may write other SPIR-V, but takes and refuses the same."""
    same_compiler = tests_prebuilt.made_by(archive) == tests_prebuilt.compiler_version()
    for name, entry in tests_prebuilt.entries(archive):
        made = tests_prebuilt.compiled_again(entry).spirv
        if same_compiler:
            assert made == entry.spirv, (
                f"{name} of {archive} has changed: make spirv\n{entry.source}"
            )
        else:
            assert bool(made) == bool(entry.spirv), entry.source
