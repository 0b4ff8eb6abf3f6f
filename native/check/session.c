/* Which checkers of checked mode are on, and its end: findings are told at once, but how often each happened is known only
 * when the process ends. */
#include "check/session.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "check/checks.h"
#include "check/order/order.h"
#include "python/interpreter.h"

uint32_t gs_checks;

/* The Python half says what the knob says. */
GS_EXPORT void gs_set_checks(uint32_t checks) { gs_checks = checks; }

static _Atomic bool is_on;

void gs_check_session_start(void) { atomic_store(&is_on, true); }

/* After all other destructors of this library, whose findings count too. An interpreter that the program shares has ended
 * by then, and has told them before (driver/checking/session.py). */
__attribute__((destructor(101))) static void end_of_process(void) {
    gs_order_end_program();
    if (atomic_load(&is_on) && !gs_python_is_shared)
        gs_end_findings();
}
