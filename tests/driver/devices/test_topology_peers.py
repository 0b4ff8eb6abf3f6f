"""Devices and sub-devices as peers: access, copies, kernels, events, speeds, and the fabric."""

from tests.driver.devices.topology import run

KERNELS = """
import pathlib, tempfile
from tests.driver import fake_compiler
from tests.driver.kernels import KernelBench, launch
sys.modules["groundstate.compiler.program"] = fake_compiler
with tempfile.TemporaryDirectory() as folder:
    fake_compiler.LIBRARY.build(pathlib.Path(folder))
"""


def test_every_device_is_peer_of_all_and_itself() -> None:
    run("""
        flags = ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS | ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS
        for device in everywhere:
            for peer in everywhere:
                can = ctypes.c_uint8(7)
                check(ze.zeDeviceCanAccessPeer(device, peer, ctypes.byref(can)))
                assert can.value == 1
                properties = asked(ze.zeDeviceGetP2PProperties, ze.ze_device_p2p_properties_t,
                                   device, peer)
                assert properties.flags == flags
    """)


def test_speeds_of_peers_are_measured() -> None:
    run("""
        def speed(device, peer):
            found = ze.ze_device_p2p_bandwidth_exp_properties_t()
            asked(ze.zeDeviceGetP2PProperties, ze.ze_device_p2p_properties_t, device, peer,
                  chained=found)
            assert found.bandwidthUnit == ze.ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC
            assert found.latencyUnit == ze.ZE_LATENCY_UNIT_NANOSEC
            assert found.logicalBandwidth == found.physicalBandwidth >= 1
            assert found.logicalLatency == found.physicalLatency >= 1
            return found.logicalBandwidth, found.logicalLatency
        answers = {(device, peer): speed(device, peer)
                   for device in everywhere for peer in everywhere}
        assert answers == {pair: speed(*pair) for pair in answers}  # they stay the same
        for sub in subs:
            assert answers[first, second][0] >= answers[sub, second][0]
        memory, module = ze.ze_device_memory_properties_t(), ze.ze_device_memory_ext_properties_t()
        memory.pNext = ctypes.addressof(module)
        count = ctypes.c_uint32(1)
        check(ze.zeDeviceGetMemoryProperties(first, ctypes.byref(count), ctypes.byref(memory)))
        assert module.readBandwidth >= 1 and module.writeBandwidth >= 1
        assert module.bandwidthUnit == ze.ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC
    """)


def test_memory_is_copied_between_all_pairs() -> None:
    """Each pair, by a queue of each of the two."""
    run("""
        SIZE = 300_000
        bench = Bench(driver, first)
        benches = {device: Bench(driver, device) for device in everywhere}
        content, found = bench.random_bytes(SIZE), bench.bytes(SIZE)
        lists = {device: each.immediate(in_order=True) for device, each in benches.items()}
        memory = {device: each.local(SIZE) for device, each in benches.items()}
        for source in everywhere:
            for target in everywhere:
                for worker in (source, target):
                    found[:] = 0
                    commands = lists[worker]
                    fill(commands, memory[target], b"\\0", SIZE)
                    copy(commands, memory[source], address(content), SIZE)
                    copy(commands, memory[target], memory[source], SIZE)
                    copy(commands, address(found), memory[target], SIZE)
                    finish(commands)
                    assert (found == content).all()
        for each in benches.values():
            each.close()
        bench.close()
    """)


def test_kernels_use_the_memory_of_other_devices() -> None:
    run(
        KERNELS
        + """
import numpy as np
COUNT = 1000
owner = Bench(driver, first)
values = owner.random_bytes(4 * COUNT).view(np.uint8).astype(np.float32)[: COUNT]
context = owner.context
arrays = {}
for device in everywhere:
    result, pointer = allocate(context, device, 4 * COUNT)
    check(result)
    arrays[device] = view(pointer, 4 * COUNT).view(np.float32)
    arrays[device][:] = values
    allocation = ze.ze_memory_allocation_properties_t()
    where = ctypes.c_void_p()
    check(ze.zeMemGetAllocProperties(context, pointer + 100, ctypes.byref(allocation),
                                     ctypes.byref(where)))
    assert where.value == device and allocation.type == ze.ZE_MEMORY_TYPE_DEVICE
for device in everywhere:
    bench = KernelBench(driver, device)
    commands = bench.immediate(in_order=True)
    out = bench.array(COUNT, "float32")
    for peer in everywhere:
        kernel = bench.kernel("add", arrays[device], arrays[peer], out, size=(10, 1, 1))
        launch(commands, kernel, COUNT // 10)
        finish(commands)
        assert (out == arrays[device] + arrays[peer]).all()
        kernel = bench.kernel("add", out, out, arrays[peer], size=(10, 1, 1))
        launch(commands, kernel, COUNT // 10)
        finish(commands)
        assert (arrays[peer] == out + out).all()
    bench.close()
for array in arrays.values():
    check(ze.zeMemFree(context, address(array)))
owner.close()
"""
    )


