/* A SYCL program, for a plain C++ compiler, whose kernels are SPIR-V: sycl_native numbered.spv.

   It takes them through the runtime's kernel compiler and through Level Zero's own objects, goes
   from SYCL's objects to those and back, and shows what a broken kernel's exception says. With another
   argument also what that of a refused kernel in SYCL C++ says. */

#include <level_zero/ze_api.h>

#include <sycl/backend.hpp>
#include <sycl/ext/oneapi/backend/level_zero.hpp>
#include <sycl/interop_handle.hpp>
#include <sycl/kernel_bundle.hpp>
#include <sycl/properties/queue_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

namespace experimental = sycl::ext::oneapi::experimental;
namespace level_zero = sycl::ext::oneapi::level_zero;
using Bytes = std::vector<std::byte>;
using Executable = sycl::kernel_bundle<sycl::bundle_state::executable>;
using Numbers = std::vector<uint32_t>;

constexpr auto ZERO = sycl::backend::ext_oneapi_level_zero;
constexpr ze_command_queue_flags_t IN_ORDER = 2; // which headers before 1.9 do not name
constexpr size_t ITEMS = 1024, GROUP = 64, BYTES = ITEMS * sizeof(uint32_t);

static void require(bool condition, const std::string &what) {
    if (!condition) {
        std::cerr << "not true: " << what << "\n";
        std::exit(EXIT_FAILURE);
    }
}

static void check(ze_result_t result, const std::string &call) {
    require(result == ZE_RESULT_SUCCESS, call + " succeeds, and not " + std::to_string(result));
}

static Bytes read(const char *path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> read{std::istreambuf_iterator<char>(file), {}};
    const auto *first = reinterpret_cast<const std::byte *>(read.data());
    return {first, first + read.size()};
}

/* What the kernel `step` of numbered.cl makes of numbers. */
static Numbers stepped(Numbers numbers, uint32_t by) {
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = numbers[i] * 3 + by + uint32_t(i);
    return numbers;
}

static Numbers counted() {
    Numbers numbers(ITEMS);
    std::iota(numbers.begin(), numbers.end(), 7);
    return numbers;
}

static sycl::event launch(sycl::queue &queue, const sycl::kernel &step, uint32_t *numbers, uint32_t by,
                          const std::vector<sycl::event> &after = {}) {
    return queue.submit([&](sycl::handler &handler) {
        handler.depends_on(after);
        handler.set_args(numbers, by);
        handler.parallel_for(sycl::nd_range<1>(ITEMS, GROUP), step);
    });
}

template <typename Source>
static Executable built(const sycl::queue &queue, const Source &kernels,
                        experimental::source_language language = experimental::source_language::spirv) {
    auto source = experimental::create_kernel_bundle_from_source(queue.get_context(), language, kernels);
    return experimental::build(source);
}

/* Copies, a launch, work of the host between two launches, and another queue that waits for both. */
static void run_in_order(sycl::queue &queue, const sycl::kernel &step) {
    sycl::queue other{queue.get_context(), queue.get_device()};
    uint32_t *numbers = sycl::malloc_shared<uint32_t>(ITEMS, queue);
    uint32_t *copy = sycl::malloc_device<uint32_t>(ITEMS, queue);
    const Numbers start = counted();
    Numbers found(ITEMS);

    queue.memset(copy, 0xff, BYTES);
    queue.memcpy(numbers, start.data(), BYTES);
    const sycl::event first = launch(queue, step, numbers, 1);
    queue.submit([&](sycl::handler &handler) { handler.host_task([=] { numbers[5] += 100; }); });
    const sycl::event last = launch(queue, step, numbers, 2);
    const sycl::event copied = other.memcpy(copy, numbers, BYTES / 2, last);
    other.memcpy(found.data(), copy, BYTES, copied).wait();

    Numbers expected = stepped(start, 1);
    expected[5] += 100;
    expected = stepped(expected, 2);
    std::fill(expected.begin() + ITEMS / 2, expected.end(), UINT32_MAX);
    require(found == expected, "commands ran in their order");

    using namespace sycl::info::event_profiling;
    for (const sycl::event &each : {first, last}) {
        const auto submitted = each.get_profiling_info<command_submit>();
        const auto began = each.get_profiling_info<command_start>();
        const auto ended = each.get_profiling_info<command_end>();
        require(submitted <= began && began < ended, "profiling goes forwards");
    }
    require(first.get_profiling_info<command_end>() <= last.get_profiling_info<command_start>(),
            "the second launch came after the first");
    sycl::free(numbers, queue);
    sycl::free(copy, queue);
}

