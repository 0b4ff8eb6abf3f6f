"""Sizes, offsets and values agree with a C compiler, with and without the headers of libze-dev."""

import ctypes
import importlib
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from registry.load import load
from registry.model import NAMESPACES, Struct, Table

ROOT = Path(__file__).parents[3]
GENERATED = ROOT / "native" / "generated"
REAL = Path("/usr/include/level_zero")
REGISTRY = load()

needs_real_headers = pytest.mark.skipif(
    not (REAL / "ze_api.h").exists(), reason="the Debian package libze-dev is not installed"
)


def compile_assertions(folder: Path, includes: list[str], assertions: list[str]) -> None:
    """Lets the C compiler prove the assertions; its complaints are the failure."""
    assert len(assertions) > 100
    source = folder / "assertions.c"
    lines = ["#include <stddef.h>", *(f"#include {include}" for include in includes)]
    lines += [f'_Static_assert({assertion}, "{assertion}");' for assertion in assertions]
    source.write_text("\n".join(lines) + "\n")
    command = ["gcc", "-std=gnu11", "-fsyntax-only", f"-I{GENERATED}", str(source)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr[:4000]


def layout(name: str, size: int, offsets: dict[str, int]) -> Iterator[str]:
    yield f"sizeof({name}) == {size}"
    for field, offset in offsets.items():
        yield f"offsetof({name}, {field}) == {offset}"


def offsets_of(thing: Struct | Table) -> dict[str, int]:
    return {field.name: field.offset for field in thing.fields}


LAID_OUT: list[Struct | Table] = [*REGISTRY.structs.values(), *REGISTRY.tables.values()]


def test_generated_c_declarations(tmp_path: Path) -> None:
    assertions: list[str] = []
    for thing in LAID_OUT:
        assertions += layout(thing.name, thing.size, offsets_of(thing))
    for struct in REGISTRY.structs.values():
        assertions.append(f"_Alignof({struct.name}) == {struct.align}")
    for enum in REGISTRY.enums.values():
        assertions += [f"{name} == {value}" for name, value in enum.values]
        assertions.append(f"sizeof({enum.name}) == 4")
    assertions += layout(
        "ze_handle_t", 32, {"pCore": 0, "pTools": 8, "pSysman": 16, "pRuntime": 24}
    )
    compile_assertions(tmp_path, ['"ze_types.h"'], assertions)


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_ctypes_structs(namespace: str) -> None:
    module = importlib.import_module(f"groundstate.{namespace}")
    for thing in LAID_OUT:
        if thing.namespace != namespace:
            continue
        made = getattr(module, thing.name)
        assert ctypes.sizeof(made) == thing.size, thing.name
        offsets = {name: getattr(made, name).offset for name, _ in made._fields_}
        assert offsets == offsets_of(thing), thing.name


@cache
def real_text() -> str:
    """The headers of libze-dev without comments."""
    names = ["ze_api.h", "zes_api.h", "zet_api.h", "ze_ddi.h", "zes_ddi.h", "zet_ddi.h"]
    text = "\n".join((REAL / name).read_text() for name in names)
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def real_members(kind: str) -> dict[str, list[str]]:
    """The structs or enums of the real headers, each with the names of its members."""
    bodies = re.findall(rf"typedef {kind} _\w+\s*\{{([^}}]*)\}}\s*(\w+);", real_text())
    if kind == "enum":
        return {name: re.findall(r"^\s*(\w+)", body, re.MULTILINE) for body, name in bodies}
    return {name: re.findall(r"(\w+)\s*(?:\[\w+\])?;", body) for body, name in bodies}


REAL_INCLUDES = ["<level_zero/ze_api.h>", "<level_zero/zes_api.h>", "<level_zero/zet_api.h>"]
REAL_TABLES = [include.replace("_api", "_ddi") for include in REAL_INCLUDES]


@needs_real_headers
def test_real_headers_have_same_struct_layouts(tmp_path: Path) -> None:
    real = {**real_members("struct"), **real_members("union")}
    structs = {name: members for name, members in real.items() if "dditable" not in name}
    assert len(structs) > 250
    assertions: list[str] = []
    for name, members in structs.items():
        ours = REGISTRY.structs[name]
        offsets = {n: o for n, o in offsets_of(ours).items() if n in members}
        assert list(offsets) == members, name
        if len(offsets) == len(ours.fields):
            assertions += layout(name, ours.size, offsets)
        else:
            assertions += [*layout(name, ours.size, offsets)][1:]
    compile_assertions(tmp_path, REAL_INCLUDES, assertions)


@needs_real_headers
def test_real_headers_give_enums_the_same_values(tmp_path: Path) -> None:
    ours = {name: value for enum in REGISTRY.enums.values() for name, value in enum.values}
    names = [name for members in real_members("enum").values() for name in members]
    changing = {name for name in names if name.endswith("_VERSION_CURRENT")}
    renamed = {"ZE_PHYSICAL_MEM_FLAG_TBD", "ZE_FABRIC_VERTEX_EXP_TYPE_SUBEVICE"}
    assert set(names) - set(ours) == renamed
    kept = [name for name in names if name not in changing | renamed]
    assertions = [f"{name} == {ours[name]}" for name in kept]
    compile_assertions(tmp_path, REAL_INCLUDES, assertions)


@needs_real_headers
def test_real_tables_have_fields_of_their_version(tmp_path: Path) -> None:
    """The headers of libze-dev describe API 1.4: their tables are ours without the newer fields."""
    assertions = ["ZE_API_VERSION_CURRENT == ZE_API_VERSION_1_4"]
    real = {name: m for name, m in real_members("struct").items() if "dditable" in name}
    for name, members in real.items():
        table = REGISTRY.tables[name]
        if table.getter is None:
            continue
        fields = [field for field in table.fields if field.since and field.since <= (1, 4)]
        assert [field.name for field in fields] == members, name
        assertions += layout(name, 8 * len(fields), {f.name: f.offset for f in fields})
    compile_assertions(tmp_path, REAL_TABLES, assertions)


@needs_real_headers
def test_real_headers_declare_the_same_functions(tmp_path: Path) -> None:
    """Compiling both declarations of each function in one file proves that they agree."""
    declared = set(re.findall(r"\b(ze[st]?[A-Z]\w+)\(", real_text())) & set(REGISTRY.functions)
    assert len(declared) > 250
    assertions = []
    for name in sorted(declared):
        function = REGISTRY.functions[name]
        parameters = ", ".join(p.type.text for p in function.parameters) or "void"
        pointer = f"{function.returns} (*)({parameters})"
        assertions.append(f"__builtin_types_compatible_p(__typeof__(&{name}), {pointer})")
    compile_assertions(tmp_path, REAL_INCLUDES, assertions)
