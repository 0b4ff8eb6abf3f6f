"""What the system counts of workers: page faults always, cycles where the machine lets us."""

import json

import pytest

from groundstate.driver.metrics import table
from tests.driver.metrics.support import EVENT, TIME, Metrics, begin, calculate, data, end
from tests.driver.processes import run
from tests.driver.support import fill, finish

BYTES = 1 << 25
COUNTED_FILL = """
import json
from tests.driver.metrics.support import Metrics, begin, calculate, data, end
metrics = Metrics(first_driver(), device.value, Metrics.find(device.value))
group = metrics.active("Processor")
query = metrics.query(metrics.query_pool(group))
commands, memory = metrics.immediate(in_order=True), metrics.shared(64)
begin(commands, query)
fill(commands, memory, b"x", 64)
end(commands, query)
finish(commands)
say(json.dumps(calculate(group, data(query))[0]))
metrics.close()
"""


def test_pages_that_a_fill_touches_first_are_page_faults(metrics: Metrics) -> None:
    if ("Processor", EVENT) not in metrics.groups:
        pytest.skip("this system lets nobody count events (perf_event_open)")
    group = metrics.active("Processor")
    queries = [metrics.query(metrics.query_pool(group, 2), index) for index in range(2)]
    commands, memory = metrics.immediate(in_order=True), metrics.shared(BYTES)
    for query in queries:
        begin(commands, query)
        fill(commands, memory, b"\1", BYTES)
        end(commands, query)
    finish(commands)
    first, second = (calculate(group, data(query))[0] for query in queries)
    assert first["PageFaults"] > second["PageFaults"]
    if "CpuCycles" in first:
        assert first["CpuCycles"] > 0
        assert first["CpuInstructions"] > 0


def test_counters_that_shared_the_hardware_are_scaled(counters: str) -> None:
    found = json.loads(run(COUNTED_FILL, LD_PRELOAD=counters))
    faults = found["PageFaults"]
    assert faults > 0
    assert found["CpuCycles"] == found["InstructionTlbMisses"] == 2 * faults
    assert found["CpuInstructions"] == found["DataTlbMisses"] == 4 * faults


def test_groups_have_only_what_the_system_counts() -> None:
    assert table.processor_groups(0) == ()
    time_based, event_based = table.processor_groups(0b100000001)
    names = [each.name for each in event_based.metrics]
    assert names == ["GpuTime", "QueryBeginTime", "ReportTime", "CpuCycles", "PageFaults"]
    assert (time_based.sampling, event_based.sampling) == (TIME, EVENT)
    assert table.events_of(names) == 0b100000001


def test_each_event_has_a_word_and_a_metric() -> None:
    first, last = table.NAMES.index("cycles"), table.NAMES.index("counted_kernels")
    (_, group) = table.processor_groups((1 << (last - first)) - 1)
    assert group.words == (first, last - first)
    assert len(group.metrics) == 3 + last - first
