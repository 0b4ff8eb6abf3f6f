/* Writes chunks, compressed with the machine's libzstd if it has one, and the index at the end. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/stream/stream.h"
#include "capture/stream/digest.h"

enum { LEVEL = 1 }; /* of compression */

typedef gc_layout_chunks chunk_entry;
typedef gc_layout_contents content_entry;

static int file = -1;
static uint64_t place;
static bool broken;

static chunk_entry *chunks;
static size_t chunk_count, chunk_capacity;

/* A table of contents by digest, open addressing; a record number of UINT64_MAX is an empty place. */
static content_entry *contents;
static size_t content_count, content_capacity;

static struct {
    size_t (*compress)(void *to, size_t capacity, const void *from, size_t size, int level);
    size_t (*bound)(size_t size);
    unsigned (*is_error)(size_t code);
} zstd;

void gc_stream_header(gc_layout_header *to, const char *magic, uint32_t size, uint64_t start, uint32_t process) {
    *to = (gc_layout_header){.major = GC_MAJOR, .minor = GC_MINOR, .size = size, .start = start, .process = process};
    memcpy(to->magic, magic, sizeof to->magic);
    to->crc = gc_crc(0, to, offsetof(gc_layout_header, crc));
}

static bool write_all(const void *from, size_t size) {
    const uint8_t *at = from;
    while (size > 0 && !broken) {
        ssize_t done = write(file, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            fprintf(stderr, "groundstate: the recording ends here, its file cannot be written: %s\n", strerror(errno));
            broken = true;
            break;
        }
        at += done;
        size -= (size_t)done;
        place += (uint64_t)done;
    }
    return !broken;
}

static void find_zstd(void) {
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return;
    *(void **)&zstd.bound = dlsym(library, "ZSTD_compressBound");
    *(void **)&zstd.is_error = dlsym(library, "ZSTD_isError");
    *(void **)&zstd.compress = dlsym(library, "ZSTD_compress");
    if (zstd.bound == NULL || zstd.is_error == NULL)
        zstd.compress = NULL;
}

bool gc_stream_create(const char *path, const gc_layout_header *header) {
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return false;
    find_zstd();
    return write_all(header, sizeof *header);
}

/* The payload's zstd frame, if that is smaller; to be freed. */
static uint8_t *compressed(const uint8_t *payload, uint32_t size, uint32_t *stored) {
    if (zstd.compress == NULL)
        return NULL;
    size_t capacity = zstd.bound(size);
    uint8_t *frame = malloc(capacity);
    if (frame == NULL)
        return NULL;
    size_t length = zstd.compress(frame, capacity, payload, size, LEVEL);
    if (zstd.is_error(length) || length >= size) {
        free(frame);
        return NULL;
    }
    *stored = (uint32_t)length;
    return frame;
}

static bool write_chunk(uint8_t kind, const uint8_t *payload, uint32_t size, uint64_t first, uint32_t count) {
    uint32_t stored = size;
    uint8_t *frame = compressed(payload, size, &stored);
    const uint8_t *bytes = frame != NULL ? frame : payload;
    gc_layout_chunk header = {.kind = kind, .codec = frame != NULL ? GC_CODEC_ZSTD : GC_CODEC_STORED, .stored = stored,
                              .raw = size, .first = first, .count = count};
    memcpy(header.magic, GC_CHUNK_MAGIC, sizeof header.magic);
    header.crc = gc_crc(gc_crc(0, &header, offsetof(gc_layout_chunk, crc)), bytes, stored);
    bool done = write_all(&header, sizeof header) && write_all(bytes, stored);
    free(frame);
    return done;
}

bool gc_stream_chunk(const uint8_t *payload, uint32_t size, uint64_t first, uint32_t count) {
    if (chunk_count == chunk_capacity) {
        size_t capacity = chunk_capacity * 2 + 16;
        chunk_entry *more = realloc(chunks, capacity * sizeof *more);
        if (more == NULL)
            broken = true;
        else
            chunks = more, chunk_capacity = capacity;
    }
    if (broken)
        return false;
    chunk_entry entry = {place, first, count, 0};
    if (!write_chunk(GC_CHUNK_RECORDS, payload, size, first, count))
        return false;
    chunks[chunk_count++] = entry;
    return true;
}

