/* The text of a finding: records that end with RECORD, of a letter and fields that end with FIELD. */
#include "check/host/host_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD "\x1e"
#define FIELD "\x1f"

/* Without memory the report ends where it is. */
static void add_bytes(gs_host_report *report, const char *bytes, size_t size) {
    size_t needed = report->length + size + 1;
    if (needed > report->capacity) {
        size_t capacity = 2 * needed;
        char *larger = realloc(report->text, capacity);
        if (larger == NULL)
            return;
        report->text = larger;
        report->capacity = capacity;
    }
    memcpy(report->text + report->length, bytes, size);
    report->length += size;
    report->text[report->length] = 0;
}

static void add(gs_host_report *report, const char *text) { add_bytes(report, text, strlen(text)); }

static void add_formatted(gs_host_report *report, const char *format, va_list arguments) {
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    add(report, text);
}

/* Python reads it (driver/checking/host_stack.py). */
static void add_stack(gs_host_report *report, const gs_host_stack *stack) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)(uintptr_t)stack);
    add(report, text);
}

void gs_host_report_begin(gs_host_report *report, const char *kind, const char *title, ...) {
    va_list arguments;
    *report = (gs_host_report){0};
    add(report, "K" FIELD);
    add(report, kind);
    add(report, RECORD "T" FIELD);
    va_start(arguments, title);
    add_formatted(report, title, arguments);
    va_end(arguments);
    add(report, RECORD);
}

void gs_host_report_at(gs_host_report *report, gs_host_call call) {
    add(report, "P" FIELD);
    add(report, call.function < GS_FN_COUNT ? gs_function_names[call.function] : "");
    add(report, FIELD);
    add_stack(report, call.stack);
    add(report, RECORD);
}

void gs_host_report_call(gs_host_report *report, const char *what, gs_host_call call) {
    if (call.function >= GS_FN_COUNT)
        return;
    add(report, "C" FIELD);
    add(report, what);
    add(report, FIELD);
    add(report, gs_function_names[call.function]);
    add(report, FIELD);
    add_stack(report, call.stack);
    add(report, RECORD);
}

void gs_host_report_note(gs_host_report *report, const char *note, ...) {
    va_list arguments;
    add(report, "N" FIELD);
    va_start(arguments, note);
    add_formatted(report, note, arguments);
    va_end(arguments);
    add(report, RECORD);
}

void gs_host_report_count(gs_host_report *report, uint64_t count) {
    char text[32];
    snprintf(text, sizeof text, "X" FIELD "%llu" RECORD, (unsigned long long)count);
    add(report, text);
}

bool gs_host_report_send(gs_host_report *report) {
    bool stop = report->text != NULL && gs_report_host_finding(report->text) != 0;
    free(report->text);
    *report = (gs_host_report){0};
    return stop;
}

const char *gs_host_article(enum gs_kind kind) { return strchr("aeiou", gs_host_noun(kind)[0]) != NULL ? "an" : "a"; }

/* The names of most kinds are those of their handles; some read better otherwise. */
const char *gs_host_noun(enum gs_kind kind) {
    switch (kind) {
    case GS_KIND_NONE: return "memory";
    case GS_KIND_CONTEXT: return "context";
    case GS_KIND_COMMAND_QUEUE: return "command queue";
    case GS_KIND_COMMAND_LIST: return "command list";
    case GS_KIND_EVENT_POOL: return "event pool";
    case GS_KIND_EVENT: return "event";
    case GS_KIND_FENCE: return "fence";
    case GS_KIND_IMAGE: return "image";
    case GS_KIND_SAMPLER: return "sampler";
    case GS_KIND_MODULE: return "module";
    case GS_KIND_MODULE_BUILD_LOG: return "build log";
    case GS_KIND_KERNEL: return "kernel";
    case GS_KIND_PHYSICAL_MEM: return "block of physical memory";
    case GS_KIND_GRAPH: return "graph";
    case GS_KIND_EXECUTABLE_GRAPH: return "executable graph";
    case GS_KIND_EXTERNAL_SEMAPHORE_EXT: return "external semaphore";
    default: return gs_kind_names[kind];
    }
}
