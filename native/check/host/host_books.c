/* The books: a table of records by handle. A handle that is used again takes over the record of the dead object. */
#include "check/host/host_books.h"

#include <stdlib.h>

#include "threads/lock.h"

enum {
    BUCKETS = 1 << 14,
    MANY_RECORDS = 1 << 17, /* from here on, dead ones make room */
};

GS_STATIC_LOCK(books_lock, GS_SHORT_LOCK)
static gs_host_record *buckets[BUCKETS];
static uint64_t record_count, last_number;

static gs_host_record **bucket_of(const void *handle) {
    uint64_t mixed = ((uintptr_t)handle >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &buckets[mixed >> 50];
}
_Static_assert(BUCKETS == 1 << (64 - 50), "a bucket for each number");

/* Called with the lock held. */
static gs_host_record *find(const void *handle) {
    gs_host_record *record = *bucket_of(handle);
    while (record != NULL && record->handle != handle)
        record = record->next;
    return record;
}

static void remove_dead(gs_host_record **link) {
    while (*link != NULL) {
        gs_host_record *record = *link;
        if (record->is_live) {
            link = &record->next;
            continue;
        }
        *link = record->next;
        free(record);
        record_count--;
    }
}

/* With no memory for a record, nothing is known of the object, and nothing reported. */
void gs_host_books_enter(const gs_host_record *made) {
    gs_lock(&books_lock);
    gs_host_record **bucket = bucket_of(made->handle);
    gs_host_record *record = find(made->handle);
    if (record == NULL) {
        if (record_count >= MANY_RECORDS)
            remove_dead(bucket);
        record = malloc(sizeof *record);
        if (record != NULL) {
            record->next = *bucket;
            *bucket = record;
            record_count++;
        }
    }
    if (record != NULL) {
        gs_host_record *next = record->next;
        *record = *made;
        record->next = next;
        record->number = ++last_number;
        record->is_live = true;
    }
    gs_unlock(&books_lock);
}

bool gs_host_books_find(const void *handle, gs_host_record *found) {
    gs_lock(&books_lock);
    const gs_host_record *record = find(handle);
    if (record != NULL)
        *found = *record;
    gs_unlock(&books_lock);
    return record != NULL;
}

/* The first record that `is_wanted`, of all. Called with the lock held. */
static const gs_host_record *search(bool (*is_wanted)(const gs_host_record *record, const void *with), const void *with) {
    for (gs_host_record **bucket = buckets; bucket < buckets + BUCKETS; bucket++)
        for (const gs_host_record *record = *bucket; record != NULL; record = record->next)
            if (is_wanted(record, with))
                return record;
    return NULL;
}

static bool search_copy(bool (*is_wanted)(const gs_host_record *record, const void *with), const void *with,
                        gs_host_record *found) {
    gs_lock(&books_lock);
    const gs_host_record *record = search(is_wanted, with);
    if (record != NULL)
        *found = *record;
    gs_unlock(&books_lock);
    return record != NULL;
}

static bool was_freed_around(const gs_host_record *record, const void *address) {
    uintptr_t distance = (uintptr_t)address - (uintptr_t)record->handle;
    return record->kind == GS_KIND_NONE && !record->is_live && distance < record->size;
}

bool gs_host_books_find_freed(const void *address, gs_host_record *found) {
    return search_copy(was_freed_around, address, found);
}

typedef struct family {
    const void *parent;
    enum gs_kind kind;
} family;

static bool is_child(const gs_host_record *record, const void *with) {
    const family *of = with;
    return record->is_live && record->kind == of->kind && record->parent == of->parent;
}

bool gs_host_books_find_child(const void *parent, enum gs_kind kind, gs_host_record *found) {
    return search_copy(is_child, &(family){parent, kind}, found);
}

void gs_host_books_change(const void *handle, void (*change)(gs_host_record *record, void *with), void *with) {
    gs_lock(&books_lock);
    gs_host_record *record = find(handle);
    if (record != NULL)
        change(record, with);
    gs_unlock(&books_lock);
}

/* A bucket at a time, because `visit` may wait. */
void gs_host_books_each_live(void (*visit)(const gs_host_record *record, void *with), void *with) {
    enum { MOST = 64 };
    gs_host_record copies[MOST];
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        size_t count = 0;
        gs_lock(&books_lock);
        for (const gs_host_record *record = buckets[bucket]; record != NULL && count < MOST; record = record->next)
            if (record->is_live)
                copies[count++] = *record;
        gs_unlock(&books_lock);
        for (size_t each = 0; each < count; each++)
            visit(&copies[each], with);
    }
}
