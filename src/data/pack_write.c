/* pack_write.c - a data set into one file, a few hundred pictures at a time: decoded together, written in order. */
#include "base/file.h"
#include "base/pool.h"
#include "base/size.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/hold.h"
#include "data/pack.h"
#include "data/pack_format.h"
#include "data/source.h"
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 256, HOLD_STREAM = 0x401d };

struct packing {
    const struct pack_options *o;
    const struct dataset *d; /* the split that is being written */
    const bool *held;        /* of its pictures; NULL: splits stay as they are */
    size_t first;            /* of the pictures decoded now */
    struct picture picture[AT_ONCE];
    struct error why[AT_ONCE]; /* st: OK when the picture is there */
    struct file_writer file;
    size_t at;      /* bytes written */
    text table;     /* sticky failure */
    size_t written; /* pictures */
    size_t looked_at, all, skipped;
};

static void put_padding(struct packing *p)
{
    static const char zero[PACK_ALIGN];
    size_t n = size_round_up(p->at, PACK_ALIGN) - p->at;
    file_put(&p->file, zero, n);
    p->at += n;
}

static void put_record(struct packing *p, const char *split, const char *label, const char *file,
                       const struct picture *q)
{
    unsigned char record[PACK_RECORD_BYTES];
    const size_t bytes = q->width * q->height * 3;
    pack_put(record, p->at, 8);
    pack_put(record + 8, pack_sum(q->rgb, bytes), 8);
    pack_put(record + 16, q->width, 4);
    pack_put(record + 20, q->height, 4);
    pack_put(record + 24, strlen(split), 4);
    pack_put(record + 28, strlen(label), 4);
    pack_put(record + 32, strlen(file), 4);
    text_add_bytes(&p->table, record, sizeof record);
    text_add(&p->table, split);
    text_add(&p->table, label);
    text_add(&p->table, file);
}

static void put_picture(struct packing *p, const char *split, size_t index, const struct picture *q)
{
    const char *label = dataset_class_name(p->d, dataset_class_of(p->d, index));
    if (p->held) split = p->held[index] ? "val" : "train";
    put_padding(p);
    put_record(p, split, label, dataset_name(p->d, index) + strlen(label) + 1, q);
    file_put(&p->file, q->rgb, q->width * q->height * 3);
    p->at += q->width * q->height * 3;
    p->written++;
}

/* To the size and the quality that are wanted. */
static status change(const struct pack_options *o, struct picture *p)
{
    status st = OK;
    struct picture made = {0};
    if (o->side) {
        TRY(picture_resize_by(p, o->side, o->side, o->filter, &made));
        picture_free(p);
        *p = made;
        made = (struct picture){0};
    }
    if (o->quality) {
        TRY(picture_compress(p, o->quality, o->halved, &made));
        picture_free(p);
        *p = made;
    }
done:
    return st;
}

static status decode_piece(void *context, size_t piece, size_t worker)
{
    struct packing *p = context;
    struct picture whole = {0};
    (void)worker;
    status st = dataset_picture(p->d, p->first + piece, &whole);
    if (st == OK) st = change(p->o, &whole);
    if (st == OK) p->picture[piece] = whole;
    else picture_free(&whole);
    error_take(st, &p->why[piece]);
    return st == ST_MEMORY ? error_put(&p->why[piece]) : OK;
}

static status write_some(struct packing *p, pool *threads, const char *split, size_t count)
{
    status st = pool_run(threads, count, decode_piece, p);
    for (size_t i = 0; i < count; i++) {
        if (st == OK && p->why[i].st == OK) {
            put_picture(p, split, p->first + i, &p->picture[i]);
        } else if (st == OK && p->o->strict) {
            st = error_put(&p->why[i]);
        } else if (st == OK) {
            p->skipped++;
            log_line(p->o->log, LOG_WARN, "left out: %s", p->why[i].text);
        }
        picture_free(&p->picture[i]);
        p->picture[i] = (struct picture){0};
    }
    if (st == OK) st = text_status(&p->table);
    p->looked_at += count;
    if (st == OK && p->o->progress && !p->o->progress(p->o->context, p->looked_at, p->all))
        st = fail(ST_VALUE, "packing was stopped after %zu of %zu pictures", p->looked_at, p->all);
    return st;
}

