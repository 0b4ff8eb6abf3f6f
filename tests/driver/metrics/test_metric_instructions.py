"""Instructions that kernels count while a group is active, against kernels that are known."""

import functools

import numpy as np
import numpy.typing as npt
import pytest

from groundstate.compiler.opencl import frontend
from tests.driver.kernels import launch
from tests.driver.metrics.support import EVENT, TIME, Metrics, Values, begin, calculate, data, end
from tests.driver.support import finish

ADD = """
kernel void add(global const float *a, global const float *b, global float *c) {
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}
"""
STRIDED = """
kernel void strided(global const float *a, global const int *at, global float *c) {
    size_t i = get_global_id(0);
    c[i] = a[2 * i] * a[at[i]] + a[5];
}
"""
LOOP = """
kernel void loop(global float *out) {
    float sum = 0;
    int i = (int)get_global_id(0);
    for (int k = 0; k < i; k++) sum = sum * 0.5f + 1.0f;
    out[i] = sum;
}
"""
PARTING = """
kernel void parting(global int *out) {
    size_t i = get_global_id(0);
    int sum = 0;
    if (i % 2 == 0) {
        for (int k = 0; k < 10; k++) sum += out[(i * k) % 64];
    } else {
        sum = (int)i;
    }
    out[64 + i] = sum;
}
"""
GROUP = """
kernel void group(global uint *out) {
    local uint part[64];
    size_t i = get_local_id(0);
    part[i] = (uint)i;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&out[0], part[get_local_size(0) - 1 - i]);
}
"""


@functools.cache
def spirv(source: str) -> bytes:
    return frontend.compile_opencl(source)


def measured(
    metrics: Metrics, name: str, source: str, *arguments: object, size: int, groups: int
) -> Values:
    """What a launch counts."""
    group = metrics.active(name)
    module = metrics.module_of(spirv(source))
    kernel_name = source.split("kernel void ")[1].split("(")[0]
    kernel = metrics.kernel_in(module, kernel_name, *arguments, size=(size, 1, 1))
    query, commands = metrics.query(metrics.query_pool(group)), metrics.immediate(in_order=True)
    begin(commands, query)
    launch(commands, kernel, groups)
    end(commands, query)
    finish(commands)
    (values,) = calculate(group, data(query))
    assert values["KernelsCounted"] == 1
    return values


def floats(metrics: Metrics, count: int) -> npt.NDArray[np.float32]:
    array = metrics.array(count, "float32")
    array[:] = np.arange(count)
    return array


@pytest.mark.parametrize(("size", "groups"), [(64, 100), (7, 3), (1, 1)])
def test_vector_add_loads_and_stores_what_it_must(metrics: Metrics, size: int, groups: int) -> None:
    count = size * groups
    arrays = [floats(metrics, count) for _ in range(3)]
    values = measured(metrics, "MemoryAccess", ADD, *arrays, size=size, groups=groups)
    assert values["GlobalBytesLoaded"] == 8 * count
    assert values["GlobalBytesStored"] == 4 * count
    assert values["BytesConsecutive"] == 12 * count
    assert values["BytesGathered"] == values["BytesStrided"] == values["BytesUniform"] == 0
    assert values["LocalBytesLoaded"] == values["PrivateBytesLoaded"] == 0
    assert values["GlobalBandwidth"] > 0
    assert (arrays[2] == arrays[0] + arrays[1]).all()


def test_vector_add_is_one_operation_for_each_number(metrics: Metrics) -> None:
    arrays = [floats(metrics, 6400) for _ in range(3)]
    values = measured(metrics, "Instructions", ADD, *arrays, size=64, groups=100)
    assert values["Flops"] == values["FloatInstructions"] == 6400
    assert values["MemoryInstructions"] == 3 * 6400
    assert values["Branches"] == values["Atomics"] == values["Barriers"] == 0
    assert values["LanesActive"] == 100
    assert values["LanesIdle"] == values["DivergentBranches"] == 0
    assert values["Instructions"] % 6400 == 0


