"""What surrounds each block of the core programming guide so that it is a program.

The names that blocks take for granted are in reader.h. A line of three dots is the reader's own
code; `dots` says what it is where a block needs some.
"""

from __future__ import annotations

from dataclasses import dataclass

RESERVED = """\
    allocationSize = 1048576;
    zeVirtualMemQueryPageSize(hContext, hDevice, allocationSize, &pageSize);
    reserveSize = align(allocationSize, pageSize);
    CHECK(zeVirtualMemReserve(hContext, nullptr, reserveSize, &ptr));
"""
MAPPED = f"""\
{RESERVED}
    ze_physical_mem_desc_t pages = {{ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, nullptr, 0, reserveSize}};
    CHECK(zePhysicalMemCreate(hContext, hDevice, &pages, &hPhysicalAlloc));
"""
HOST_DESC = "    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};\n"
DEVICE_DESC = "    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};\n"
IMAGES = """\
    hModule = new_module("image_scaling.spv");
    hKernel = new_kernel("image_scaling");
"""
BOUND = f"""\
{IMAGES}
    src_image = new_image(), dest_image = new_image();
    CHECK(zeKernelSetArgumentValue(hKernel, 0, sizeof src_image, &src_image));
    CHECK(zeKernelSetArgumentValue(hKernel, 1, sizeof dest_image, &dest_image));
    CHECK(zeKernelSetArgumentValue(hKernel, 2, sizeof width, &width));
    CHECK(zeKernelSetArgumentValue(hKernel, 3, sizeof height, &height));
"""
NOTHING_TO_CLOSE = "    CHECK(zeCommandListClose(hCommandList));\n"
OPENED = """\
    ze_ipc_event_pool_handle_t pool;
    hEventPool = new_pool(ZE_EVENT_POOL_FLAG_IPC | ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    CHECK(zeEventPoolGetIpcHandle(hEventPool, &pool));
    CHECK(zeEventPoolOpenIpcHandle(hContext, pool, &hEventPool));
"""


@dataclass(frozen=True)
class Around:
    """What comes before and after a block, and in the place of its dots."""

    before: str = ""
    after: str = ""
    dots: tuple[str, ...] = ()
    renamed: tuple[str, str] | None = None
    """A name that the block gets wrong, and the one that it means."""
    says: str = ""
    """What the driver has to object to: what the block calls illegal, leaves out or gets wrong."""


NOT_CLOSED = "is still open; call zeCommandListClose"
"""The block leaves out that a list is closed before it is executed."""

