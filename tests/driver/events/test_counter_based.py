"""Counter-based events of pools: every rule of the extension."""

import ctypes

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import (
    FOREVER,
    MILLISECOND,
    Bench,
    address,
    barrier,
    close_list,
    copy,
    fill,
    finish,
    finish_queue,
    handles,
    is_signalled,
    submit,
)

IMMEDIATE = ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_IMMEDIATE
REGULAR = ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_NON_IMMEDIATE
BOTH = IMMEDIATE | REGULAR
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


@pytest.fixture(params=["pool", "created"])
def event(bench: Bench, request: pytest.FixtureRequest) -> int:
    """A counter-based event for every kind of list, made in each of the two ways."""
    if request.param == "pool":
        return bench.counter_event_in_pool(BOTH)
    return bench.counter_event(
        ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE
    )


def refused(result: int, function: str) -> bool:
    return result == INVALID and function in last_error()


def test_signal_on_an_immediate_list(bench: Bench, event: int) -> None:
    source, target = bench.random_bytes(2 << 20), bench.bytes(2 << 20, fill=0)
    commands = bench.immediate(in_order=True)
    copy(commands, address(target), address(source), len(source), signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert (target == source).all()
    assert is_signalled(event)


def test_signal_on_a_regular_list(bench: Bench, event: int) -> None:
    memory = bench.bytes(1, fill=0)
    queue, commands = bench.queue(), bench.list(in_order=True)
    fill(commands, address(memory), b"\1", 1, signal=event)
    submit(queue, close_list(commands))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert memory[0] == 1


# --- In-order lists only --------------------------------------------------------------------------


@pytest.mark.parametrize("immediate", [True, False])
def test_a_list_that_is_not_in_order_is_refused(bench: Bench, event: int, immediate: bool) -> None:
    memory = bench.bytes(64, fill=0)
    commands = bench.immediate() if immediate else bench.list()
    calls = {
        "zeCommandListAppendBarrier": (event, 0, None),
        "zeCommandListAppendSignalEvent": (event,),
        "zeCommandListAppendMemoryCopy": (address(memory), address(memory, 32), 8, event, 0, None),
        "zeCommandListAppendMemoryFill": (address(memory), b"x", 1, 8, event, 0, None),
        "zeCommandListAppendWriteGlobalTimestamp": (address(memory), event, 0, None),
    }
    for name, arguments in calls.items():
        assert refused(getattr(ze, name)(commands, *arguments), name)
    assert not memory.any()


def test_flags_decide_which_lists_may_use_event(bench: Bench) -> None:
    for_immediate = bench.counter_event_in_pool(IMMEDIATE)
    for_regular = bench.counter_event_in_pool(REGULAR)
    by_default = bench.counter_event_in_pool()
    immediate, regular = bench.immediate(in_order=True), bench.list(in_order=True)
    append = ze.zeCommandListAppendSignalEvent
    check(append(immediate, for_immediate))
    check(append(immediate, by_default))
    check(append(regular, for_regular))
    assert refused(append(regular, for_immediate), "zeCommandListAppendSignalEvent")
    assert refused(append(regular, by_default), "zeCommandListAppendSignalEvent")
    assert refused(append(immediate, for_regular), "zeCommandListAppendSignalEvent")


# --- No reset, no signal from the host ------------------------------------------------------------


@pytest.mark.parametrize("signalled", [False, True])
def test_reset_and_host_signal_are_refused(bench: Bench, event: int, signalled: bool) -> None:
    commands = bench.immediate(in_order=True)
    if signalled:
        barrier(commands, signal=event)
        finish(commands)
    assert refused(ze.zeEventHostReset(event), "zeEventHostReset")
    assert refused(ze.zeEventHostSignal(event), "zeEventHostSignal")
    reset = ze.zeCommandListAppendEventReset(commands, event)
    assert refused(reset, "zeCommandListAppendEventReset")
    if signalled:
        assert is_signalled(event)


# --- Reuse ----------------------------------------------------------------------------------------


def test_an_event_is_used_again_without_a_reset(bench: Bench, event: int) -> None:
    memory = bench.bytes(1, fill=0)
    commands = bench.immediate(in_order=True)
    for value in range(1, 100):
        fill(commands, address(memory), bytes([value]), 1, signal=event)
        check(ze.zeEventHostSynchronize(event, FOREVER))
        assert memory[0] == value


def test_pending_event_reused_means_last_command(bench: Bench, event: int) -> None:
    """It then stands for the last command only."""
    first, second = bench.events(2)
    commands = bench.immediate(in_order=True)
    barrier(commands, signal=event, waits=[first])
    barrier(commands, signal=event, waits=[second])
    check(ze.zeEventHostSignal(first))
    assert ze.zeEventHostSynchronize(event, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(second))
    check(ze.zeEventHostSynchronize(event, FOREVER))


def test_new_command_unsignals_its_event_at_once(bench: Bench, event: int) -> None:
    go = bench.event()
    commands = bench.immediate(in_order=True)
    barrier(commands, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    barrier(commands, signal=event, waits=[go])
    assert not is_signalled(event)
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(event, FOREVER))


def test_event_of_several_lists_follows_last_one(bench: Bench, event: int) -> None:
    go = bench.event()
    blocked, free = bench.immediate(in_order=True), bench.immediate(in_order=True)
    barrier(free, signal=event)
    barrier(blocked, signal=event, waits=[go])
    assert not is_signalled(event)
    barrier(free, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    check(ze.zeEventHostSignal(go))
    finish(blocked)
    assert is_signalled(event)


def test_count_of_one_list_signals_no_other_list(bench: Bench, event: int) -> None:
    """Counters belong to lists: a high count of one says nothing of the other."""
    go = bench.event()
    busy, fresh = bench.immediate(in_order=True), bench.immediate(in_order=True)
    for _ in range(100):
        barrier(busy, signal=event)
    finish(busy)
    barrier(fresh, signal=event, waits=[go])
    assert not is_signalled(event)
    assert ze.zeEventHostSynchronize(event, MILLISECOND) == ze.ZE_RESULT_NOT_READY


def test_event_outlives_list_that_signalled_it(bench: Bench, event: int) -> None:
    commands = bench.immediate(in_order=True)
    barrier(commands, signal=event)
    finish(commands)
    bench.end(commands)
    for _ in range(3000):
        other = bench.immediate(in_order=True)
        bench.end(other)
    assert is_signalled(event)


def test_an_event_that_was_never_used_is_complete(bench: Bench, event: int) -> None:
    """There is nothing that it could still stand for."""
    memory = bench.bytes(1, fill=0)
    assert is_signalled(event)
    check(ze.zeEventHostSynchronize(event, 0))
    commands = bench.immediate(in_order=True)
    fill(commands, address(memory), b"\1", 1, waits=[event])
    finish(commands)
    assert memory[0] == 1


@pytest.mark.parametrize("immediate", [True, False])
def test_event_may_be_destroyed_while_in_use(bench: Bench, event: int, immediate: bool) -> None:
    """It owns no state: what waits for the counter goes on waiting, and ends."""
    memory = bench.bytes(1, fill=0)
    go = bench.event()
    queue = bench.queue()
    signalling = bench.immediate(in_order=True) if immediate else bench.list(in_order=True)
    waiting = bench.immediate(in_order=True)
    barrier(signalling, signal=event, waits=[go])
    if not immediate:
        submit(queue, close_list(signalling))
    fill(waiting, address(memory), b"\1", 1, waits=[event])
    bench.end(event)
    assert ze.zeCommandListHostSynchronize(waiting, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    assert memory[0] == 0
    check(ze.zeEventHostSignal(go))
    finish(waiting)
    assert memory[0] == 1


# --- Waits ----------------------------------------------------------------------------------------


def test_wait_binds_to_event_state_at_append(bench: Bench, event: int) -> None:
    """The event moves on to a blocked list; the wait that was appended before does not."""
    memory = bench.bytes(1, fill=0)
    go, never = bench.events(2)
    first, waiting, second = (bench.immediate(in_order=True) for _ in range(3))
    barrier(first, signal=event, waits=[go])
    fill(waiting, address(memory), b"\1", 1, waits=[event])
    barrier(second, signal=event, waits=[never])
    assert memory[0] == 0
    check(ze.zeEventHostSignal(go))
    finish(waiting)
    assert memory[0] == 1
    assert not is_signalled(event)


def test_out_of_order_lists_may_wait_for_event(bench: Bench, event: int) -> None:
    memory = bench.bytes(1, fill=0)
    go = bench.event()
    signalling, waiting = bench.immediate(in_order=True), bench.immediate()
    barrier(signalling, signal=event, waits=[go])
    fill(waiting, address(memory), b"\1", 1, waits=[event])
    assert ze.zeCommandListHostSynchronize(waiting, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(go))
    finish(waiting)
    assert memory[0] == 1


def test_one_event_chains_many_lists(bench: Bench, event: int) -> None:
    """Each list waits for the event as the list before left it, and takes it over."""
    memory = bench.bytes(33, fill=0)
    memory[0] = 6
    go = bench.event()
    lists = [bench.immediate(in_order=True) for _ in range(8)]
    barrier(lists[-1], signal=event, waits=[go])
    for step in range(32):
        copy(
            lists[step % 8],
            address(memory, step + 1),
            address(memory, step),
            1,
            signal=event,
            waits=[event],
        )
    assert not memory[1:].any()
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert (memory == 6).all()


# --- Lists that run again -------------------------------------------------------------------------


def test_a_list_that_runs_again_signals_again(bench: Bench, event: int) -> None:
    memory, steps = bench.bytes(1, fill=0), bench.bytes(2, fill=0)
    queue, commands = bench.queue(), bench.list(in_order=True)
    barrier(commands)
    copy(commands, address(memory), address(steps), 1, signal=event)
    barrier(commands)
    close_list(commands)
    for value in range(1, 20):
        steps[0] = value
        submit(queue, commands)
        check(ze.zeEventHostSynchronize(event, FOREVER))
        assert memory[0] == value


def test_next_run_of_list_unsignals_its_event(bench: Bench, event: int) -> None:
    go = bench.event()
    queue, commands = bench.queue(), bench.list(in_order=True)
    barrier(commands, signal=event, waits=[go])
    close_list(commands)
    check(ze.zeEventHostSignal(go))
    submit(queue, commands)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    check(ze.zeEventHostReset(go))
    submit(queue, commands)
    assert not is_signalled(event)
    assert ze.zeEventHostSynchronize(event, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(event, FOREVER))


def test_each_run_waits_for_latest_signalling_run(bench: Bench, event: int) -> None:
    """The waiting list runs on another queue, and each run waits for the latest run."""
    memory = bench.bytes(2, fill=0)
    value = bench.bytes(1, fill=0)
    go = bench.event()
    one, other = bench.queue(), bench.queue()
    writing, reading = bench.list(in_order=True), bench.list(in_order=True)
    copy(writing, address(memory), address(value), 1, signal=event, waits=[go])
    copy(reading, address(memory, 1), address(memory), 1, waits=[event])
    close_list(writing)
    close_list(reading)
    for number in range(1, 20):
        value[0] = number
        submit(one, writing)
        submit(other, reading)
        assert ze.zeCommandQueueSynchronize(other, 0) == ze.ZE_RESULT_NOT_READY
        check(ze.zeEventHostSignal(go))
        finish_queue(other)
        assert memory[1] == number
        check(ze.zeEventHostReset(go))


def test_reset_and_recording_anew(bench: Bench, event: int) -> None:
    memory = bench.bytes(1, fill=0)
    queue, commands = bench.queue(), bench.list(in_order=True)
    for value in range(1, 10):
        fill(commands, address(memory), bytes([value]), 1, signal=event)
        submit(queue, close_list(commands))
        check(ze.zeEventHostSynchronize(event, FOREVER))
        assert memory[0] == value
        finish_queue(queue)
        check(ze.zeCommandListReset(commands))


def test_appended_lists_signal_counter_event(bench: Bench, event: int) -> None:
    memory = bench.bytes(1, fill=0)
    go = bench.event()
    regular, commands = bench.list(in_order=True), bench.immediate(in_order=True)
    fill(regular, address(memory), b"\1", 1, waits=[go])
    close_list(regular)
    check(
        ze.zeCommandListImmediateAppendCommandListsExp(
            commands, 1, handles(regular), event, 0, None
        )
    )
    assert not is_signalled(event)
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert memory[0] == 1


# --- Pools ----------------------------------------------------------------------------------------


def test_counter_based_ipc_pool_is_refused(bench: Bench) -> None:
    pool = ctypes.c_void_p()
    chained = ze.ze_event_pool_counter_based_exp_desc_t(flags=IMMEDIATE)
    description = ze.ze_event_pool_desc_t(
        count=1, flags=ze.ZE_EVENT_POOL_FLAG_IPC, pNext=ctypes.addressof(chained)
    )
    result = ze.zeEventPoolCreate(
        bench.context, ctypes.byref(description), 0, None, ctypes.byref(pool)
    )
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
    assert "zeEventPoolCreate" in last_error()


def test_counter_pool_refuses_unknown_flags(bench: Bench) -> None:
    pool = ctypes.c_void_p()
    chained = ze.ze_event_pool_counter_based_exp_desc_t(flags=0x100)
    description = ze.ze_event_pool_desc_t(count=1, pNext=ctypes.addressof(chained))
    result = ze.zeEventPoolCreate(
        bench.context, ctypes.byref(description), 0, None, ctypes.byref(pool)
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    assert "zeEventPoolCreate" in last_error()


def test_timestamps_of_a_counter_based_pool(bench: Bench) -> None:
    chained = ze.ze_event_pool_counter_based_exp_desc_t(flags=IMMEDIATE)
    pool = bench.pool(1, ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, chained)
    event = bench.event_in(pool)
    commands = bench.immediate(in_order=True)
    ends = []
    for _ in range(3):
        barrier(commands, signal=event)
        check(ze.zeEventHostSynchronize(event, FOREVER))
        result = ze.ze_kernel_timestamp_result_t()
        check(ze.zeEventQueryKernelTimestamp(event, ctypes.byref(result)))
        assert 0 < result.context.kernelStart <= result.context.kernelEnd
        ends.append(result.context.kernelEnd)
    assert ends == sorted(ends)
