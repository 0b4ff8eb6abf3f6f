"""The raw bindings: names as in C, lazily made, printable, and callable through any library."""

import ctypes
import enum
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from groundstate import _raw, ze, zer, zes, zet
from registry.load import load
from registry.model import NAMESPACES

REGISTRY = load()
MODULES: dict[str, ModuleType] = {
    name: importlib.import_module(f"groundstate.{name}") for name in NAMESPACES
}


def test_every_type_and_constant_has_its_c_name() -> None:
    sections = (
        REGISTRY.structs,
        REGISTRY.enums,
        REGISTRY.handles,
        REGISTRY.typedefs,
        REGISTRY.callbacks,
        REGISTRY.tables,
    )
    for section in sections:
        for name, fact in section.items():
            assert getattr(MODULES[fact.namespace], name) is not None
    for constant in REGISTRY.constants.values():
        assert getattr(MODULES[constant.namespace], constant.name) == constant.value


def test_enum_values_are_members_and_constants() -> None:
    for fact in REGISTRY.enums.values():
        module = MODULES[fact.namespace]
        made = getattr(module, fact.name)
        assert issubclass(made, enum.IntFlag if fact.is_flags else enum.IntEnum)
        assert {name: made[name].value for name, _ in fact.known} == dict(fact.known)
        for name, value in fact.values:
            assert getattr(module, name) == value


def test_dir_lists_functions_types_and_constants() -> None:
    names = dir(zes)
    assert {"zesDeviceGet", "zes_pci_properties_t", "ZES_STRING_PROPERTY_SIZE"} <= set(names)
    assert {"ZES_FAN_SPEED_MODE_FIXED", "zes_fan_handle_t"} <= set(names)
    assert "zerGetDefaultContext" in dir(zer)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="zeNothing"):
        ze.zeNothing  # type: ignore[attr-defined]  # noqa: B018


