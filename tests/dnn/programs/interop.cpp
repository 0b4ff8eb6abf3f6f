/* Every function of dnnl::ze_interop, in a program that does not know whose headers it is compiled with. */
#include <groundstate/dnnl_ze.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ze = dnnl::ze_interop;
using dnnl::memory;

#define EXPECT(condition)                                                                                            \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                     \
            std::exit(1);                                                                                            \
        }                                                                                                            \
    } while (0)
#define ZE(call) EXPECT((call) == ZE_RESULT_SUCCESS)

constexpr memory::dim ROWS = 7, COLUMNS = 30;
constexpr float FACTOR = 2.5f;

struct place {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    ze_command_list_handle_t list;
    ze_event_pool_handle_t pool;
    ze_event_handle_t go;
};

static place find_place() {
    place found;
    uint32_t count = 1;
    ZE(zeInit(0));
    ZE(zeDriverGet(&count, &found.driver));
    ZE(zeDeviceGet(found.driver, &(count = 1), &found.device));
    ze_context_desc_t context = {};
    context.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ZE(zeContextCreate(found.driver, &context, &found.context));
    ze_command_queue_desc_t queue = {};
    queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    ZE(zeCommandListCreateImmediate(found.context, found.device, &queue, &found.list));
    ze_event_pool_desc_t pool = {};
    pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    pool.count = 1;
    ZE(zeEventPoolCreate(found.context, &pool, 0, nullptr, &found.pool));
    ze_event_desc_t event = {};
    event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    ZE(zeEventCreate(found.pool, &event, &found.go));
    return found;
}

static float *allocate(const place &at, size_t size) {
    void *made;
    ze_device_mem_alloc_desc_t device = {};
    ze_host_mem_alloc_desc_t host = {};
    device.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    host.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
    ZE(zeMemAllocShared(at.context, &device, &host, size, 64, at.device, &made));
    return static_cast<float *>(made);
}

/* y = x * FACTOR */
static dnnl::primitive scaling(const dnnl::engine &engine, const memory::desc &shape) {
    dnnl_primitive_desc_t description;
    EXPECT(dnnl_eltwise_forward_primitive_desc_create(&description, engine.get(), dnnl_forward_inference,
                                                      dnnl_eltwise_linear, shape.get(), shape.get(), FACTOR, 0,
                                                      nullptr) == dnnl_success);
    dnnl::primitive made(description);
    EXPECT(dnnl_primitive_desc_destroy(description) == dnnl_success);
    return made;
}

static void check_engine(const place &at, const dnnl::engine &engine) {
    EXPECT(engine.get_kind() == dnnl::engine::kind::gpu);
    EXPECT(ze::get_driver(engine) == at.driver);
    EXPECT(ze::get_device(engine) == at.device);
    EXPECT(ze::get_context(engine) == at.context);
    EXPECT(ze::get_engine_cache_blob_id(at.driver, at.device) == ze::get_engine_cache_blob_id(at.driver, at.device));
}

static void check_errors(const place &at) {
    try {
        ze::make_engine(nullptr, at.device, at.context);
        EXPECT(!"an engine without a driver was made");
    } catch (const dnnl::error &problem) {
        EXPECT(problem.status == dnnl_invalid_arguments);
        EXPECT(problem.what()[0] != 0);
    }
    try {
        dnnl::stream().get();
        EXPECT(!"an empty stream has a handle");
    } catch (const dnnl::error &problem) {
        EXPECT(problem.status == dnnl_invalid_arguments);
    }
}

static void check_execution(const place &at, const dnnl::engine &engine) {
    memory::desc shape({ROWS, COLUMNS}, memory::data_type::f32, memory::format_tag::ab);
    EXPECT(shape == memory::desc({ROWS, COLUMNS}, memory::data_type::f32, memory::dims{COLUMNS, 1}));
    EXPECT(shape.get_num_handles() == 1);
    EXPECT(shape.get_size() == ROWS * COLUMNS * sizeof(float));
    dnnl::stream stream = ze::make_stream(engine, at.list);
    EXPECT(ze::get_list(stream) == at.list);
    float *x = allocate(at, shape.get_size()), *y = allocate(at, shape.get_size());
    for (int each = 0; each < ROWS * COLUMNS; each++)
        x[each] = 0.5f * static_cast<float>(each);
    memory from = ze::make_memory(shape, engine, x), to = ze::make_memory(shape, engine, {static_cast<void *>(y)});
    memory between = ze::make_memory(shape, engine);
    EXPECT(from.get_data_handle() == x);
    EXPECT(between.get_data_handle() != nullptr);
    EXPECT(between.get_desc() == shape);
    dnnl::primitive twice = scaling(engine, shape);
    ze_event_handle_t first = ze::execute(twice, stream, {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, between}}, {at.go});
    std::vector<ze_event_handle_t> after;
    if (first != nullptr)
        after.push_back(first);
    ze::execute(twice, stream, {{DNNL_ARG_SRC, between}, {DNNL_ARG_DST, to}}, after);
    ZE(zeEventHostSignal(at.go));
    stream.wait();
    for (int each = 0; each < ROWS * COLUMNS; each++)
        EXPECT(y[each] == FACTOR * FACTOR * x[each]);
    twice.execute(stream, {{DNNL_ARG_SRC, to}, {DNNL_ARG_DST, from}});
    stream.wait();
    EXPECT(x[3] == FACTOR * y[3]);
    ZE(zeMemFree(at.context, x));
    ZE(zeMemFree(at.context, y));
}

int main() {
    place at = find_place();
    {
        dnnl::engine engine = ze::make_engine(at.driver, at.device, at.context);
        check_engine(at, engine);
        std::vector<uint8_t> blob = ze::get_engine_cache_blob(engine);
        if (!blob.empty())
            check_engine(at, ze::make_engine(at.driver, at.device, at.context, blob));
        check_execution(at, engine);
        check_errors(at);
    }
    ZE(zeEventDestroy(at.go));
    ZE(zeEventPoolDestroy(at.pool));
    ZE(zeCommandListDestroy(at.list));
    ZE(zeContextDestroy(at.context));
    std::puts("interop: all is as it should be");
    return 0;
}
