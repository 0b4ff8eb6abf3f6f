"""The driver is held to the extensions that it advertises."""

import re
from pathlib import Path

import pytest

from groundstate import ze, zet
from groundstate.driver.extensions import NOT_ADVERTISED, Extension, advertised
from registry.generators.implemented import (
    driver_sources,
    extension_names,
    native_functions,
    python_functions,
)
from registry.load import load

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
DRIVER = ROOT / "src" / "groundstate" / "driver"


def sources() -> str:
    """The hand-written source of the driver, without the list that is being checked."""
    files = [*driver_sources(NATIVE), *DRIVER.rglob("*.py")]
    return "\n".join(file.read_text() for file in files if file.name != "extensions.py")


@pytest.fixture(scope="module")
def source() -> str:
    return sources()


@pytest.mark.parametrize("extension", advertised(), ids=lambda extension: str(extension.name))
def test_advertised_extension_exists_completely(extension: Extension, source: str) -> None:
    implemented = native_functions(NATIVE) | python_functions(DRIVER)
    assert set(extension.functions) <= implemented
    for name in extension.structs:
        module, kinds = (
            (zet, zet.zet_structure_type_t)
            if name.startswith("zet_")
            else (ze, ze.ze_structure_type_t)
        )
        stype = kinds(getattr(module, name)._stype_).name
        assert re.search(rf"\b({name}|{stype})\b", source), f"nothing reads or fills {name}"


def test_no_extension_is_advertised_twice() -> None:
    names = [extension.name for extension in advertised()]
    assert len(set(names)) == len(names)


def test_unadvertised_extension_has_a_reason() -> None:
    names = {extension.name for extension in advertised()}
    assert names | set(NOT_ADVERTISED) == set(extension_names())
    assert not names & set(NOT_ADVERTISED)


# Functions of the core API that have the ending of an extension.
WITHOUT_EXTENSION = {
    "zeImageGetDeviceOffsetExp",
    "zeMemGetFileDescriptorFromIpcHandleExp",
    "zeMemGetIpcHandleFromFileDescriptorExp",
    "zeMemGetAtomicAccessAttributeExp",
    "zeMemSetAtomicAccessAttributeExp",
}


def test_extension_function_is_always_advertised() -> None:
    implemented = native_functions(NATIVE) | python_functions(DRIVER)
    promised = {name for extension in advertised() for name in extension.functions}
    extra = {
        function.name
        for function in load().functions.values()
        if function.namespace == "ze" and function.name.endswith(("Ext", "Exp"))
    }
    assert extra & implemented <= promised | WITHOUT_EXTENSION
