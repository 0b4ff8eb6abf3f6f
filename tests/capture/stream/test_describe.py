"""Calls in words: what is known is named, and what a stranger made up does no harm."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from groundstate import ze
from groundstate.capture.describe import NamedCall, named_calls
from groundstate.capture.stream import Block, Call, Kind, StreamReader, StreamWriter
from groundstate.capture.stream.formats import Form, Phase

BEFORE, AFTER = Phase.BEFORE, Phase.AFTER


def block(address: int, data: bytes, phase: Phase = BEFORE) -> Block:
    return Block(address, len(data), phase, Form.BYTES, data)


def named(name: str, *arguments: int, result: int = 0, blocks: tuple[Block, ...] = ()) -> NamedCall:
    return NamedCall(0, name, Call(0, 0, 0, 0, 0, result, arguments, blocks))


def context_desc(**fields: int) -> bytes:
    return bytes(ze.ze_context_desc_t(**fields))


def test_arguments_and_results_have_their_names() -> None:
    call = named("zeInit", ze.ZE_INIT_FLAG_GPU_ONLY, result=ze.ZE_RESULT_ERROR_UNINITIALIZED)
    assert str(call) == "zeInit(flags=ZE_INIT_FLAG_GPU_ONLY) = ZE_RESULT_ERROR_UNINITIALIZED"


def test_what_changed_is_shown_before_and_after() -> None:
    count = (block(16, b"\1\0\0\0"), block(16, b"\2\0\0\0", AFTER))
    assert str(named("zeDriverGet", 16, 0, blocks=count)) == (
        "zeDriverGet(pCount=0x10 1 -> 2, phDrivers=null) = ZE_RESULT_SUCCESS"
    )


def test_chains_are_followed() -> None:
    limits = ze.ze_relaxed_allocation_limits_exp_desc_t(flags=1)
    head = ze.ze_host_mem_alloc_desc_t(pNext=0x50)
    call = named(
        "zeMemAllocHost",
        1,
        0x40,
        8,
        8,
        0x60,
        blocks=(block(0x40, bytes(head)), block(0x50, bytes(limits))),
    )
    assert "+ ze_relaxed_allocation_limits_exp_desc_t(stype=" in str(call)
    assert call.argument("size") == 8
    assert call.value("pptr", AFTER) is None
    with pytest.raises(KeyError):
        call.argument("nothing")


def test_structs_by_value_and_numbers() -> None:
    handle = block(0x40, bytes(64))
    assert "handle=ze_ipc_mem_handle_t(" in str(
        named("zeMemPutIpcHandle", 1, 0x40, blocks=(handle,))
    )
    half = int.from_bytes(b"\0\0\0\0\0\0\xe0\x3f", "little")
    assert "factor=0.5" in str(named("zesPerformanceFactorSetConfig", 1, half))


@pytest.mark.parametrize(
    "blocks",
    [
        (),
        (block(0x40, b""),),
        (block(0x40, b"\1"),),
        (block(0x40, context_desc(pNext=0x40)),),
        (block(0x40, context_desc(pNext=0x48)), block(0x48, b"\xff" * 16)),
        (block(0x40, context_desc(pNext=0x48)), block(0x48, b"\x0d\0\0\0")),
        (Block(0x40, 24, BEFORE, Form.DIGESTS, bytes(16)),),
        (Block(0x40, 24, BEFORE, 77, bytes(16)),),
    ],
)
def test_blocks_that_do_not_fit_do_no_harm(blocks: tuple[Block, ...]) -> None:
    assert str(named("zeContextCreate", 1, 0x40, 0x60, blocks=blocks)).startswith(
        "zeContextCreate("
    )


def test_long_array_formats_only_its_beginning() -> None:
    long = named(
        "zeModuleGetNativeBinary", 1, 2, 0x40, blocks=(block(0x40, bytes(8 << 20), AFTER),)
    )
    tracemalloc.start()
    assert f"... {8 << 20} in all" in str(long)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_names_from_strangers_are_quoted(tmp_path: Path) -> None:
    path = tmp_path / "s.gsstream"
    with StreamWriter(path) as stream:
        stream.add(Kind.FUNCTION, b"\7\0\0\0ze\x1b[2J")
        stream.add(Kind.FUNCTION, b"\7")
        stream.add(Kind.CALL, Call(7, 0, 0, 0, 0, 0, (1, 2), ()).pack())
        stream.add(Kind.CALL, Call(8, 0, 0, 0, 0, 0, (), ()).pack())
    with StreamReader(path) as reader:
        lines = [str(call) for call in named_calls(reader)]
    assert "\x1b" not in "".join(lines)
    assert lines[0].startswith("unknown function 'ze\\x1b[2J'(")
    assert lines[1].startswith("unnamed function 8(")
