"""Command lists: recording, closing, running again, resetting, cloning."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import (
    COPY_ORDINAL,
    FOREVER,
    Bench,
    address,
    barrier,
    close_list,
    copy,
    fill,
    finish,
    finish_queue,
    handles,
    is_immediate,
    is_signalled,
    submit,
)


def get(function: object, handle: int, kind: type = ctypes.c_uint32) -> int | None:
    """What a getter of one value answers."""
    value = kind()
    check(function(handle, ctypes.byref(value)))  # type: ignore[operator]
    answer: int | None = value.value
    return answer


def test_regular_list_runs_only_when_executed(bench: Bench) -> None:
    memory = bench.bytes(8, fill=0)
    queue, commands = bench.queue(), bench.list()
    fill(commands, address(memory), b"\1", 8)
    close_list(commands)
    assert not memory.any()
    submit(queue, commands)
    finish_queue(queue)
    assert (memory == 1).all()


def test_lists_given_together_run_in_their_order(bench: Bench) -> None:
    memory = bench.bytes(1, fill=0)
    queue = bench.queue()
    lists = [bench.list() for _ in range(20)]
    for number, commands in enumerate(lists, 1):
        fill(commands, address(memory), bytes([number]), 1)
        close_list(commands)
    submit(queue, *lists)
    finish_queue(queue)
    assert memory[0] == 20
    submit(queue, *reversed(lists))
    finish_queue(queue)
    assert memory[0] == 1


def test_the_same_list_may_appear_twice(bench: Bench) -> None:
    memory = bench.bytes(64, fill=0)
    memory[0] = 5
    queue, commands = bench.queue(), bench.list(in_order=True)
    copy(commands, address(memory, 1), address(memory), 63)
    close_list(commands)
    submit(queue, *[commands] * 10)
    finish_queue(queue)
    assert memory[10] == 5


def test_an_empty_list_runs(bench: Bench) -> None:
    queue, commands = bench.queue(), close_list(bench.list())
    submit(queue, commands)
    finish_queue(queue)


def test_a_list_runs_a_thousand_times(bench: Bench) -> None:
    """Each run moves the pattern one byte on."""
    memory = bench.bytes(1001, fill=0)
    memory[0] = 77
    queue, commands = bench.queue(), bench.list(in_order=True)
    copy(commands, address(memory, 1), address(memory), 1000)
    close_list(commands)
    for _ in range(1000):
        submit(queue, commands)
    finish_queue(queue)
    assert memory[1000] == 77


def test_in_order_command_sees_earlier_results(bench: Bench) -> None:
    size = 3 << 20
    steps = [bench.bytes(size, fill=0) for _ in range(5)]
    first = bench.random_bytes(size)
    queue, commands = bench.queue(), bench.list(in_order=True)
    for source, target in zip([first, *steps], steps, strict=False):
        copy(commands, address(target), address(source), size)
    close_list(commands)
    submit(queue, commands)
    finish_queue(queue)
    assert (steps[-1] == first).all()


def test_a_closed_list_takes_no_more_commands(bench: Bench) -> None:
    commands = close_list(bench.list())
    result = ze.zeCommandListAppendBarrier(commands, None, 0, None)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "zeCommandListReset" in last_error()


def test_an_open_list_cannot_run(bench: Bench) -> None:
    queue, commands = bench.queue(), bench.list()
    result = ze.zeCommandQueueExecuteCommandLists(queue, 1, handles(commands), None)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "zeCommandListClose" in last_error()


def test_closing_twice_changes_nothing(bench: Bench) -> None:
    memory = bench.bytes(1, fill=0)
    queue, commands = bench.queue(), bench.list()
    fill(commands, address(memory), b"\1", 1)
    close_list(close_list(commands))
    submit(queue, commands)
    finish_queue(queue)
    assert memory[0] == 1


def test_reset_empties_a_list_and_opens_it(bench: Bench) -> None:
    memory = bench.bytes(2, fill=0)
    queue, commands = bench.queue(), bench.list()
    fill(commands, address(memory), b"\1", 1)
    close_list(commands)
    check(ze.zeCommandListReset(commands))
    fill(commands, address(memory, 1), b"\2", 1)
    close_list(commands)
    submit(queue, commands)
    finish_queue(queue)
    assert memory.tolist() == [0, 2]


def test_list_reset_lets_submitted_run_finish(bench: Bench) -> None:
    memory = bench.bytes(2, fill=0)
    go = bench.event()
    queue, commands = bench.queue(), bench.list()
    fill(commands, address(memory), b"\1", 1, waits=[go])
    close_list(commands)
    submit(queue, commands)
    check(ze.zeCommandListReset(commands))
    check(ze.zeEventHostSignal(go))
    finish_queue(queue)
    assert memory.tolist() == [1, 0]


def test_reset_lets_go_of_events(bench: Bench) -> None:
    event = bench.event()
    commands = bench.list()
    barrier(commands, signal=event, waits=[event])
    check(ze.zeCommandListReset(commands))
    bench.end(event)


def test_immediate_list_accepts_close_and_reset(bench: Bench) -> None:
    memory = bench.bytes(1, fill=0)
    commands = bench.immediate()
    check(ze.zeCommandListClose(commands))
    check(ze.zeCommandListReset(commands))
    fill(commands, address(memory), b"\1", 1)
    finish(commands)
    assert memory[0] == 1


@pytest.mark.parametrize("ordinal", [0, COPY_ORDINAL])
def test_getters_of_an_immediate_list(bench: Bench, ordinal: int) -> None:
    mode, priority = ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW
    flags = ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY | ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER
    commands = bench.immediate(ordinal=ordinal, flags=flags, mode=mode, priority=priority)
    assert is_immediate(commands)
    assert get(ze.zeCommandListGetDeviceHandle, commands, ctypes.c_void_p) == bench.device
    assert get(ze.zeCommandListGetContextHandle, commands, ctypes.c_void_p) == bench.context
    assert get(ze.zeCommandListGetOrdinal, commands) == ordinal
    assert get(ze.zeCommandListImmediateGetIndex, commands) == 0
    assert get(ze.zeCommandListImmediateGetFlags, commands) == flags
    assert get(ze.zeCommandListImmediateGetMode, commands) == mode
    assert get(ze.zeCommandListImmediateGetPriority, commands) == priority


@pytest.mark.parametrize("ordinal", [0, COPY_ORDINAL])
def test_getters_of_a_regular_list(bench: Bench, ordinal: int) -> None:
    flags = ze.ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING | ze.ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY
    commands = bench.list(flags=flags, ordinal=ordinal)
    assert not is_immediate(commands)
    assert get(ze.zeCommandListGetDeviceHandle, commands, ctypes.c_void_p) == bench.device
    assert get(ze.zeCommandListGetContextHandle, commands, ctypes.c_void_p) == bench.context
    assert get(ze.zeCommandListGetOrdinal, commands) == ordinal
    assert get(ze.zeCommandListGetFlags, commands) == flags


@pytest.mark.parametrize(
    "getter", ["GetIndex", "GetFlags", "GetMode", "GetPriority"], ids=lambda name: str(name)
)
def test_immediate_getters_refuse_regular_lists(bench: Bench, getter: str) -> None:
    function = f"zeCommandListImmediate{getter}"
    value = ctypes.c_uint32()
    result = getattr(ze, function)(bench.list(), ctypes.byref(value))
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert function in last_error()


def test_host_synchronise_refuses_a_regular_list(bench: Bench) -> None:
    result = ze.zeCommandListHostSynchronize(bench.list(), 0)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "zeCommandListHostSynchronize" in last_error()


def test_host_synchronise_honours_its_timeout(bench: Bench) -> None:
    go = bench.event()
    commands = bench.immediate()
    barrier(commands, waits=[go])
    assert ze.zeCommandListHostSynchronize(commands, 0) == ze.ZE_RESULT_NOT_READY
    assert ze.zeCommandListHostSynchronize(commands, 1_000_000) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(go))
    check(ze.zeCommandListHostSynchronize(commands, FOREVER))
    check(ze.zeCommandListHostSynchronize(commands, 0))


def test_synchronous_immediate_returns_when_done(bench: Bench) -> None:
    size = 8 << 20
    source, target = bench.random_bytes(size), bench.bytes(size, fill=0)
    commands = bench.immediate(mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    copy(commands, address(target), address(source), size)
    assert (target == source).all()


# --- Clones ---------------------------------------------------------------------------------------


def test_cloned_list_works_without_its_original(bench: Bench) -> None:
    source, target = bench.random_bytes(5000), bench.bytes(5000, fill=0)
    stamp = bench.bytes(8, fill=0)
    event = bench.event()
    pattern = bytes(range(200))
    queue = bench.queue()
    original = bench.list(in_order=True, flags=ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    copy(original, address(target), address(source), 4000, signal=event)
    fill(original, address(target, 4000), pattern, 1000, waits=[event])
    check(ze.zeCommandListAppendWriteGlobalTimestamp(original, address(stamp), None, 0, None))
    check(ze.zeCommandListAppendEventReset(original, event))
    close_list(original)
    clone = bench.clone(original)
    bench.end(original)
    submit(queue, clone)
    finish_queue(queue)
    assert (target[:4000] == source[:4000]).all()
    assert target[4000:].tobytes() == pattern * 5
    assert stamp.any()
    assert not is_signalled(event)
    assert not is_immediate(clone)


def test_clone_needs_cloneable_closed_list(bench: Bench) -> None:
    clone = ctypes.c_void_p()
    plain = close_list(bench.list())
    still_open = bench.list(flags=ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    for commands in (plain, still_open, bench.immediate()):
        result = ze.zeCommandListCreateCloneExp(commands, ctypes.byref(clone))
        assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        assert "zeCommandListCreateCloneExp" in last_error()
        assert clone.value is None


def test_a_clone_can_be_cloned(bench: Bench) -> None:
    memory = bench.bytes(1, fill=0)
    original = bench.list(flags=ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    fill(original, address(memory), b"\7", 1)
    second = bench.clone(bench.clone(close_list(original)))
    queue = bench.queue()
    submit(queue, second)
    finish_queue(queue)
    assert memory[0] == 7


def test_counter_event_follows_last_list_that_ran(bench: Bench) -> None:
    queue, gate = bench.queue(), bench.event()
    event = bench.counter_event(ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE)
    original = bench.list(in_order=True, flags=ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    barrier(original, waits=[gate])
    barrier(original, event)
    barrier(original, waits=[event])
    close_list(original)
    check(ze.zeEventHostSignal(gate))
    submit(queue, original)
    finish_queue(queue)
    clones = [bench.clone(original) for _ in range(2)]
    assert is_signalled(event)  # cloning takes no signal away
    for commands in (*clones, original, original, *reversed(clones)):
        check(ze.zeEventHostReset(gate))
        submit(queue, commands)
        assert not is_signalled(event)
        check(ze.zeEventHostSignal(gate))
        check(ze.zeEventHostSynchronize(event, FOREVER))
    finish_queue(queue)


def test_threads_clone_list_while_it_runs(bench: Bench) -> None:
    memory, gate = bench.bytes(1, fill=0), bench.event()
    original = bench.list(in_order=True, flags=ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    event = bench.counter_event(ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE)
    fill(original, address(memory), b"\7", 1, signal=event, waits=[gate])
    queue = bench.queue()
    submit(queue, close_list(original))
    with ThreadPoolExecutor(4) as threads:
        clones = list(threads.map(bench.clone, [original] * 40))
    assert not is_signalled(event)
    check(ze.zeEventHostSignal(gate))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    memory[0] = 0
    submit(queue, *clones)
    finish_queue(queue)
    assert is_signalled(event)
    assert memory[0] == 7


# --- Lists appended to an immediate list ----------------------------------------------------------


@pytest.mark.parametrize("with_parameters", [False, True])
def test_appended_lists_run_between_the_events(bench: Bench, with_parameters: bool) -> None:
    memory = bench.bytes(2, fill=0)
    go, done = bench.events(2)
    first, second = bench.list(), bench.list()
    fill(first, address(memory), b"\1", 1)
    fill(second, address(memory, 1), b"\2", 1)
    lists = handles(close_list(first), close_list(second))
    commands = bench.immediate()
    if with_parameters:
        check(
            ze.zeCommandListImmediateAppendCommandListsWithParameters(
                commands, 2, lists, None, done, 1, handles(go)
            )
        )
    else:
        check(
            ze.zeCommandListImmediateAppendCommandListsExp(commands, 2, lists, done, 1, handles(go))
        )
    assert ze.zeEventHostSynchronize(done, 1_000_000) == ze.ZE_RESULT_NOT_READY
    assert memory.tolist() == [0, 0]
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(done, FOREVER))
    assert memory.tolist() == [1, 2]
    finish(commands)


def test_append_refuses_other_list_kind_or_group(bench: Bench) -> None:
    commands = bench.immediate()
    wrong = ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE
    append = ze.zeCommandListImmediateAppendCommandListsExp
    assert append(commands, 1, handles(bench.immediate()), None, 0, None) == wrong
    other_group = close_list(bench.list(ordinal=COPY_ORDINAL))
    assert append(commands, 1, handles(other_group), None, 0, None) == wrong
    regular = close_list(bench.list())
    assert append(bench.list(), 1, handles(regular), None, 0, None) == wrong
    assert "zeCommandListImmediateAppendCommandListsExp" in last_error()


def test_open_list_cannot_be_appended(bench: Bench) -> None:
    result = ze.zeCommandListImmediateAppendCommandListsExp(
        bench.immediate(), 1, handles(bench.list()), None, 0, None
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "zeCommandListClose" in last_error()
