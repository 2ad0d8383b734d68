/* golden.c - pictures against recorded runs of Pillow and torchvision: not one grey level off. */
#include "base/npy.h"
#include "image/transform.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

/* A file of a case; without the golden folder the test is skipped, without the file it fails. */
static bool recorded(const char *file, struct npy *out)
{
    char path[768];
    *out = (struct npy){0};
    if (!test_golden_dir()) {
        test_skip("there are no golden vectors");
        return false;
    }
    snprintf(path, sizeof path, "%s/%s", test_golden_dir(), file);
    if (npy_read(path, 64 << 20, out) == OK) return true;
    test_failed(__FILE__, __LINE__, "%s", error_text());
    return false;
}

/* [height, width, 3] of any integer type. */
static bool picture_of(const char *file, struct picture *out)
{
    struct npy a;
    bool good = recorded(file, &a) && a.rank == 3 && a.type == NPY_I64 && picture_new(a.dim[1], a.dim[0], out) == OK;
    for (size_t i = 0; good && i < a.count; i++) out->rgb[i] = (uint8_t)((int64_t *)a.data)[i];
    npy_free(&a);
    return good;
}

static void expect_bytes(const char *what, const uint8_t *seen, const int64_t *wanted, size_t n)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) wrong += seen[i] != wanted[i];
    if (wrong) test_failed(__FILE__, __LINE__, "%s: %zu of %zu values differ", what, wrong, n);
}

static void expect_recorded(const char *file, const struct picture *p)
{
    struct npy a;
    if (recorded(file, &a)) {
        EXPECT_INT(a.dim[0], p->height);
        EXPECT_INT(a.dim[1], p->width);
        if (a.count == p->width * p->height * 3) expect_bytes(file, p->rgb, a.data, a.count);
    }
    npy_free(&a);
}

static void expect_centre(const char *file, const struct picture *p)
{
    struct picture cut = {0};
    EXPECT_OK(picture_centre_crop(p, 84, 84, &cut));
    if (cut.rgb) expect_recorded(file, &cut);
    picture_free(&cut);
}

static void check_picture(int i)
{
    char file[64];
    struct picture p = {0}, q = {0};
    snprintf(file, sizeof file, "pillow_resize/picture%d.npy", i);
    if (!picture_of(file, &p)) return;
    EXPECT_OK(picture_resize(&p, 92, 92, &q));
    snprintf(file, sizeof file, "pillow_resize/picture%d_resize92.npy", i);
    if (q.rgb) expect_recorded(file, &q);
    snprintf(file, sizeof file, "pillow_resize/picture%d_resize92_crop84.npy", i);
    if (q.rgb) expect_centre(file, &q);
    picture_free(&q);
    EXPECT_OK(picture_resize(&p, 84, 84, &q));
    snprintf(file, sizeof file, "pillow_resize/picture%d_resize84.npy", i);
    if (q.rgb) expect_recorded(file, &q);
    picture_free(&q);
    picture_free(&p);
}

TEST(resizing_gives_pillows_numbers)
{
    for (int i = 0; i < 3; i++) check_picture(i);
}

TEST(resizing_the_shorter_side_gives_torchvisions_numbers)
{
    struct picture p = {0}, q = {0};
    if (!picture_of("pillow_resize/picture2.npy", &p)) return;
    EXPECT_OK(picture_resize_shorter(&p, 92, &q));
    if (q.rgb) expect_recorded("pillow_resize/ratio_resize92.npy", &q);
    if (q.rgb) expect_centre("pillow_resize/ratio_resize92_crop84.npy", &q);
    picture_free(&p);
    picture_free(&q);
}

