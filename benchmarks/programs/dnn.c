/* Executes one primitive of a library with oneDNN's functions, again and again: ours and oneDNN itself alike.
 *
 * Layouts that a primitive may choose are left to it, as a framework would. Each sample is one execution and
 * the wait for it. A number on standard input asks for so many; an empty line follows them. So two libraries can
 * take turns: what happens on the machine meanwhile slows both.
 *
 * Usage: dnn LIBRARY cpu|gpu PRIMITIVE SIZE... */
#include "groundstate/dnnl.h"
#include "measure.h"

#define MOST_ARGUMENTS 6

static struct {
    void *handle;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
} library;

/* --- Functions by name ------------------------------------------------------------------------------- */

static void *find(const char *name) {
    void *function = dlsym(library.handle, name);
    if (function == NULL) {
        fprintf(stderr, "the library has no %s\n", name);
        exit(1);
    }
    return function;
}

#define CALL(function, ...)                                                      \
    do {                                                                         \
        dnnl_status_t status = ((__typeof__(&function))find(#function))(__VA_ARGS__); \
        if (status != dnnl_success) {                                            \
            fprintf(stderr, "%s answered %d\n", #function, (int)status);         \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

/* --- Tensors ----------------------------------------------------------------------------------------- */

static dnnl_memory_desc_t typed(int count, const int64_t *sizes, int64_t type, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t made;
    dnnl_dims_t dims = {0};
    memcpy(dims, sizes, (size_t)count * sizeof *sizes);
    CALL(dnnl_memory_desc_create_with_tag, &made, count, dims, (dnnl_data_type_t)type, tag);
    return made;
}

static dnnl_memory_desc_t described(int count, const int64_t *sizes, dnnl_format_tag_t tag) {
    return typed(count, sizes, dnnl_f32, tag);
}

static dnnl_memory_t filled(const_dnnl_memory_desc_t descriptor) {
    dnnl_memory_t memory;
    CALL(dnnl_memory_create, &memory, descriptor, library.engine, DNNL_MEMORY_ALLOCATE);
    size_t size = ((__typeof__(&dnnl_memory_desc_get_size))find("dnnl_memory_desc_get_size"))(descriptor);
    dnnl_data_type_t type;
    CALL(dnnl_memory_desc_query, descriptor, dnnl_query_data_type, &type);
    size_t bytes = type == dnnl_f32 ? 4 : type == dnnl_bf16 ? 2 : 1;
    char *numbers = NULL;
    CALL(dnnl_memory_map_data, memory, (void **)&numbers);
    for (size_t i = 0; i < size / bytes; i++) {
        unsigned random = (unsigned)(i * 2654435761u % 1000u);
        float number = (float)random / 1000.0f;
        if (bytes == 1)
            numbers[i] = (char)random;
        else /* the upper half of a float is a bfloat */
            memcpy(numbers + bytes * i, (char *)&number + 4 - bytes, bytes);
    }
    CALL(dnnl_memory_unmap_data, memory, numbers);
    return memory;
}

static dnnl_memory_t argument(dnnl_primitive_desc_t primitive, dnnl_query_t what, int index) {
    return filled(((__typeof__(&dnnl_primitive_desc_query_md))find("dnnl_primitive_desc_query_md"))(primitive, what, index));
}

/* --- Primitives -------------------------------------------------------------------------------------- */

typedef struct {
    dnnl_primitive_desc_t descriptor;
    int count;
    dnnl_exec_arg_t arguments[MOST_ARGUMENTS];
} work;

static void add(work *made, int arg, dnnl_query_t what, int index) {
    made->arguments[made->count++] = (dnnl_exec_arg_t){arg, argument(made->descriptor, what, index)};
}

/* ROWS COLUMNS DEPTH, types of source, weights and result */
static work matmul(const int64_t *n) {
    work made = {0};
    CALL(dnnl_matmul_primitive_desc_create, &made.descriptor, library.engine,
         typed(2, (int64_t[]){n[0], n[2]}, n[3], dnnl_ab), typed(2, (int64_t[]){n[2], n[1]}, n[4], dnnl_ab), NULL,
         typed(2, (int64_t[]){n[0], n[1]}, n[5], dnnl_ab), NULL);
    add(&made, DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0);
    return made;
}

/* CHANNELS OUTPUTS SIZE KERNEL STRIDE PADDING, types of source, weights and result */
static work convolution(const int64_t *n) {
    work made = {0};
    int64_t places = (n[2] + 2 * n[5] - n[3]) / n[4] + 1;
    dnnl_dims_t strides = {n[4], n[4]}, dilates = {0}, padding = {n[5], n[5]};
    CALL(dnnl_convolution_forward_primitive_desc_create, &made.descriptor, library.engine,
         dnnl_forward_inference, dnnl_convolution_direct,
         typed(4, (int64_t[]){1, n[0], n[2], n[2]}, n[6], dnnl_format_tag_any),
         typed(4, (int64_t[]){n[1], n[0], n[3], n[3]}, n[7], dnnl_format_tag_any), NULL,
         typed(4, (int64_t[]){1, n[1], places, places}, n[8], dnnl_format_tag_any), strides, dilates, padding,
         padding, NULL);
    add(&made, DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0);
    return made;
}

/* ROWS COLUMNS */
static work softmax(const int64_t *n) {
    work made = {0};
    dnnl_memory_desc_t tensor = described(2, n, dnnl_ab);
    CALL(dnnl_softmax_forward_primitive_desc_create, &made.descriptor, library.engine, dnnl_forward_inference,
         dnnl_softmax_accurate, tensor, tensor, 1, NULL);
    return made;
}

/* ROWS COLUMNS */
static work layer_norm(const int64_t *n) {
    work made = {0};
    dnnl_memory_desc_t tensor = described(2, n, dnnl_ab), statistics = described(1, n, dnnl_a);
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    CALL(dnnl_layer_normalization_forward_primitive_desc_create, &made.descriptor, library.engine,
         dnnl_forward_inference, tensor, tensor, statistics, 1e-5f, flags, NULL);
    dnnl_memory_desc_t parameters = described(1, n + 1, dnnl_a);
    made.arguments[made.count++] = (dnnl_exec_arg_t){DNNL_ARG_SCALE, filled(parameters)};
    made.arguments[made.count++] = (dnnl_exec_arg_t){DNNL_ARG_SHIFT, filled(parameters)};
    return made;
}

/* ROWS COLUMNS ALGORITHM */
static work eltwise(const int64_t *n) {
    work made = {0};
    dnnl_memory_desc_t tensor = described(2, n, dnnl_ab);
    CALL(dnnl_eltwise_forward_primitive_desc_create, &made.descriptor, library.engine, dnnl_forward_inference,
         (dnnl_alg_kind_t)n[2], tensor, tensor, 0.0f, 0.0f, NULL);
    return made;
}

/* BATCH CHANNELS SIZE FROM TO, the last two as format tags */
static work reorder(const int64_t *n) {
    work made = {0};
    int64_t sizes[] = {n[0], n[1], n[2], n[2]};
    dnnl_memory_desc_t from = described(4, sizes, (dnnl_format_tag_t)n[3]);
    dnnl_memory_desc_t to = described(4, sizes, (dnnl_format_tag_t)n[4]);
    CALL(dnnl_reorder_primitive_desc_create, &made.descriptor, from, library.engine, to, library.engine, NULL);
    return made;
}

static const struct {
    const char *name;
    work (*create)(const int64_t *sizes);
    int sizes;
} primitives[] = {
    {"matmul", matmul, 6},       {"convolution", convolution, 9}, {"softmax", softmax, 2},
    {"layer_norm", layer_norm, 2}, {"eltwise", eltwise, 3},       {"reorder", reorder, 5},
};

static work prepared(const char *name, int count, char **texts) {
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++) {
        if (strcmp(primitives[i].name, name) != 0)
            continue;
        REQUIRE(count == primitives[i].sizes);
        int64_t sizes[12];
        for (int each = 0; each < count; each++)
            sizes[each] = (int64_t)number(texts[each]);
        work made = primitives[i].create(sizes);
        add(&made, DNNL_ARG_SRC, dnnl_query_src_md, 0);
        add(&made, DNNL_ARG_DST, dnnl_query_dst_md, 0);
        return made;
    }
    fprintf(stderr, "there is no primitive %s\n", name);
    exit(1);
}

/* --- Measuring --------------------------------------------------------------------------------------- */

/* Caches are filled, and threads woken, after others had their turn. */
#define WARM_UP 3

typedef struct {
    __typeof__(&dnnl_primitive_execute) execute;
    __typeof__(&dnnl_stream_wait) wait;
    dnnl_primitive_t primitive;
} measured;

static uint64_t time_of_one(const measured *of, const work *made) {
    uint64_t begin = now();
    REQUIRE(of->execute(of->primitive, library.stream, made->count, made->arguments) == dnnl_success);
    REQUIRE(of->wait(library.stream) == dnnl_success);
    return now() - begin;
}

static void measure(const char *name, const work *made) {
    measured of = {find("dnnl_primitive_execute"), find("dnnl_stream_wait"), NULL};
    CALL(dnnl_primitive_create, &of.primitive, made->descriptor);
    unsigned long executions = 0;
    while (scanf("%lu", &executions) == 1) {
        for (int i = 0; i < WARM_UP; i++)
            time_of_one(&of, made);
        for (unsigned long i = 0; i < executions; i++)
            print_sample(name, time_of_one(&of, made), 1);
        printf("\n");
        fflush(stdout);
    }
}

int main(int count, char **texts) {
    REQUIRE(count >= 4);
    library.handle = open_library(texts[1]);
    dnnl_engine_kind_t kind = strcmp(texts[2], "gpu") == 0 ? dnnl_gpu : dnnl_cpu;
    CALL(dnnl_engine_create, &library.engine, kind, 0);
    CALL(dnnl_stream_create, &library.stream, library.engine, dnnl_stream_in_order);
    work made = prepared(texts[3], count - 4, texts + 4);
    measure(texts[3], &made);
    return 0;
}
