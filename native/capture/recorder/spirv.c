/* Reads as much of a module as the sizes of parameters need: types, names of entry points, functions. Nothing in a module is
 * trusted: ids, counts and lengths are checked, and what makes no sense has no size. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capture/recorder/spirv.h"

enum { MAGIC = 0x07230203, HEADER_WORDS = 5, ID_LIMIT = 1 << 22, DEPTH_LIMIT = 32, SIZE_LIMIT = 1 << 20 };
enum { POINTER_SIZE = 8, KERNEL_MODEL = 6, STORAGE_FUNCTION = 7 };
enum { DECORATE = 71, DECORATION_PACKED = 10, DECORATION_ATTRIBUTE = 38, ATTRIBUTE_BY_VALUE = 2 };
enum {
    ENTRY_POINT = 15,
    TYPE_BOOL = 20,
    TYPE_INT = 21,
    TYPE_FLOAT = 22,
    TYPE_VECTOR = 23,
    TYPE_IMAGE = 25,
    TYPE_SAMPLER = 26,
    TYPE_SAMPLED_IMAGE = 27,
    TYPE_ARRAY = 28,
    TYPE_STRUCT = 30,
    TYPE_POINTER = 32,
    TYPE_FUNCTION = 33,
    CONSTANT = 43,
    SPEC_CONSTANT = 50,
    FUNCTION = 54,
    PARAMETER = 55,
    FUNCTION_END = 56,
};

typedef struct module {
    const uint32_t *words;
    size_t count;
    const uint32_t **definitions; /* where each id is defined; null: nowhere that matters */
    uint8_t *marks;               /* what decorations say of each id */
    uint32_t bound;
} module;

enum { IS_PACKED = 1, IS_BY_VALUE = 2 };

typedef struct extent {
    uint64_t size, alignment;
} extent;

static unsigned opcode_of(const uint32_t *at) {
    return *at & 0xffff;
}

static size_t length_of(const uint32_t *at) {
    return *at >> 16;
}

static const uint32_t *definition(const module *of, uint32_t id) {
    return id < of->bound ? of->definitions[id] : NULL;
}

static extent extent_of(const module *of, uint32_t id, int depth);

static uint64_t rounded(uint64_t size, uint64_t alignment) {
    return alignment > 1 ? (size + alignment - 1) / alignment * alignment : size;
}

static extent of_struct(const module *of, const uint32_t *at, int depth) {
    extent whole = {0, 1};
    bool packed = (of->marks[at[1]] & IS_PACKED) != 0;
    for (size_t member = 2; member < length_of(at); member++) {
        extent each = extent_of(of, at[member], depth + 1);
        if (each.size == 0)
            return each;
        uint64_t alignment = packed ? 1 : each.alignment;
        whole.size = rounded(whole.size, alignment) + each.size;
        whole.alignment = alignment > whole.alignment ? alignment : whole.alignment;
    }
    whole.size = rounded(whole.size, whole.alignment);
    return whole;
}

/* Vectors of three are as large as those of four. */
static extent of_vector(const module *of, const uint32_t *at, int depth) {
    uint64_t size = extent_of(of, at[2], depth + 1).size * (at[3] == 3 ? 4 : at[3]);
    return (extent){size, size};
}

static extent of_array(const module *of, const uint32_t *at, int depth) {
    const uint32_t *length = definition(of, at[3]);
    extent each = extent_of(of, at[2], depth + 1);
    bool is_known = length != NULL && (opcode_of(length) == CONSTANT || opcode_of(length) == SPEC_CONSTANT);
    return (extent){is_known && length_of(length) >= 4 ? each.size * length[3] : 0, each.alignment};
}

/* How large a value of a type is; 0 if that cannot be said. */
static extent extent_of(const module *of, uint32_t id, int depth) {
    const uint32_t *at = definition(of, id);
    extent found = {0, 1};
    if (at == NULL || depth > DEPTH_LIMIT)
        return found;
    switch (opcode_of(at)) {
    case TYPE_BOOL:
        found = (extent){1, 1};
        break;
    case TYPE_INT:
    case TYPE_FLOAT:
        found = length_of(at) > 2 ? (extent){(at[2] + 7) / 8, (at[2] + 7) / 8} : found;
        break;
    case TYPE_VECTOR:
        found = length_of(at) > 3 ? of_vector(of, at, depth) : found;
        break;
    case TYPE_ARRAY:
        found = length_of(at) > 3 ? of_array(of, at, depth) : found;
        break;
    case TYPE_STRUCT:
        found = of_struct(of, at, depth);
        break;
    case TYPE_POINTER:
    case TYPE_IMAGE:
    case TYPE_SAMPLER:
    case TYPE_SAMPLED_IMAGE:
        found = (extent){POINTER_SIZE, POINTER_SIZE};
        break;
    default:
        break;
    }
    return found.size <= SIZE_LIMIT ? found : (extent){0, 1};
}

