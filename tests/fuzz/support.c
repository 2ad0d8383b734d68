/* Fuzz target: any bytes are either refused with a sentence, or a support whose pictures can be looked at, changed and
 * written again. The model is one whose network sees 2 x 2 pixels. */
#include "api/classifier.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool condition)
{
    if (!condition) abort();
}

static void look(const centra_support *s)
{
    size_t pictures = 0, sum = 0;
    const char *name = NULL;
    check(centra_support_class_count(s) > 0);
    for (size_t c = 0; c < centra_support_class_count(s); c++) {
        check(centra_support_class(s, c, &name, &pictures) == CENTRA_OK && *name && pictures > 0);
        for (size_t i = 0; i < pictures; i++) {
            centra_picture seen = {0};
            check(centra_support_picture(s, c, i, &name, &seen) == CENTRA_OK && name && seen.width == 2);
            for (int k = 0; k < 12; k++) sum += seen.rgb[k];
        }
    }
    const struct rows rows = support_rows(s);
    for (size_t i = 0; i < rows.count; i++) check((size_t)rows.labels[i] < rows.way);
    check(sum < SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    centra_model model = {.fingerprint = "f00d",
                          .setup = "2+0 resize-crop, map, conv4 width=1",
                          .info = {.name = "tiny", .path = "tiny", .side = 2, .fingerprint = model.fingerprint}};
    centra_support *s = NULL, *again = NULL;
    unsigned char *copy = NULL;
    size_t count = 0;
    if (centra_support_parse(&model, "fuzz.pack", bytes, n, &s) != CENTRA_OK) {
        check(s == NULL && strlen(error_text()) > 10);
        return 0;
    }
    look(s);
    check(centra_support_write(s, &copy, &count) == CENTRA_OK);
    check(centra_support_parse(&model, "again", copy, count, &again) == CENTRA_OK);
    check(centra_support_class_count(again) == centra_support_class_count(s));
    const char *first = NULL;
    check(centra_support_class(s, 0, &first, NULL) == CENTRA_OK);
    check(centra_support_remove(again, first, SIZE_MAX) == CENTRA_OK);
    check(centra_support_class_count(again) + 1 == centra_support_class_count(s));
    centra_support_free(again);
    centra_support_free(s);
    free(copy);
    return 0;
}
