/* What a script may have meant by a name that there is not. */
#include <ctype.h>

#include "capture/script/values.h"

enum { LONGEST = 127 };

static int least(int one, int other) {
    return one < other ? one : other;
}

/* How many characters have to be changed, added or left out, capitals or not; more than `limit` is as good as any. */
static int distance(const char *one, const char *other, int limit) {
    int length = (int)strlen(one), width = (int)strlen(other), row[LONGEST + 1];
    if (width > LONGEST || length - width > limit || width - length > limit)
        return limit + 1;
    for (int column = 0; column <= width; column++)
        row[column] = column;
    for (int line = 1; line <= length; line++) {
        int corner = row[0];
        row[0] = line;
        for (int column = 1; column <= width; column++) {
            bool same = tolower((unsigned char)one[line - 1]) == tolower((unsigned char)other[column - 1]);
            int changed = corner + (same ? 0 : 1);
            corner = row[column];
            row[column] = least(changed, least(row[column], row[column - 1]) + 1);
        }
    }
    return row[width];
}

const char *gc_nearest(const char *name, const char *(*name_at)(const void *names, size_t at), const void *names,
                       size_t count) {
    size_t length = strnlen(name, LONGEST + 1);
    int nearest = (int)length / 4 + 1;
    const char *found = NULL;
    if (length > LONGEST)
        return NULL;
    for (size_t each = 0; each < count; each++) {
        const char *known = name_at(names, each);
        int edits = distance(name, known, nearest);
        if (edits < nearest || (edits == nearest && found == NULL)) {
            nearest = edits;
            found = known;
        }
    }
    return found;
}

int gc_lua_no_such(lua_State *state, const char *what, const char *name, const char *nearest) {
    return lua.luaL_error(state, nearest != NULL ? "%s '%s'; did you mean '%s'?" : "%s '%s'", what, name, nearest);
}