def test_module_serves_sub_devices_but_no_other() -> None:
    run(
        KERNELS
        + """
bench, groups = KernelBench(driver, first), ze.ze_group_count_t(4, 1, 1)
counter = bench.array(1)
kernel = bench.kernel("tally", counter, size=(8, 1, 1))
for device in everywhere:
    commands = ctypes.c_void_p()
    check(ze.zeCommandListCreateImmediate(
        bench.context, device, ctypes.byref(ze.ze_command_queue_desc_t()),
        ctypes.byref(commands)))
    result = ze.zeCommandListAppendLaunchKernel(
        commands, kernel, ctypes.byref(groups), None, 0, None)
    if device in (first, *subs):
        check(result)
    else:
        assert result == ze.ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE
        assert "another device" in last_error()
    finish(commands)
    check(ze.zeCommandListDestroy(commands))
assert counter[0] == 3 * 32
bench.close()
"""
    )


def test_a_list_runs_on_the_device_of_its_queue() -> None:
    """Every device can access every list, so a program may choose as late as that."""
    run("""
        bench = Bench(driver, first)
        memory = bench.bytes(1000, fill=0)
        commands = bench.list()
        fill(commands, address(memory), b"\\1", 1000)
        close_list(commands)
        for device in everywhere:
            queue = ctypes.c_void_p()
            check(ze.zeCommandQueueCreate(
                bench.context, device, ctypes.byref(ze.ze_command_queue_desc_t()),
                ctypes.byref(queue)))
            memory[:] = 0
            submit(queue, commands)
            finish_queue(queue)
            assert (memory == 1).all()
            check(ze.zeCommandQueueDestroy(queue))
        bench.close()
    """)


def test_atomics_of_all_devices_meet_in_one_word() -> None:
    run(
        KERNELS
        + """
benches = [KernelBench(driver, device) for device in everywhere]
counter = benches[0].array(1)
lists = []
for bench in benches:
    kernel = bench.kernel("tally", counter, size=(8, 1, 1))
    commands = bench.immediate()
    launch(commands, kernel, 1000)
    lists.append(commands)
for commands in lists:
    finish(commands)
assert counter[0] == len(everywhere) * 8000
for bench in benches:
    bench.close()
"""
    )


def test_event_signal_on_one_device_wakes_another() -> None:
    """A chain through every device; each waits for the one before, started from the last."""
    run("""
        bench = Bench(driver, first)
        events = bench.events(len(everywhere) + 1)
        memory = bench.bytes(len(everywhere), fill=0)
        lists = []
        others = [Bench(driver, device) for device in everywhere]
        for place, other in reversed(list(enumerate(others))):
            commands = other.immediate()
            fill(commands, address(memory, place), bytes([place + 1]), 1,
                 waits=[events[place]], signal=events[place + 1])
            lists.append(commands)
        assert not memory.any()
        check(ze.zeEventHostSignal(events[0]))
        check(ze.zeEventHostSynchronize(events[-1], FOREVER))
        assert memory.tolist() == list(range(1, len(everywhere) + 1))
        for commands in lists:
            finish(commands)
        counter = others[0].counter_event()
        ahead = others[0].immediate(in_order=True)
        behind = others[-1].immediate(in_order=True)
        fill(ahead, address(memory), b"\\x63", 1, signal=counter)
        copy(behind, address(memory, 1), address(memory), 1, waits=[counter])
        finish(behind)
        assert memory[1] == 0x63
        for other in others:
            other.close()
        bench.close()
    """)


def test_device_queues_accept_explicit_only_flag() -> None:
    """A list made for a device runs on a queue of that device, with the flag and without."""
    run("""
        for device in everywhere:
            bench = Bench(driver, device)
            memory = bench.bytes(100, fill=0)
            queue = bench.queue(flags=ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY)
            commands = bench.list(flags=ze.ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY)
            fill(commands, address(memory), b"\\7", 100)
            submit(queue, close_list(commands))
            finish_queue(queue)
            assert (memory == 7).all()
            now = bench.immediate(flags=ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY)
            fill(now, address(memory), b"\\x08", 100)
            finish(now)
            assert (memory == 8).all()
            bench.close()
    """)


