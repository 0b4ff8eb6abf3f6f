/* An argument on its way to Python. */
#ifndef GS_ABI_WORD_H
#define GS_ABI_WORD_H

#include <stdint.h>

typedef union gs_word {
    uint64_t u;
    int64_t i;
    double d;
    const void *p;
} gs_word;

#endif
