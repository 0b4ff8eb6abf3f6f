/* Which checkers of checked mode are on (GROUNDSTATE_CHECK). */
#ifndef GS_CHECK_CHECKS_H
#define GS_CHECK_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "generated/shared.h"

/* One bit for each gs_checker; 0 in plain mode. Set once, before any other call of the program is answered. */
extern uint32_t gs_checks;

static inline bool gs_is_checked(gs_checker checker) { return __builtin_expect(gs_checks >> checker & 1, 0); }

#endif
