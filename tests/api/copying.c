/* copying.c - weights that copy a picture's first channel through a Conv-4. */
#include "tests/api/copying.h"
#include "base/npy.h"
#include "base/text.h"
#include <stdio.h>

static bool put(const char *folder, const char *name, int rank, const size_t *dim, const double *data)
{
    text path = {0};
    text_addf(&path, "%s/%s.npy", folder, name);
    const status st = npy_write(text_string(&path), NPY_F64, rank, dim, data);
    text_free(&path);
    return st == OK;
}

bool copying_weights(const char *folder)
{
    static const double ones[COPYING_WIDTH] = {1, 1}, zeros[COPYING_WIDTH] = {0};
    bool good = true;
    for (int k = 1; k <= 4; k++) {
        const size_t in = k == 1 ? 3 : COPYING_WIDTH;
        double w[COPYING_WIDTH * 3 * 9] = {0};
        char name[40];
        for (size_t o = 0; o < COPYING_WIDTH; o++) w[o * in * 9 + 4] = 1; /* the middle of channel 0 */
        snprintf(name, sizeof name, "layer%d.0.weight", k);
        good = good && put(folder, name, 4, (size_t[]){COPYING_WIDTH, in, 3, 3}, w);
        static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "layer%d.1.%s", k, parts[i]);
            good = good && put(folder, name, 1, (size_t[]){COPYING_WIDTH}, i == 0 || i == 3 ? ones : zeros);
        }
    }
    return good;
}
