/* A SYCL program for an ordinary C++ compiler: the runtime compiles its kernels when it runs.

       pip install intel-sycl-rt
       g++ -std=c++17 examples/sycl/saxpy.cpp -isystem $VIRTUAL_ENV/include \
           -L$VIRTUAL_ENV/lib -Wl,-rpath,$VIRTUAL_ENV/lib -lsycl -o saxpy
       groundstate run -- ./saxpy

   It multiplies and adds vectors of two types, checks each element, and says how long it took. */

#define SYCL_DISABLE_FSYCL_SYCLHPP_WARNING // no kernel is in this file for the C++ compiler to see

#include <sycl/sycl.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace experimental = sycl::ext::oneapi::experimental;

// A kernel is a function of SYCL C++. As a template it becomes one kernel for each type asked for.
static const std::string kernels = R"(
    #include <sycl/sycl.hpp>

    using namespace sycl::ext::oneapi;

    template <typename T>
    SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((experimental::nd_range_kernel<1>))
    void saxpy(T factor, const T *x, T *y) {
        size_t i = this_work_item::get_nd_item<1>().get_global_linear_id();
        y[i] += factor * x[i];
    }
)";

using Executable = sycl::kernel_bundle<sycl::bundle_state::executable>;

static Executable compile(const sycl::queue &queue, const std::vector<std::string> &names) {
    auto source = experimental::create_kernel_bundle_from_source(
        queue.get_context(), experimental::source_language::sycl, kernels);
    return experimental::build(source, experimental::properties{experimental::registered_names{names}});
}

template <typename T>
static void run(sycl::queue &queue, const sycl::kernel &saxpy, const std::string &type) {
    constexpr size_t items = 1 << 20, group = 256;
    const T factor = 3;
    T *x = sycl::malloc_device<T>(items, queue);
    T *y = sycl::malloc_shared<T>(items, queue);
    queue.memcpy(x, std::vector<T>(items, T(2)).data(), items * sizeof(T)).wait();
    for (size_t i = 0; i < items; i++)
        y[i] = T(i);

    sycl::event launch = queue.submit([&](sycl::handler &handler) {
        handler.set_args(factor, x, y);
        handler.parallel_for(sycl::nd_range<1>(items, group), saxpy);
    });
    launch.wait_and_throw();

    size_t wrong = 0;
    for (size_t i = 0; i < items; i++)
        wrong += y[i] != T(i) + 6;
    const auto start = launch.get_profiling_info<sycl::info::event_profiling::command_start>();
    const auto end = launch.get_profiling_info<sycl::info::event_profiling::command_end>();
    std::cout << "saxpy<" << type << ">: " << items << " elements, " << wrong << " wrong, "
              << double(end - start) / 1e6 << " ms\n";
    sycl::free(x, queue);
    sycl::free(y, queue);
    if (wrong > 0)
        std::exit(EXIT_FAILURE);
}

int main() {
    try {
        sycl::queue queue{{sycl::property::queue::in_order(), sycl::property::queue::enable_profiling()}};
        std::cout << queue.get_device().get_info<sycl::info::device::name>() << "\n";
        Executable bundle = compile(queue, {"saxpy<float>", "saxpy<int>"});
        run<float>(queue, bundle.ext_oneapi_get_kernel("saxpy<float>"), "float");
        run<int>(queue, bundle.ext_oneapi_get_kernel("saxpy<int>"), "int");
    } catch (const sycl::exception &error) {
        std::cerr << error.what() << "\n";
        return EXIT_FAILURE;
    }
}
