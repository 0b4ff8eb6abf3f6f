/* Fails calls into the C library and the system that come from Groundstate's libraries, and from nowhere else. */
#ifndef INJECT_H
#define INJECT_H

#include <stdbool.h>
#include <stdint.h>

/* Fails call number `first`, counted from 1 and from now on, and the `count - 1` after it. */
void inject_arm(uint64_t first, uint64_t count);

/* Fails nothing any more. True if anything was failed since inject_arm. */
bool inject_disarm(void);

/* The first call that was failed: its number, the function and where in which library. */
const char *inject_describe(void);

/* Blocks that the libraries have allocated and nobody has freed. */
int64_t inject_live_blocks(void);

#endif
