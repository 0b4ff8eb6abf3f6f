#include "check/checks.h"

#include "abi/abi.h"

uint32_t gs_checks;

/* The Python half says what the knob says. */
GS_EXPORT void gs_set_checks(uint32_t checks) { gs_checks = checks; }
