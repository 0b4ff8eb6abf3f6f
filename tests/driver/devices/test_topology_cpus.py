"""A divided machine is really divided: what runs on a device runs on its CPUs, and on no others."""

from pathlib import Path

from tests.driver.devices.topology import run

KERNELS = """
import pathlib, tempfile
from tests.driver import fake_compiler
from tests.driver.kernels import KernelBench, group_count, launch
sys.modules["groundstate.compiler.program"] = fake_compiler
with tempfile.TemporaryDirectory() as folder:
    fake_compiler.LIBRARY.build(pathlib.Path(folder))

ALLOWED = os.sched_getaffinity(0)
GROUPS = 64

def cpus_of(device, launches=5, **queue):
    # The CPUs on which groups of kernels ran that were launched on a device.
    bench = KernelBench(driver, device)
    out = bench.array(GROUPS, "uint32")
    kernel = bench.kernel("cpus", out, size=(1, 1, 1))
    commands, seen = bench.immediate(**queue), set()
    for _ in range(launches):
        launch(commands, kernel, GROUPS)
        finish(commands)
        seen |= set(out.tolist())
    bench.close()
    return seen

def workers_of(device):
    properties = asked(ze.zeDeviceGetProperties, ze.ze_device_properties_t, device)
    return properties.numEUsPerSubslice
"""


def test_kernels_run_on_the_cpus_of_their_device() -> None:
    run(
        KERNELS
        + """
if len(ALLOWED) >= 2:
    seen = {device: cpus_of(device) for device in devices}
    assert not seen[first] & seen[second], seen
    for device in devices:
        parts = [cpus_of(sub) for sub in listed(ze.zeDeviceGetSubDevices, device)]
        assert len(seen[device]) <= workers_of(device) <= len(ALLOWED) // 2 + 1
        for part in parts:
            assert not part & seen[second if device == first else first], (parts, seen)
        if workers_of(device) >= 2:
            assert not parts[0] & parts[1], parts
"""
    )


def test_threads_are_pinned_to_their_device_cpus() -> None:
    """Two threads for each of two devices; with one CPU, all of them are there."""
    run(
        KERNELS
        + """
def held():
    # Where each thread of the driver may run.
    threads = {}
    for task in os.listdir("/proc/self/task"):
        name = open(f"/proc/self/task/{task}/comm").read().strip()
        if name.startswith("gs-"):
            threads[name, int(task)] = frozenset(os.sched_getaffinity(int(task)))
    return threads

for device in devices:
    cpus_of(device, launches=2)
places = {cpus for (name, _), cpus in held().items() if name == "gs-worker"}
if len(ALLOWED) >= 2:
    assert len(places) == 2 and not frozenset.intersection(*places), places
assert os.sched_getaffinity(0) == ALLOWED  # the program's own threads stay free
""",
        GROUNDSTATE_TOPOLOGY="2",
        GROUNDSTATE_THREADS="4",
    )


def test_workers_stay_where_they_are_placed() -> None:
    """As on a machine with two memory nodes, which this one need not be."""
    run(
        KERNELS
        + """
import ctypes, time
from groundstate import knobs
(only,) = listed(ze.zeDeviceGet, driver)
where = min(ALLOWED)
place = ctypes.CDLL(knobs.library()).gs_device_place
assert place(ctypes.c_void_p(only), 1, 2, (ctypes.c_uint32 * 1)(where), 1) & 1
cpus_of(only, launches=2)

def places():
    tasks = os.listdir("/proc/self/task")
    names = {task: open(f"/proc/self/task/{task}/comm").read().strip() for task in tasks}
    return sorted(
        sorted(os.sched_getaffinity(int(task))) for task in tasks if names[task] == "gs-worker"
    )

expected = sorted([[where], [where], sorted(ALLOWED)])
until = time.monotonic() + 30
while places() != expected and time.monotonic() < until:
    time.sleep(0.01)  # a thread takes a moment to start
assert places() == expected, places()
assert os.sched_getaffinity(0) == ALLOWED
""",
        GROUNDSTATE_TOPOLOGY="1",
        GROUNDSTATE_THREADS="4",
    )


def test_short_and_cooperative_work_is_pinned() -> None:
    """Short launches would otherwise run on the thread that appends them, wherever that is."""
    run(
        KERNELS
        + """
if len(ALLOWED) >= 2:
    other = cpus_of(second, launches=1)
    bench = KernelBench(driver, first)
    out = bench.array(GROUPS, "uint32")
    kernel = bench.kernel("cpus", out, size=(1, 1, 1))
    commands = bench.immediate(in_order=True)
    os.sched_setaffinity(0, other)  # the program itself sits on the other device's CPUs
    for _ in range(20):
        launch(commands, kernel, 1)
        finish(commands)
        assert out[0] not in other
    groups = group_count(workers_of(first))
    check(ze.zeCommandListAppendLaunchCooperativeKernel(
        commands, kernel, ctypes.byref(groups), None, 0, None))
    finish(commands)
    assert not set(out[: workers_of(first)].tolist()) & other
    bench.close()
"""
    )


def test_undivided_machine_pins_no_thread() -> None:
    run(
        KERNELS
        + """
assert cpus_of(first) <= ALLOWED
for task in os.listdir("/proc/self/task"):
    assert os.sched_getaffinity(int(task)) == ALLOWED
""",
        GROUNDSTATE_TOPOLOGY="1",
    )


POLICY = """
import platform
SYS_GET_MEMPOLICY = {"x86_64": 239, "aarch64": 236}[platform.machine()]
PREFERRED, DEFAULT, BY_ADDRESS = 1, 0, 2

def policy(pointer):
    mode, nodes = ctypes.c_int(), ctypes.c_uint64()
    done = ctypes.CDLL(None).syscall(
        SYS_GET_MEMPOLICY, ctypes.byref(mode), ctypes.byref(nodes), ctypes.c_ulong(65),
        ctypes.c_void_p(pointer), ctypes.c_ulong(BY_ADDRESS))
    return (mode.value, nodes.value) if done == 0 else None

context = context_of(*devices)
result, near = allocate(context, first, 4 << 20)
check(result)
if policy(near) is not None:  # a container may forbid the question
    assert policy(near) == (PREFERRED, 1), policy(near)
    result, anywhere = allocate_shared(context, None, 4 << 20)
    check(result)
    assert policy(anywhere)[0] == DEFAULT
    check(ze.zeMemFree(context, anywhere))
    check(ze.zeMemFree(context, near))
    result, again = allocate_shared(context, None, 4 << 20)  # the block that was near a node
    check(result)
    assert policy(again)[0] == DEFAULT
    near = again
result, far = allocate(context, second, 4 << 20)  # its node does not exist: a wish, no error
check(result)
ctypes.memset(far, 1, 4 << 20)
for pointer in (near, far):
    check(ze.zeMemFree(context, pointer))
check(ze.zeContextDestroy(context))
"""


def test_memory_is_allocated_near_device_cpus(tmp_path: Path) -> None:
    """A recorded machine with two nodes, of which this one has at least the first."""
    tree = tmp_path / "sys/devices/system"
    for path, text in {
        "cpu/online": "0-1",
        "node/online": "0-1",
        "node/node0/cpulist": "0",
        "node/node1/cpulist": "1",
    }.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text + "\n")
    run(POLICY, GROUNDSTATE_SYSFS_ROOT=str(tmp_path), GROUNDSTATE_TOPOLOGY="2")
