"""Faults of a GPU: the context is lost, with the kernel's name, and another one can be made."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

import groundstate as gs
from groundstate import ze
from tests.nvidia.inside.conftest import SOURCE


def launch(
    kernel: gs.Kernel,
    commands: gs.CommandList,
    memory: gs.Memory,
    wait: Callable[[], None],
    event: gs.Event | None = None,
) -> None:
    """Launches a kernel and waits for it. Its fault may be noticed in either."""
    kernel(commands, 1, 1, memory, signal=event)
    wait()


def fault(gpu: gs.Device) -> None:
    """Has a kernel fault, and destroys what it was in."""
    context = gs.Context(gpu)
    module = gs.Module(context, opencl=SOURCE)
    kernel = module["fault"]
    commands = gs.CommandList.immediate(context)
    memory = context.alloc_shared(1, "int32")
    with pytest.raises(gs.DeviceLost, match=r"kernel 'fault' failed.*ILLEGAL_ADDRESS"):
        launch(kernel, commands, memory, commands.synchronize)
    with pytest.raises(gs.DeviceLost):
        context.check_status()
    for each in (commands, memory, kernel, module, context):
        each.close()


def test_fault_names_the_kernel(gpu: gs.Device) -> None:
    fault(gpu)


def test_new_context_works_after_a_fault(gpu: gs.Device) -> None:
    for _ in range(3):
        fault(gpu)
        gc.collect()  # exceptions refer to what was in the context
        with gs.Context(gpu) as context, gs.CommandList.immediate(context) as commands:
            memory = context.alloc_shared(4, "int32")
            commands.fill(memory, 5)
            commands.synchronize()
            assert memory.tolist() == [5, 5, 5, 5]
            memory.close()


def test_fault_loses_other_contexts_of_the_gpu(cpu: gs.Device, gpu: gs.Device) -> None:
    other, of_cpu = gs.Context(gpu), gs.Context(cpu)
    fault(gpu)
    with pytest.raises(gs.DeviceLost, match="lost all contexts"):
        other.alloc_device(100)
    of_cpu.alloc_device(100).close()
    other.close()
    of_cpu.close()


def test_waiting_for_an_event_ends(gpu: gs.Device) -> None:
    context = gs.Context(gpu)
    module = gs.Module(context, opencl=SOURCE)
    kernel = module["fault"]
    commands = gs.CommandList.immediate(context)
    pool = gs.EventPool(context, 1)
    event, memory = pool.event(), context.alloc_shared(1, "int32")
    with pytest.raises(gs.DeviceLost):
        launch(kernel, commands, memory, event.wait, event)
    for each in (commands, memory, kernel, module, event, pool, context):
        each.close()


def test_copy_from_nowhere_loses_its_context(gpu: gs.Device) -> None:
    context, other = gs.Context(gpu), gs.Context(gpu)
    commands, memory = gs.CommandList.immediate(context), context.alloc_device(4096)
    ze.zeCommandListAppendMemoryCopy(commands.handle, memory.address, 4096, 4096, None, 0, None)
    with pytest.raises(gs.DeviceLost, match=r"a copy of 4096 bytes.*refused"):
        commands.synchronize()
    other.alloc_device(100).close()
    for each in (commands, memory, context, other):
        each.close()
