"""The driver is held to the extensions that it advertises."""

import re
from pathlib import Path

import pytest

from groundstate import ze
from groundstate.driver.extensions import Extension, advertised
from registry.generate_implemented import native_functions, python_functions

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
DRIVER = ROOT / "src" / "groundstate" / "driver"


def sources() -> str:
    """The hand-written source of the driver, without the list that is being checked."""
    files = [*NATIVE.glob("*.c"), *DRIVER.rglob("*.py")]
    return "\n".join(file.read_text() for file in files if file.name != "extensions.py")


@pytest.fixture(scope="module")
def source() -> str:
    return sources()


@pytest.mark.parametrize("extension", advertised(), ids=lambda extension: str(extension.name))
def test_everything_in_an_advertised_extension_exists(extension: Extension, source: str) -> None:
    implemented = native_functions(NATIVE) | python_functions(DRIVER)
    assert set(extension.functions) <= implemented
    for name in extension.structs:
        stype = ze.ze_structure_type_t(getattr(ze, name)._stype_).name
        assert re.search(rf"\b({name}|{stype})\b", source), f"nothing reads or fills {name}"


def test_no_extension_is_advertised_twice() -> None:
    names = [extension.name for extension in advertised()]
    assert len(set(names)) == len(names)
