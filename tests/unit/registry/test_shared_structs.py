"""What C and Python both know is stated once; everything else is generated or agrees."""

import ctypes
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate import native_layouts
from groundstate.capture.stream import formats
from registry import shared_structs, stream_format
from registry.generators.shared_structs import python_name
from registry.generators.stream_format import grammar, python_format
from registry.layout import Field, Layouts, Struct

ROOT = Path(__file__).parents[3]
HEADERS = ("native/generated/shared.h", "native/capture/generated/stream_format.h")


def checked(folder: Path) -> str:
    """What `python -m registry --check` says in a copy of the repository; empty if all is well."""
    command = [sys.executable, "-m", "registry", "--check"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert bool(done.stdout) == bool(done.returncode)
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The registry and the files that it writes, in another folder."""
    folder = tmp_path_factory.mktemp("repository")
    ignored = shutil.ignore_patterns("__pycache__", "_native")
    for part in ("registry", "native", "src", "docs"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    return folder


def test_unchanged_copy_passes_check(copy: Path) -> None:
    assert checked(copy) == ""


@pytest.mark.parametrize(
    ("facts", "old", "new", "stale"),
    [
        pytest.param(
            "registry/shared_structs.py",
            'Field("print_buffer", "void *", "where printf writes"),',
            'Field("print_buffer", "uint32_t", "where printf writes"),',
            ("native/generated/shared.h", "src/groundstate/native_layouts.py"),
            id="dispatch",
        ),
        pytest.param(
            "registry/stream_format.py",
            '"u64:began", "u64:time"',
            '"u64:time", "u32:began"',
            (
                "native/capture/generated/stream_format.h",
                "src/groundstate/capture/stream/formats.py",
            ),
            id="call",
        ),
    ],
)
def test_changed_field_fails_check(
    copy: Path, facts: str, old: str, new: str, stale: tuple[str, ...]
) -> None:
    path = copy / facts
    before = path.read_text()
    assert before.count(old) == 1
    path.write_text(before.replace(old, new))
    try:
        said = checked(copy)
    finally:
        path.write_text(before)
    assert all(f"--- {name}" in said for name in stale)


@pytest.mark.parametrize("name", HEADERS)
def test_c_compiler_agrees_with_header(name: str) -> None:
    command = ["cc", "-std=gnu11", "-fsyntax-only", "-x", "c", str(ROOT / name)]
    subprocess.run(command, check=True)


@pytest.mark.parametrize("name", HEADERS)
def test_c_compiler_refuses_changed_header(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text()
    changed = re.sub(r"    uint32_t (\w+);", r"    uint64_t \1;", text, count=1)
    assert changed != text
    (tmp_path / "changed.h").write_text(changed)
    command = ["cc", "-std=gnu11", "-fsyntax-only", "-x", "c", str(tmp_path / "changed.h")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "static assertion failed" in done.stderr


@pytest.mark.parametrize("layout", shared_structs.STRUCTS, ids=lambda layout: str(layout.name))
def test_ctypes_agrees_with_registry(layout: Struct) -> None:
    made = getattr(native_layouts, python_name(layout))
    assert ctypes.sizeof(made) == shared_structs.LAYOUTS.size(layout)
    for field, offset in shared_structs.LAYOUTS.offsets(layout):
        if field.count > 0:
            assert native_layouts.offset_of(made, field.name) == offset


@pytest.mark.parametrize("layout", stream_format.STRUCTS, ids=lambda layout: str(layout.name))
def test_struct_format_agrees_with_registry(layout: Struct) -> None:
    name = layout.name.removeprefix("gc_layout_").upper()
    made: struct.Struct = getattr(formats, name)
    assert made.format == python_format(layout)
    sealed = struct.calcsize("<I") if layout.fields[-1].name == "crc" else 0
    assert made.size + sealed == stream_format.LAYOUTS.size(layout)


@pytest.mark.parametrize("layout", stream_format.STRUCTS, ids=lambda layout: str(layout.name))
def test_grammar_in_docs_agrees_with_registry(layout: Struct) -> None:
    documented = " ".join((ROOT / "docs/reference/stream-format.md").read_text().split())
    wanted = grammar(layout)
    if layout.name == "gc_layout_header":  # of a stream; that of a journal has a size there
        wanted = wanted.replace("u32:size", "u32:0")
    assert wanted in documented


@pytest.mark.parametrize(
    ("page", "name", "origin"),
    [
        ("internals/compiler.md", "gs_dispatch", 0),
        ("internals/compiler.md", "gs_memory_header", -24),
        ("reference/images.md", "gs_image_view", 0),
    ],
)
def test_struct_in_docs_agrees_with_registry(page: str, name: str, origin: int) -> None:
    text = (ROOT / "docs" / page).read_text()
    shown = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", text, re.DOTALL)
    assert shown is not None
    found: dict[str, int] = {}
    for names, offsets in re.findall(
        r"^    (?:const )?\w+ \*?(\w+[^;]*);\s*/\*\s*([-\d, ]+)", shown[1], re.M
    ):
        for each, offset in zip(names.split(","), offsets.split(","), strict=True):
            found[each.strip().partition("[")[0]] = int(offset)
    layout = shared_structs.LAYOUTS.structs[name]
    assert found == {f.name: origin + at for f, at in shared_structs.LAYOUTS.offsets(layout)}


def test_padding_is_where_c_puts_it() -> None:
    inner = Struct("inner", "", (Field("a", "uint8_t"), Field("b", "uint32_t")))
    outer = Struct("outer", "", (Field("c", "uint16_t"), Field("d", "inner", count=2)))
    packed = Struct("packed", "", (Field("a", "uint8_t"), Field("b", "uint64_t")), is_packed=True)
    layouts = Layouts((inner, outer, packed))
    assert [offset for _, offset in layouts.offsets(outer)] == [0, 4]
    assert (layouts.size(inner), layouts.size(outer), layouts.size(packed)) == (8, 20, 9)
