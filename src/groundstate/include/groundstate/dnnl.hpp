/* Objects of neural-network primitives in C++: owners of what groundstate/dnnl.h makes, under oneDNN's names.
 *
 * This is what dnnl::ze_interop (groundstate/dnnl_ze.hpp) needs where oneDNN's own headers are not installed. Primitives
 * are described with the C functions. */
#ifndef GROUNDSTATE_DNNL_HPP
#define GROUNDSTATE_DNNL_HPP

#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "groundstate/dnnl.h"
#include "groundstate/dnnl_enums.hpp"

namespace dnnl {

using enums::algorithm;
using enums::prop_kind;

/* A C function failed. */
struct error : public std::exception {
    dnnl_status_t status;
    std::string message;

    error(dnnl_status_t status, std::string message) : status(status), message(std::move(message)) {}
    const char *what() const noexcept override { return message.c_str(); }

    /* Throws unless a C function succeeded: what failed, and the library's sentence about why. */
    static void wrap_c_api(dnnl_status_t status, const std::string &what) {
        if (status != dnnl_success)
            throw error(status, what + ": " + groundstate_dnnl_last_error());
    }
};

/* A C handle with owners; the last one destroys it, unless it is only borrowed. Empty by default. */
template <typename T, dnnl_status_t (*destroy)(T)>
class owned {
public:
    owned() = default;
    owned(T handle, bool is_borrowed = false) { reset(handle, is_borrowed); }

    void reset(T handle, bool is_borrowed = false) {
        shared.reset(handle, [is_borrowed](T last) {
            if (!is_borrowed && last != nullptr)
                destroy(last);
        });
    }

    T get(bool allow_empty = false) const {
        if (!shared && !allow_empty)
            throw error(dnnl_invalid_arguments, "the object is empty: it was made without a handle");
        return shared.get();
    }

    explicit operator bool() const { return static_cast<bool>(shared); }
    bool operator==(const owned &other) const { return shared == other.shared; }
    bool operator!=(const owned &other) const { return shared != other.shared; }

private:
    std::shared_ptr<typename std::remove_pointer<T>::type> shared;
};

class engine : public owned<dnnl_engine_t, dnnl_engine_destroy> {
public:
    enum class kind { any = dnnl_any_engine, cpu = dnnl_cpu, gpu = dnnl_gpu };

    using owned::owned;
    engine(kind of, size_t index) {
        dnnl_engine_t made;
        error::wrap_c_api(dnnl_engine_create(&made, static_cast<dnnl_engine_kind_t>(of), index),
                          "cannot create an engine");
        reset(made);
    }

    kind get_kind() const {
        dnnl_engine_kind_t found;
        error::wrap_c_api(dnnl_engine_get_kind(get(), &found), "cannot ask an engine for its kind");
        return static_cast<kind>(found);
    }
};

class stream : public owned<dnnl_stream_t, dnnl_stream_destroy> {
public:
    using owned::owned;
    explicit stream(const engine &on, unsigned flags = dnnl_stream_default_flags) {
        dnnl_stream_t made;
        error::wrap_c_api(dnnl_stream_create(&made, on.get(), flags), "cannot create a stream");
        reset(made);
    }

    stream &wait() {
        error::wrap_c_api(dnnl_stream_wait(get()), "cannot wait for a stream");
        return *this;
    }
};

class memory : public owned<dnnl_memory_t, dnnl_memory_destroy> {
public:
    using dim = dnnl_dim_t;
    using dims = std::vector<dim>;
    using data_type = enums::data_type;
    using format_tag = enums::format_tag;

    /* The shape of a tensor, its type, and how it lies in memory. */
    class desc : public owned<dnnl_memory_desc_t, dnnl_memory_desc_destroy> {
    public:
        using owned::owned;
        desc(const dims &sizes, data_type type, format_tag tag) {
            dnnl_memory_desc_t made;
            error::wrap_c_api(dnnl_memory_desc_create_with_tag(&made, static_cast<int>(sizes.size()), sizes.data(),
                                                               static_cast<dnnl_data_type_t>(type),
                                                               static_cast<dnnl_format_tag_t>(tag)),
                              "cannot describe a memory by a layout");
            reset(made);
        }
        desc(const dims &sizes, data_type type, const dims &strides) {
            dnnl_memory_desc_t made;
            if (!strides.empty() && strides.size() != sizes.size())
                throw error(dnnl_invalid_arguments, "a memory has as many strides as dimensions");
            error::wrap_c_api(
                dnnl_memory_desc_create_with_strides(&made, static_cast<int>(sizes.size()), sizes.data(),
                                                     static_cast<dnnl_data_type_t>(type),
                                                     strides.empty() ? nullptr : strides.data()),
                "cannot describe a memory by strides");
            reset(made);
        }

        size_t get_size(int index = 0) const { return dnnl_memory_desc_get_size_v2(get(), index); }
        int get_num_handles() const {
            int found = 0;
            error::wrap_c_api(dnnl_memory_desc_query_v2(get(), dnnl_query_num_handles_s32, 0, &found),
                              "cannot ask for the number of buffers");
            return found;
        }
        bool operator==(const desc &other) const { return dnnl_memory_desc_equal(get(), other.get()) != 0; }
        bool operator!=(const desc &other) const { return !(*this == other); }
    };

    using owned::owned;
    memory(const desc &shape, const engine &on, void *handle = DNNL_MEMORY_ALLOCATE) {
        dnnl_memory_t made;
        error::wrap_c_api(dnnl_memory_create(&made, shape.get(), on.get(), handle), "cannot create a memory");
        reset(made);
    }

    desc get_desc() const {
        const_dnnl_memory_desc_t found;
        dnnl_memory_desc_t copy;
        error::wrap_c_api(dnnl_memory_get_memory_desc(get(), &found), "cannot ask a memory for its descriptor");
        error::wrap_c_api(dnnl_memory_desc_clone(&copy, found), "cannot copy a memory descriptor");
        return desc(copy);
    }

    void *get_data_handle(int index = 0) const {
        void *found;
        error::wrap_c_api(dnnl_memory_get_data_handle_v2(get(), &found, index), "cannot ask a memory for its pointer");
        return found;
    }
    void set_data_handle(void *handle, int index = 0) const {
        error::wrap_c_api(dnnl_memory_set_data_handle_v2(get(), handle, index), "cannot set the pointer of a memory");
    }
};

class primitive : public owned<dnnl_primitive_t, dnnl_primitive_destroy> {
public:
    using owned::owned;
    explicit primitive(const_dnnl_primitive_desc_t description) {
        dnnl_primitive_t made;
        error::wrap_c_api(dnnl_primitive_create(&made, description), "cannot create a primitive");
        reset(made);
    }

    void execute(const stream &in, const std::unordered_map<int, memory> &arguments) const {
        std::vector<dnnl_exec_arg_t> given;
        for (const auto &each : arguments)
            given.push_back({each.first, each.second.get()});
        error::wrap_c_api(dnnl_primitive_execute(get(), in.get(), static_cast<int>(given.size()), given.data()),
                          "cannot execute a primitive");
    }
};

} // namespace dnnl

#endif
