/* Copies calls into a buffer of their thread, and finished ones into the journal. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "capture/recorder/record.h"
#include "capture/generated/structs.h"
#include "capture/memory/pages.h"
#include "capture/stream/digest.h"
#include "capture/stream/journal.h"

enum {
    INLINE_LIMIT = 4096,        /* larger blocks are stored as contents */
    CALL_LIMIT = 2 << 20,       /* a record of a call is never larger */
    BLOCK_LIMIT = UINT16_MAX,
    CHAIN_LIMIT = UINT16_MAX,   /* a longer pNext chain is taken for a circle; mutable lists have long ones */
    CONSTANT_SIZE = 8,          /* no specialisation constant is larger */
    PAGE = GC_PAGE,
    RECORD_HEAD = sizeof(gc_layout_record),
};

typedef struct __attribute__((packed)) call_head {
    gc_layout_record record;
    gc_layout_call call;
} call_head;

static pthread_key_t call_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static _Thread_local gc_call *call_here __attribute__((tls_model("initial-exec")));
static atomic_uint threads;

static void forget_call(void *call) {
    call_here = NULL;
    gc_extents_free(&((gc_call *)call)->reads);
    gc_extents_free(&((gc_call *)call)->targets);
    free(((gc_call *)call)->bytes);
    free(call);
}

static void make_key(void) {
    pthread_key_create(&call_key, forget_call);
}