def test_kinds_of_access_are_told_apart(metrics: Metrics) -> None:
    a, c = floats(metrics, 1000), floats(metrics, 128)
    at = metrics.array(128, "int32")
    at[:] = np.arange(128)[::-1]
    values = measured(metrics, "MemoryAccess", STRIDED, a, at, c, size=64, groups=2)
    assert values["BytesStrided"] == 4 * 128
    assert values["BytesGathered"] == 4 * 128
    assert values["BytesUniform"] == 4 * 128
    assert values["BytesConsecutive"] == 8 * 128
    assert c[3] == a[6] * a[124] + a[5]


def test_loops_count_for_the_work_items_that_are_in_them(metrics: Metrics) -> None:
    out = floats(metrics, 64)
    values = measured(metrics, "Instructions", LOOP, out, size=64, groups=1)
    assert values["Flops"] == 2 * sum(range(64))
    assert values["LanesIdle"] >= 0
    assert 0 < values["LanesActive"] <= 100
    expected = 0.0
    for _ in range(63):
        expected = expected * 0.5 + 1
    assert out[63] == pytest.approx(expected)


def test_branches_whose_lanes_part_are_counted(metrics: Metrics) -> None:
    out = metrics.array(128, "int32")
    out[:64] = np.arange(64)
    values = measured(metrics, "MemoryAccess", PARTING, out, size=64, groups=1)
    assert values["GlobalBytesLoaded"] == 4 * 10 * 32
    assert values["GlobalBytesStored"] == 4 * 64
    values = measured(metrics, "Instructions", PARTING, out, size=64, groups=1)
    assert values["Branches"] >= 64
    runs_one_by_one = values["LanesIdle"] == 0
    assert (values["DivergentBranches"] > 0) != runs_one_by_one


def test_local_memory_barriers_and_atomics_are_counted(metrics: Metrics) -> None:
    out = metrics.array(1, "uint32")
    values = measured(metrics, "Instructions", GROUP, out, size=64, groups=5)
    assert values["Atomics"] == values["Barriers"] == 64 * 5
    assert out[0] == 5 * sum(range(64))
    values = measured(metrics, "MemoryAccess", GROUP, out, size=64, groups=5)
    assert values["LocalBytesStored"] == values["LocalBytesLoaded"] == 4 * 64 * 5
    assert values["GlobalBytesLoaded"] == values["GlobalBytesStored"] == 4 * 64 * 5


def test_launches_appended_before_are_not_counted(metrics: Metrics) -> None:
    arrays = [floats(metrics, 64) for _ in range(3)]
    kernel = metrics.kernel_in(metrics.module_of(spirv(ADD)), "add", *arrays, size=(64, 1, 1))
    for is_active in (False, True, False):
        metrics.activate(*([metrics.groups["Instructions", TIME]] if is_active else []))
        commands = metrics.immediate()
        launch(commands, kernel, 1)
        finish(commands)
    group = metrics.active("Instructions")
    query, commands = metrics.query(metrics.query_pool(group)), metrics.immediate(in_order=True)
    begin(commands, query)
    end(commands, query)
    launch(commands, kernel, 1)
    finish(commands)
    assert calculate(group, data(query))[0]["KernelsCounted"] == 0


def test_groups_of_other_domains_are_active_together(metrics: Metrics) -> None:
    both = metrics.groups["Instructions", EVENT], metrics.groups["ComputeBasic", EVENT]
    metrics.activate(*both)
    arrays = [floats(metrics, 64) for _ in range(3)]
    kernel = metrics.kernel_in(metrics.module_of(spirv(ADD)), "add", *arrays, size=(64, 1, 1))
    queries = [metrics.query(metrics.query_pool(group)) for group in both]
    commands = metrics.immediate(in_order=True)
    for query in queries:
        begin(commands, query)
    launch(commands, kernel, 1)
    for query in queries:
        end(commands, query)
    finish(commands)
    counted, basic = (calculate(*each)[0] for each in zip(both, map(data, queries), strict=True))
    assert counted["Flops"] == 64
    assert basic["WorkItems"] == 64
