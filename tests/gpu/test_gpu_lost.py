"""Faults on a GPU. Last: what is left of it after one depends on the CUDA driver."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest

import groundstate as gs

FAULTY = "kernel void fault(global int *out, long far) { out[far] = 1; }"


def _launch(kernel: gs.Kernel, memory: gs.Memory, on: gs.CommandList) -> None:
    kernel(on, 1, 1, memory, 1 << 44)
    on.synchronize()


def _fault(gpu: gs.Device, run: Callable[[gs.Kernel, gs.Memory, gs.CommandList], None]) -> None:
    context = gs.Context(gpu)
    module = gs.Module(context, opencl=FAULTY)
    kernel, memory = module["fault"], context.alloc_device(4, "int32")
    commands = gs.CommandList.immediate(context)
    with pytest.raises(gs.DeviceLost, match="kernel 'fault'"):
        run(kernel, memory, commands)
    for each in (commands, memory, kernel, module, context):
        each.close()


def _use(gpu: gs.Device) -> list[int]:
    with gs.Context(gpu) as context, gs.CommandList.immediate(context) as commands:
        memory = context.alloc_shared(4, "int32")
        commands.fill(memory, np.int32(5).tobytes())
        commands.synchronize()
        found: list[int] = memory.tolist()
        memory.close()
    return found


def _outcome(gpu: gs.Device) -> str:
    try:
        found = _use(gpu)
    except gs.DeviceLost as error:
        outcome = str(error)
    else:
        outcome = f"works: {found}"
    print("a context after a fault:", outcome)
    assert outcome == "works: [5, 5, 5, 5]" or "start the program again" in outcome
    return outcome


def test_fault_loses_the_context_and_no_more(gpu: gs.Device, cpu: gs.Device) -> None:
    """CUDA leaves open whether a process may go on: it does, or is told to start again."""
    of_cpu = gs.Context(cpu)
    _fault(gpu, _launch)
    gc.collect()
    if "works" in _outcome(gpu):
        _fault(gpu, _launch)
        gc.collect()
        assert "works" in _outcome(gpu)
    of_cpu.alloc_device(100).close()
    of_cpu.close()
