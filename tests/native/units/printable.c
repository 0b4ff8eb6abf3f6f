/* Text of strangers on its way to terminals and into descriptions of graphs: nothing in it does anything there. */
#include "check.h"

#include "abi/printable.c"

static void printed(void (*print_to)(FILE *, const char *), const char *text, const char *expected) {
    char *found = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&found, &size);
    print_to(to, text);
    fclose(to);
    if (strcmp(found, expected) != 0)
        fprintf(stderr, "'%s' instead of '%s'\n", found, expected);
    REQUIRE(strcmp(found, expected) == 0);
    free(found);
}

static void lines(FILE *to, const char *text) { gs_print_lines(to, text, strlen(text)); }

static void what_is_seen_stays(void) {
    static const char *const TEXTS[] = {"plain text_1", "gr\xc3\xb6\xc3\x9f" "er", "\xe4\xb8\xad \xf0\x9f\x98\x80", "a\n\tb\n", ""};
    for (size_t each = 0; each < sizeof TEXTS / sizeof *TEXTS; each++)
        printed(lines, TEXTS[each], TEXTS[each]);
}

static void what_does_something_is_a_number(void) {
    printed(lines, "\x1b[2J\x07\r\x7f", "\\x1b[2J\\x07\\x0d\\x7f");
    printed(lines, "\xc2\x9b" "2J", "\\xc2\\x9b2J");                      /* the same as ESC [ */
    printed(lines, "a\xe2\x80\xae" "b\xe2\x81\xa6", "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6"); /* direction of text */
    printed(lines, "\xe2\x80\xa8\xef\xbb\xbf", "\\xe2\\x80\\xa8\\xef\\xbb\\xbf");
}

static void what_is_no_text_is_a_number(void) {
    printed(lines, "\xff\xfe", "\\xff\\xfe");
    printed(lines, "\xc3", "\\xc3");                          /* ends too early */
    printed(lines, "\xc0\x9b\xe0\x82\x9b", "\\xc0\\x9b\\xe0\\x82\\x9b"); /* longer than needed */
    printed(lines, "\xed\xa0\x80", "\\xed\\xa0\\x80");        /* half of a pair */
    printed(lines, "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* behind the last character */
}

static void quotes_do_not_end_a_label(void) {
    printed(gs_print_quoted, "say \"x\\\"];\nb", "say \\\"x\\\\\\\"];\\\\x0ab");
    printed(gs_print_quoted, "\x1b", "\\\\x1b");
}

int main(void) {
    what_is_seen_stays();
    what_does_something_is_a_number();
    what_is_no_text_is_a_number();
    quotes_do_not_end_a_label();
    return 0;
}
