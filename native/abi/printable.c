#include "abi/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of the character of UTF-8 that a text begins with, and which one it is; 0 if there is none. */
static size_t character(const char *text, size_t left, uint32_t *found) {
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = (uint8_t)text[0];
    size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    if (length == 0 || length > left)
        return 0;
    *found = length == 1 ? first : first & (0x7fu >> length);
    for (size_t each = 1; each < length; each++) {
        if (((uint8_t)text[each] & 0xc0) != 0x80)
            return 0;
        *found = *found << 6 | ((uint8_t)text[each] & 0x3f);
    }
    bool is_surrogate = *found >> 11 == 0x1b;
    return *found >= LEAST[length] && *found < 0x110000 && !is_surrogate ? length : 0;
}

/* Characters that are seen as themselves. The others control terminals, or change the order or the look of what is around
 * them. */
static bool is_seen(uint32_t one) {
    static const struct {
        uint32_t first, last;
    } UNSEEN[] = {{0, 0x1f},         {0x7f, 0x9f},       {0xad, 0xad},       {0x61c, 0x61c},     {0x180e, 0x180e},
                  {0x200b, 0x200f},  {0x2028, 0x202e},   {0x2060, 0x206f},   {0xe000, 0xf8ff},   {0xfe00, 0xfe0f},
                  {0xfeff, 0xfeff},  {0xfff0, 0xfffb},   {0xe0000, 0x10ffff}};
    for (size_t each = 0; each < sizeof UNSEEN / sizeof *UNSEEN; each++)
        if (one >= UNSEEN[each].first && one <= UNSEEN[each].last)
            return false;
    return true;
}

/* Text with some characters as they are that are not seen, some behind a backslash, and all others that are not seen as
 * numbers. */
static void print(FILE *to, const char *text, size_t left, const char *also, const char *quoted, const char *number) {
    while (left > 0) {
        uint32_t one = 0;
        size_t length = character(text, left, &one);
        bool is_plain = one != 0 && one < 0x80;
        if (length > 0 && (is_seen(one) || (is_plain && strchr(also, (int)one) != NULL))) {
            if (is_plain && strchr(quoted, (int)one) != NULL)
                putc('\\', to);
            fwrite(text, 1, length, to);
        } else {
            length = 1;
            fprintf(to, "%s%02x", number, (uint8_t)*text);
        }
        text += length;
        left -= length;
    }
}

void gs_print_lines(FILE *to, const char *text, size_t length) { print(to, text, length, "\n\t", "", "\\x"); }

void gs_print_quoted(FILE *to, const char *text) { print(to, text, strlen(text), "", "\"\\", "\\\\x"); }

static void write_line(FILE *to, const char *before, const char *text, const char *behind) {
    fprintf(to, "groundstate: %s", before);
    gs_print_lines(to, text, strlen(text));
    fprintf(to, "%s\n", behind);
}

/* Standard error writes each piece by itself, so they are put together first, if there is memory for that. */
void gs_say(const char *before, const char *text, const char *behind) {
    char *line = NULL;
    size_t size = 0;
    FILE *whole = open_memstream(&line, &size);
    if (whole != NULL)
        write_line(whole, before, text, behind);
    if (whole != NULL && fclose(whole) == 0)
        fwrite(line, 1, size, stderr);
    else
        write_line(stderr, before, text, behind);
    free(line);
}
