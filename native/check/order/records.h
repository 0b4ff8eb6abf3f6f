/* Commands that were executed, with what they accessed: each is compared with those that it is not ordered with. */
#ifndef GS_CHECK_RECORDS_H
#define GS_CHECK_RECORDS_H

#include "check/order/vector_clock.h"
#include "check/order/footprint.h"
#include "check/order/host_touches.h"
#include "runtime/launch.h"

struct gs_command;
struct gs_queue;

/* A launch has ended, on the thread that executes its command. Takes over the footprint, which may be NULL. */
void gs_records_note_launch(const gs_launch *launch, const gs_dispatch *dispatch, gs_footprint *footprint);

/* Gives up what was noted on this thread. */
void gs_records_abandon(void);

/* A command has ended that comes after what `clock` says: looks for races. Called without any short lock. */
void gs_records_add(struct gs_queue *queue, const struct gs_command *command, gs_moment moment, const gs_vector_clock *clock);

/* Called with the lock of order.c held: forgets what the host knows to be done, once no command is left that was submitted
 * before it knew. `host`: its clock; `submissions`: how many there were; `oldest`: the first that is not done. True if the host
 * has come to know of some. */
bool gs_records_collect(const gs_vector_clock *host, uint64_t submissions, uint64_t oldest);

/* With that lock held: notes the pages of what the host does not know to be done. */
void gs_records_note_pages(void);

/* The program has touched memory, when the host knew what a clock says: looks for races. Called without any short lock. */
void gs_records_compare_touch(const gs_host_touch *touch, const gs_vector_clock *seen);

/* driver/checking/command_races.py, through python/handlers.c: true if the context is to be lost for it. */
bool gs_report_command_race(const gs_command_race *race);

/* Gives up what was forgotten. Called without any short lock. */
void gs_records_bury(void);

/* With the lock held: whether there are records of a timeline. */
bool gs_records_have(uint64_t timeline);
bool gs_records_have_others(uint64_t timeline);

#endif
