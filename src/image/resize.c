/* resize.c - resizing with antialiasing, in the fixed-point steps that Pillow takes: bit for bit its result.
 *
 * Two passes, across and then down, with 8-bit numbers in between. Each output place is a weighted sum of a stretch of
 * input places; the weights are a triangle (or a sharper curve) as wide as the reduction, rounded to 22 binary places. Where only a
 * part of the result is wanted, only what is under it is looked at. */
#include "image/resize.h"
#include "base/size.h"
#include "image/picture.h"
#include <math.h>
#include <stdlib.h>

static void axis_free(struct resize_axis *a)
{
    free(a->from);
    free(a->n);
    free(a->weight);
    free(a->split);
}

static double triangle(double t) { return t < 1.0 ? 1.0 - t : 0.0; }

/* Keys 1981, with a = -1/2 */
static double cubic(double t)
{
    if (t < 1.0) return (1.5 * t - 2.5) * t * t + 1;
    return t < 2.0 ? ((-0.5 * t + 2.5) * t - 4) * t + 2 : 0.0;
}

static double sinc(double t)
{
    const double pi = 3.14159265358979323846;
    return t == 0.0 ? 1.0 : sin(t * pi) / (t * pi);
}

static double lanczos(double t) { return t < 3.0 ? sinc(t) * sinc(t / 3) : 0.0; }

const char *const resize_names[] = {"bilinear", "bicubic", "lanczos", NULL};
static const struct curve {
    double reach; /* beyond which it is 0 */
    double (*at)(double t);
} curves[] = {[RESIZE_BILINEAR] = {1, triangle}, [RESIZE_BICUBIC] = {2, cubic}, [RESIZE_LANCZOS] = {3, lanczos}};

/* The weights of one output place centred at c; returns nothing but fills weight[0..taps). */
static void weigh(const struct curve *curve, double c, double scale, size_t from, size_t taps, double *real,
                  int32_t *weight)
{
    double sum = 0;
    for (size_t x = 0; x < taps; x++) {
        real[x] = curve->at(fabs(((double)(x + from) - c + 0.5) * (1.0 / scale)));
        sum += real[x];
    }
    for (size_t x = 0; x < taps; x++) {
        if (sum != 0) real[x] /= sum;
        weight[x] = (int32_t)(real[x] * (1 << RESIZE_BITS) + (real[x] < 0 ? -0.5 : 0.5));
    }
}

/* The axis from n places to m, of which `count` from `first` on are wanted. */
static status axis_new(enum resize_filter filter, size_t n, size_t m, size_t first, size_t count, struct resize_axis *a)
{
    const struct curve *curve = &curves[filter];
    const double scale = (double)n / (double)m, wide = scale > 1.0 ? scale : 1.0, support = curve->reach * wide;
    a->m = count;
    a->plain = filter != RESIZE_BILINEAR;
    a->most = 2 * (size_t)ceil(support) + 1;
    double *real = malloc(a->most * sizeof *real);
    a->from = malloc(count * sizeof *a->from);
    a->n = malloc(count * sizeof *a->n);
    a->weight = malloc(count * a->most * sizeof *a->weight); /* about 6 n + 7 m: no overflow within the pixel limit */
    if (!real || !a->from || !a->n || !a->weight) {
        free(real);
        return fail(ST_MEMORY, "no memory to resize %zu places to %zu", n, m);
    }
    for (size_t i = 0; i < count; i++) {
        const double c = ((double)(first + i) + 0.5) * scale;
        const double low = c - support + 0.5, high = c + support + 0.5;
        a->from[i] = low > 0 ? (size_t)low : 0;
        a->n[i] = size_min(n, (size_t)high) - a->from[i];
        weigh(curve, c, wide, a->from[i], a->n[i], real, a->weight + i * a->most);
    }
    free(real);
    return OK;
}

void resize_across(const struct resize_axis *a, const uint8_t *row, uint8_t *to)
{
    for (size_t i = 0; i < a->m; i++, to += 3) {
        const uint8_t *from = row + a->from[i] * 3;
        const int32_t *weight = a->weight + i * a->most;
        int32_t r = 1 << (RESIZE_BITS - 1), g = r, b = r;
        for (size_t x = 0; x < a->n[i]; x++, from += 3) {
            r += from[0] * weight[x];
            g += from[1] * weight[x];
            b += from[2] * weight[x];
        }
        to[0] = resize_byte(r);
        to[1] = resize_byte(g);
        to[2] = resize_byte(b);
    }
}

/* Row by row with a row of sums, so that the inner loop runs along memory. */
void resize_down(const struct resize_axis *a, size_t i, const uint8_t *rows, size_t bytes, int32_t *sum, uint8_t *to)
{
    for (size_t x = 0; x < bytes; x++) sum[x] = 1 << (RESIZE_BITS - 1);
    for (size_t y = 0; y < a->n[i]; y++) {
        const uint8_t *from = rows + (a->from[i] + y) * bytes;
        const int32_t weight = a->weight[i * a->most + y];
        for (size_t x = 0; x < bytes; x++) sum[x] += from[x] * weight;
    }
    for (size_t x = 0; x < bytes; x++) to[x] = resize_byte(sum[x]);
}

