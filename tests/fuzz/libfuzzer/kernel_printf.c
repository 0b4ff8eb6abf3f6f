/* What becomes of printf in kernels, native/runtime/print.c: the first byte is the length of a format string, which follows;
 * the rest is what a kernel left in its buffer. */
#include "threads/lock.c"
#include "runtime/print.c"

bool gs_holds_python(void) { return false; }

bool gs_guard(gs_work work, void *argument, uint64_t number,
              void (*describe)(const void *argument, char *text, size_t capacity)) {
    (void)work, (void)argument, (void)number, (void)describe;
    return false; /* no address leads anywhere */
}

void gs_warn(const char *format, ...) { (void)format; }

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    return freopen("/dev/null", "w", stdout) == NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size - 1 < data[0])
        return 0;
    char *format = strndup((const char *)data + 1, data[0]);
    gs_code code = {.name = "kernel", .format_count = 1, .formats = &format};
    const uint8_t *records = data + 1 + data[0];
    size_t length = size - 1 - data[0];
    print_buffer *buffer = gs_print_begin();
    memcpy(buffer->records, records, length);
    buffer->used = length;
    gs_print_end(buffer, &code, NULL);
    free(format);
    return 0;
}
