"""What the driver counts of a GPU: exactly what a queue gave to it, also in closed lists."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import groundstate as gs
from tests.driver.metrics.support import (
    EVENT,
    TIME,
    Metrics,
    Values,
    begin,
    calculate,
    data,
    end,
    group_handles,
    read,
)
from tests.driver.metrics.test_metric_streamers import SECOND, marker

GROUPS, ITEMS, BYTES = 8, 32, 4096


@pytest.fixture(scope="session")
def groups(warm_gpu: None) -> dict[tuple[str, int], int]:
    """The handles of groups and metrics, which stay."""
    return Metrics.find(gs.devices()[-1].handle)


@pytest.fixture
def metrics(groups: dict[tuple[str, int], int], gpu: gs.Device) -> Iterator[Metrics]:
    bench = Metrics(gs.drivers()[0].handle, gpu.handle, groups)
    yield bench
    bench.close()


def work(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> list[gs.Memory]:
    first, second, out = (ctx.alloc_device(BYTES // 4, "float32") for _ in range(3))
    commands.fill(first, 0)
    commands.copy(second, first)
    size = GROUPS * ITEMS
    module["add"].launch(first, second, out, global_size=size, group_size=ITEMS, on=commands)
    module["add"].launch(first, second, out, global_size=size, group_size=ITEMS, on=commands)
    return [first, second, out]


def is_that_work(found: Values, times: int = 1) -> None:
    names = ("Kernels", "WorkGroups", "WorkItems", "Copies", "CopiedBytes", "FilledBytes")
    counts = [2, 2 * GROUPS, 2 * GROUPS * ITEMS, 2, BYTES, BYTES]
    assert [found[name] for name in names] == [each * times for each in counts]
    assert 0 <= found["KernelTime"] <= found["GpuTime"]
    assert 0 <= found["CopyTime"] <= found["GpuTime"]


def test_groups_are_those_of_gpus(metrics: Metrics) -> None:
    assert set(metrics.groups) == {("ComputeBasic", TIME), ("ComputeBasic", EVENT)}
    assert len(group_handles(metrics.device)) == 2


def test_query_counts_what_its_queue_did(
    metrics: Metrics, ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    kept = work(ctx, module, commands)
    group = metrics.active("ComputeBasic")
    query = metrics.query(metrics.query_pool(group))
    begin(commands.handle, query)
    kept += work(ctx, module, commands)
    end(commands.handle, query)
    kept += work(ctx, module, commands)
    commands.synchronize()
    is_that_work(calculate(group, data(query))[0])
    assert len(kept) == 9


def test_closed_lists_count_each_time(metrics: Metrics, ctx: gs.Context, module: gs.Module) -> None:
    with gs.CommandList(ctx) as closed, gs.CommandQueue(ctx) as queue:
        kept = work(ctx, module, closed)
        closed.finish()
        queue.execute(closed)
        queue.synchronize()
        group = metrics.active("ComputeBasic", TIME)
        streamer = metrics.streamer(group, 100 * SECOND)
        for _ in range(3):
            queue.execute(closed)
        queue.synchronize()
        with gs.CommandList.immediate(ctx, in_order=True) as commands:
            marker(commands.handle, streamer, 7)
            commands.synchronize()
        (found,) = calculate(group, read(streamer)[1])
        assert found["StreamMarker"] == 7
        is_that_work(found, 3)
        metrics.end(streamer)
    assert len(kept) == 3