/* `rows` rows of p from `top` on, as wide as the stretch. */
static status narrow_rows(struct resize_axis *a, const struct picture *p, size_t top, size_t rows, struct picture *out)
{
    const size_t stride = p->width * 3;
    status st = picture_new(a->m, rows, out);
    const bool fast = resize_fast_there() && !a->plain;
    if (st == OK && fast) st = resize_split(a);
    for (size_t y = 0; st == OK && y < rows; y++) {
        const size_t at = (top + y) * stride;
        if (a->split) resize_across_fast(a, p->rgb + at, p->height * stride - at, out->rgb + y * a->m * 3);
        else resize_across(a, p->rgb + at, out->rgb + y * a->m * 3);
    }
    return st;
}

static status shorten(const struct resize_axis *a, const struct picture *p, struct picture *out)
{
    const size_t bytes = p->width * 3;
    const bool fast = resize_fast_there() && !a->plain;
    int32_t *sum = malloc(bytes * sizeof *sum);
    if (!sum) return fail(ST_MEMORY, "no memory to resize a picture %zu pixels wide", p->width);
    const status st = picture_new(p->width, a->m, out);
    for (size_t i = 0; st == OK && i < a->m; i++)
        (fast ? resize_down_fast : resize_down)(a, i, p->rgb, bytes, sum, out->rgb + i * bytes);
    free(sum);
    return st;
}

static status resize_width(const struct picture *p, size_t width, enum resize_filter filter, struct picture *out)
{
    struct resize_axis a = {0};
    struct picture made = {0};
    status st = OK;
    TRY(axis_new(filter, p->width, width, 0, width, &a));
    TRY(narrow_rows(&a, p, 0, p->height, &made));
    *out = made;
    made = (struct picture){0};
done:
    picture_free(&made);
    axis_free(&a);
    return st;
}

static status resize_height(const struct picture *p, size_t height, enum resize_filter filter, struct picture *out)
{
    struct resize_axis a = {0};
    status st = OK;
    TRY(axis_new(filter, p->height, height, 0, height, &a));
    TRY(shorten(&a, p, out));
done:
    axis_free(&a);
    return st;
}

/* Both axes change. Places are in order, so the first and the last of the stretch say which rows are under it. */
static status resize_both(const struct picture *p, size_t width, size_t height, const struct box *box,
                          enum resize_filter filter, struct picture *out)
{
    struct resize_axis across = {0}, down = {0};
    struct picture narrow = {0};
    status st = OK;
    TRY(axis_new(filter, p->width, width, box->left, box->width, &across));
    TRY(axis_new(filter, p->height, height, box->top, box->height, &down));
    const size_t top = down.from[0], last = down.m - 1, rows = down.from[last] + down.n[last] - top;
    TRY(narrow_rows(&across, p, top, rows, &narrow));
    for (size_t i = 0; i < down.m; i++) down.from[i] -= top;
    TRY(shorten(&down, &narrow, out));
done:
    picture_free(&narrow);
    axis_free(&across);
    axis_free(&down);
    return st;
}

static status check_size(size_t width, size_t height)
{
    if (width && height && width <= PICTURE_MOST_PIXELS / height) return OK;
    return fail(ST_VALUE, "a picture cannot be resized to %zu x %zu pixels", width, height);
}

status picture_resize_by(const struct picture *p, size_t width, size_t height, enum resize_filter filter,
                         struct picture *out)
{
    const status st = check_size(width, height);
    if (st != OK) return st;
    if (width == p->width && height == p->height) return picture_crop(p, 0, 0, width, height, out);
    if (width == p->width) return resize_height(p, height, filter, out);
    if (height == p->height) return resize_width(p, width, filter, out);
    return resize_both(p, width, height, &(struct box){0, 0, width, height}, filter, out);
}

status picture_resize(const struct picture *p, size_t width, size_t height, struct picture *out)
{
    return picture_resize_by(p, width, height, RESIZE_BILINEAR, out);
}

status picture_resize_part(const struct picture *p, size_t width, size_t height, const struct box *box,
                           struct picture *out)
{
    struct picture all = {0};
    status st = check_size(width, height);
    if (st != OK) return st;
    if (!box->width || !box->height || box->width > width || box->left > width - box->width || box->height > height ||
        box->top > height - box->height)
        return fail(ST_VALUE, "a part of %zu x %zu pixels at %zu, %zu does not lie in a picture of %zu x %zu",
                    box->width, box->height, box->left, box->top, width, height);
    if (width != p->width && height != p->height) return resize_both(p, width, height, box, RESIZE_BILINEAR, out);
    st = picture_resize(p, width, height, &all);
    if (st == OK) st = picture_crop(&all, (int64_t)box->left, (int64_t)box->top, box->width, box->height, out);
    picture_free(&all);
    return st;
}

static size_t longer_side(const struct picture *p, size_t side)
{
    const size_t shorter = size_min(p->width, p->height), longer = size_max(p->width, p->height);
    return side * longer / shorter; /* both factors are at most 2^26 */
}

status picture_shorter_size(const struct picture *p, size_t side, size_t *width, size_t *height)
{
    if (side > PICTURE_MOST_PIXELS) return fail(ST_VALUE, "a shorter side of %zu pixels is too long", side);
    *width = p->width <= p->height ? side : longer_side(p, side);
    *height = p->width <= p->height ? longer_side(p, side) : side;
    return OK;
}

status picture_resize_shorter(const struct picture *p, size_t side, struct picture *out)
{
    size_t width = 0, height = 0;
    const status st = picture_shorter_size(p, side, &width, &height);
    return st == OK ? picture_resize(p, width, height, out) : st;
}
