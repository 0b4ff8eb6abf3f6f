"""Each error of the API is an exception of its own, with everything there is to say about it."""

from __future__ import annotations

import pytest

import groundstate as gs
from groundstate import ze
from groundstate.core import errors
from groundstate.core.api import check

FAILURES = [result for result in ze.ze_result_t if result.name not in errors.NOT_FAILURES]


def test_every_result_has_its_exception() -> None:
    for result in FAILURES:
        problem = errors.failure(result, "zeSomething", "zeSomething: it went wrong")
        assert type(problem).__name__ == errors.class_name(result.name)
        assert getattr(gs.errors, type(problem).__name__) is type(problem)
        assert isinstance(problem, gs.LevelZeroError)
        assert problem.result is result
        assert problem.function == "zeSomething"
        assert str(problem).startswith(f"zeSomething: it went wrong ({result.name})")


def test_there_are_no_exceptions_without_a_result() -> None:
    named = {errors.class_name(result.name) for result in FAILURES}
    assert set(errors._BY_NAME) == named


def test_answers_are_not_failures() -> None:
    for name in errors.NOT_FAILURES:
        check(int(getattr(ze, name)), "zeSomething")


def test_a_result_that_the_api_does_not_know_keeps_its_number() -> None:
    problem = errors.failure(0x12345678, "zeSomething")
    assert isinstance(problem, gs.errors.Unknown)
    assert problem.code == 0x12345678
    assert "zeSomething failed (0x12345678)" in str(problem)


def test_out_of_memory_is_also_pythons_own() -> None:
    assert issubclass(gs.errors.OutOfDeviceMemory, MemoryError)
    assert issubclass(gs.errors.OutOfHostMemory, MemoryError)


def test_the_drivers_description_and_the_next_step_are_in_the_message(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.UnsupportedSize) as caught:
        ctx.alloc_host(1 << 60)
    problem = caught.value
    assert "zeMemAllocHost" in problem.description
    assert str(1 << 60) in problem.description
    assert str(problem).startswith(f"zeMemAllocHost: {1 << 60} bytes asked for")
    assert str(problem).endswith("Device.max_allocation_bytes is the limit for one allocation")


def test_a_function_that_a_library_lacks_is_an_unsupported_feature(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.UnsupportedFeature, match="no function 'zeNotThere'"):
        ctx.api.call("zeNotThere")


def test_an_allocation_of_nothing_is_refused(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.UnsupportedSize):
        ctx.alloc_device(0)


def test_an_alignment_that_is_no_power_of_two_is_refused(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.UnsupportedAlignment):
        ctx.alloc_shared(64, alignment_bytes=3)


STRAY = """
kernel void stray(global int *out, long far) { out[get_global_id(0) + far] = 1; }
"""


def test_a_kernel_that_goes_wrong_costs_its_context_alone(gpu: gs.Device, ctx: gs.Context) -> None:
    with gs.Context(gpu) as lost:
        memory = lost.alloc_shared(64, "int32")
        kernel = gs.Module(lost, opencl=STRAY).kernel("stray")
        commands = gs.CommandList.immediate(lost)

        def run() -> None:
            kernel(commands, 4, 16, memory, -(1 << 40))
            commands.synchronize()

        with pytest.raises(gs.errors.DeviceLost, match="kernel 'stray' in group") as caught:
            run()
        assert "zeContextDestroy" in caught.value.description
        with pytest.raises(gs.errors.DeviceLost):
            lost.alloc_host(4)
    kernel = gs.Module(ctx, opencl=STRAY).kernel("stray")
    memory = ctx.alloc_shared(64, "int32")
    with gs.CommandList.immediate(ctx) as commands:
        kernel(commands, 4, 16, memory, 0)
    assert memory.tolist() == [1] * 64
