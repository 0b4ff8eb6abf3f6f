"""Error messages speak of Python's names: every sentence of the driver is looked at."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import groundstate as gs
from groundstate.core import spelling
from groundstate.core.spelling import in_python
from registry.generators.implemented import driver_sources

ROOT = Path(__file__).parents[2]
CORE, DRIVER, NATIVE = (
    ROOT / "src" / "groundstate" / "core",
    ROOT / "src" / "groundstate" / "driver",
    ROOT / "native",
)

C_NAME = re.compile(
    r"(?<!groundstate\.zes\.)\b(?:ZE[ST]?_\w+|ze[a-z]?[A-Z]\w+|ze[st]?_\w+_t|\w+->\w+|p?h[A-Z]\w+)\b"
)

NOT_IN_PYTHON = {
    "ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY",  # import_host takes memory that can be written only
    "zeInit",
    "zeInitDrivers",  # the first thing that the objects do
    "zeDeviceGetCounterBasedEventMaxValue",
    "zeDeviceGetRuntimeRequirements",
    "zerTranslateIdentifierToDeviceHandle",
    "ze_record_replay_graph_ext_dump_desc_t",
    "ze_sampler_desc_t",  # chained to the descriptor of a bindless image
    "handleOut",  # of the loader
}
"""What sentences mention that the objects do not offer, so that nobody who uses them meets it."""


def sentences() -> Iterator[str]:
    """Every sentence in the sources of the driver, without what is filled in."""
    for path in driver_sources(NATIVE):
        if path.name in ("loader.c", "tracer.c"):  # functions of loaders, which nobody calls here
            continue
        code = path.read_text(encoding="utf-8")
        for call in re.findall(r"gs_fail\w*\((.*?)\);", code, re.DOTALL):
            yield "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call))
        yield from re.findall(r'"(create [^"]*)"', code)
    for path in (NATIVE / "generated").glob("stubs_ze.c"):
        for condition in re.findall(r'gs_fail_condition.*"(.*)"', path.read_text(encoding="utf-8")):
            if "nullptr" not in condition:
                yield f"not allowed: {condition}"
    for path in DRIVER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and name in ("Failure", "Unsupported"):
                texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
                yield "".join(text for text in texts if isinstance(text, str))


def test_driver_messages_keep_no_c_api_names() -> None:
    found = list(sentences())
    assert len(found) > 250
    left = {
        name: sentence
        for sentence in found
        for name in C_NAME.findall(in_python(sentence.replace("%s: ", "zeSome: ", 1))[8:])
        if name not in NOT_IN_PYTHON and not sentence.startswith(name)
        if not name.lower().startswith("zet")  # tools, which the objects do not have
    }
    assert left == {}


def test_every_flag_set_by_argument_is_known() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in CORE.rglob("*.py"))
    flags = set(re.findall(r"\* ze\.(ZE_\w+_FLAG_\w+)", code))
    assert len(flags) > 15
    assert flags <= set(spelling._FLAGS)


def test_arguments_in_the_table_exist() -> None:
    for said in {*spelling._FLAGS.values(), *spelling._FUNCTIONS.values()}:
        for name, attribute in re.findall(r"\b([A-Z]\w+)\.(\w+)", said):
            assert hasattr(getattr(gs, name), attribute), said
        for name, argument in re.findall(r"([A-Z][\w.]+)\(\.\.\., (\w+)=", said):
            kind, _, method = name.partition(".")
            function = getattr(getattr(gs, kind), method or "__init__")
            assert argument in getattr(function, "__func__", function).__code__.co_varnames, said


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("zeA: not allowed: 0 == size", "zeA: not allowed: the size is 0 bytes"),
        ("zeA: dstptr must not be null", "zeA: the destination must not be null"),
        ("zeA: desc->mode has the unknown value 0x9", "zeA: mode has the unknown value 0x9"),
        (
            "zeA: hEvent is a ze_fence_handle_t, not a ze_event_handle_t",
            "zeA: event is a Fence, not an Event",
        ),
        ("zeA: use ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS", "zeA: use QueueMode.SYNCHRONOUS"),
        ("zeA: maxGroupSizeX is 4", "zeA: Device.compute_properties.max_group_size_x is 4"),
        ("zeA: the module has no kernel 'dstptr'", "zeA: the module has no kernel 'dstptr'"),
        ("zesA: ZES_DEVICE_ECC_STATE_ENABLED", "zesA: sysman.EccState.ENABLED"),
        ("zeA: the list's ZE_FENCE_FLAG_SIGNALED's", "zeA: the list's Fence(..., signaled=True)'s"),
        ("plain words stay", "plain words stay"),
        ("", ""),
    ],
)
def test_c_api_names_become_python_names(sentence: str, said: str) -> None:
    assert in_python(sentence) == said


def test_object_messages_name_python_arguments(ctx: gs.Context) -> None:
    commands, memory = gs.CommandList.immediate(ctx), ctx.alloc_shared(16)
    pool, event = gs.EventPool(ctx, 1), gs.Event.counter_based(ctx)
    finished = gs.CommandList(ctx)
    finished.finish()
    attempts: dict[str, Callable[[], object]] = {
        "EventPool(..., timestamps=True)": lambda: pool.event().timestamps,
        "Event.counter_based(..., timestamps=True)": lambda: event.timestamps,
        "EventPool(..., ipc=True)": pool.ipc_handle,
        "Event.counter_based(..., ipc=True)": event.ipc_handle,
        "EventPool(..., mapped_timestamps=True)": lambda: gs.EventPool(
            ctx, 1, timestamps=True, mapped_timestamps=True
        ),
        "Event.counter_based(..., host_timestamps=True)": lambda: gs.Event.counter_based(
            ctx, timestamps=True, host_timestamps=True
        ),
        "CommandList(..., in_order=True)": lambda: commands.barrier(signal=event),
        "CommandList(..., cloneable=True)": lambda: gs.CommandList(ctx).clone(),
        "CommandList(..., mutable=True)": lambda: gs.CommandList(ctx).next_command(),
        "CommandList.reset()": lambda: finished.fill(memory, 1),
        "ExternalMemoryType.DMA_BUF": lambda: ctx.alloc_device(
            64, export=gs.ExternalMemoryType.D3D12_HEAP
        ),
        "count is 0": lambda: gs.EventPool(ctx, 0),
        "alignment_bytes is not a power of two": lambda: ctx.alloc_host(8, alignment_bytes=3),
        "the size is 0 bytes": lambda: ctx.alloc_host(0),
        "a multiple of the size of the pattern": lambda: commands.fill(memory, b"abc"),
        "max_allocation_bytes is": lambda: ctx.alloc_host(1 << 60),
        "the destination must not be null": lambda: commands.copy(0, memory, 4),
        "destination_pitch_bytes 4 is less": lambda: commands.copy_region(
            memory, bytes(64), gs.Region(width=8, height=2), destination_pitch_bytes=4
        ),
        "signal_scope has the unknown value": lambda: pool.event(signal_scope=99),  # type: ignore[arg-type]
    }
    for expected, attempt in attempts.items():
        with pytest.raises(gs.LevelZeroError) as caught:
            attempt()
        assert expected in str(caught.value)
        told = str(caught.value).partition(": ")[2].partition(" (ZE_RESULT_")[0]
        assert C_NAME.findall(told) == [], told


def test_a_build_log_is_shown_as_it_is(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.ModuleBuildFailure, match="dstptr"):
        gs.Module(ctx, opencl="kernel void f() { dstptr = 1; }")