/* What a caller passes for a parameter: of a struct that is passed by value the struct, and of local memory its size,
 * which is as large as a pointer. */
static uint32_t argument_size(const module *of, const uint32_t *parameter) {
    const uint32_t *type = definition(of, parameter[1]);
    bool by_value = type != NULL && opcode_of(type) == TYPE_POINTER && length_of(type) > 3 &&
                    (type[2] == STORAGE_FUNCTION || (of->marks[parameter[2]] & IS_BY_VALUE) != 0);
    return (uint32_t)extent_of(of, by_value ? type[3] : parameter[1], 0).size;
}

static gc_signature *signature_of(const module *of, const uint32_t *function, const char *name, size_t capacity) {
    const uint32_t *end = of->words + of->count, *first = function + length_of(function), *at = first;
    uint32_t count = 0;
    for (; at < end && opcode_of(at) == PARAMETER && length_of(at) == 3 && at[2] < of->bound; at += length_of(at))
        count++;
    gc_signature *made = malloc(sizeof *made + count * sizeof *made->sizes);
    if (made == NULL || (made->name = strndup(name, capacity)) == NULL) {
        free(made);
        return NULL;
    }
    made->next = NULL;
    made->count = count;
    for (uint32_t each = 0; each < count; each++)
        made->sizes[each] = argument_size(of, first + 3 * each);
    return made;
}

static bool is_definition(unsigned opcode) {
    return (opcode >= TYPE_BOOL && opcode <= TYPE_FUNCTION) || opcode == CONSTANT || opcode == SPEC_CONSTANT ||
           opcode == FUNCTION;
}

/* Notes where ids are defined and what decorates them; false if an instruction does not fit. */
static bool note(module *of) {
    const uint32_t *end = of->words + of->count;
    for (const uint32_t *at = of->words + HEADER_WORDS; at < end; at += length_of(at)) {
        unsigned opcode = opcode_of(at);
        size_t length = length_of(at);
        if (length == 0 || length > (size_t)(end - at))
            return false;
        size_t id = opcode == CONSTANT || opcode == SPEC_CONSTANT || opcode == FUNCTION ? 2 : 1;
        if (is_definition(opcode) && length > id && at[id] < of->bound)
            of->definitions[at[id]] = at;
        if (opcode == DECORATE && length > 2 && at[1] < of->bound) {
            if (at[2] == DECORATION_PACKED)
                of->marks[at[1]] |= IS_PACKED;
            if (length > 3 && at[2] == DECORATION_ATTRIBUTE && at[3] == ATTRIBUTE_BY_VALUE)
                of->marks[at[1]] |= IS_BY_VALUE;
        }
    }
    return true;
}

static gc_signature *find_kernels(const module *of) {
    gc_signature *all = NULL;
    const uint32_t *end = of->words + of->count;
    for (const uint32_t *at = of->words + HEADER_WORDS; at < end; at += length_of(at)) {
        if (opcode_of(at) != ENTRY_POINT || length_of(at) < 4 || at[1] != KERNEL_MODEL)
            continue;
        const uint32_t *function = definition(of, at[2]);
        if (function == NULL || opcode_of(function) != FUNCTION)
            continue;
        gc_signature *made = signature_of(of, function, (const char *)(at + 3), (length_of(at) - 3) * 4);
        if (made != NULL) {
            made->next = all;
            all = made;
        }
    }
    return all;
}

gc_signature *gc_spirv_signatures(const void *bytes, size_t size) {
    gc_signature *found = NULL;
    module of = {.count = size / 4};
    uint32_t *words = of.count > HEADER_WORDS ? malloc(of.count * 4) : NULL;
    if (words == NULL)
        return NULL;
    memcpy(words, bytes, of.count * 4); /* it need not be aligned */
    of.words = words;
    of.bound = words[3];
    if (words[0] == MAGIC && of.bound <= ID_LIMIT) {
        of.definitions = calloc(of.bound, sizeof *of.definitions);
        of.marks = calloc(of.bound, 1);
        if (of.definitions != NULL && of.marks != NULL && note(&of))
            found = find_kernels(&of);
        free(of.definitions);
        free(of.marks);
    }
    free(words);
    return found;
}
