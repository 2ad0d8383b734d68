/* pictures_resize.c - parts of stored pictures, resized and with other colours, as a network is shown them.
 *
 * Everything up to the last line happens in bytes, step by step as in image/resize.c and image/augment.c, whose results
 * these are to the last bit. Two passes, across and then down, with bytes in between. */
#include "cpu/prims/pictures.h"
#include <math.h>

enum { FRACTION_BITS = 22, HALF = 1 << (FRACTION_BITS - 1) };

struct resizes {
    struct cpu *cpu;
    const struct pictures_args *args;
    const struct picture_item *items;
    real *to;
    size_t side, most; /* most: taps of a place */
};

struct room {             /* of one worker */
    double *real_weight;  /* [most] */
    int32_t *from, *taps; /* [side] */
    int32_t *weight;      /* [side, most] */
    uint8_t *narrow;      /* [longest, side, 3] */
    uint8_t *rgb;         /* [side, side, 3] */
};

static size_t room_bytes(const struct resizes *w)
{
    const size_t side = w->side;
    return w->most * sizeof(double) + side * (2 + w->most) * sizeof(int32_t) + (w->args->longest + side) * side * 3;
}

static struct room room_at(const struct resizes *w, void *memory)
{
    struct room r = {.real_weight = memory};
    r.from = (int32_t *)(void *)(r.real_weight + w->most);
    r.taps = r.from + w->side;
    r.weight = r.taps + w->side;
    r.narrow = (uint8_t *)(r.weight + w->side * w->most);
    r.rgb = r.narrow + w->args->longest * w->side * 3;
    return r;
}

static size_t most_taps(size_t length, size_t side)
{
    return 2 * (size_t)ceil(length > side ? (double)length / (double)side : 1) + 1;
}

/* The taps of all places of an axis of `length` that becomes `side`. */
static void lay_taps(const struct resizes *w, size_t length, const struct room *r)
{
    const double scale = (double)length / (double)w->side, support = scale > 1 ? scale : 1;
    for (size_t i = 0; i < w->side; i++) {
        const double c = ((double)i + 0.5) * scale, low = c - support + 0.5, high = c + support + 0.5;
        const size_t from = low > 0 ? (size_t)low : 0, n = size_min(length, (size_t)high) - from;
        double sum = 0;
        r->from[i] = (int32_t)from;
        r->taps[i] = (int32_t)n;
        for (size_t k = 0; k < n; k++) {
            const double t = fabs(((double)(k + from) - c + 0.5) * (1.0 / support));
            r->real_weight[k] = t < 1 ? 1 - t : 0;
            sum += r->real_weight[k];
        }
        for (size_t k = 0; k < n; k++) {
            const double share = sum != 0 ? r->real_weight[k] / sum : r->real_weight[k];
            r->weight[i * w->most + k] = (int32_t)(share * (1 << FRACTION_BITS) + 0.5);
        }
    }
}

static uint8_t to_byte(int32_t sum)
{
    const int32_t v = sum >> FRACTION_BITS;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* One place in all three channels: its taps lie `step` bytes apart. */
static void weigh(const uint8_t *from, size_t step, const int32_t *weight, int32_t taps, uint8_t *to)
{
    for (size_t c = 0; c < 3; c++) {
        int32_t sum = HALF;
        for (int32_t k = 0; k < taps; k++) sum += from[(size_t)k * step + c] * weight[k];
        to[c] = to_byte(sum);
    }
}

static void resize(const struct resizes *w, const struct picture_item *p, const struct room *r)
{
    const size_t side = w->side;
    lay_taps(w, p->part_width, r);
    for (size_t y = 0; y < p->part_height; y++) {
        const uint8_t *row = p->rgb + (((size_t)p->top + y) * p->width + (size_t)p->left) * 3;
        for (size_t i = 0; i < side; i++)
            weigh(row + (size_t)r->from[i] * 3, 3, r->weight + i * w->most, r->taps[i], r->narrow + (y * side + i) * 3);
    }
    lay_taps(w, p->part_height, r);
    for (size_t i = 0; i < side; i++)
        for (size_t x = 0; x < side; x++)
            weigh(r->narrow + ((size_t)r->from[i] * side + x) * 3, side * 3, r->weight + i * w->most, r->taps[i],
                  r->rgb + (i * side + x) * 3);
}

static int grey_of(const uint8_t *rgb) { return (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16; }

static uint8_t blend(int d, int x, float factor)
{
    if (factor == 1.0f) return (uint8_t)x;
    const float t = (float)d + factor * (float)(x - d);
    return (uint8_t)(t <= 0 ? 0 : t >= 255 ? 255 : t);
}

static int grey_mean(const uint8_t *rgb, size_t pixels)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < pixels; i++) sum += (uint64_t)grey_of(rgb + i * 3);
    return (int)((double)sum / (double)pixels + 0.5);
}

/* Change `kind` (0 brightness, 1 contrast, 2 saturation): away from black, from the mean grey, or from the own grey. */
static void recolour(uint8_t *rgb, size_t pixels, int kind, float factor)
{
    const int mean = kind == 1 ? grey_mean(rgb, pixels) : 0;
    for (size_t i = 0; i < pixels; i++, rgb += 3) {
        const int from = kind == 2 ? grey_of(rgb) : mean;
        for (int c = 0; c < 3; c++) rgb[c] = blend(from, rgb[c], factor);
    }
}

static status resize_piece(void *context, size_t piece, size_t worker)
{
    const struct resizes *w = context;
    const struct picture_item *p = &w->items[piece];
    const size_t side = w->side;
    size_t pixel, channel;
    void *memory = NULL;
    real *to = w->to + piece * 3 * side * side;
    const status st = cpu_scratch(w->cpu, worker, room_bytes(w), &memory);
    if (st != OK) return st;
    const struct room r = room_at(w, memory);
    picture_steps(w->args, side, &pixel, &channel);
    resize(w, p, &r);
    for (int k = 0; k < 4; k++)
        if (p->order[k] < 3) recolour(r.rgb, side * side, p->order[k], p->factor[p->order[k]]);
    for (size_t i = 0; i < side * side; i++) {
        const size_t x = p->flip ? side - 1 - i % side : i % side;
        const uint8_t *from = r.rgb + (i / side * side + x) * 3;
        for (size_t c = 0; c < 3; c++) to[i * pixel + c * channel] = picture_value(w->args, c, from[c]);
    }
    return OK;
}

status R(prim_pictures_resize)(struct device *d, const struct pictures_args *a, tensor *y)
{
    const size_t side = picture_side(a, y);
    struct resizes w = {cpu_of(d), a, a->items, reals(y), side, most_taps(a->longest, side)};
    const status st = cpu_reserve(w.cpu, room_bytes(&w));
    return st == OK ? pool_run(w.cpu->threads, y->dim[0], resize_piece, &w) : st;
}
