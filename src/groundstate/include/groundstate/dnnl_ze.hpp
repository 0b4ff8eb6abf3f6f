/* dnnl::ze_interop: neural-network primitives on a program's own Level Zero objects, in C++.
 *
 * Where oneDNN's headers are installed, this is their dnnl_ze.hpp. Where they lack that file, its functions are added to
 * their classes; where there are none, to those of groundstate/dnnl.hpp. The program is the same in all cases, and is
 * linked with libgroundstate_dnnl.so.3. */
#ifndef GROUNDSTATE_DNNL_ZE_HPP
#define GROUNDSTATE_DNNL_ZE_HPP

#if __has_include(<oneapi/dnnl/dnnl_ze.hpp>)
#include <oneapi/dnnl/dnnl_ze.hpp>
#else

#include <level_zero/ze_api.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#if __has_include(<oneapi/dnnl/dnnl.hpp>)
#include <oneapi/dnnl/dnnl.hpp>

extern "C" {
dnnl_status_t dnnl_ze_interop_engine_get_cache_blob_id(ze_driver_handle_t driver, ze_device_handle_t device,
                                                       size_t *size, uint8_t *cache_blob_id);
dnnl_status_t dnnl_ze_interop_engine_get_cache_blob(dnnl_engine_t engine, size_t *size, uint8_t *cache_blob);
dnnl_status_t dnnl_ze_interop_engine_create_from_cache_blob(dnnl_engine_t *engine, ze_driver_handle_t driver,
                                                            ze_device_handle_t device, ze_context_handle_t context,
                                                            size_t size, const uint8_t *cache_blob);
dnnl_status_t dnnl_ze_interop_engine_create(dnnl_engine_t *engine, ze_driver_handle_t driver,
                                            ze_device_handle_t device, ze_context_handle_t context);
dnnl_status_t dnnl_ze_interop_engine_get_context(dnnl_engine_t engine, ze_context_handle_t *context);
dnnl_status_t dnnl_ze_interop_engine_get_device(dnnl_engine_t engine, ze_device_handle_t *device);
dnnl_status_t dnnl_ze_interop_engine_get_driver(dnnl_engine_t engine, ze_driver_handle_t *driver);
dnnl_status_t dnnl_ze_interop_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine,
                                            ze_command_list_handle_t list, int profiling);
dnnl_status_t dnnl_ze_interop_stream_get_list(dnnl_stream_t stream, ze_command_list_handle_t *list);
dnnl_status_t dnnl_ze_interop_memory_create(dnnl_memory_t *memory, const_dnnl_memory_desc_t memory_desc,
                                            dnnl_engine_t engine, int nhandles, void **handles);
dnnl_status_t dnnl_ze_interop_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int nargs,
                                                const dnnl_exec_arg_t *args, int ndeps, const ze_event_handle_t *deps,
                                                ze_event_handle_t *return_event);
}
#else
#include "groundstate/dnnl.hpp"
#endif

