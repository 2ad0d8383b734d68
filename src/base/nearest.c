/* nearest.c - "did you mean": the known name that a mistyped word most likely stood for.
 *
 * The measure is the number of insertions, deletions, substitutions and swaps of neighbours that turn one into the
 * other (no part edited twice), letter case aside. A word that begins a name counts as one mistake away from it. */
#include "base/option.h"
#include <string.h>

enum { LONGEST = 64 }; /* longer words have no neighbours */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Row i of the table holds the distances of a's first i letters to every beginning of b; three rows are kept, since a
 * swap looks two rows back. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= nb; j++) last[j] = before[j] = j;
    for (size_t i = 1; i <= na; i++) {
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            now[j] = least(last[j - 1] + !same, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[nb];
}

static bool begins(const char *word, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (lower(word[i]) != lower(name[i])) return false; /* also stops at the end of `name` */
    return true;
}

const char *nearest_name(const char *word, const char *const *names)
{
    size_t n = strlen(word), best = n < 3 ? 2 : n < 8 ? 3 : 4; /* mistakes that are too many */
    const char *found = NULL;
    if (n == 0 || n > LONGEST) return NULL;
    for (; *names; names++) {
        size_t length = strlen(*names);
        if (length > LONGEST) continue;
        size_t d = n >= 3 && begins(word, n, *names) ? least(1, distance(word, n, *names, length))
                                                     : distance(word, n, *names, length);
        if (d >= best || d >= n) continue; /* d == n: not one letter in common */
        best = d;
        found = *names;
    }
    return found;
}