/* With o->hold pictures go to train and val, whatever split they come from; `r` draws which. */
static status write_split(struct packing *p, pool *threads, const char *split, const struct dataset *d,
                          struct random *r)
{
    status st = OK;
    const size_t count = dataset_count(d);
    bool *held = p->o->hold ? calloc(size_max(count, 1), sizeof *held) : NULL;
    if (p->o->hold && !held) TRY(fail(ST_MEMORY, "no memory to choose among %zu pictures", count));
    if (held) TRY(hold_choose(d, p->o->hold, r, held));
    p->d = d;
    p->held = held;
    for (p->first = 0; p->file.st == OK && p->first < count; p->first += AT_ONCE)
        TRY(write_some(p, threads, split ? split : "", size_min(AT_ONCE, count - p->first)));
done:
    p->held = NULL;
    free(held);
    return st;
}

static void put_footer(struct packing *p)
{
    static const char end[8] = PACK_END_MAGIC;
    unsigned char footer[PACK_FOOTER_BYTES] = {0};
    pack_put(footer, p->at, 8);
    pack_put(footer + 8, p->table.length, 8);
    pack_put(footer + 16, pack_sum((const unsigned char *)text_string(&p->table), p->table.length), 8);
    pack_put(footer + 24, p->written, 8);
    pack_put(footer + 32, p->at + p->table.length + sizeof footer, 8);
    memcpy(footer + PACK_END_MAGIC_AT, end, sizeof end);
    file_put(&p->file, text_string(&p->table), p->table.length);
    file_put(&p->file, footer, sizeof footer);
}

static status write_all(struct packing *p, const char *to, const char *const *split, struct dataset *const *set,
                        size_t n)
{
    unsigned char header[PACK_HEADER_BYTES] = PACK_MAGIC;
    struct random r = {.seed = p->o->seed, .stream = HOLD_STREAM};
    pool *threads = NULL;
    status st = OK;
    TRY(pool_new(p->o->threads, &threads));
    TRY(file_begin(to, &p->file));
    pack_put(header + 8, PACK_VERSION, 4);
    file_put(&p->file, header, sizeof header);
    p->at = sizeof header;
    for (size_t i = 0; i < n; i++) TRY(write_split(p, threads, split[i], set[i], &r));
    if (!p->written) {
        st = fail(ST_VALUE, "'%s' is not written: none of the %zu pictures could be read", to, p->all);
        goto done;
    }
    put_padding(p);
    put_footer(p);
    TRY(file_commit(&p->file));
done:
    file_abandon(&p->file);
    pool_free(threads);
    return st;
}

/* The splits of the set, or one without a name. */
static status open_splits(const char *from, const struct pack_options *o, const char ***split, struct dataset **set,
                          size_t *n)
{
    const struct dataset_options opening = {.images = o->images, .log = o->log};
    status st = dataset_splits(from, split);
    size_t count = 0;
    if (st != OK) return st;
    while ((*split)[count]) count++;
    *n = size_max(count, 1); /* the first name is NULL when there are none */
    for (size_t i = 0; st == OK && i < *n; i++) st = dataset_open(from, (*split)[i], &opening, &set[i]);
    return st;
}

/* What no picture could have, or would have without an effect. */
static status check_options(const struct pack_options *o)
{
    if (o->filter != RESIZE_BILINEAR && !o->side)
        return fail(ST_USAGE, "the filter %s is for resizing, but no side is given", resize_names[o->filter]);
    if (o->halved && !o->quality) return fail(ST_USAGE, "colours are halved by compressing, but no quality is given");
    return o->quality ? picture_compress_check(o->quality) : OK;
}

status pack_write(const char *from, const struct pack_options *o, const char *to, struct pack_result *out)
{
    static const struct pack_options standard = {0};
    struct dataset *set[SPLITS_MOST + 1] = {0};
    const char **split = NULL;
    size_t n = 0;
    status st = OK;
    struct packing *p = calloc(1, sizeof *p);
    if (!p) return fail(ST_MEMORY, "no memory to write '%s'", to);
    p->o = o ? o : &standard;
    TRY(check_options(p->o));
    TRY(open_splits(from, p->o, &split, set, &n));
    if (p->o->hold) TRY(hold_check(set, n));
    for (size_t i = 0; i < n; i++) p->all += dataset_count(set[i]);
    TRY(write_all(p, to, split, set, n));
    if (out) *out = (struct pack_result){p->o->hold ? 2 : split[0] ? n : 0, p->written, p->skipped};
done:
    for (size_t i = 0; i <= SPLITS_MOST; i++) dataset_close(set[i]);
    free(split);
    text_free(&p->table);
    free(p);
    return st;
}
