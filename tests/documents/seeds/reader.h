/* What the blocks of the guide take for granted: their names, made anew for each block. */
#include <level_zero/ze_api.h>

#include <cassert>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <sys/mman.h>

typedef char char_t;

/* Memory for whatever type it is assigned to. */
struct allocation {
    void *memory;
    template <typename T> operator T *() const { return static_cast<T *>(memory); }
};

static allocation allocate(size_t size) { return {calloc(1, size)}; }
static size_t align(size_t size, size_t to) { return (size + to - 1) / to * to; }

static void require(bool condition, const char *text) {
    if (!condition)
        fprintf(stderr, "not true: %s\n", text);
}
#define REQUIRE(condition) require(condition, #condition)
#define CHECK(call) REQUIRE((call) == ZE_RESULT_SUCCESS)

static ze_driver_handle_t hDriver;
static ze_device_handle_t hDevice;
static ze_context_handle_t hContext, hContextA, hContextB;
static ze_context_desc_t ctxtDesc;
static ze_command_queue_handle_t hCommandQueue;
static ze_command_list_handle_t hCommandList;
static ze_module_handle_t hModule, module;
static ze_kernel_handle_t hKernel, hKernel1, hKernel2;
static ze_fence_handle_t hFence;
static ze_event_pool_handle_t hEventPool;
static ze_event_handle_t hEvent;
static ze_group_count_t launchArgs, args;
static ze_image_handle_t hImage, src_image, dest_image, src2_image, dest2_image;
static ze_image_desc_t image_desc;
static uint32_t computeQueueGroupOrdinal, i, d;
static uint32_t width, height, imageWidth, imageHeight, groupSizeX, groupSizeY, import_width;
static uint32_t numGroupsX, numGroupsY, numGroupsZ;
static void *ptr, *ptrA, *ptrB, *subAllocPtr;
static size_t size, alignment, ilSize, memSize, pageSize, allocationSize, reserveSize;
static const uint8_t *pImageScalingIL;
static ze_physical_mem_handle_t hPhysicalAlloc;
static ze_device_mem_alloc_desc_t alloc_desc;
static ze_memory_allocation_properties_t alloc_props, props;
static float pImageData[128 * 128];
static std::string il;
static int fd;

static ze_event_pool_handle_t new_pool(ze_event_pool_flags_t flags) {
    ze_event_pool_desc_t description = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, flags, 16};
    ze_event_pool_handle_t pool;
    CHECK(zeEventPoolCreate(hContext, &description, 0, nullptr, &pool));
    return pool;
}

static ze_image_handle_t new_image() {
    ze_image_format_t format = {ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT, ZE_IMAGE_FORMAT_SWIZZLE_R,
                                ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_1};
    image_desc = {ZE_STRUCTURE_TYPE_IMAGE_DESC, nullptr, ZE_IMAGE_FLAG_KERNEL_WRITE, ZE_IMAGE_TYPE_2D, format};
    image_desc.width = image_desc.height = 128;
    ze_image_handle_t image;
    CHECK(zeImageCreate(hContext, hDevice, &image_desc, &image));
    return image;
}

static std::string content(const char *path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

static ze_module_handle_t new_module(const char *path) {
    il = content(path);
    pImageScalingIL = reinterpret_cast<const uint8_t *>(il.data());
    ilSize = il.size();
    ze_module_desc_t description = {ZE_STRUCTURE_TYPE_MODULE_DESC, nullptr, ZE_MODULE_FORMAT_IL_SPIRV, ilSize,
                                    pImageScalingIL, nullptr, nullptr};
    ze_module_handle_t made;
    CHECK(zeModuleCreate(hContext, hDevice, &description, &made, nullptr));
    return made;
}

static ze_kernel_handle_t new_kernel(const char *name) {
    ze_kernel_desc_t description = {ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, name};
    ze_kernel_handle_t kernel;
    CHECK(zeKernelCreate(hModule, &description, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, 8, 8, 1));
    return kernel;
}

/* All names, with something in them that a program could have come by before the block. */
static void begin() {
    uint32_t one = 1;
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&one, &hDriver));
    CHECK(zeDeviceGet(hDriver, &one, &hDevice));
    ctxtDesc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    CHECK(zeContextCreate(hDriver, &ctxtDesc, &hContext));
    ze_command_queue_desc_t queue = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_fence_desc_t fence = {ZE_STRUCTURE_TYPE_FENCE_DESC};
    CHECK(zeCommandQueueCreate(hContext, hDevice, &queue, &hCommandQueue));
    CHECK(zeCommandListCreate(hContext, hDevice, &list, &hCommandList));
    CHECK(zeFenceCreate(hCommandQueue, &fence, &hFence));
    hModule = new_module("blocks.spv");
    hKernel = hKernel1 = hKernel2 = new_kernel("nothing");
    launchArgs = args = {1, 1, 1};
    hEventPool = new_pool(ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_event_desc_t event = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 7};
    CHECK(zeEventCreate(hEventPool, &event, &hEvent));
    alloc_desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    alloc_props = props = {ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    width = height = imageWidth = imageHeight = import_width = 128;
    groupSizeX = groupSizeY = 8;
    numGroupsX = numGroupsY = numGroupsZ = 1;
    size = memSize = 1 << 16;
    alignment = 64;
    i = d = 0;
}

/* Takes addresses away, so that nobody can reserve them. */
static void occupy(void *at, size_t bytes) {
    mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* A file descriptor of memory that is large enough for an image. */
static int exported() {
    ze_external_memory_export_desc_t wanted = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, nullptr,
                                               ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF};
    ze_external_memory_export_fd_t found = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, nullptr,
                                            ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, 0};
    ze_device_mem_alloc_desc_t description = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &wanted};
    ze_memory_allocation_properties_t properties = {ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, &found};
    void *memory = nullptr;
    CHECK(zeMemAllocDevice(hContext, &description, size, alignment, hDevice, &memory));
    CHECK(zeMemGetAllocProperties(hContext, memory, &properties, nullptr));
    return found.fd;
}

static void close_and_execute() {
    CHECK(zeCommandListClose(hCommandList));
    CHECK(zeCommandQueueExecuteCommandLists(hCommandQueue, 1, &hCommandList, nullptr));
    CHECK(zeCommandQueueSynchronize(hCommandQueue, UINT64_MAX));
}
