/* A program for oneDNN's own headers, which knows nothing of Groundstate: a product of matrices with a bias and a
 * function on the way out, in another layout, on the program's own Level Zero objects. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_ze.hpp"

using namespace dnnl;

#define EXPECT(condition)                                                                                            \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                     \
            std::exit(1);                                                                                            \
        }                                                                                                            \
    } while (0)
#define ZE(call) EXPECT((call) == ZE_RESULT_SUCCESS)

constexpr memory::dim M = 9, K = 17, N = 5;

static memory on_device(const engine &on, stream &in, const memory::desc &shape, const std::vector<float> &values) {
    memory made = ze_interop::make_memory(shape, on);
    in.wait();
    float *mapped = made.map_data<float>();
    for (size_t each = 0; each < values.size(); each++)
        mapped[each] = values[each];
    made.unmap_data(mapped);
    return made;
}

static std::vector<float> numbers(size_t count, float step) {
    std::vector<float> made(count);
    for (size_t each = 0; each < count; each++)
        made[each] = std::sin(step * static_cast<float>(each));
    return made;
}

static void run(const engine &on, stream &in) {
    const auto type = memory::data_type::f32;
    memory::desc a({M, K}, type, memory::format_tag::ab), b({K, N}, type, memory::format_tag::ab);
    memory::desc bias({1, N}, type, memory::format_tag::ab), c({M, N}, type, memory::format_tag::ba);
    const auto x = numbers(M * K, 0.3f), y = numbers(K * N, 0.7f), z = numbers(N, 1.1f);
    post_ops after;
    after.append_eltwise(algorithm::eltwise_relu, 0.f, 0.f);
    primitive_attr attributes;
    attributes.set_post_ops(after);
    matmul::primitive_desc description(on, a, b, bias, c, attributes);
    EXPECT(description.dst_desc() == c);
    matmul product(description);
    memory result = ze_interop::make_memory(c, on), plain = ze_interop::make_memory(
        memory::desc({M, N}, type, memory::format_tag::ab), on);
    ze_event_handle_t done = ze_interop::execute(product, in, {{DNNL_ARG_SRC, on_device(on, in, a, x)},
                                                               {DNNL_ARG_WEIGHTS, on_device(on, in, b, y)},
                                                               {DNNL_ARG_BIAS, on_device(on, in, bias, z)},
                                                               {DNNL_ARG_DST, result}});
    std::vector<ze_event_handle_t> first;
    if (done != nullptr)
        first.push_back(done);
    reorder to_rows(result, plain);
    ze_interop::execute(to_rows, in, {{DNNL_ARG_FROM, result}, {DNNL_ARG_TO, plain}}, first);
    in.wait();
    const float *found = plain.map_data<float>();
    for (memory::dim row = 0; row < M; row++)
        for (memory::dim column = 0; column < N; column++) {
            double sum = z[static_cast<size_t>(column)];
            for (memory::dim each = 0; each < K; each++)
                sum += static_cast<double>(x[static_cast<size_t>(row * K + each)]) *
                       static_cast<double>(y[static_cast<size_t>(each * N + column)]);
            EXPECT(std::fabs(found[row * N + column] - std::fmax(sum, 0.)) < 1e-5);
        }
    plain.unmap_data(const_cast<float *>(found));
}

int main() {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    ze_command_list_handle_t list;
    uint32_t count = 1;
    ZE(zeInit(0));
    ZE(zeDriverGet(&count, &driver));
    ZE(zeDeviceGet(driver, &(count = 1), &device));
    ze_context_desc_t described = {};
    described.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ZE(zeContextCreate(driver, &described, &context));
    ze_command_queue_desc_t queue = {};
    queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    ZE(zeCommandListCreateImmediate(context, device, &queue, &list));
    {
        engine on = ze_interop::make_engine(driver, device, context);
        stream in = ze_interop::make_stream(on, list);
        EXPECT(ze_interop::get_context(on) == context && ze_interop::get_list(in) == list);
        run(on, in);
    }
    ZE(zeCommandListDestroy(list));
    ZE(zeContextDestroy(context));
    std::puts("official: all is as it should be");
    return 0;
}
