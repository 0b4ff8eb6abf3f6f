/* The program that docs/howto/dnn.md compiles: it asks the first device for an engine, and one for a matrix. */
#include <groundstate/dnnl.h>
#include <stdio.h>

int main(void) {
    dnnl_engine_t engine;
    dnnl_memory_desc_t matrix;
    dnnl_dims_t sizes = {2, 3};
    if (dnnl_engine_create(&engine, dnnl_gpu, 0) != dnnl_success ||
        dnnl_memory_desc_create_with_tag(&matrix, 2, sizes, dnnl_f32, dnnl_ab) != dnnl_success) {
        fprintf(stderr, "%s\n", groundstate_dnnl_last_error());
        return 1;
    }
    printf("%zu bytes\n", dnnl_memory_desc_get_size(matrix));
    dnnl_memory_desc_destroy(matrix);
    dnnl_engine_destroy(engine);
    return 0;
}
