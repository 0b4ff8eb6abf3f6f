/* Runs a kernel by itself: run_kernel IN OUT. Both files consist of words of 64 bits and buffers; kernels.py writes and
 * reads them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, MOST = 1024 };

typedef struct buffer {
    uint64_t size, place; /* in a page */
    char *start;
} buffer;

/* A word of a buffer that is the address of something in a buffer. */
typedef struct pointer {
    uint64_t from, at, to, offset, before;
} pointer;

/* The code of the kernel (docs/internals/compiler.md). */
void run(void *dispatch, uint64_t first, uint64_t count, void *memory);

static FILE *input;

static void read_bytes(void *into, uint64_t size) {
    if (size > 0 && fread(into, size, 1, input) != 1) {
        fprintf(stderr, "run_kernel: the input ends too early\n");
        exit(1);
    }
}

static uint64_t read_word(void) {
    uint64_t word;
    read_bytes(&word, sizeof word);
    return word;
}

/* Zeros, with some more behind them. */
static char *new_memory(uint64_t size) {
    const uint64_t pages = size / PAGE + 3;
    char *memory = aligned_alloc(PAGE, pages * PAGE);
    if (memory == NULL)
        exit(2);
    return memset(memory, 0, pages * PAGE);
}

static void read_buffer(buffer *into) {
    into->size = read_word();
    into->place = read_word();
    into->start = new_memory(into->size) + into->place;
    read_bytes(into->start, into->size);
}

static void set_pointer(pointer *each, const buffer *buffers) {
    each->from = read_word();
    each->at = read_word();
    each->to = read_word();
    each->offset = read_word();
    const uint64_t address = (uintptr_t)buffers[each->to].start + each->offset;
    memcpy(&each->before, buffers[each->from].start + each->at, sizeof each->before);
    memcpy(buffers[each->from].start + each->at, &address, sizeof address);
}

/* Local memory, with the addresses of the others before it. */
static char *new_local_memory(uint64_t local, uint64_t private, uint64_t saved) {
    char *memory = new_memory(PAGE + local) + PAGE;
    const uint64_t header[] = {(uintptr_t)new_memory(saved), (uintptr_t)new_memory(private), 0};
    memcpy(memory - sizeof header, header, sizeof header);
    return memory;
}

int main(int argc, char **argv) {
    static buffer buffers[MOST];
    static pointer pointers[MOST];
    if (argc != 3 || (input = fopen(argv[1], "rb")) == NULL)
        return 1;
    const uint64_t first = read_word(), groups = read_word();
    const uint64_t local = read_word(), private = read_word(), saved = read_word();
    const uint64_t buffer_count = read_word(), pointer_count = read_word();
    if (buffer_count > MOST || pointer_count > MOST)
        return 3;
    for (uint64_t each = 0; each < buffer_count; each++)
        read_buffer(&buffers[each]);
    for (uint64_t each = 0; each < pointer_count; each++)
        set_pointer(&pointers[each], buffers);
    run(buffers[0].start, first, groups, new_local_memory(local, private, saved));
    for (uint64_t each = 0; each < pointer_count; each++)
        memcpy(buffers[pointers[each].from].start + pointers[each].at, &pointers[each].before, sizeof(uint64_t));
    FILE *output = fopen(argv[2], "wb");
    for (uint64_t each = 0; output != NULL && each < buffer_count; each++)
        fwrite(buffers[each].start, 1, buffers[each].size, output);
    return output == NULL || fclose(output) != 0;
}
