"""Print `native/generated/tables.c`: the dispatch tables that a loader asks for.

A getter writes only the fields that the asked-for version of the API has: the table of an older
loader is shorter, and may lie on its stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from registry.generators.functions import DRIVER_TABLES, NOTICE, getter_prototype
from registry.load import load
from registry.model import Registry, Table

HELPER = """\
static ze_result_t check_request(ze_api_version_t version, const void *table)
{
    if (NULL == table)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (ZE_MAJOR_VERSION(version) != ZE_MAJOR_VERSION(ZE_API_VERSION_CURRENT))
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    return ZE_RESULT_SUCCESS;
}
"""


def generate() -> Iterator[str]:
    registry = load()
    yield NOTICE
    yield '#include "functions.h"\n'
    yield HELPER
    for table in registry.tables.values():
        if table.getter is not None:
            yield from _filled(table)
            yield from _getter(table)
    for name, type_name in DRIVER_TABLES.items():
        yield from _driver_table(name, registry.tables[type_name], registry)


def _filled(table: Table) -> Iterator[str]:
    yield f"static {table.name} {table.name}_filled = {{"
    for field in table.fields:
        yield f"    .{field.name} = {field.function},"
    yield "};\n"


def _getter(table: Table) -> Iterator[str]:
    yield f"GS_PUBLIC {getter_prototype(table)}"
    yield "{"
    yield "    ze_result_t result = check_request(version, pDdiTable);"
    yield "    if (ZE_RESULT_SUCCESS != result)"
    yield "        return result;"
    for since, group in groupby(table.fields, key=lambda field: field.since):
        assert since is not None
        indent = "    "
        if since > (1, 0):
            yield f"    if (version >= ZE_API_VERSION_{since[0]}_{since[1]}) {{"
            indent = "        "
        for field in group:
            yield f"{indent}pDdiTable->{field.name} = {field.function};"
        if since > (1, 0):
            yield "    }"
    yield "    return ZE_RESULT_SUCCESS;"
    yield "}\n"


def _driver_table(name: str, table: Table, registry: Registry) -> Iterator[str]:
    yield f"const {table.name} {name} = {{"
    yield "    .version = ZE_API_VERSION_CURRENT,"
    yield "    .isValidFlag = 1,"
    for field in table.fields:
        inner = (field.type or "").removesuffix(" *")
        if inner in registry.tables:
            yield f"    .{field.name} = &{inner}_filled,"
    yield "};\n"
