"""The helpers that every handler uses on the caller's memory."""

import ctypes
import importlib
import mmap
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from groundstate import ze
from groundstate.driver import api

ROOT = Path(__file__).parents[2]


def ask(wanted: int, capacity: int, handles: list[int]) -> tuple[int, list[int | None]]:
    """Plays a caller with an array of `capacity` handles that asks for `wanted` of them."""
    count = ctypes.c_uint32(wanted)
    array = (ctypes.c_void_p * capacity)() if capacity else None
    address = ctypes.addressof(array) if array is not None else 0
    api.answer_list(ctypes.addressof(count), address, handles)
    return count.value, list(array) if array is not None else []


@pytest.mark.parametrize(
    ("wanted", "capacity", "answer"),
    [
        (0, 0, (3, [])),
        (0, 4, (3, [None] * 4)),
        (5, 0, (3, [])),
        (2, 2, (2, [16, 32])),
        (3, 3, (3, [16, 32, 48])),
        (5, 5, (3, [16, 32, 48, None, None])),
    ],
)
def test_the_count_protocol(
    wanted: int, capacity: int, answer: tuple[int, list[int | None]]
) -> None:
    assert ask(wanted, capacity, [16, 32, 48]) == answer


def test_count_protocol_with_nothing_to_report() -> None:
    assert ask(0, 0, []) == (0, [])
    assert ask(2, 2, []) == (0, [None, None])


def test_structs_fill_in_order_up_to_count() -> None:
    array = (ze.ze_device_cache_properties_t * 3)()
    count = ctypes.c_uint32(2)

    def fill(properties: ze.ze_device_cache_properties_t, size: int) -> None:
        properties.cacheSize = size

    structure = ze.ze_device_cache_properties_t
    addresses = ctypes.addressof(count), ctypes.addressof(array)
    api.answer_structs(*addresses, structure, [10, 20, 30], fill)
    assert [entry.cacheSize for entry in array] == [10, 20, 0]
    assert count.value == 2


def link(*structs: Any) -> int:
    """Chains structs in order and returns the address of the first."""
    for here, following in pairwise(structs):
        here.pNext = ctypes.addressof(following)
    return ctypes.addressof(structs[0])


def test_chain_yields_structs_with_addresses() -> None:
    structs = [ze.ze_eu_count_ext_t(), ze.ze_device_ip_version_ext_t()]
    address = link(*structs)
    expected = [(struct.stype, ctypes.addressof(struct)) for struct in structs]
    assert list(api.chain(address)) == expected
    assert list(api.chain(0)) == []


def test_find_in_chain() -> None:
    structs = [ze.ze_eu_count_ext_t(), ze.ze_device_ip_version_ext_t()]
    address = link(*structs)
    found = api.find_in_chain(address, ze.ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT)
    assert found == ctypes.addressof(structs[1])
    assert api.find_in_chain(address, ze.ZE_STRUCTURE_TYPE_CONTEXT_DESC) == 0


def test_a_chain_that_bites_its_tail_ends() -> None:
    first, second = ze.ze_eu_count_ext_t(), ze.ze_device_ip_version_ext_t()
    address = link(first, second)
    second.pNext = address
    assert len(list(api.chain(address))) == api.MAX_CHAIN_LENGTH


def test_a_chain_ends_where_nobody_may_read() -> None:
    page = mmap.mmap(-1, mmap.PAGESIZE)
    forbidden = ctypes.addressof(ctypes.c_char.from_buffer(page))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(forbidden), mmap.PAGESIZE, 0) == 0
    struct = ze.ze_eu_count_ext_t(pNext=forbidden)
    address = ctypes.addressof(struct)
    assert list(api.chain(address)) == [(struct.stype, address)]


@pytest.mark.parametrize("nowhere", [8, 0xDEAD0000, 0x3000000000, 2**64 - 8])
def test_chain_ends_at_invalid_pointer(nowhere: int) -> None:
    struct = ze.ze_eu_count_ext_t(pNext=nowhere)
    address = ctypes.addressof(struct)
    assert list(api.chain(address)) == [(struct.stype, address)]
    assert list(api.chain(nowhere)) == []


@pytest.fixture
def extensions() -> api.Extensions:
    table = api.Extensions("DEVICE_PROPERTIES")

    @table.add("ze_eu_count_ext_t")
    def fill(properties: ze.ze_eu_count_ext_t, subject: int) -> None:
        properties.numTotalEUs = subject

    return table


def test_chained_struct_behind_unknown_is_filled(extensions: api.Extensions) -> None:
    properties, unknown, wanted = (
        ze.ze_device_properties_t(),
        ze.ze_image_desc_t(),
        ze.ze_eu_count_ext_t(),
    )
    link(properties, unknown, wanted)
    before = bytes(unknown)
    extensions.fill(properties, 7)
    assert wanted.numTotalEUs == 7
    assert wanted.stype == ze.ZE_STRUCTURE_TYPE_EU_COUNT_EXT
    assert bytes(unknown) == before


def test_uninitialised_struct_chain_is_ignored(extensions: api.Extensions) -> None:
    properties = ze.ze_device_properties_t()
    properties.stype = 0x55555555
    properties.pNext = 0xDEAD0000DEAD
    extensions.fill(properties, 7)
    assert properties.stype == 0x55555555
    assert properties.pNext == 0xDEAD0000DEAD


def test_text_is_cut_between_characters() -> None:
    properties = ze.ze_device_memory_properties_t()
    api.write_text(properties, "name", "é" * 200)
    assert properties.name.decode() == "é" * 127
    api.write_text(properties, "name", "short")
    assert properties.name == b"short"


def test_text_that_is_not_utf8_can_be_read() -> None:
    buffer = ctypes.create_string_buffer(b"zex\xff")
    assert api.read_text(ctypes.addressof(buffer)) == "zex\\xff"


def test_handlers_register_under_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "HANDLERS", {})

    def zeSomething() -> None: ...

    assert api.handler(zeSomething) is zeSomething
    assert {"zeSomething": zeSomething} == api.HANDLERS


def test_a_failure_carries_result_and_sentence() -> None:
    failure = api.Failure(ze.ZE_RESULT_ERROR_INVALID_SIZE, "too small")
    assert failure.result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert failure.sentence == str(failure) == "too small"


def test_c_half_asks_for_requests_that_exist() -> None:
    for noun in (
        "kernel",
        "variants",
        "debugging.launches",
        "debugging.sessions.process",
        "profiling",
        "checking.session",
        "checking.kernel_findings",
        "checking.command_races",
        "checking.portability",
        "checking.uninitialised_findings",
        "checking.host_findings",
    ):
        importlib.import_module(f"groundstate.driver.{noun}")
    source = (ROOT / "native" / "python" / "handlers.c").read_text()
    asked = re.findall(r'PyDict_GetItemString\(table, "(\w+)"\)', source)
    compiling = ["compile_entry_point", "compile_counting", "add_variant", "remember_variant"]
    reports = ["report_launch", "report_command_race", "report_limits", "report_unwritten_copy"]
    debugging = ["debug_launch", "queue_changed"]
    ending = ["describe_kernels", "end_findings"]
    assert asked == [*compiling, *ending, *debugging, *reports, "report_host_finding"]
    assert set(asked) == set(api.REQUESTS)
