/* The journal: records of finished calls, in memory that outlives the process, on their way to the stream. */
#ifndef GC_STREAM_JOURNAL_H
#define GC_STREAM_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/generated/stream_format.h"

/* Opens a stream in `folder` for this process. `next` is the library that calls are passed on to, `pages`
 * the way in which changed pages are found. False, with a
 * sentence on standard error, if that was not possible. */
bool gc_journal_open(const char *folder, const char *next, const char *pages);
bool gc_journal_is_open(void);

/* Moves what is left to the stream and finishes it. Later records are dropped. */
void gc_journal_close(void);

/* Gives up the stream without touching it: it belongs to the process that this one was forked from. */
void gc_journal_abandon(void);

uint64_t gc_journal_count(void); /* how many records there are */
uint64_t gc_journal_start(void); /* when the stream began, on the clock that calls are timed with */

/* The function's name goes to the stream when it is called first. */
void gc_journal_name(uint32_t function);
/* Notes that a thread is inside a call, for the case that it never returns: since when, and the
 * body of its record so far. */
void gc_journal_enter(uint32_t thread, uint32_t function, uint64_t time, const uint8_t *body, size_t size);
/* Appends the whole record of a call that has returned; its number. */
uint64_t gc_journal_leave(uint32_t thread, const uint8_t *record, size_t size);
/* Appends a whole record of another kind. */
void gc_journal_append(const uint8_t *record, size_t size);
/* Appends a content unless the stream has it. */
void gc_journal_content(const uint8_t *digest, const uint8_t *from, size_t size);

#endif