def test_the_fabric_knows_every_device() -> None:
    run("""
        vertices = listed(ze.zeFabricVertexGetExp, driver)
        assert len(vertices) == len(devices)
        parts = lambda vertex: listed(ze.zeFabricVertexGetSubVerticesExp, vertex)
        everything = [each for vertex in vertices for each in (vertex, *parts(vertex))]
        assert everything == [each for vertex in vertices for each in (vertex, *parts(vertex))]
        for vertex, device in zip(everything, everywhere, strict=True):
            found = ctypes.c_void_p()
            check(ze.zeFabricVertexGetDeviceExp(vertex, ctypes.byref(found)))
            assert found.value == device
            check(ze.zeDeviceGetFabricVertexExp(device, ctypes.byref(found)))
            assert found.value == vertex
            about = asked(ze.zeFabricVertexGetPropertiesExp, ze.ze_fabric_vertex_exp_properties_t,
                          vertex)
            properties = asked(ze.zeDeviceGetProperties, ze.ze_device_properties_t, device)
            assert bytes(about.uuid.id) == bytes(properties.uuid.id)
        edges = {}
        for one in everything:
            for other in everything:
                found = listed(ze.zeFabricEdgeGetExp, one, other)
                related = one == other or one in parts(other) or other in parts(one)
                assert len(found) == (0 if related else 1)
                for edge in found:
                    edges.setdefault(edge, set()).add((one, other))
        assert len(edges) == 11
        uuids = set()
        for edge, pairs in edges.items():
            a, b = ctypes.c_void_p(), ctypes.c_void_p()
            check(ze.zeFabricEdgeGetVerticesExp(edge, ctypes.byref(a), ctypes.byref(b)))
            assert pairs == {(a.value, b.value), (b.value, a.value)}
            about = asked(ze.zeFabricEdgeGetPropertiesExp, ze.ze_fabric_edge_exp_properties_t, edge)
            assert about.bandwidth >= 1 and about.latency >= 1
            assert about.bandwidthUnit == ze.ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC
            uuids.add(bytes(about.uuid.id))
        assert len(uuids) == 11
    """)


def test_counts_may_be_too_small_and_too_large() -> None:
    run("""
        vertices = listed(ze.zeFabricVertexGetExp, driver)
        queries = [
            (ze.zeDeviceGet, (driver,), devices),
            (ze.zeDeviceGetSubDevices, (first,), subs),
            (ze.zeDeviceGetSubDevices, (subs[0],), []),
            (ze.zeFabricVertexGetExp, (driver,), vertices),
            (ze.zeFabricVertexGetSubVerticesExp, (vertices[0],),
             listed(ze.zeFabricVertexGetSubVerticesExp, vertices[0])),
            (ze.zeFabricEdgeGetExp, tuple(vertices), listed(ze.zeFabricEdgeGetExp, *vertices)),
            (ze.zeFabricEdgeGetExp, (vertices[0], vertices[0]), []),
        ]
        for function, subject, expected in queries:
            for room in range(5):
                count, array = ctypes.c_uint32(room), (ctypes.c_void_p * 5)(*[0xABC] * 5)
                check(function(*subject, ctypes.byref(count), array))
                written = min(room, len(expected))
                assert count.value == (len(expected) if room == 0 else written)
                assert array[:] == expected[:written] + [0xABC] * (5 - written)
            null = ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
            assert function(*subject, None, None) == null
            for wrong in (None, 0x1230, subs[0] + 8):
                bad = (*subject[:-1], wrong)
                result = function(*bad, ctypes.byref(ctypes.c_uint32()), None)
                assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, (function, wrong)
    """)


def test_wrong_handles_and_pointers_are_refused() -> None:
    run("""
        vertices = listed(ze.zeFabricVertexGetExp, driver)
        (edge,) = listed(ze.zeFabricEdgeGetExp, *vertices)
        null_handle = ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
        null_pointer = ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
        pointer, another, yes = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint8()
        calls = [
            (ze.zeDeviceCanAccessPeer, (first, second), [yes]),
            (ze.zeDeviceGetP2PProperties, (first, second), [ze.ze_device_p2p_properties_t()]),
            (ze.zeDeviceGetRootDevice, (first,), [pointer]),
            (ze.zeDeviceGetFabricVertexExp, (first,), [pointer]),
            (ze.zeFabricVertexGetDeviceExp, (vertices[0],), [pointer]),
            (ze.zeFabricVertexGetPropertiesExp, (vertices[0],),
             [ze.ze_fabric_vertex_exp_properties_t()]),
            (ze.zeFabricEdgeGetVerticesExp, (edge,), [pointer, another]),
            (ze.zeFabricEdgeGetPropertiesExp, (edge,), [ze.ze_fabric_edge_exp_properties_t()]),
        ]
        for call, good, outputs in calls:
            addresses = [ctypes.byref(output) for output in outputs]
            check(call(*good, *addresses))
            for place in range(len(good)):
                for wrong in (None, 0x1230, driver, 2**64 - 8):
                    bad = [wrong if index == place else each for index, each in enumerate(good)]
                    assert call(*bad, *addresses) == null_handle, (call, wrong)
            for place in range(len(outputs)):
                bad = [None if index == place else each for index, each in enumerate(addresses)]
                assert call(*good, *bad) == null_pointer, call
    """)
