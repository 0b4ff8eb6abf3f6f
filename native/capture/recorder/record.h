/* What the generated recorders use to copy a call: its arguments as words, and memory as blocks. */
#ifndef GC_RECORDER_RECORD_H
#define GC_RECORDER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "capture/generated/stream_format.h"
#include "capture/memory/extents.h"
#include "capture/memory/threads.h"
#include "capture/recorder/overlaps.h"
#include "generated/functions.h"

/* What commands may have to do with the host: wait for it, or call functions of it. */
enum gc_trait { GC_WAITS = 1, GC_CALLS_HOST = 2 };

enum { GC_KNOWN_PAGES = 64 };

/* The call that a thread is recording; there is one for each thread, used again for each call. */
typedef struct gc_call {
    uint8_t *bytes; /* the record so far */
    size_t used, capacity;
    uint32_t function, thread;
    uint64_t began, entered, left, result;
    uint64_t number;             /* of the record, when the call has returned */
    uint16_t words, blocks;
    bool incomplete; /* something did not fit */
    bool busy;       /* the thread is inside a recorded call */
    gc_extents reads, targets;   /* memory that the call's copy reads and writes */
    struct gc_range *taken_out;  /* memory that the call frees */
    bool submits;                /* the call gives work to the device */
    gc_overlap overlap;          /* with the work of other threads, if it does */
    unsigned traits;             /* of that work: gc_trait */
    uintptr_t pages[GC_KNOWN_PAGES]; /* some that this thread has found to be there */
    ze_event_handle_t timed_event; /* tells when the call's command runs */
    bool timed_event_is_own;     /* the recorder's */
    gc_other_threads others;          /* other threads of the program, which may write while the device works */
} gc_call;

/* How to copy a struct: its size, and what follows its pointers other than pNext, if anything has to. */
typedef struct gc_struct {
    size_t size;
    void (*lead)(gc_call *call, const void *at, gc_phase phase);
} gc_struct;

typedef gc_struct (*gc_finder)(uint32_t stype);

/* Null if the call is not to be recorded: it is made inside another one, or recording has ended. */
gc_call *gc_begin(enum gs_function function);
void gc_enter(gc_call *call);
void gc_leave(gc_call *call, uint64_t result);
void gc_end(gc_call *call);

void gc_word(gc_call *call, uint64_t word);
void gc_copy(gc_call *call, const void *from, size_t size, gc_phase phase);
void gc_string(gc_call *call, const char *from, gc_phase phase);
void gc_strings(gc_call *call, const char *const *from, size_t count, gc_phase phase);
void gc_chain(gc_call *call, const void *from, gc_phase phase, gc_finder find);
void gc_structs(gc_call *call, const void *from, size_t count, gc_phase phase, gc_struct how, gc_finder find);

/* Structs with arrays of arrays, followed by hand. */
void gc_lead_ze_module_program_exp_desc_t(gc_call *call, const void *at, gc_phase phase);
void gc_lead_ze_module_constants_t(gc_call *call, const void *at, gc_phase phase);
void gc_lead_ze_rtas_builder_build_op_ext_desc_t(gc_call *call, const void *at, gc_phase phase);
void gc_lead_ze_rtas_builder_build_op_exp_desc_t(gc_call *call, const void *at, gc_phase phase);

static inline void gc_real(gc_call *call, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    gc_word(call, bits);
}

/* Whether memory is there, so that a wrong pointer is the driver's to refuse. Inside a recorded call. */
bool gc_readable(const void *from, size_t size);

/* What a count points to, as the program may leave it out. */
#define gc_at(count) (gc_readable(count, sizeof *(count)) ? (size_t)*(count) : 0)

static inline size_t gc_smaller(size_t one, size_t other) {
    return one < other ? one : other;
}

#endif
