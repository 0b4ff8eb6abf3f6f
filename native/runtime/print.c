/* printf in kernels. A kernel writes records of arguments (docs/internals/compiler.md, "printf"); this file turns
 * them into text on standard output when the launch has ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "faults/fault.h"
#include "objects/device_kind.h"
#include "objects/kernel.h"
#include "threads/lock.h"

typedef struct print_buffer {
    _Atomic uint64_t used;
    uint64_t capacity;
    char records[];
} print_buffer;

typedef struct record {
    uint32_t bytes, format;
    uint64_t words[];
} record;

/* --- Buffers ---------------------------------------------------------------------------------------- */

/* Buffers that are not in use, linked through their first word. All but its header is zero in each. */
static void *idle_buffers;
GS_STATIC_LOCK(lock, GS_SHORT_LOCK)

static void *take_idle(void) {
    gs_lock(&lock);
    void *taken = idle_buffers;
    if (taken != NULL)
        memcpy(&idle_buffers, taken, sizeof idle_buffers);
    gs_unlock(&lock);
    return taken;
}

/* For a launch that gets no memory to print to: every call finds it full. */
static print_buffer no_capacity;

void *gs_print_begin(void) {
    print_buffer *buffer = take_idle();
    if (buffer == NULL)
        buffer = mmap(NULL, sizeof *buffer + GS_PRINT_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (buffer == MAP_FAILED)
        return &no_capacity;
    buffer->used = 0;
    buffer->capacity = GS_PRINT_BYTES;
    return buffer;
}

static void give_back(print_buffer *buffer) {
    uint64_t used = buffer->used < buffer->capacity ? buffer->used : buffer->capacity;
    memset(buffer->records, 0, used);
    gs_lock(&lock);
    memcpy(buffer, &idle_buffers, sizeof idle_buffers);
    idle_buffers = buffer;
    gs_unlock(&lock);
}

/* --- Conversions ------------------------------------------------------------------------------------ */

/* One conversion of a format string, as OpenCL C defines it: C's own, and vectors (%v4hlf). */
typedef struct conversion {
    char text[32]; /* for C's printf, up to the length modifier */
    uint32_t components;
    uint32_t bytes; /* of an integer */
    char letter;
} conversion;

typedef struct words {
    const uint64_t *next, *end;
    gs_device *device; /* whose memory strings are in; NULL: the host's */
} words;

/* Takes what a width, precision or vector size is made of. */
static const char *skip_digits(const char *at) {
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

static const char *read_vector(const char *at, conversion *read) {
    read->components = 1;
    if (*at != 'v')
        return at;
    read->components = (uint32_t)strtoul(at + 1, NULL, 10);
    return skip_digits(at + 1);
}

/* hh: 1 byte, h: 2, l: 8, none: 4; hl is for vectors of 4-byte elements. */
static const char *read_length(const char *at, conversion *read) {
    static const struct {
        const char *modifier;
        uint32_t bytes;
    } lengths[] = {{"hh", 1}, {"hl", 4}, {"h", 2}, {"ll", 8}, {"l", 8}, {"", 4}};
    for (size_t each = 0;; each++) {
        size_t length = strlen(lengths[each].modifier);
        if (strncmp(at, lengths[each].modifier, length) == 0) {
            read->bytes = lengths[each].bytes;
            return at + length;
        }
    }
}

/* Reads the conversion that begins after a '%'. Returns its end, or NULL if it is none. */
static const char *read_conversion(const char *start, conversion *read) {
    const char *at = start + strspn(start, "-+ #0");
    at = skip_digits(at);
    if (*at == '.')
        at = skip_digits(at + 1);
    size_t length = (size_t)(at - start);
    if (length + 8 > sizeof read->text)
        return NULL;
    read->text[0] = '%';
    memcpy(read->text + 1, start, length);
    read->text[1 + length] = 0;
    at = read_length(read_vector(at, read), read);
    read->letter = *at;
    if (*at == 0 || strchr("diouxXfFeEgGaAcsp", *at) == NULL || read->components == 0 || read->components > 16)
        return NULL;
    return at + 1;
}

static int64_t sign_extended(uint64_t word, uint32_t bytes) {
    uint32_t unused = 64 - 8 * bytes;
    return (int64_t)(word << unused) >> unused;
}

/* A kernel may name any address as a string; this finds out whether there is one. */
static void look_at(void *string, uint64_t most) {
    const volatile char *at = string;
    while (most-- > 0 && *at != 0)
        at++;
}

/* A string in the memory of another device than the CPU, which ends with what that lets be read. Called with stdout locked. */
static const char *string_there(gs_device *device, uint64_t word, uint64_t most) {
    enum { LONGEST = 1 << 16, PIECE = 64 };
    static char text[LONGEST + 1];
    uint64_t length = 0, limit = most < LONGEST ? most : LONGEST, piece = PIECE;
    bool is_there = limit == 0;
    while (length < limit && piece > 0) {
        uint64_t wanted = piece < limit - length ? piece : limit - length;
        if (!device->kind->peek(device, text + length, word + length, wanted)) {
            piece = wanted / 2; /* less may be there: it ends where a variable does */
            continue;
        }
        uint64_t found = strnlen(text + length, wanted);
        is_there = true;
        length += found;
        if (found < wanted)
            break;
    }
    text[length] = 0;
    return is_there ? text : "(nowhere)";
}

static const char *string_at(const conversion *as, uint64_t word, gs_device *device) {
    const char *point = strchr(as->text, '.');
    uint64_t most = point != NULL ? strtoul(point + 1, NULL, 10) : SIZE_MAX;
    if (word == 0)
        return "(null)";
    if (device != NULL)
        return string_there(device, word, most);
    return gs_guard(look_at, (void *)(uintptr_t)word, most, NULL) ? (const char *)(uintptr_t)word : "(nowhere)";
}

static void print_component(const conversion *as, uint64_t word, gs_device *device) {
    char text[sizeof as->text + 4];
    double number;
    switch (as->letter) {
    case 'd':
    case 'i':
        snprintf(text, sizeof text, "%sll%c", as->text, as->letter);
        printf(text, (long long)sign_extended(word, as->bytes));
        break;
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        snprintf(text, sizeof text, "%sll%c", as->text, as->letter);
        printf(text, (unsigned long long)(word << (64 - 8 * as->bytes) >> (64 - 8 * as->bytes)));
        break;
    case 'c':
        snprintf(text, sizeof text, "%sc", as->text);
        printf(text, (int)(unsigned char)word);
        break;
    case 's':
        snprintf(text, sizeof text, "%ss", as->text);
        printf(text, string_at(as, word, device));
        break;
    case 'p':
        snprintf(text, sizeof text, "%sp", as->text);
        printf(text, (void *)(uintptr_t)word);
        break;
    default:
        snprintf(text, sizeof text, "%s%c", as->text, as->letter);
        memcpy(&number, &word, sizeof number);
        printf(text, number);
    }
}

/* Prints a value, or the components of a vector with commas between. A missing argument prints nothing. */
static void print_conversion(const conversion *as, words *arguments) {
    for (uint32_t each = 0; each < as->components && arguments->next < arguments->end; each++) {
        if (each > 0)
            putchar(',');
        print_component(as, *arguments->next++, arguments->device);
    }
}

static void print_record(const char *format, words arguments) {
    while (*format != 0) {
        conversion read;
        size_t plain = strcspn(format, "%");
        fwrite(format, 1, plain, stdout);
        format += plain;
        if (*format == 0)
            break;
        const char *end = read_conversion(format + 1, &read);
        if (end != NULL) {
            print_conversion(&read, &arguments);
            format = end;
        } else { /* "%%", or something that is no conversion and is shown as it stands */
            putchar('%');
            format += format[1] == '%' ? 2 : 1;
        }
    }
}

/* A call that found no room has moved `used` beyond it and written nothing: its place reads as zero. */
void gs_print_end(void *given, const gs_code *code, gs_device *device) {
    print_buffer *buffer = given;
    if (buffer == &no_capacity)
        return;
    uint64_t used = buffer->used < buffer->capacity ? buffer->used : buffer->capacity;
    gs_may_wait("stdout");
    flockfile(stdout);
    for (uint64_t place = 0; place + sizeof(record) <= used;) {
        const record *found = (const record *)(buffer->records + place);
        /* A kernel may have written anything here by a bad index. */
        if (found->bytes < sizeof *found || found->bytes % sizeof *found->words != 0 || found->bytes > used - place ||
            found->format >= code->format_count)
            break;
        const uint64_t *end = (const uint64_t *)((const char *)found + found->bytes);
        print_record(code->formats[found->format], (words){found->words, end, device});
        place += found->bytes;
    }
    fflush(stdout);
    funlockfile(stdout);
    if (buffer->used > buffer->capacity)
        gs_warn("kernel '%.100s': a launch printed more than printfBufferSize, %d bytes of arguments; what came after "
                "that is lost, and printf returned -1",
                code->name, GS_PRINT_BYTES);
    give_back(buffer);
}
