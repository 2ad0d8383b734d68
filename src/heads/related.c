/* related.c - the choice of related.h, on the host: a count of guesses and a sort. */
#include "heads/related.h"
#include <stdlib.h>
#include <string.h>

struct pair {
    double fraction, score; /* of the base class's pictures, taken for the class; their mean */
    size_t of_base, class;
};

static int by_fraction(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->fraction != y->fraction) return x->fraction > y->fraction ? -1 : 1;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    if (x->of_base != y->of_base) return x->of_base < y->of_base ? -1 : 1;
    return (x->class > y->class) - (x->class < y->class);
}

/* What each picture is taken for. */
static void guess(const double *scores, size_t pictures, size_t way, uint32_t *guesses)
{
    for (size_t i = 0; i < pictures; i++, scores += way) {
        guesses[i] = 0;
        for (uint32_t c = 1; c < way; c++)
            if (scores[c] > scores[guesses[i]]) guesses[i] = c;
    }
}

static void count(const struct head_base *base, size_t way, const double *scores, const uint32_t *guesses,
                  struct pair *pairs)
{
    for (size_t b = 0; b < base->classes; b++) {
        const double each = 1 / (double)(base->first[b + 1] - base->first[b]);
        for (size_t c = 0; c < way; c++) pairs[b * way + c] = (struct pair){.of_base = b, .class = c};
        for (size_t i = base->first[b]; i < base->first[b + 1]; i++) {
            pairs[b * way + guesses[i]].fraction += each;
            for (size_t c = 0; c < way; c++) pairs[b * way + c].score += each * scores[i * way + c];
        }
    }
}

/* owner[b] becomes the class that base class b goes to, SIZE_MAX: none. */
static void deal(const struct pair *pairs, size_t n, size_t classes, size_t way, size_t most, size_t *owner,
                 size_t *taken)
{
    for (size_t b = 0; b < classes; b++) owner[b] = SIZE_MAX;
    memset(taken, 0, way * sizeof *taken);
    for (const struct pair *p = pairs; p < pairs + n && p->fraction > 0; p++) {
        if (owner[p->of_base] != SIZE_MAX || taken[p->class] == most) continue;
        owner[p->of_base] = p->class;
        taken[p->class]++;
    }
}

static void collect(const struct head_base *base, size_t way, const size_t *owner, const uint32_t *guesses,
                    size_t *first, uint32_t *rows, uint64_t *by_base)
{
    size_t n = 0;
    for (size_t c = 0; c < way; c++) {
        first[c] = n;
        by_base[c] = UINT64_MAX;
        for (size_t b = 0; b < base->classes; b++) {
            if (owner[b] != c) continue;
            if (by_base[c] == UINT64_MAX) by_base[c] = b;
            for (size_t i = base->first[b]; i < base->first[b + 1]; i++)
                if (guesses[i] == c) rows[n++] = (uint32_t)i;
        }
    }
    first[way] = n;
}

status related_choose(tape *t, const struct head_base *base, size_t way, const double *scores, size_t most,
                      struct related *out)
{
    status st = OK;
    void *guesses, *pairs, *owner, *taken, *first, *rows, *by_base;
    const size_t pictures = base->first[base->classes], n = base->classes * way;
    TRY(tape_host(t, pictures * sizeof(uint32_t), &guesses));
    TRY(tape_host(t, n * sizeof(struct pair), &pairs));
    TRY(tape_host(t, base->classes * sizeof(size_t), &owner));
    TRY(tape_host(t, way * sizeof(size_t), &taken));
    TRY(tape_host(t, (way + 1) * sizeof(size_t), &first));
    TRY(tape_host(t, pictures * sizeof(uint32_t), &rows));
    TRY(tape_host(t, way * sizeof(uint64_t), &by_base));
    guess(scores, pictures, way, guesses);
    count(base, way, scores, guesses, pairs);
    qsort(pairs, n, sizeof(struct pair), by_fraction);
    deal(pairs, n, base->classes, way, most, owner, taken);
    collect(base, way, owner, guesses, first, rows, by_base);
    *out = (struct related){first, rows, by_base};
done:
    return st;
}