AROUND: dict[int, Around] = {
    1: Around(after="    REQUIRE(hDriver != nullptr && hDevice != nullptr);"),
    2: Around(after="    REQUIRE(hContext != nullptr);"),
    3: Around(HOST_DESC, "    REQUIRE(props.type == ZE_MEMORY_TYPE_UNKNOWN);"),
    4: Around(after="    REQUIRE(ptr != nullptr);"),
    5: Around(
        RESERVED + "    occupy((uint8_t *)ptr + reserveSize, reserveSize);\n",
        "    REQUIRE(retptr != newptr);",
        says="a reservation is freed as a whole",  # its new `ptr` hides the one that it means
    ),
    6: Around(RESERVED, "    REQUIRE(hPhysicalAlloc != nullptr);"),
    7: Around(MAPPED, "    memset(ptr, 1, reserveSize);"),
    8: Around(
        f"{MAPPED}    CHECK(zeVirtualMemMap(hContext, ptr, reserveSize, hPhysicalAlloc, 0, "
        "ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));\n"
    ),
    9: Around(
        dots=("", "subAllocPtr = ptr;"), after="    memset(subAllocPtr, 1, subAllocAlignedSize);"
    ),
    12: Around(after="    REQUIRE(export_fd.fd > 0);"),
    13: Around("    fd = exported();\n", "    REQUIRE(ptr != nullptr);"),
    14: Around("    new_image();\n    fd = exported();\n", "    REQUIRE(hImage != nullptr);"),
    15: Around(after="    REQUIRE(computeQueueGroupOrdinal == 0);"),
    16: Around(after="    REQUIRE(hCommandQueue != nullptr);"),
    17: Around(after="    REQUIRE(hCommandList != nullptr);"),
    20: Around(NOTHING_TO_CLOSE, "    REQUIRE(zeFenceQueryStatus(hFence) == ZE_RESULT_NOT_READY);"),
    23: Around(after="    close_and_execute();"),
    24: Around(after="    close_and_execute();"),
    25: Around(after="    close_and_execute();"),
    26: Around("    ptr = allocate(size);\n", "    close_and_execute();"),
    28: Around(IMAGES, "    REQUIRE(hModule != nullptr);"),
    33: Around(IMAGES, "    REQUIRE(result == ZE_RESULT_SUCCESS);"),
    35: Around(IMAGES),
    36: Around(IMAGES, says="groupSizeZ must not be null"),  # as the specification says, too
    37: Around(
        f"{BOUND}    src2_image = new_image(), dest2_image = new_image();\n",
        "    close_and_execute();",
    ),
    38: Around(BOUND, "    close_and_execute();"),
    21: Around(says=NOT_CLOSED),
    22: Around(
        "    const double NS_IN_SEC = 1e9;\n"
        "    ze_device_properties_t device_properties = {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};\n"
        "    CHECK(zeDeviceGetProperties(hDevice, &device_properties));\n",
        "    REQUIRE(globalTimeInNs >= 0 && contextTimeInNs >= 0);",
        says=NOT_CLOSED,
    ),
    29: Around(
        '    new_module("blocks.spv");\n'
        "    const uint32_t pGroupSizeIds[] = {0, 1, 2}, sizes[] = {4, 4, 1};\n"
        "    const void *pGroupSizeValues[] = {&sizes[0], &sizes[1], &sizes[2]};\n",
        "    REQUIRE(hModule != nullptr);",
    ),
    30: Around(
        "    ze_module_desc_t desc = {ZE_STRUCTURE_TYPE_MODULE_DESC, nullptr,\n"
        "        ZE_MODULE_FORMAT_IL_SPIRV, 8,\n"
        '        reinterpret_cast<const uint8_t *>("nonsense"), nullptr, nullptr};\n',
        dots=("", "REQUIRE(strlen(strLog) > 0);"),
        says="zeModuleCreate: ",
    ),
    31: Around(
        "    const uint32_t numModules = 1;\n    ze_module_handle_t hModules = hModule;\n",
        "    REQUIRE(result == ZE_RESULT_SUCCESS);",
        renamed=("hLinklog", "linklog"),
    ),
    32: Around(
        "    const bool cacheUpdateNeeded = true;\n", dots=("", "", "REQUIRE(szBinary > 0);")
    ),
    40: Around(after="    close_and_execute();"),
    41: Around('    hKernel = new_kernel("sampled");\n', "    close_and_execute();"),
    43: Around(
        HOST_DESC + '    hKernel = new_kernel("chain");\n',
        dots=("CHECK(zeCommandListClose(hCommandList));",),
        after="    CHECK(zeCommandQueueSynchronize(hCommandQueue, UINT64_MAX));",
    ),
    44: Around(
        HOST_DESC + '    hKernel = new_kernel("chain");\n',
        dots=("CHECK(zeCommandListClose(hCommandList));",),
    ),
    46: Around(
        DEVICE_DESC + "    auto send_to_receiving_process = [](ze_ipc_mem_handle_t) {};\n",
        "    REQUIRE(dptr != nullptr);",
    ),
    47: Around(
        "    auto receive_from_sending_process = []() {\n"
        "        ze_ipc_mem_handle_t sent;\n"
        "        CHECK(zeMemAllocDevice(hContext, &alloc_desc, size, alignment, hDevice, &ptr));\n"
        "        CHECK(zeMemGetIpcHandle(hContext, ptr, &sent));\n"
        "        return sent;\n"
        "    };\n",
        "    REQUIRE(dptr != nullptr);",
    ),
    48: Around(
        "    ze_ipc_mem_handle_t sent;\n    void *dptr;\n"
        "    CHECK(zeMemAllocDevice(hContext, &alloc_desc, size, alignment, hDevice, &ptr));\n"
        "    CHECK(zeMemGetIpcHandle(hContext, ptr, &sent));\n"
        "    CHECK(zeMemOpenIpcHandle(hContext, hDevice, sent, 0, &dptr));\n"
    ),
    49: Around(
        "    void *dptr;\n"
        "    CHECK(zeMemAllocDevice(hContext, &alloc_desc, size, alignment, hDevice, &dptr));\n"
    ),
    50: Around(
        "    auto send_to_receiving_process = [](ze_ipc_event_pool_handle_t) {};\n",
        "    REQUIRE(hEventPool != nullptr);",
        renamed=("hIpcEvent;", "hIpcEventPool;"),
    ),
    51: Around(
        "    auto receive_from_sending_process = [](ze_ipc_event_pool_handle_t *sent) {\n"
        "        CHECK(zeEventPoolGetIpcHandle(new_pool(ZE_EVENT_POOL_FLAG_IPC), sent));\n"
        "    };\n",
        "    REQUIRE(hEventPool != nullptr);",
    ),
    52: Around(OPENED, "    CHECK(zeEventHostSynchronize(hEvent, UINT64_MAX));"),
    53: Around(
        "    std::thread other([] {\n"
        "        ze_event_desc_t same = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 5};\n"
        "        ze_event_handle_t event;\n"
        "        std::this_thread::sleep_for(std::chrono::milliseconds(20));\n"
        "        CHECK(zeEventCreate(hEventPool, &same, &event));\n"
        "        CHECK(zeEventHostSignal(event));\n"
        "    });\n",
        "    other.join();\n    CHECK(zeEventQueryStatus(hEvent));",
    ),
    55: Around(),
}


