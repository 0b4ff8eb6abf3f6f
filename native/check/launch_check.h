/* What checked mode does before and after a launch: it tells the code which memory it may use, and Python what the code has
 * reported. */
#ifndef GS_CHECK_LAUNCH_CHECK_H
#define GS_CHECK_LAUNCH_CHECK_H

#include "runtime/launch.h"

/* Makes a dispatch ready for code that has sites. False: there is no memory, and the context is lost. */
bool gs_launch_check_begin(gs_dispatch *dispatch, const gs_launch *launch);

/* Hands reports to Python and gives back what the dispatch was given. */
void gs_launch_check_end(gs_dispatch *dispatch, const gs_launch *launch);

/* Whether an access of some bytes through a pointer from an unknown place is one to memory. Kernels call it for what is not
 * in the bounds that they know. It takes no lock: a kernel may be stopped at any time. */
typedef uint64_t (*gs_allows_access)(const gs_dispatch *dispatch, uint64_t root, uint64_t address, uint64_t bytes);

/* driver/checking/kernel_findings.py, through python/handlers.c: true if the context is to be lost for it. */
bool gs_report_launch(const gs_code *code, const gs_launch_reports *reports);

#endif
