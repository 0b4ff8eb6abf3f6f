"""Several devices in one process: what contexts allow, and how devices work side by side."""

from tests.driver.devices.topology import run


def test_context_serves_only_its_own_devices() -> None:
    run("""
        context = context_of(first)
        made = ctypes.c_void_p()
        queue, pool = ze.ze_command_queue_desc_t(), ze.ze_event_pool_desc_t(count=1)
        module = ze.ze_module_desc_t(inputSize=4, pInputModule=ctypes.addressof(made))
        image = ze.ze_image_desc_t(type=ze.ZE_IMAGE_TYPE_1D, width=1)
        sampler, counted = ze.ze_sampler_desc_t(), ze.ze_event_counter_based_desc_t()
        physical = ze.ze_physical_mem_desc_t(size=2 << 20)
        _, memory = allocate_shared(context, first)
        calls = {
            "zeMemAllocDevice": lambda: allocate(context, second)[0],
            "zeCommandQueueCreate": lambda: ze.zeCommandQueueCreate(
                context, second, ctypes.byref(queue), ctypes.byref(made)),
            "zeCommandListCreate": lambda: ze.zeCommandListCreate(
                context, second, ctypes.byref(ze.ze_command_list_desc_t()), ctypes.byref(made)),
            "zeCommandListCreateImmediate": lambda: ze.zeCommandListCreateImmediate(
                context, second, ctypes.byref(queue), ctypes.byref(made)),
            "zeEventPoolCreate": lambda: ze.zeEventPoolCreate(
                context, ctypes.byref(pool), 1, handles(second), ctypes.byref(made)),
            "zeContextSystemBarrier": lambda: ze.zeContextSystemBarrier(context, second),
            "zeMemAllocShared": lambda: allocate_shared(context, second)[0],
            "zeImageCreate": lambda: ze.zeImageCreate(
                context, second, ctypes.byref(image), ctypes.byref(made)),
            "zeSamplerCreate": lambda: ze.zeSamplerCreate(
                context, second, ctypes.byref(sampler), ctypes.byref(made)),
            "zeModuleCreate": lambda: ze.zeModuleCreate(
                context, second, ctypes.byref(module), ctypes.byref(made), None),
            "zePhysicalMemCreate": lambda: ze.zePhysicalMemCreate(
                context, second, ctypes.byref(physical), ctypes.byref(made)),
            "zeEventCounterBasedCreate": lambda: ze.zeEventCounterBasedCreate(
                context, second, ctypes.byref(counted), ctypes.byref(made)),
            "zeContextMakeMemoryResident": lambda: ze.zeContextMakeMemoryResident(
                context, second, memory, 4096),
            "zeContextEvictMemory": lambda: ze.zeContextEvictMemory(
                context, second, memory, 4096),
        }
        for name, call in calls.items():
            assert call() == INVALID, name
            assert "the context was created without this device" in last_error(), name
            assert made.value is None
        check(ze.zeMemFree(context, memory))
        for device in (first, *subs):
            result, pointer = allocate(context, device)
            check(result)
            check(ze.zeMemFree(context, pointer))
        check(ze.zeContextGetStatus(context))
        check(ze.zeContextDestroy(context))
    """)


def test_context_needs_devices_that_exist() -> None:
    run("""
        made = ctypes.c_void_p()
        description = ctypes.byref(ze.ze_context_desc_t())
        def create(count, array):
            return ze.zeContextCreateEx(driver, description, count, array, ctypes.byref(made))
        for wrong in (None, driver, 0x1234):
            result = create(2, handles(first, wrong))
            assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, (wrong, result)
        assert create(1, None) == ze.ZE_RESULT_ERROR_INVALID_SIZE
        assert made.value is None
        check(create(0, None))  # all devices
        for device in everywhere:
            result, pointer = allocate(made, device)
            check(result)
            check(ze.zeMemFree(made, pointer))
        check(ze.zeContextDestroy(made))
        context = context_of(first, first, subs[0])
        check(ze.zeContextDestroy(context))
    """)


