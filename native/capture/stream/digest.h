/* The names of contents: BLAKE2b (RFC 7693) with 16 bytes and no key. */
#ifndef GC_STREAM_DIGEST_H
#define GC_STREAM_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "capture/generated/stream_format.h"

void gc_digest(const uint8_t *from, size_t size, uint8_t *digest);

/* The CRC-32 of zlib, going on from that of what came before. */
uint32_t gc_crc(uint32_t before, const void *from, size_t size);

#endif
