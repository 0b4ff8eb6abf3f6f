/* Text of strangers on its way to a terminal: what would do something there is shown as \x1b. */
#ifndef GS_ABI_PRINTABLE_H
#define GS_ABI_PRINTABLE_H

#include <stdio.h>

/* Text with its lines and tabs. */
void gs_print_lines(FILE *to, const char *text, size_t length);
/* A line on standard error, in one piece: "groundstate: ", and lines of text between two texts of our own. */
void gs_say(const char *before, const char *text, const char *behind);
/* One line inside double quotes, where a backslash stands before what would end them. */
void gs_print_quoted(FILE *to, const char *text);

#endif
