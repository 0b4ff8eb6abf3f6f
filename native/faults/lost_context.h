/* Lost contexts: what a fault on the device leaves behind, until the program destroys it. */
#ifndef GS_FAULTS_LOST_CONTEXT_H
#define GS_FAULTS_LOST_CONTEXT_H

#include "objects/device.h"

static inline bool gs_context_is_lost(const gs_context *context) {
    return atomic_load_explicit(&context->loss, memory_order_acquire) != NULL;
}

/* Declares a context lost, with a sentence that says why. The first one counts. */
void gs_context_lose(gs_context *context, const char *sentence);

/* Likewise, with an excerpt of the source for a terminal; it may be empty. */
void gs_context_lose_at(gs_context *context, const char *sentence, const char *excerpt);

/* Where in the source the work was that had to stop, if nobody has said so before. */
void gs_context_note_place(gs_context *context, const char *place);

enum { GS_LOSS_BYTES = 880 }; /* of a sentence */

/* When the context itself goes. */
void gs_context_forget_loss(gs_context *context);

/* DEVICE_LOST with the sentence if the context is lost, else the result that is given. */
ze_result_t gs_unless_lost(enum gs_function function, const gs_context *context, ze_result_t result);

/* Destroys everything that was made in a lost context, its memory aside, which goes with the context itself. */
void gs_context_reclaim(gs_context *context);

#endif
