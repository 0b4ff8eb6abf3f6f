/* The stream's file: chunks of records one after the other, and at the end the index. */
#ifndef GC_STREAM_STREAM_H
#define GC_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/generated/stream_format.h"

/* The header of a stream or of its journal; `size` is that of a part of a journal, 0 in a stream. */
void gc_stream_header(gc_layout_header *to, const char *magic, uint32_t size, uint64_t start, uint32_t process);

/* Creates the stream's file; false if it exists or cannot be made, with the reason in errno. */
bool gc_stream_create(const char *path, const gc_layout_header *header);
/* Compresses records into a chunk. What cannot be written is lost, and said once on standard error. */
bool gc_stream_chunk(const uint8_t *payload, uint32_t size, uint64_t first, uint32_t count);

/* Which contents the stream has; the journal's lock is held for both. */
void gc_stream_note_content(const uint8_t *digest, uint64_t record);
bool gc_stream_has_content(const uint8_t *digest);

/* Writes the index and the footer. */
bool gc_stream_finish(void);
void gc_stream_abandon(void);

#endif
