"""Tests in here run in a process of their own with the stand-in's GPU: tests/nvidia/test_standin.py
starts it. Elsewhere they are not collected, because a process has one driver."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

import groundstate as gs
from tests.conftest import what_there_is
from tests.core.conftest import settle
from tests.nvidia import ptx_double

HAS_GPU = "standin" in os.environ.get("GROUNDSTATE_CUDA_LIBRARY", "")
collect_ignore_glob = [] if HAS_GPU else ["test_*.py"]

if HAS_GPU:
    ptx_double.install()

SOURCE = """
global uint counter[4];
kernel void add(global const float *a, global const float *b, global float *out) {
    size_t i = get_global_id(0); out[i] = a[i] + b[i];
}
kernel void shape(global ulong *out) { out[0] = get_global_offset(0); }
kernel void values(global ulong *out, char c, int i, local int *first, double d, local int *second)
{
    first[0] = i; second[0] = c; out[0] = d;
}
kernel void increase(global uint *out) { *out += counter[0]; }
kernel void fault(global int *anywhere) { *anywhere = 1; }
kernel void look(read_only image2d_t image, sampler_t sampler, global ulong *out)
{
    out[0] = read_imageui(image, sampler, (int2)(0, 0)).x;
}
kernel void say(int number) { printf("number %d\\n", number); }
kernel void tell(constant char *text) { printf("text %s\\n", text); }
"""


@pytest.fixture(scope="session")
def warm_gpu() -> None:
    """Makes what stays from its first use on."""
    for device in gs.devices():
        with gs.Context(device) as context:
            gs.Event.counter_based(context).close()
            for allocate in (context.alloc_host, context.alloc_shared, context.alloc_device):
                allocate(16).close()
            with gs.CommandList.immediate(context) as commands:
                commands.fill(context.alloc_host(16), 0)
                commands.synchronize()


@pytest.fixture(autouse=True)
def _nothing_is_left(warm_gpu: None) -> Iterator[None]:
    before = what_there_is()
    yield
    gc.collect()
    settle()
    assert what_there_is() == before


@pytest.fixture
def cpu() -> gs.Device:
    return gs.devices()[0]


@pytest.fixture
def gpu() -> gs.Device:
    return gs.devices()[-1]


@pytest.fixture
def ctx(gpu: gs.Device) -> Iterator[gs.Context]:
    """A context for the GPU alone."""
    with gs.Context(gpu) as context:
        yield context


@pytest.fixture
def mixed() -> Iterator[gs.Context]:
    """A context for all devices."""
    with gs.Context(gs.drivers()[0]) as context:
        yield context


@pytest.fixture
def commands(ctx: gs.Context) -> Iterator[gs.CommandList]:
    with gs.CommandList.immediate(ctx, in_order=True) as made:
        yield made


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made
