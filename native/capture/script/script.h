/* Hooks: functions of a script that take the place of API functions.
 *
 * A trampoline sits in a function's slot and hands the call to the script; what the script calls on goes to what was in
 * the slot before: the next library, or the recorder. */
#ifndef GC_SCRIPT_SCRIPT_H
#define GC_SCRIPT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "capture/recorder/slots.h"

/* --- Generated: what scripts have to know of the API ------------------------------------------------------------- */

typedef uint64_t (*gc_invoker)(gc_function to, const uint64_t *words);

extern const gc_function gc_trampolines[GS_FN_COUNT];
extern const gc_invoker gc_invokers[GS_FN_COUNT];

enum gc_kind {
    GC_UNSIGNED,
    GC_SIGNED,
    GC_REAL,
    GC_POINTER,        /* handles and callbacks, too */
    GC_STRUCT,         /* a struct in its place; as an argument, the address of a copy */
    GC_STRUCT_POINTER,
    GC_CHAIN,          /* pNext: a struct that its stype names */
};

enum { GC_NO_LAYOUT = UINT16_MAX, GC_MAX_PARAMETERS = 16 };
#define GC_NO_STYPE UINT32_MAX

typedef struct gc_type {
    uint8_t kind;
    uint16_t size;   /* of one element */
    uint16_t layout; /* of the struct, or of what the pointer leads to */
    uint16_t length; /* of an array, else 0 */
} gc_type;

typedef struct gc_field {
    const char *name;
    uint16_t offset;
    gc_type type;
} gc_field;

typedef struct gc_signature {
    uint16_t first, count; /* in gc_parameters */
    gc_type answer;
} gc_signature;

typedef struct gc_layout {
    const char *name;
    uint16_t size;
    uint32_t stype;
    uint16_t first, count; /* in gc_fields */
    char family;           /* as in gc_namespaces */
} gc_layout;

typedef struct gc_constant {
    const char *name;
    int64_t value;
    const char *text; /* instead of the value, unless NULL */
} gc_constant;

extern const gc_field gc_parameters[];
extern const gc_signature gc_signatures[GS_FN_COUNT];
extern const gc_field gc_fields[];
extern const gc_layout gc_layouts[];
extern const size_t gc_layout_count;
extern const gc_constant gc_constants[];
extern const size_t gc_constant_count;

static inline uint64_t gc_bits_of(double real) {
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static inline double gc_real_of(uint64_t bits) {
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* --- Hooks (script.c) -------------------------------------------------------------------------------------------- */

/* One call that a script is asked about. There is at most one for each thread: what a script or a driver calls while
 * a hook runs is not hooked again. */
typedef struct gc_hooked_call {
    enum gs_function function;
    const uint64_t *words;
    bool answered;  /* the script has returned a result */
    bool called_on; /* the script has called the function itself */
    uint64_t answer; /* what the script returned, or what the last call on was answered */
} gc_hooked_call;

extern _Thread_local gc_hooked_call *gc_hooked_call_here;

/* Takes over the slots; the script is loaded when the program makes its first call. */
void gc_script_install(const char *path);
/* The process was forked: its script stays with the parent. */
void gc_script_abandon(void);

/* What a trampoline does. */
uint64_t gc_script_call(enum gs_function function, const uint64_t *words);
/* Calls what was in the slot before, and notes it if this is the hooked function. */
GS_PUBLIC uint64_t gc_script_call_on(enum gs_function function, const uint64_t *words);
/* A function got a hook. */
GS_PUBLIC void gc_script_hook(enum gs_function function);
/* The number of a function, or -1. */
GS_PUBLIC int gc_script_number(const char *name);

/* Says what went wrong in a script: in full the first time that it happens at a place, and with a count at the end. Ends
 * the program if that was asked for. */
GS_PUBLIC void gc_script_failed(const char *place, const char *message, const char *during);

uint64_t gc_script_launches(void); /* so far */
uint64_t gc_script_launches_in_frame(void);
uint64_t gc_script_frame(void); /* that a player is in */
const char *gc_script_arguments(void);
const char *gc_script_out_folder(void);
const char *gc_script_stream_folder(void);

/* A language that scripts can be written in. */
typedef struct gc_language {
    /* Runs the script's file, which hooks functions; false, with a sentence on standard error, if that failed. */
    bool (*load)(const char *path);
    /* Runs the function's hook. False if there is none any more, or if it failed: the call is to be passed on. */
    bool (*call)(gc_hooked_call *hooked);
    /* Calls the script's function of that name if it has one, with a number unless that is negative. */
    void (*event)(const char *name, int64_t number);
} gc_language;

extern const gc_language gc_lua_language;
extern const gc_language gc_python_language;

/* --- Memory that scripts read and write (memory.c) ----------------------------------------------------------------- */

/* False if that memory is not there. */
GS_PUBLIC bool gc_script_readable(const void *from, size_t size);
bool gc_script_read(const void *from, void *to, size_t size);
/* False if it is not there or cannot be written. What was there is kept until the hook ends. */
bool gc_script_write(void *to, const void *from, size_t size);
/* The length of a string that ends with 0, at most `limit`; -1 if it leads to memory that is not there. */
long gc_script_length(const char *from, size_t limit);
/* What a failed hook wrote is undone; what one has written before it called on is there to stay. */
void gc_script_undo_writes(void);
void gc_script_keep_writes(void);
/* Memory from malloc is about to be given back: nothing may be undone there. */
void gc_script_forget(const void *from, size_t size);

#endif