static gc_call *new_call(void) {
    pthread_once(&key_once, make_key);
    gc_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->thread = atomic_fetch_add(&threads, 1);
    pthread_setspecific(call_key, call);
    return call_here = call;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Room for `size` more bytes of the record; null, and the call is marked, if there is none. */
static uint8_t *take(gc_call *call, size_t size) {
    if (size > CALL_LIMIT - call->used) {
        call->incomplete = true;
        return NULL;
    }
    if (call->used + size > call->capacity) {
        size_t capacity = (call->used + size) * 2;
        uint8_t *bytes = realloc(call->bytes, capacity);
        if (bytes == NULL) {
            call->incomplete = true;
            return NULL;
        }
        call->bytes = bytes;
        call->capacity = capacity;
    }
    call->used += size;
    return call->bytes + call->used - size;
}

gc_call *gc_begin(enum gs_function function) {
    gc_call *call = call_here != NULL ? call_here : new_call();
    if (call == NULL || call->busy || !gc_journal_is_open())
        return NULL;
    call->function = function;
    call->used = 0;
    call->words = call->blocks = 0;
    call->incomplete = false;
    call->reads.count = call->targets.count = 0;
    call->submits = false;
    call->traits = 0;
    if (take(call, sizeof(call_head)) == NULL)
        return NULL;
    call->busy = true;
    return call;
}

static void put_head(gc_call *call, uint16_t blocks, bool incomplete, uint64_t duration, uint64_t result) {
    call_head head = {
        .record = {GC_CALL, (uint32_t)(call->used - RECORD_HEAD)},
        .call.function = call->function,
        .call.thread = call->thread,
        .call.began = call->began,
        .call.time = call->entered - gc_journal_start(),
        .call.duration = duration,
        .call.result = result,
        .call.arguments = call->words,
        .call.blocks = blocks,
        .call.flags = incomplete ? GC_INCOMPLETE : 0,
    };
    memcpy(call->bytes, &head, sizeof head);
}

/* The journal gets what is known of the call, for the case that it never returns; without what its arguments lead to if
 * that is too much. */
void gc_enter(gc_call *call) {
    gc_journal_name(call->function);
    call->began = gc_journal_count();
    call->entered = now();
    size_t size = call->used - RECORD_HEAD;
    bool fits = size <= GC_INSIDE_LIMIT;
    put_head(call, fits ? call->blocks : 0, !fits || call->incomplete, 0, 0);
    if (!fits)
        size = gc_smaller(sizeof(call_head) - RECORD_HEAD + 8 * (size_t)call->words, GC_INSIDE_LIMIT);
    gc_journal_enter(call->thread, call->function, call->entered, call->bytes + RECORD_HEAD, size);
}

void gc_leave(gc_call *call, uint64_t result) {
    call->left = now();
    call->result = result;
}

void gc_end(gc_call *call) {
    put_head(call, call->blocks, call->incomplete, call->left - call->entered, call->result);
    call->number = gc_journal_leave(call->thread, call->bytes, call->used);
    call->busy = false;
}

void gc_word(gc_call *call, uint64_t word) {
    uint8_t *to = take(call, sizeof word);
    if (to != NULL) {
        memcpy(to, &word, sizeof word);
        call->words++;
    }
}

static uint8_t *block(gc_call *call, const void *from, size_t size, gc_phase phase, uint16_t form, size_t bytes) {
    if (call->blocks == BLOCK_LIMIT || size > UINT32_MAX) {
        call->incomplete = true;
        return NULL;
    }
    uint8_t *to = take(call, sizeof(gc_layout_block) + bytes);
    if (to == NULL)
        return NULL;
    gc_layout_block head = {(uintptr_t)from, (uint32_t)size, (uint16_t)phase, form};
    memcpy(to, &head, sizeof head);
    call->blocks++;
    return to + sizeof head;
}

/* Stores what is large once for the whole stream, in pieces. */
static void copy_large(gc_call *call, const uint8_t *from, size_t size, gc_phase phase) {
    size_t pieces = (size + GC_PIECE - 1) / GC_PIECE;
    uint8_t *to = block(call, from, size, phase, GC_FORM_DIGESTS, pieces * GC_DIGEST_SIZE);
    if (to == NULL)
        return;
    for (size_t piece = 0; piece < pieces; piece++) {
        const uint8_t *begin = from + piece * GC_PIECE;
        size_t length = gc_smaller(GC_PIECE, size - piece * GC_PIECE);
        gc_digest(begin, length, to + piece * GC_DIGEST_SIZE);
        gc_journal_content(to + piece * GC_DIGEST_SIZE, begin, length);
    }
}

/* Whether a page is there, as far as this thread knows: pages that were there once are believed to stay. So a wrong pointer
 * is found by the driver, and not by the recorder before it. */
static bool is_there(uintptr_t page) {
    uint8_t probe;
    if (call_here == NULL) /* nothing is recorded here, or there was no memory for it */
        return gc_pages_read(&probe, page, 1) == 1;
    uintptr_t *known = &call_here->pages[page / PAGE % GC_KNOWN_PAGES];
    if (*known != page + 1 && gc_pages_read(&probe, page, 1) == 1)
        *known = page + 1; /* so that 0 stands for none */
    return *known == page + 1;
}

bool gc_readable(const void *from, size_t size) {
    uintptr_t first = (uintptr_t)from / PAGE * PAGE, last = (uintptr_t)from + size - 1;
    if (from == NULL || size == 0 || last < (uintptr_t)from)
        return false;
    for (uintptr_t page = first; page <= last; page += PAGE)
        if (!is_there(page))
            return false;
    return true;
}

void gc_copy(gc_call *call, const void *from, size_t size, gc_phase phase) {
    if (from == NULL || size == 0)
        return;
    if (!gc_readable(from, size)) {
        call->incomplete = true;
        return;
    }
    if (size > INLINE_LIMIT) {
        copy_large(call, from, size, phase);
        return;
    }
    uint8_t *to = block(call, from, size, phase, GC_FORM_BYTES, size);
    if (to != NULL)
        memcpy(to, from, size);
}

void gc_string(gc_call *call, const char *from, gc_phase phase) {
    size_t length = 0;
    if (from == NULL)
        return;
    while (gc_readable(from + length, 1)) {
        size_t rest = PAGE - (uintptr_t)(from + length) % PAGE, more = strnlen(from + length, rest);
        length += more;
        if (more < rest)
            break;
    }
    gc_copy(call, from, length + 1, phase);
}

void gc_strings(gc_call *call, const char *const *from, size_t count, gc_phase phase) {
    if (from == NULL)
        return;
    gc_copy(call, from, count * sizeof *from, phase);
    if (!gc_readable(from, count * sizeof *from))
        return;
    for (size_t each = 0; each < count; each++)
        gc_string(call, from[each], phase);
}

/* The links of a chain, each by what its stype says it is; of an unknown one, only that. */
void gc_chain(gc_call *call, const void *from, gc_phase phase, gc_finder find) {
    for (int links = 0; from != NULL; links++) {
        if (links == CHAIN_LIMIT || !gc_readable(from, sizeof(ze_base_desc_t))) {
            call->incomplete = true;
            return;
        }
        const ze_base_desc_t *base = from;
        gc_struct how = find((uint32_t)base->stype);
        gc_copy(call, base, how.size != 0 ? how.size : sizeof *base, phase);
        if (how.lead != NULL && gc_readable(base, how.size))
            how.lead(call, base, phase);
        from = base->pNext;
    }
}

void gc_structs(gc_call *call, const void *from, size_t count, gc_phase phase, gc_struct how, gc_finder find) {
    if (from == NULL || count == 0)
        return;
    gc_copy(call, from, count * how.size, phase);
    if ((how.lead == NULL && find == NULL) || !gc_readable(from, count * how.size))
        return;
    for (size_t each = 0; each < count; each++) {
        const void *at = (const uint8_t *)from + each * how.size;
        if (how.lead != NULL)
            how.lead(call, at, phase);
        if (find != NULL)
            gc_chain(call, ((const ze_base_desc_t *)at)->pNext, phase, find);
    }
}

/* The size of a constant is that of its type in the module. Reading all it can have is harmless within a page. */
void gc_lead_ze_module_constants_t(gc_call *call, const void *at, gc_phase phase) {
    const ze_module_constants_t *from = at;
    gc_copy(call, from->pConstantIds, from->numConstants * sizeof *from->pConstantIds, phase);
    gc_copy(call, from->pConstantValues, from->numConstants * sizeof *from->pConstantValues, phase);
    if (!gc_readable(from->pConstantValues, from->numConstants * sizeof *from->pConstantValues))
        return;
    for (uint32_t each = 0; each < from->numConstants; each++) {
        const void *value = from->pConstantValues[each];
        gc_copy(call, value, gc_smaller(CONSTANT_SIZE, PAGE - (uintptr_t)value % PAGE), phase);
    }
}

void gc_lead_ze_module_program_exp_desc_t(gc_call *call, const void *at, gc_phase phase) {
    const ze_module_program_exp_desc_t *from = at;
    gc_copy(call, from->inputSizes, from->count * sizeof *from->inputSizes, phase);
    gc_copy(call, from->pInputModules, from->count * sizeof *from->pInputModules, phase);
    gc_strings(call, (const char *const *)from->pBuildFlags, from->count, phase);
    gc_copy(call, from->pConstants, from->count * sizeof *from->pConstants, phase);
    bool has_modules = gc_readable(from->inputSizes, from->count * sizeof *from->inputSizes) &&
                       gc_readable(from->pInputModules, from->count * sizeof *from->pInputModules);
    bool has_constants = gc_readable(from->pConstants, from->count * sizeof *from->pConstants);
    for (uint32_t each = 0; each < from->count; each++) {
        if (has_modules)
            gc_copy(call, from->pInputModules[each], from->inputSizes[each], phase);
        if (has_constants)
            gc_structs_ze_module_constants_t(call, from->pConstants[each], 1, phase);
    }
}
