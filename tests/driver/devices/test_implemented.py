"""docs/reference/implemented.md, the advertised extensions and what the driver runs agree."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from groundstate import ze
from groundstate.driver import entry, extensions, sysman
from registry.load import load
from registry.model import Function
from tests.conftest import check
from tests.driver.support import Bench

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "implemented.md"
UNSUPPORTED = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


def rows(heading: str) -> dict[str, str]:
    """The first and the last column of the tables whose first column is headed so."""
    found = {}
    for table in re.findall(rf"\| {heading} \|.*\n\|-.*\n((?:\|.*\n)+)", PAGE.read_text()):
        for line in table.splitlines():
            cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
            found[cells[0]] = cells[-1]
    return found


def test_page_says_where_each_function_runs(driver: int, library: Path) -> None:
    symbols = subprocess.run(
        ["nm", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    native = set(re.findall(r" [tT] gs_(ze\w+)$", symbols, re.MULTILINE))
    python = entry.answers() | sysman.stand_ins()
    expected = {}
    for name in load().functions:
        where = "native" if name in native else "Python" if name in python else "unsupported"
        expected[name] = where
    assert rows("function") == expected


def test_page_lists_advertised_extensions(driver: int) -> None:
    count = ctypes.c_uint32()
    check(ze.zeDriverGetExtensionProperties(driver, ctypes.byref(count), None))
    answer = (ze.ze_driver_extension_properties_t * count.value)()
    check(ze.zeDriverGetExtensionProperties(driver, ctypes.byref(count), answer))
    versions = {each.name.decode(): each.version for each in answer}
    assert versions == {each.name: each.version for each in extensions.advertised()}
    page = rows("extension")
    assert {name for name, answer in page.items() if answer == "yes"} == set(versions)
    assert {name: answer[4:] for name, answer in page.items() if answer != "yes"} == (
        extensions.NOT_ADVERTISED
    )


def unsupported() -> list[Function]:
    """What the page calls unsupported and can be called with objects that there are."""
    kinds = {"DRIVER", "DEVICE", "CONTEXT", "COMMAND_LIST"}
    registry, page = load(), rows("function")
    return [
        function
        for function in registry.functions.values()
        if function.namespace == "ze"
        and page[function.name] == "unsupported"
        and not {registry.kind_of(p.type.base) for p in function.parameters if not p.optional}
        - kinds
        - {None}
    ]


@pytest.mark.parametrize("function", unsupported(), ids=lambda function: str(function.name))
def test_function_unsupported_on_page_is_refused(bench: Bench, function: Function) -> None:
    registry, memory = load(), ctypes.create_string_buffer(b"\1" * 4096)
    live = {"DRIVER": bench.driver, "DEVICE": bench.device, "CONTEXT": bench.context}
    live["COMMAND_LIST"] = bench.immediate()
    arguments = []
    for parameter in function.parameters:
        kind = registry.kind_of(parameter.type.base)
        if kind and not parameter.type.is_pointer:
            arguments.append(live.get(kind, 0))
        elif parameter.type.is_pointer:
            arguments.append(ctypes.addressof(memory))
        elif parameter.optional or registry.enum_of(parameter.type.base):
            arguments.append(0)
        else:
            arguments.append(1)
    assert getattr(ze, function.name)(*arguments) in (
        UNSUPPORTED,
        ze.ZE_RESULT_ERROR_INVALID_ENUMERATION,
    )