namespace dnnl {
namespace ze_interop {

/* --- Engines ----------------------------------------------------------------------------------------- */

inline engine make_engine(ze_driver_handle_t driver, ze_device_handle_t device, ze_context_handle_t context) {
    dnnl_engine_t made;
    error::wrap_c_api(dnnl_ze_interop_engine_create(&made, driver, device, context),
                      "cannot create an engine of a Level Zero device");
    return engine(made);
}

/* What an engine would have to find out again; see get_engine_cache_blob. */
inline engine make_engine(ze_driver_handle_t driver, ze_device_handle_t device, ze_context_handle_t context,
                          const std::vector<uint8_t> &cache_blob) {
    dnnl_engine_t made;
    error::wrap_c_api(dnnl_ze_interop_engine_create_from_cache_blob(&made, driver, device, context,
                                                                    cache_blob.size(), cache_blob.data()),
                      "cannot create an engine from a cache blob");
    return engine(made);
}

inline std::vector<uint8_t> get_engine_cache_blob_id(ze_driver_handle_t driver, ze_device_handle_t device) {
    const char *failed = "cannot ask for the identity of an engine's cache blob";
    size_t size = 0;
    error::wrap_c_api(dnnl_ze_interop_engine_get_cache_blob_id(driver, device, &size, nullptr), failed);
    std::vector<uint8_t> found(size);
    error::wrap_c_api(dnnl_ze_interop_engine_get_cache_blob_id(driver, device, &size, found.data()), failed);
    return found;
}

inline std::vector<uint8_t> get_engine_cache_blob(const engine &of) {
    const char *failed = "cannot ask an engine for its cache blob";
    size_t size = 0;
    error::wrap_c_api(dnnl_ze_interop_engine_get_cache_blob(of.get(), &size, nullptr), failed);
    std::vector<uint8_t> found(size);
    error::wrap_c_api(dnnl_ze_interop_engine_get_cache_blob(of.get(), &size, found.data()), failed);
    return found;
}

inline ze_driver_handle_t get_driver(const engine &of) {
    ze_driver_handle_t found = nullptr;
    error::wrap_c_api(dnnl_ze_interop_engine_get_driver(of.get(), &found), "cannot ask an engine for its driver");
    return found;
}

inline ze_device_handle_t get_device(const engine &of) {
    ze_device_handle_t found = nullptr;
    error::wrap_c_api(dnnl_ze_interop_engine_get_device(of.get(), &found), "cannot ask an engine for its device");
    return found;
}

inline ze_context_handle_t get_context(const engine &of) {
    ze_context_handle_t found = nullptr;
    error::wrap_c_api(dnnl_ze_interop_engine_get_context(of.get(), &found), "cannot ask an engine for its context");
    return found;
}

/* --- Streams ----------------------------------------------------------------------------------------- */

inline stream make_stream(const engine &on, ze_command_list_handle_t list, bool profiling = false) {
    dnnl_stream_t made;
    error::wrap_c_api(dnnl_ze_interop_stream_create(&made, on.get(), list, profiling),
                      "cannot create a stream of a command list");
    return stream(made);
}

inline ze_command_list_handle_t get_list(const stream &of) {
    ze_command_list_handle_t found = nullptr;
    error::wrap_c_api(dnnl_ze_interop_stream_get_list(of.get(), &found), "cannot ask a stream for its command list");
    return found;
}

/* --- Memory ------------------------------------------------------------------------------------------ */

/* Each handle is a USM pointer, DNNL_MEMORY_ALLOCATE or DNNL_MEMORY_NONE. Without any, all buffers are allocated. */
inline memory make_memory(const memory::desc &shape, const engine &on, std::vector<void *> handles = {}) {
    if (handles.empty())
        handles.assign(static_cast<size_t>(shape.get_num_handles()), DNNL_MEMORY_ALLOCATE);
    dnnl_memory_t made;
    error::wrap_c_api(dnnl_ze_interop_memory_create(&made, shape.get(), on.get(), static_cast<int>(handles.size()),
                                                    handles.data()),
                      "cannot create a memory on a Level Zero device");
    return memory(made);
}

inline memory make_memory(const memory::desc &shape, const engine &on, void *handle) {
    return make_memory(shape, on, std::vector<void *>(1, handle));
}

/* --- Executing --------------------------------------------------------------------------------------- */

/* Appends a primitive to the stream's list, after the events; the event that it signals, or null (docs/howto/dnn.md). */
inline ze_event_handle_t execute(const primitive &what, const stream &in,
                                 const std::unordered_map<int, memory> &arguments,
                                 const std::vector<ze_event_handle_t> &after = {}) {
    std::vector<dnnl_exec_arg_t> given;
    for (const auto &each : arguments)
        given.push_back({each.first, each.second.get()});
    ze_event_handle_t done = nullptr;
    error::wrap_c_api(dnnl_ze_interop_primitive_execute(what.get(), in.get(), static_cast<int>(given.size()),
                                                        given.data(), static_cast<int>(after.size()),
                                                        after.empty() ? nullptr : after.data(), &done),
                      "cannot execute a primitive");
    return done;
}

} // namespace ze_interop
} // namespace dnnl

#endif
#endif
