/* Memory is copied before it is named: another thread may change it meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "capture/memory/writes.h"
#include "capture/memory/pages.h"
#include "capture/stream/digest.h"
#include "capture/stream/journal.h"
#include "memory/page.h"

enum { RECORD_LIMIT = 1 << 20, BUFFER_PAGES = 64 };

typedef struct __attribute__((packed)) head {
    gc_layout_record record;
    gc_layout_writes writes;
} head;

typedef gc_layout_run run;

static head beginning;
static const gc_call *call_of;
static gc_writes_flags flags_of;
static bool with_contents;
static uint8_t *bytes;
static size_t used, capacity;
static size_t last; /* where the last run is */

void gc_writes_begin(uint32_t kind, const gc_call *call, gc_writes_flags flags, bool contents) {
    beginning = (head){{kind, 0}, {.piece = GC_PAGE, .thread = call->thread}};
    call_of = call;
    flags_of = flags;
    with_contents = contents;
    used = sizeof beginning;
}

void gc_writes_end(void) {
    if (beginning.writes.runs > 0) {
        beginning.record.length = (uint32_t)(used - sizeof beginning.record);
        beginning.writes.flags = flags_of(call_of);
        memcpy(bytes, &beginning, sizeof beginning);
        gc_journal_append(bytes, used);
    }
    beginning.writes.runs = 0;
    used = sizeof beginning;
}

static uint8_t *take(size_t size) {
    if (used + size > capacity) {
        size_t more = (used + size) * 2 + GC_PAGE;
        uint8_t *grown = realloc(bytes, more);
        if (grown == NULL)
            return NULL;
        bytes = grown;
        capacity = more;
    }
    used += size;
    return bytes + used - size;
}

/* Goes on with the last run if the piece follows it, and begins another one otherwise. */
static void add_piece(uint64_t address, size_t size, const uint8_t *digest) {
    run before = {0, 1};
    if (used > RECORD_LIMIT)
        gc_writes_end();
    if (beginning.writes.runs > 0)
        memcpy(&before, bytes + last, sizeof before);
    bool follows = before.address + before.size == address && before.size % GC_PAGE == 0;
    uint8_t *to = take((follows ? 0 : sizeof(run)) + GC_DIGEST_SIZE);
    if (to == NULL)
        return;
    run now = {address, size};
    if (follows) {
        now = (run){before.address, before.size + size};
    } else {
        last = (size_t)(to - bytes);
        to += sizeof(run);
        beginning.writes.runs++;
    }
    memcpy(bytes + last, &now, sizeof now);
    memcpy(to, digest, GC_DIGEST_SIZE);
}

static bool is_zeros(const uint8_t *from, size_t size) {
    return from[0] == 0 && memcmp(from, from + 1, size - 1) == 0;
}

static void add_copied(uintptr_t at, const uint8_t *copy, size_t size, bool skip_zeros) {
    for (size_t begin = 0; begin < size; begin += GC_PAGE) {
        size_t length = size - begin < GC_PAGE ? size - begin : GC_PAGE;
        uint8_t digest[GC_DIGEST_SIZE];
        if (skip_zeros && is_zeros(copy + begin, length))
            continue;
        gc_digest(copy + begin, length, digest);
        if (with_contents)
            gc_journal_content(digest, copy + begin, length);
        add_piece(at + begin, length, digest);
    }
}

void gc_writes_add(uintptr_t at, size_t size, bool skip_zeros) {
    static uint8_t buffer[BUFFER_PAGES * GC_PAGE];
    while (size > 0) {
        size_t wanted = size < sizeof buffer ? size : sizeof buffer;
        size_t there = gc_pages_read(buffer, at, wanted);
        add_copied(at, buffer, there, skip_zeros);
        if (there < wanted) /* goes on behind the page that is not there */
            there += gs_page_size() - (at + there) % gs_page_size();
        if (there >= size)
            return;
        at += there;
        size -= there;
    }
}