static ze_module_handle_t native_module(const sycl::queue &queue, const Bytes &spirv) {
    ze_module_desc_t described = {};
    described.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    described.format = ZE_MODULE_FORMAT_IL_SPIRV;
    described.inputSize = spirv.size();
    described.pInputModule = reinterpret_cast<const uint8_t *>(spirv.data());
    ze_module_handle_t module = nullptr;
    check(zeModuleCreate(sycl::get_native<ZERO>(queue.get_context()),
                         sycl::get_native<ZERO>(queue.get_device()), &described, &module, nullptr),
          "zeModuleCreate");
    return module;
}

/* A module and a kernel of Level Zero become SYCL's, which from then on owns the module. */
static sycl::kernel adopted_kernel(const sycl::queue &queue, const Bytes &spirv) {
    const ze_module_handle_t module = native_module(queue, spirv);
    ze_kernel_desc_t described = {};
    described.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
    described.pKernelName = "step";
    ze_kernel_handle_t kernel = nullptr;
    check(zeKernelCreate(module, &described, &kernel), "zeKernelCreate");
    const auto bundle = sycl::make_kernel_bundle<ZERO, sycl::bundle_state::executable>(
        {module, level_zero::ownership::transfer}, queue.get_context());
    return sycl::make_kernel<ZERO>({bundle, kernel, level_zero::ownership::transfer},
                                   queue.get_context());
}

/* An immediate list of Level Zero becomes a SYCL queue, on which an adopted kernel runs. */
static void run_on_adopted_queue(sycl::queue &queue, const Bytes &spirv) {
    ze_command_queue_desc_t described = {};
    described.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    described.flags = IN_ORDER;
    ze_command_list_handle_t list = nullptr;
    check(zeCommandListCreateImmediate(sycl::get_native<ZERO>(queue.get_context()),
                                       sycl::get_native<ZERO>(queue.get_device()), &described, &list),
          "zeCommandListCreateImmediate");
    sycl::queue adopted = sycl::make_queue<ZERO>(
        {list, queue.get_device(), level_zero::ownership::transfer, {sycl::property::queue::in_order()}},
        queue.get_context());

    uint32_t *numbers = sycl::malloc_host<uint32_t>(ITEMS, queue);
    const Numbers start = counted();
    std::copy(start.begin(), start.end(), numbers);
    launch(adopted, adopted_kernel(queue, spirv), numbers, 9).wait();
    require(Numbers(numbers, numbers + ITEMS) == stepped(start, 9), "the adopted queue ran");
    sycl::free(numbers, queue);
}

static void append_fill(ze_command_list_handle_t list, uint32_t *numbers, uint32_t pattern) {
    check(zeCommandListAppendMemoryFill(list, numbers, &pattern, sizeof pattern, BYTES, nullptr, 0, nullptr),
          "zeCommandListAppendMemoryFill");
}

/* Runs a list of one command on a command queue, which is what the older adapter's queues are. */
static void fill_on_queue(const sycl::queue &queue, ze_command_queue_handle_t native, uint32_t *numbers,
                          uint32_t pattern) {
    ze_command_list_desc_t described = {};
    described.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    ze_command_list_handle_t list = nullptr;
    check(zeCommandListCreate(sycl::get_native<ZERO>(queue.get_context()),
                              sycl::get_native<ZERO>(queue.get_device()), &described, &list),
          "zeCommandListCreate");
    append_fill(list, numbers, pattern);
    check(zeCommandListClose(list), "zeCommandListClose");
    check(zeCommandQueueExecuteCommandLists(native, 1, &list, nullptr), "zeCommandQueueExecuteCommandLists");
    check(zeCommandQueueSynchronize(native, UINT64_MAX), "zeCommandQueueSynchronize");
    check(zeCommandListDestroy(list), "zeCommandListDestroy");
}