def test_sub_device_context_excludes_root_device() -> None:
    run("""
        context = context_of(subs[1])
        assert allocate(context, first)[0] == INVALID
        assert allocate(context, subs[0])[0] == INVALID
        result, pointer = allocate(context, subs[1])
        check(result)
        check(ze.zeMemFree(context, pointer))
        check(ze.zeContextDestroy(context))
    """)


def test_devices_and_sub_devices_run_side_by_side() -> None:
    """Each has its own queue; one that is blocked holds up no other."""
    run("""
        benches = [Bench(driver, device) for device in (first, second, *subs)]
        go = benches[0].event()
        blocked = benches[0].immediate()
        barrier(blocked, waits=[go])
        for bench in benches[1:]:
            source, target = bench.random_bytes(3 << 20), bench.bytes(3 << 20, fill=0)
            commands = bench.immediate()
            copy(commands, address(target), address(source), 3 << 20)
            finish(commands)
            assert (source == target).all()
        assert ze.zeCommandListHostSynchronize(blocked, 0) == ze.ZE_RESULT_NOT_READY
        check(ze.zeEventHostSignal(go))
        finish(blocked)
        for bench in benches:
            bench.close()
    """)


def test_memory_copies_from_one_device_to_another() -> None:
    run("""
        bench, other = Bench(driver, first), Bench(driver, second)
        source, target = bench.random_bytes(100000), bench.bytes(100000)
        middle = other.local(100000)
        done = bench.event()
        to, back = bench.immediate(), other.immediate()
        copy(to, middle, address(source), 100000, signal=done)
        copy(back, address(target), middle, 100000, waits=[done])
        finish(back)
        assert (source == target).all()
        bench.close(), other.close()
    """)


def test_device_synchronise_includes_sub_devices() -> None:
    run("""
        bench, other = Bench(driver, subs[0]), Bench(driver, second)
        go, never = bench.event(), other.event()
        memory = bench.bytes(1, fill=0)
        commands, stuck = bench.immediate(), other.immediate()
        fill(commands, address(memory), b"\\1", 1, waits=[go])
        barrier(stuck, waits=[never])
        with in_another_thread(lambda: check(ze.zeEventHostSignal(go))):
            check(ze.zeDeviceSynchronize(first))
        assert memory[0] == 1
        bench.close(), other.close()
    """)


def test_sub_devices_share_memory_of_their_root() -> None:
    """Each has its part; the root has no more than both together."""
    run("""
        context = context_of(first)
        properties = ze.ze_device_properties_t()
        check(ze.zeDeviceGetProperties(first, ctypes.byref(properties)))
        whole = properties.maxMemAllocSize
        out = ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
        result, large = allocate(context, first, whole * 3 // 4)
        check(result)
        assert allocate(context, subs[0], whole * 3 // 8)[0] == out
        check(ze.zeMemFree(context, large))
        parts = [allocate(context, sub, whole * 3 // 8) for sub in subs]
        assert [result for result, _ in parts] == [0, 0]
        assert allocate(context, first, whole // 2)[0] == out
        for _, pointer in parts:
            check(ze.zeMemFree(context, pointer))
        check(ze.zeContextDestroy(context))
    """)


def test_forced_shared_memory_counts_for_device() -> None:
    program = """
        bench = Bench(driver, first)
        properties = ze.ze_device_properties_t()
        check(ze.zeDeviceGetProperties(first, ctypes.byref(properties)))
        bench.shared(properties.maxMemAllocSize // 2)
        result, pointer = allocate(bench.context, first, properties.maxMemAllocSize * 3 // 4)
        assert (result == ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY) == {forced}, result
        if pointer:
            check(ze.zeMemFree(bench.context, pointer))
        bench.close()
    """
    run(program.format(forced=False))
    run(program.format(forced=True), ZE_SHARED_FORCE_DEVICE_ALLOC="1")