/* A picture whose columns count up shows where the crop began. */
TEST(centre_crops_begin_where_torchvisions_do)
{
    struct npy a;
    if (!recorded("center_crop_offsets/offsets.npy", &a)) return;
    for (size_t i = 0; i < a.dim[0]; i++) {
        const int64_t *row = (int64_t *)a.data + i * 2;
        struct picture p = {0}, q = {0};
        if (picture_new((size_t)row[0], 84, &p) == OK) {
            for (size_t x = 0; x < p.width; x++) p.rgb[x * 3] = (uint8_t)x, p.rgb[x * 3 + 1] = (uint8_t)(x >> 8);
            EXPECT_OK(picture_centre_crop(&p, 84, 84, &q));
            if (q.rgb) EXPECT_INT(q.rgb[0] + 256 * q.rgb[1], row[1]);
        }
        picture_free(&p);
        picture_free(&q);
    }
    npy_free(&a);
}

TEST(normalising_gives_the_recorded_numbers)
{
    struct picture p = {0};
    struct npy a;
    const struct transform t = transform_standard(TRANSFORM_PAD_CROP, 84, 8);
    float seen[90] = {0};
    if (!recorded("normalize/tensor.npy", &a)) return;
    EXPECT_INT(a.count, 90);
    if (a.count == 90 && picture_of("normalize/picture.npy", &p)) {
        transform_normalise(&t, p.rgb, 30, seen);
        for (size_t i = 0; i < 90; i++) EXPECT_NEAR(seen[i], ((double *)a.data)[i], 5e-6);
    }
    picture_free(&p);
    npy_free(&a);
}

static void check_cell(const struct picture *p, const int64_t *box, size_t n, size_t cell, const int64_t *wanted)
{
    static uint8_t seen[84 * 84 * 3];
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, 84, 8);
    size_t left, right, top, bottom;
    struct picture part = {0};
    grid_cell(p->width, n, 2.0, cell % n, &left, &right);
    grid_cell(p->height, n, 2.0, cell / n, &top, &bottom);
    EXPECT_INT(left, box[0]);
    EXPECT_INT(top, box[1]);
    EXPECT_INT(right, box[2]);
    EXPECT_INT(bottom, box[3]);
    EXPECT_OK(picture_crop(p, (int64_t)left, (int64_t)top, right - left, bottom - top, &part));
    if (part.rgb) {
        EXPECT_OK(transform_apply_bytes(&t, &part, NULL, seen));
        expect_bytes("a cell", seen, wanted, sizeof seen);
    }
    picture_free(&part);
}

/* The recorded case lists the 2 x 2 cells first, then 3 x 3. */
TEST(grid_cells_are_the_recorded_ones)
{
    struct picture p = {0};
    struct npy boxes = {0}, cells = {0};
    if (!picture_of("grid/picture.npy", &p)) return;
    if (recorded("grid/boxes.npy", &boxes) && recorded("grid/cells.npy", &cells)) {
        for (size_t i = 0; i < 13; i++)
            check_cell(&p, (int64_t *)boxes.data + i * 4, i < 4 ? 2 : 3, i < 4 ? i : i - 4,
                       (int64_t *)cells.data + i * 84 * 84 * 3);
    }
    npy_free(&boxes);
    npy_free(&cells);
    picture_free(&p);
}

TEST(cells_in_one_call_are_the_recorded_ones)
{
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, 84, 8);
    enum { EACH = 3 * 84 * 84, CELLS = 13 };
    struct picture p = {0};
    struct npy rows = {0};
    float *seen = malloc(sizeof(float) * EACH * CELLS);
    REQUIRE(seen);
    if (picture_of("grid/picture.npy", &p) && recorded("grid/normalized_rows.npy", &rows)) {
        EXPECT_OK(transform_cells(&t, &p, 2, (size_t[]){2, 3}, NULL, seen));
        for (size_t i = 0; i < rows.count; i++) /* [cell, channel, row 0 or 1, column] */
            EXPECT_NEAR(seen[i / 168 * 84 * 84 + i % 168], ((double *)rows.data)[i], 5e-6);
        EXPECT_INT(rows.count, CELLS * 3 * 2 * 84);
    }
    picture_free(&p);
    npy_free(&rows);
    free(seen);
}
