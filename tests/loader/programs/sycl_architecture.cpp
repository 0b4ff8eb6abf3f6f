/* What SYCL takes the device for: it must not expect matrix instructions of it. */
#include <cstdio>

#include <sycl/sycl.hpp>

int main() {
    namespace experimental = sycl::ext::oneapi::experimental;
    const sycl::device device{sycl::gpu_selector_v};
    const auto architecture = device.get_info<experimental::info::device::architecture>();
    std::printf("%s, %zu matrix combinations, version %s\n",
                architecture == experimental::architecture::unknown ? "unknown" : "known",
                device.get_info<experimental::info::device::matrix_combinations>().size(),
                device.get_info<sycl::info::device::driver_version>().c_str());
    return 0;
}
