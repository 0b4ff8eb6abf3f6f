"""What was ordered in a recording stays ordered when it is played, in one thread or in many."""

from __future__ import annotations

from pathlib import Path
from threading import get_ident

import pytest

from groundstate import ze
from groundstate.capture.describe import NamedCall
from groundstate.capture.play import Options, Player
from tests.capture.play.test_play import event_in, player_of
from tests.capture.stream.making import Given, Stream, made

pytestmark = pytest.mark.usefixtures("library")

FOREVER = 2**64 - 1


class Order:
    """Remembers in which order calls began and ended, and in which threads."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int]] = []
        self.began: dict[int, int] = {}
        self.threads: dict[int, set[int]] = {}

    def before(self, player: Player, call: NamedCall) -> None:
        self.threads.setdefault(call.call.thread, set()).add(get_ident())
        self.began[call.number] = call.call.began
        self.steps.append(("begins", call.number))

    def after(self, player: Player, call: NamedCall, result: int) -> None:
        self.steps.append(("ends", call.number))


def waiting_stream(path: Path, rounds: int) -> Stream:
    """Thread 1 waits for events that thread 0 signals while the wait is under way."""
    with Stream(path) as stream:
        context, _ = stream.begin()
        event = event_in(stream, context)
        for _ in range(rounds):
            reset = stream.call("zeEventHostReset", event)
            signal = stream.call("zeEventHostSignal", event, thread=0, began=reset + 1)
            waits = "zeEventHostSynchronize"
            stream.call(waits, event, FOREVER, thread=1, began=reset + 1)
            assert signal > reset
    return stream


@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "threads"])
def test_a_wait_is_released_by_another_thread(threads: bool, tmp_path: Path, library: Path) -> None:
    stream = waiting_stream(tmp_path / "s.gsstream", 50)
    with player_of(stream.path, library, Options(threads=threads)) as player:
        report = player.run()
    assert [str(each) for each in report.differences] == []
    assert report.calls == 4 + 2 + 150


def test_play_keeps_recorded_threads_and_order(tmp_path: Path, library: Path) -> None:
    stream = waiting_stream(tmp_path / "s.gsstream", 30)
    order = Order()
    with player_of(stream.path, library, Options(threads=True)) as player:
        assert player.run(order).same
    # Thread 0 is the player's own until a second one is needed.
    assert [len(order.threads[thread]) for thread in (0, 1)] == [2, 1]
    assert order.threads[0].isdisjoint(order.threads[1])
    numbers = sorted(order.began)
    ended: set[int] = set()
    for step, number in order.steps:
        if step == "ends":
            ended.add(number)
        else:
            assert ended.issuperset(each for each in numbers if each < order.began[number])


def test_play_of_threads_with_own_objects_matches(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        begin = stream.call("zeContextGetStatus", context) + 1
        began = dict.fromkeys(range(6), begin)
        for _ in range(20):
            for thread in range(6):
                memory = stream.memory()
                answer = Given(0, memory)
                description = Given(made("ze_host_mem_alloc_desc_t"))
                arguments = (context, description, 4096, 64, answer)
                options = {"thread": thread, "began": began[thread]}
                made_by = stream.call("zeMemAllocHost", *arguments, **options)
                options["began"] = made_by + 1
                began[thread] = stream.call("zeMemFree", context, memory, **options) + 1
        assert device
    with player_of(stream.path, library, Options(threads=True)) as player:
        report = player.run()
        assert player.memory.ranges() == []
    assert [str(each) for each in report.differences] == []
    assert report.calls == 5 + 240


def test_calls_that_claim_the_future_do_not_hang(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, _ = stream.begin()
        for thread in (0, 1, 2**32 - 1, 700):
            stream.call("zeContextGetStatus", context, thread=thread, began=2**64 - 1)
    with player_of(stream.path, library, Options(threads=True)) as player:
        assert player.run().calls == 8


def test_real_speed_is_no_faster_than_the_program(tmp_path: Path, library: Path) -> None:
    stream = waiting_stream(tmp_path / "s.gsstream", 2)
    with player_of(stream.path, library, Options(threads=True, real_speed=True)) as player:
        assert player.run().same


def test_work_in_flight_at_the_end_is_noted(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        event, queue = event_in(stream, context), stream.memory()
        asynchronous = Given(made("ze_command_queue_desc_t", mode=2))
        stream.call("zeCommandListCreateImmediate", context, device, asynchronous, Given(0, queue))
        stream.call("zeCommandListAppendWaitOnEvents", queue, 1, Given(event))
        stream.call("zeEventQueryStatus", event, result=ze.ZE_RESULT_NOT_READY)
    with player_of(stream.path, library, Options(patience=0.05)) as player:
        report = player.run()
        assert report.same
        assert "had not ended its work" in str(report.notes)
        player.library.zeEventHostSignal(player.handle(event))
        assert player.idle()