/* Level Zero uses what is behind a SYCL queue, and says what that was. */
static void use_native_queue(sycl::queue &queue, const sycl::kernel &step) {
    const auto native = sycl::get_native<ZERO>(queue);
    const auto *list = std::get_if<ze_command_list_handle_t>(&native);
    uint32_t *numbers = sycl::malloc_device<uint32_t>(ITEMS, queue);
    if (list != nullptr)
        append_fill(*list, numbers, 41);
    else
        fill_on_queue(queue, std::get<ze_command_queue_handle_t>(native), numbers, 41);
    std::cout << "a queue is " << (list != nullptr ? "an immediate list" : "a command queue") << "\n";

    Numbers found(ITEMS);
    launch(queue, step, numbers, 0);
    queue.memcpy(found.data(), numbers, BYTES).wait();
    require(found == stepped(Numbers(ITEMS, 41), 0), "both sides used one queue");
    sycl::free(numbers, queue);
}

/* The same driver, device and context, whichever way they are found. */
static void compare_handles(const sycl::queue &queue) {
    const sycl::device device = queue.get_device();
    const ze_device_handle_t handle = sycl::get_native<ZERO>(device);
    ze_device_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    check(zeDeviceGetProperties(handle, &properties), "zeDeviceGetProperties");
    require(device.get_info<sycl::info::device::name>() == properties.name, "one name");
    require(sycl::make_device<ZERO>(handle) == device, "one device");
    const auto context = sycl::make_context<ZERO>(
        {sycl::get_native<ZERO>(queue.get_context()), {device}, level_zero::ownership::keep});
    require(sycl::get_native<ZERO>(context) == sycl::get_native<ZERO>(queue.get_context()),
            "one context");
}

/* What the exception says if kernels cannot be built: printed, for the test to read. */
template <typename... Source> static void show_refusal(const Source &...kernels) {
    try {
        built(kernels...);
        require(false, "what cannot be built is refused");
    } catch (const sycl::exception &error) {
        require(error.code() == sycl::errc::build, "it is an error of building");
        std::cout << error.what() << "\n";
    }
}

/* SPIR-V that is no module: the runtime does not ask for the build log. */
static void break_a_module(const sycl::queue &queue, Bytes spirv) {
    for (size_t at = 20; at < spirv.size(); at++)
        spirv[at] = std::byte{0xee};
    show_refusal(queue, spirv);
}

/* A kernel that the driver does not take: here it asks. */
static void refuse_a_kernel(const sycl::queue &queue) {
    const std::string text = R"(
        #include <sycl/sycl.hpp>
        extern "C" SYCL_EXTERNAL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(
            (sycl::ext::oneapi::experimental::single_task_kernel)) void mover() {
            asm volatile("mov (M1, 16) x");
        }
    )";
    show_refusal(queue, text, experimental::source_language::sycl);
}

int main(int count, char **arguments) {
    const Bytes spirv = read(arguments[1]);
    sycl::queue queue{{sycl::property::queue::in_order(), sycl::property::queue::enable_profiling()}};
    require(queue.get_backend() == ZERO, "the queue is of Level Zero");
    const sycl::kernel step = built(queue, spirv).ext_oneapi_get_kernel("step");
    run_in_order(queue, step);
    compare_handles(queue);
    use_native_queue(queue, step);
    run_on_adopted_queue(queue, spirv);
    break_a_module(queue, spirv);
    std::cout << "sycl ok\n";
    if (count > 2) // the runtime takes seconds to compile
        refuse_a_kernel(queue);
}
