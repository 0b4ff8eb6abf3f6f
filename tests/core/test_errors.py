"""Each error of the API is an exception of its own, with everything there is to say about it."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

import groundstate as gs
from groundstate import _raw, ze
from groundstate.core import errors
from groundstate.core.api import Api, check

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


def test_unknown_result_code_keeps_its_number() -> None:
    problem = errors.failure(0x12345678, "zeSomething")
    assert isinstance(problem, gs.errors.Unknown)
    assert problem.code == 0x12345678
    assert "zeSomething failed (0x12345678)" in str(problem)


def test_out_of_memory_is_also_pythons_own() -> None:
    assert issubclass(gs.errors.OutOfDeviceMemory, MemoryError)
    assert issubclass(gs.errors.OutOfHostMemory, MemoryError)


def test_error_has_driver_description_and_advice(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.UnsupportedSize) as caught:
        ctx.alloc_host(1 << 60)
    problem = caught.value
    assert "zeMemAllocHost" in problem.description
    assert str(1 << 60) in problem.description
    assert str(problem).startswith(f"zeMemAllocHost: {1 << 60} bytes asked for")
    assert str(problem).endswith("Device.max_allocation_bytes is the limit for one allocation")


# --- A description belongs to the call that failed ------------------------------------------------


def message(problem: pytest.ExceptionInfo[gs.LevelZeroError]) -> str:
    return str(problem.value)


def test_not_ready_message_omits_earlier_failure(ctx: gs.Context) -> None:
    plain = gs.EventPool(ctx, 1).event()
    stamped = gs.EventPool(ctx, 1, timestamps=True).event()
    for _ in range(2):
        with pytest.raises(gs.errors.InvalidArgument, match="has no timestamps"):
            _ = plain.timestamps
        with pytest.raises(gs.errors.NotReady) as caught:
            _ = stamped.timestamps
        assert message(caught).startswith("zeEventQueryKernelTimestamp: the work that it asks")
        assert "has no timestamps" not in message(caught)


def test_threads_read_own_error_descriptions(ctx: gs.Context) -> None:
    start, wrong = threading.Barrier(4), list[str]()

    def fail(number: int) -> None:
        size = (number + 1) << 60
        pool, stamped = gs.EventPool(ctx, 1), gs.EventPool(ctx, 1, timestamps=True).event()
        start.wait()
        for _ in range(50):
            for attempt, expected in (
                (lambda: ctx.alloc_host(size), f"zeMemAllocHost: {size} bytes"),
                (lambda: pool.event(7 + number), f"zeEventCreate: index {7 + number} is outside"),
                (lambda: stamped.timestamps, "zeEventQueryKernelTimestamp: the work"),
            ):
                try:
                    attempt()
                except gs.LevelZeroError as problem:
                    if not str(problem).startswith(expected):
                        wrong.append(str(problem))

    threads = [threading.Thread(target=fail, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_last_error_ignores_failure_of_other_call(ctx: gs.Context) -> None:
    """Python may collect an object, whose destruction fails, before the description is read."""
    ctx.api.raw("zeFenceDestroy", None)
    assert ctx.api.last_error("zeFenceDestroy").startswith("zeFenceDestroy: ")
    assert ctx.api.last_error("zeEventCreate") == ""


def test_launch_describes_kernel_compile_failure(
    ctx: gs.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is compiled for a group size by the handler of another function."""

    def fail(*_: object) -> None:
        raise RuntimeError("not today")

    kernel = gs.Module(ctx, opencl="kernel void f(global int *a) { a[0] = 1; }")["f"]
    monkeypatch.setattr("groundstate.driver.kernel._compile", fail)
    with pytest.raises(gs.errors.ModuleBuildFailure) as caught:
        kernel(ctx.default_list(), 1, 7, ctx.alloc_shared(4))
    begin = "zeCommandListAppendLaunchKernel: the compiler failed on this kernel"
    assert caught.value.description == f"{begin}: RuntimeError: not today"


OTHER_DRIVER = """
int zeContextGetStatus(void *context) { (void)context; return 0x70000001; }
int zeMemFree(void *context, void *pointer) { (void)context; (void)pointer; return 0x78000004; }
#ifdef DESCRIBES
int zeDriverGetLastErrorDescription(void *driver, const char **text) {
    *text = driver ? "the other one" : "no driver";
    return 0;
}
#endif
"""


@pytest.mark.parametrize(("flags", "told"), [((), ""), (("-DDESCRIBES",), "the other one")])
def test_other_driver_error_not_described_by_ours(
    ctx: gs.Context, tmp_path: Path, flags: tuple[str, ...], told: str
) -> None:
    source, library = tmp_path / "other.c", tmp_path / "libother.so"
    source.write_text(OTHER_DRIVER, encoding="utf-8")
    compiler = ["cc", "-shared", "-fPIC", *flags, str(source), "-o", str(library)]
    subprocess.run(compiler, check=True, timeout=60)
    other = Api(_raw.Library(str(library)), 1)
    with pytest.raises(gs.LevelZeroError):
        ctx.alloc_host(1 << 60)
    with pytest.raises(gs.errors.DeviceLost) as lost:
        other.call("zeContextGetStatus", 1)
    assert lost.value.description == told
    with pytest.raises(gs.errors.InvalidArgument) as refused:
        other.call("zeMemFree", 1, 1)
    assert refused.value.description == told
    assert message(refused).startswith(told or "zeMemFree failed")


def test_missing_function_is_unsupported_feature(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.UnsupportedFeature, match="no function 'zeNotThere'"):
        ctx.api.call("zeNotThere")


def test_an_allocation_of_nothing_is_refused(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.UnsupportedSize):
        ctx.alloc_device(0)


def test_alignment_not_power_of_two_is_refused(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.UnsupportedAlignment):
        ctx.alloc_shared(64, alignment_bytes=3)


STRAY = """
kernel void stray(global int *out, long far) { out[get_global_id(0) + far] = 1; }
"""


@pytest.mark.plain_mode
def test_kernel_fault_loses_only_its_own_context(gpu: gs.Device, ctx: gs.Context) -> None:
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
