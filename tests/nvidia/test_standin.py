"""The GPU half of the driver, against a stand-in for the CUDA driver: see standin/standin.h."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.nvidia.library import HERE, build, environment

ROOT = HERE.parents[1]
FILES = sorted(path.name for path in (HERE / "inside").glob("test_*.py"))

LIST = """
import groundstate as gs
print(*[device.name.split(":")[0] for device in gs.devices()], sep="|")
"""
CPU, GPU = "Groundstate CPU device", "Stand-in GPU 0"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("standin"))


@pytest.mark.parametrize("file", FILES)
def test_with_a_gpu(library: Path, file: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"tests/nvidia/inside/{file}",
    ]
    found = subprocess.run(
        command, cwd=ROOT, env=environment(library), capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-3000:]
    assert " passed" in found.stdout


def run(library: Path, program: str, **more: str) -> str:
    """What a program prints that has the stand-in's GPU."""
    found = subprocess.run(
        [sys.executable, "-c", dedent(program)],
        cwd=ROOT,
        env=environment(library, **more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def listed(library: Path, **more: str) -> list[str]:
    return run(library, LIST, **more).strip().split("|")


@pytest.mark.parametrize(
    ("knob", "expected"),
    [("1", [CPU, GPU]), ("0", [CPU]), ("first", [GPU, CPU]), ("only", [GPU])],
)
def test_knob_orders_devices(library: Path, knob: str, expected: list[str]) -> None:
    assert listed(library, GROUNDSTATE_NVIDIA=knob) == expected


@pytest.mark.parametrize(("mask", "expected"), [("1", [GPU]), ("0", [CPU]), ("0,1", [CPU, GPU])])
def test_affinity_mask_counts_gpus(library: Path, mask: str, expected: list[str]) -> None:
    assert listed(library, ZE_AFFINITY_MASK=mask) == expected


def test_several_gpus(library: Path) -> None:
    assert listed(library, STANDIN_DEVICES="3") == [CPU, *(f"Stand-in GPU {n}" for n in range(3))]


@pytest.mark.parametrize("plan", ["cuInit:1:100", "cuDeviceGetCount:1:3"])
def test_cuda_that_does_not_start_is_left_out(library: Path, plan: str) -> None:
    assert listed(library, STANDIN_FAIL=plan) == [CPU]


def test_sysman_has_the_same_handle(library: Path, tmp_path: Path) -> None:
    """NVML is recorded, and has the UUID that the stand-in has."""
    sign = tmp_path / "proc/driver/nvidia/version"
    sign.parent.mkdir(parents=True)
    sign.touch()
    program = """
        import sys, uuid
        from tests.machines.nvml.fake import Fake
        sys.modules["pynvml"] = library = Fake()
        known = uuid.UUID(bytes=b"stand-in for gp0")
        library.answers["nvmlDeviceGetUUID"][""] = f"GPU-{known}"
        import groundstate as gs
        watched = gs.sysman_devices()
        assert [device.handle for device in watched] == [device.handle for device in gs.devices()]
        assert gs.devices()[1].uuid == known
        assert watched[1].properties.model_name == "NVIDIA H200"
    """
    run(library, program, GROUNDSTATE_SYSFS_ROOT=str(tmp_path))


def test_sysman_without_nvml_says_so(library: Path) -> None:
    program = """
        import ctypes
        import groundstate as gs
        from groundstate import ze, zes
        gpu = gs.devices()[1]
        assert zes.zesInit(0) == 0
        properties = zes.zes_device_properties_t()
        result = zes.zesDeviceGetProperties(gpu.handle, ctypes.byref(properties))
        assert ze.ze_result_t(result).name == "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"
    """
    run(library, program)


AFTER_A_FAULT = """
    import gc
    import pytest
    import groundstate as gs
    from tests.nvidia import ptx_double
    from tests.nvidia.inside.test_faults import fault
    ptx_double.install()
    cpu, gpu = gs.devices()
    fault(gpu)
    gc.collect()
    context = gs.Context(gpu)
"""


def test_process_that_does_not_recover_says_so(library: Path) -> None:
    program = """
    for _ in range(2):
        with pytest.raises(gs.DeviceLost, match="ILLEGAL_ADDRESS.*start the program again"):
            context.alloc_device(100)
    gs.Context(cpu).alloc_device(100).close()
    """
    run(library, dedent(AFTER_A_FAULT) + dedent(program), STANDIN_STICKY="1")


def test_context_that_does_not_answer_is_not_used(library: Path) -> None:
    """It is made, and fails when it is first asked; another one is tried the next time."""
    program = """
    with pytest.raises(gs.DeviceLost, match="start the program again"):
        context.alloc_device(100)
    context.alloc_device(100).close()
    """
    run(library, dedent(AFTER_A_FAULT) + dedent(program), STANDIN_FAIL="cuMemGetInfo:2:700")


RUN_A_LIST = """
    import groundstate as gs
    from tests.nvidia import ptx_double
    from tests.nvidia.inside.conftest import SOURCE
    ptx_double.install()
    gpu = gs.devices()[1]
    context = gs.Context(gpu)
    count = context.alloc_shared(2, "uint32")
    count.numpy()[:] = 0
    kernel = gs.Module(context, opencl=SOURCE)["increase"]
    recorded, queue = gs.CommandList(context, in_order=True), gs.CommandQueue(context)
    for _ in range(5):
        kernel(recorded, 1, 1, count)
    recorded.finish()
    for run in range(1, 4):
        queue.execute(recorded)
        try:
            queue.synchronize()
            print(count.tolist()[0])
        except gs.DeviceLost as problem:
            print(problem)
            break
"""


@pytest.mark.parametrize(
    ("plan", "printed"),
    [
        ("", ["5", "10", "15"]),
        ("cuLaunchKernel:11:1", ["5", "10", "15"]),  # 5 launches, and 5 while they are recorded
        ("cuStreamBeginCapture:1:1", ["5", "10", "15"]),
        ("cuLaunchKernel:8:1", ["5", "10", "15"]),
        ("cuStreamEndCapture:1:1", ["5", "10", "15"]),
        ("cuGraphInstantiate:1:1", ["5", "10", "15"]),
        ("cuGraphLaunch:2:1", ["5", "10", "kernel 'increase' was refused"]),
    ],
)
def test_closed_list_is_a_graph(library: Path, plan: str, printed: list[str]) -> None:
    lines = run(library, RUN_A_LIST, STANDIN_FAIL=plan).splitlines()
    assert len(lines) == len(printed)
    assert all(part in line for part, line in zip(printed, lines, strict=True))


def test_missing_library_changes_nothing(tmp_path: Path) -> None:
    assert listed(tmp_path / "none.so") == [CPU]


WITHOUT_PAGES = """
    import pytest
    import groundstate as gs
    gpu = gs.devices()[-1]
    context = gs.Context(gpu)
    memory = context.alloc_device(100)
    with pytest.raises(gs.UnsupportedFeature, match="does not share"):
        memory.ipc_handle()
    with pytest.raises(gs.UnsupportedFeature, match="no descriptor"):
        context.alloc_device(100, export=gs.ExternalMemoryType.OPAQUE_FD).export_fd()
    assert not gpu.external_memory.memory_export_types
    with gs.CommandList.immediate(context) as commands:
        commands.fill(memory, 1)
        commands.synchronize()
"""


@pytest.mark.parametrize("call", ["cuMemCreate", "cuMemExportToShareableHandle", "cuMemSetAccess"])
def test_memory_is_plain_where_pages_cannot_be_shared(library: Path, call: str) -> None:
    """As in a sandbox that forbids descriptors."""
    run(library, WITHOUT_PAGES, STANDIN_FAIL=f"{call}:1:801")


PEERS = """
    import numpy as np
    import groundstate as gs
    from tests.nvidia import ptx_double
    from tests.nvidia.inside.conftest import SOURCE
    ptx_double.install()
    first, second = gs.devices()
    context = gs.Context(gs.drivers()[0])
    memory = context.alloc_device(4, "uint32", device=first)
    kernel = gs.Module(context, opencl=SOURCE, device=second)["increase"]
    commands = gs.CommandList.immediate(context, second, in_order=True)
    other = context.alloc_device(4, "uint32", device=second)
    back = np.zeros(4, "uint32")
    commands.fill(other, 0)
    commands.copy(memory, other)
    commands.copy(back, memory)
    commands.synchronize()
    print(first.can_access(second), second.can_access(first), second.can_access(second))
    print(int(second.peer_properties(first).flags))
    try:
        kernel(commands, 1, 1, memory)
        commands.copy(back, memory)
        commands.synchronize()
        print(back.tolist())
    except gs.DeviceLost:
        print("lost")
"""


@pytest.mark.parametrize(
    ("peers", "printed"),
    [
        ("0", ["False False True", "0", "lost"]),
        ("1", ["True True True", "1", "[1, 0, 0, 0]"]),
        ("2", ["True True True", "3", "[1, 0, 0, 0]"]),
    ],
)
def test_kernel_reaches_memory_of_a_peer(library: Path, peers: str, printed: list[str]) -> None:
    """Copies work whether or not kernels reach it."""
    more = {"STANDIN_DEVICES": "2", "GROUNDSTATE_NVIDIA": "only", "STANDIN_PEERS": peers}
    assert run(library, PEERS, **more).splitlines() == printed
