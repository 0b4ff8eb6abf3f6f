/* Faults in what the device runs: compiled kernels, and copies through pointers that a program gave. */
#ifndef GS_FAULTS_FAULT_H
#define GS_FAULTS_FAULT_H

#include "generated/shared.h"
#include "objects/device.h"

/* A fault scope: what a thread works for. A fault in guarded work costs this context, and nobody else. */
typedef struct gs_fault_scope {
    gs_context *context;
    void (*describe)(const void *subject, char *text, size_t capacity); /* for the sentence: "a copy of 4 bytes" */
    const void *subject;
} gs_fault_scope;

/* Makes a fault scope the calling thread's own (NULL: none) and returns the one that it had. */
const gs_fault_scope *gs_fault_scope_enter(const gs_fault_scope *scope);
const gs_fault_scope *gs_fault_scope_current(void);

/* True if this thread entered a fault scope that it has no means to guard: the context is lost, and nothing is done. */
bool gs_fault_scope_is_refused(void);

/* True if nobody will see what is still done in a fault scope: its context is lost. */
bool gs_fault_scope_is_lost(const gs_fault_scope *scope);

typedef void (*gs_work)(void *argument, uint64_t number);

/* Calls work(argument, number) in the fault scope of this thread. A fault in it ends the work, not the process: the
 * context is lost, and the answer is false. The work must hold nothing that it would have to give back, as it is
 * also left when another thread loses the context. `describe` says more exactly than the scope what it was. */
bool gs_guard(gs_work work, void *argument, uint64_t number,
              void (*describe)(const void *argument, char *text, size_t capacity));

/* Has faults handled from here on, also those of threads that do nothing for the device. */
void gs_faults_install(void);

/* For a description: what is known of the source of the code that was struck. NULL: nothing. */
void gs_fault_name_lines(const gs_source_lines *lines);

/* Ends all guarded work for lost contexts on other threads: nobody will see its results. */
void gs_fault_stop_others(void);

/* The signals that guarded work may raise; threads of the driver leave them open. */
enum { GS_FAULT_SIGNALS = 5 };
extern const int gs_fault_signals[GS_FAULT_SIGNALS];

#endif
