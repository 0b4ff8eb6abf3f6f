/* The end of checked mode: what was found is told for good when the process ends. */
#ifndef GS_CHECK_SESSION_H
#define GS_CHECK_SESSION_H

#include "abi/abi.h"

/* Some checker is on, so that there may be something to tell. */
GS_EXPORT void gs_check_session_start(void);

/* Has Python tell the final counts; defined in python/handlers.c. */
void gs_end_findings(void);

#endif