def test_importing_makes_nothing_yet() -> None:
    program = (
        "from groundstate import ze, zes, zet, zer\n"
        "import enum\n"
        "made = [m.NAMESPACE._made for m in (ze, zes, zet, zer)]\n"
        "assert not any(made), made\n"
        "ze.ze_context_desc_t\n"
        "assert set(ze.NAMESPACE._made) == {'ze_context_desc_t', 'ze_context_flags_t'}\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_structs_know_their_type() -> None:
    for fact in REGISTRY.structs.values():
        if fact.stype is not None:
            module = MODULES[fact.namespace]
            assert getattr(module, fact.name)().stype == getattr(module, fact.stype)
    older = ze.ze_device_properties_t(stype=ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2)
    assert older.stype == ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
    row = ze.ze_device_memory_properties_t.array(3)
    assert [s.stype for s in row] == [ze.ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES] * 3


def test_structs_print_their_fields() -> None:
    properties = ze.ze_device_properties_t(
        type=ze.ZE_DEVICE_TYPE_GPU,
        flags=ze.ZE_DEVICE_PROPERTY_FLAG_INTEGRATED | 0x40000000,
        pNext=0x1234,
        name="Grundzustand é".encode(),
    )
    text = repr(properties)
    assert text.startswith("ze_device_properties_t(stype=ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ")
    assert "pNext=0x1234" in text
    assert "type=ZE_DEVICE_TYPE_GPU" in text
    assert "flags=ZE_DEVICE_PROPERTY_FLAG_INTEGRATED|0x40000000" in text
    assert "uuid=ze_device_uuid_t(id=[0, 0, " in text
    assert "name='Grundzustand é'" in text
    assert str(properties) == text


def test_every_struct_prints() -> None:
    for fact in REGISTRY.structs.values():
        text = repr(getattr(MODULES[fact.namespace], fact.name)())
        assert text.startswith(f"{fact.name}({fact.fields[0].name}=")
        assert all(f"{field.name}=" in text for field in fact.fields)


def test_values_unknown_to_the_enum_are_kept() -> None:
    properties = ze.ze_device_properties_t(type=99)
    assert properties.type == 99
    assert "type=99" in repr(properties)


def test_repr_does_not_follow_string_pointer() -> None:
    desc = ze.ze_kernel_desc_t()
    ctypes.c_void_p.from_buffer(desc, ze.ze_kernel_desc_t.pKernelName.offset).value = 0x10  # type: ignore[union-attr]
    assert "pKernelName=0x10" in repr(desc)


def test_strings_in_descriptors_are_bytes() -> None:
    desc = ze.ze_kernel_desc_t(pKernelName=b"main")
    assert desc.pKernelName == b"main"


def test_a_field_called_global_can_be_reached() -> None:
    result = ze.ze_kernel_timestamp_result_t()
    result.global_.kernelEnd = 7
    assert getattr(result, "global").kernelEnd == 7
    assert "global=ze_kernel_timestamp_data_t(kernelStart=0, kernelEnd=7)" in repr(result)


def test_versions_are_packed_as_in_c() -> None:
    assert ze.ZE_MAKE_VERSION(1, 17) == ze.ZE_API_VERSION_CURRENT == ze.ZE_API_VERSION_CURRENT_M
    assert (ze.ZE_MAJOR_VERSION(0x10011), ze.ZE_MINOR_VERSION(0x10011)) == (1, 17)
    assert ze.ZE_BIT(3) == 8


def test_types_of_other_namespaces() -> None:
    assert zet.zet_core_callbacks_t is ze.ze_callbacks_t
    assert zes.zes_device_handle_t is ctypes.c_void_p
    assert ze.ze_bool_t is ctypes.c_uint8


LIBRARY = r"""
#include <stdint.h>
typedef struct { char data[64]; } handle_t;
uint32_t zeInit(uint32_t flags) { return flags ? 0x7800000c : 0; }
uint32_t zeDriverGet(uint32_t *count, void **drivers)
{
    *count += 1;
    if (drivers)
        drivers[0] = (void *)0x7fff12345678;
    return 0;
}
void *zeDriverGetDefaultContext(void *driver) { return driver; }
uint32_t zeMemPutIpcHandle(void *context, handle_t handle)
{
    (void)context;
    return (uint32_t)handle.data[63];
}
uint32_t zeCommandListAppendHostFunction(void *list, void (*call)(void *), void *data, void *next,
                                         void *event, uint32_t count, void **events)
{
    (void)list, (void)next, (void)event, (void)count, (void)events;
    call(data);
    return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> _raw.Library:
    folder = tmp_path_factory.mktemp("raw")
    source, built = folder / "library.c", folder / "library.so"
    source.write_text(LIBRARY)
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(built)], check=True)
    return _raw.Library(str(built))


def test_functions_are_typed_once(library: _raw.Library) -> None:
    assert library.zeInit(0) == ze.ZE_RESULT_SUCCESS
    assert ze.ze_result_t(library.zeInit(9)) is ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    assert library.zeInit is library.zeInit
    assert library.zeInit.argtypes == [ctypes.c_uint32]
    assert library.zeInit.restype is ctypes.c_uint32


def test_pointers_may_be_given_in_many_ways(library: _raw.Library) -> None:
    count = ctypes.c_uint32()
    drivers = (ctypes.c_void_p * 1)()
    assert library.zeDriverGet(ctypes.byref(count), None) == 0
    assert library.zeDriverGet(ctypes.pointer(count), drivers) == 0
    assert library.zeDriverGet(ctypes.addressof(count), ctypes.byref(drivers)) == 0
    assert count.value == 3
    assert drivers[0] == 0x7FFF12345678


def test_handles_keep_their_upper_half(library: _raw.Library) -> None:
    assert library.zeDriverGetDefaultContext(0x7FFF12345678) == 0x7FFF12345678


def test_structs_are_passed_by_value(library: _raw.Library) -> None:
    handle = ze.ze_ipc_mem_handle_t.from_buffer_copy(b"\0" * 63 + b"\x05")
    assert library.zeMemPutIpcHandle(None, handle) == 5


def test_ipc_handles_are_bytes_and_no_text() -> None:
    data = bytes(range(64))
    handle = ze.ze_ipc_event_pool_handle_t.from_buffer_copy(data)
    assert bytes(handle.data) == bytes(handle) == data


def test_callbacks_are_called(library: _raw.Library) -> None:
    seen: list[int] = []
    callback = ze.ze_host_function_callback_t(seen.append)
    library.zeCommandListAppendHostFunction(None, callback, 0x55, None, None, 0, None)
    assert seen == [0x55]


def test_missing_functions_are_named(library: _raw.Library) -> None:
    with pytest.raises(_raw.MissingFunctionError, match=r"library\.so has no function 'zeEventC"):
        library.zeEventCreate  # noqa: B018
    with pytest.raises(_raw.MissingFunctionError, match="API has no function 'zeNothing'"):
        library.zeNothing  # noqa: B018
    assert not hasattr(library, "other")
    assert "library.so" in repr(library)


def test_functions_use_library_of_the_knob(library: _raw.Library) -> None:
    program = "from groundstate import ze\nassert ze.zeInit(0) == 0\nassert ze.zeInit(9) != 0\n"
    environment = {"GROUNDSTATE_LIBRARY": library.path, "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    program = "from groundstate import ze\nze.zeInit"
    path = str(tmp_path / "nothing.so")
    environment = {"GROUNDSTATE_LIBRARY": path, "PYTHONPATH": ":".join(sys.path)}
    outcome = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert outcome.returncode == 1
    assert f"cannot open the driver library {path}" in outcome.stderr
