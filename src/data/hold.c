/* hold.c - drawing without repetition: each picture that is looked at is taken with the chance that just so many are taken. */
#include "data/hold.h"
#include "data/dataset.h"
#include <string.h>

status hold_choose(const struct dataset *d, size_t each, struct random *r, bool *held)
{
    for (size_t c = 0; c < dataset_class_count(d); c++) {
        const size_t first = dataset_class_first(d, c), size = dataset_class_size(d, c);
        size_t wanted = each;
        if (size <= each)
            return fail(ST_VALUE, "class '%s' has %zu picture%s: with %zu held back none is left to train with",
                        dataset_class_name(d, c), size, size == 1 ? "" : "s", each);
        for (size_t i = 0; i < size; i++) {
            held[first + i] = random_below(r, size - i) < wanted;
            wanted -= held[first + i];
        }
    }
    return OK;
}

/* Both are sorted by name. */
static const char *shared_class(const struct dataset *a, const struct dataset *b)
{
    size_t i = 0, k = 0;
    while (i < dataset_class_count(a) && k < dataset_class_count(b)) {
        const int order = strcmp(dataset_class_name(a, i), dataset_class_name(b, k));
        if (order == 0) return dataset_class_name(a, i);
        if (order < 0) i++;
        else k++;
    }
    return NULL;
}

status hold_check(struct dataset *const *set, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++) {
            const char *name = shared_class(set[i], set[k]);
            if (name) return fail(ST_VALUE, "class '%s' stands in two splits: they cannot be joined", name);
        }
    return OK;
}
