/* A finding of the checker `host` in the making. It is text until Python has it (driver/checking/host_findings.py). */
#ifndef GS_CHECK_HOST_REPORT_H
#define GS_CHECK_HOST_REPORT_H

#include "check/host/host_books.h"

typedef struct gs_host_report {
    char *text;
    size_t length, capacity;
} gs_host_report;

/* A kind, and a title that says what is wrong. */
void gs_host_report_begin(gs_host_report *report, const char *kind, const char *title, ...)
    __attribute__((format(printf, 3, 4)));

/* The call that is wrong: its place is that of the finding. */
void gs_host_report_at(gs_host_report *report, gs_host_call call);

/* "made by zeEventCreate", with its place. */
void gs_host_report_call(gs_host_report *report, const char *what, gs_host_call call);

/* What else is known, and what to do. */
void gs_host_report_note(gs_host_report *report, const char *note, ...) __attribute__((format(printf, 2, 3)));

/* That it stands for so many. */
void gs_host_report_count(gs_host_report *report, uint64_t count);

/* Tells of it, and empties it. True if the program is to be stopped for it. */
bool gs_host_report_send(gs_host_report *report);

/* "event", and "an event". */
const char *gs_host_noun(enum gs_kind kind);
const char *gs_host_article(enum gs_kind kind);

/* python/handlers.c: hands the text to Python; what that answers. */
uint64_t gs_report_host_finding(const char *text);

#endif