static content_entry *content_place(const uint8_t *digest) {
    uint64_t hash;
    memcpy(&hash, digest, sizeof hash);
    size_t at = hash % content_capacity;
    while (contents[at].record != UINT64_MAX && memcmp(contents[at].digest, digest, GC_DIGEST_SIZE) != 0)
        at = (at + 1) % content_capacity;
    return &contents[at];
}

bool gc_stream_has_content(const uint8_t *digest) {
    return content_capacity != 0 && content_place(digest)->record != UINT64_MAX;
}

static bool grow_contents(void) {
    content_entry *old = contents;
    size_t old_capacity = content_capacity, capacity = old_capacity * 2 + 64;
    content_entry *more = malloc(capacity * sizeof *more);
    if (more == NULL)
        return false;
    memset(more, 0xff, capacity * sizeof *more);
    contents = more;
    content_capacity = capacity;
    for (size_t each = 0; each < old_capacity; each++)
        if (old[each].record != UINT64_MAX)
            *content_place(old[each].digest) = old[each];
    free(old);
    return true;
}

/* Without memory for the note the content will be stored again, and be found by going through the stream. */
void gc_stream_note_content(const uint8_t *digest, uint64_t record) {
    if (content_count * 2 >= content_capacity && !grow_contents())
        return;
    content_entry *entry = content_place(digest);
    if (entry->record != UINT64_MAX)
        return; /* two threads stored it at once */
    memcpy(entry->digest, digest, GC_DIGEST_SIZE);
    entry->record = record;
    content_count++;
}

/* Index records of one kind, each in a chunk of its own; how many there were. */
static uint32_t write_entries(uint32_t kind, const uint8_t *entries, size_t count, size_t size) {
    uint32_t written = 0;
    for (size_t begin = 0; begin < count; begin += GC_INDEX_ENTRIES, written++) {
        size_t entries_here = count - begin < GC_INDEX_ENTRIES ? count - begin : GC_INDEX_ENTRIES;
        gc_layout_record head = {kind, (uint32_t)(entries_here * size)};
        uint8_t *payload = malloc(sizeof head + head.length);
        if (payload == NULL)
            break;
        memcpy(payload, &head, sizeof head);
        memcpy(payload + sizeof head, entries + begin * size, head.length);
        write_chunk(GC_CHUNK_INDEX, payload, (uint32_t)sizeof head + head.length, 0, 0);
        free(payload);
    }
    return written;
}

/* Moves the table's entries together; it is no table afterwards. */
static void close_ranks(void) {
    size_t to = 0;
    for (size_t each = 0; each < content_capacity; each++)
        if (contents[each].record != UINT64_MAX)
            contents[to++] = contents[each];
}

bool gc_stream_finish(void) {
    uint64_t index = place;
    close_ranks();
    uint32_t written = write_entries(GC_CHUNKS, (const uint8_t *)chunks, chunk_count, sizeof *chunks);
    written += write_entries(GC_CONTENTS, (const uint8_t *)contents, content_count, sizeof *contents);
    gc_layout_footer footer = {.place = index, .chunks = written};
    memcpy(footer.magic, GC_FOOTER_MAGIC, sizeof footer.magic);
    footer.crc = gc_crc(0, &footer, offsetof(gc_layout_footer, crc));
    bool done = write_all(&footer, sizeof footer);
    gc_stream_abandon();
    return done;
}

void gc_stream_abandon(void) {
    if (file >= 0)
        close(file);
    file = -1;
    free(chunks);
    free(contents);
    chunks = NULL;
    contents = NULL;
    chunk_count = chunk_capacity = content_count = content_capacity = 0;
}