@dataclass(frozen=True)
class Contradiction:
    """A block that is not what the API is: why, what a compiler says, and what the block means."""

    reason: str
    message: str
    corrected: tuple[tuple[str, str], ...]
    around: Around = Around()


CONTRADICTIONS: dict[int, Contradiction] = {
    10: Contradiction(
        "passes the region of the image where the API takes the source, and the source where it "
        "takes the region",
        r"cannot convert .float\*. to .const ze_image_region_t\*",
        (("hImage, nullptr, pImageData, nullptr", "hImage, pImageData, nullptr, nullptr"),),
        Around(after="    close_and_execute();"),
    ),
    39: Contradiction(
        "passes the address of the pointer to the group counts, where the API takes the pointer",
        r"cannot convert .ze_group_count_t\*\*|_ze_group_count_t\*\*",
        (("&pIndirectArgs, nullptr", "pIndirectArgs, nullptr"),),
        Around(DEVICE_DESC),
    ),
    42: Contradiction(
        "passes the address of the array of sub-devices, where the API takes the array",
        r"cannot convert .*_ze_device_handle_t\*\*\*",
        (("&allSubDevices)", "allSubDevices)"),),
        Around(DEVICE_DESC),
    ),
    45: Contradiction(
        "describes a module without stype and pNext, leaves out a parameter of clGetProgramInfo, "
        "and passes a kernel where the API takes an address for one; "
        "tests/guide/opencl_interop.c is what it means",
        r"too few arguments|cannot convert|invalid conversion",
        (),
    ),
    54: Contradiction(
        "passes the address of the event pool, where the API takes the event pool",
        r"cannot convert .ze_event_pool_handle_t\*|_ze_event_pool_handle_t\*\*",
        (("(&hEventPool)", "(hEventPool)"),),
        Around(
            OPENED + "    ze_event_desc_t first = {ZE_STRUCTURE_TYPE_EVENT_DESC};\n"
            "    CHECK(zeEventCreate(hEventPool, &first, &hEvent));\n"
        ),
    ),
}
