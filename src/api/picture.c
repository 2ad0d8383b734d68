/* picture.c - the public calls on pictures: reading, resizing, PNG in memory, and the input of a network. */
#include "image/picture.h"
#include "api/session.h"
#include "data/source.h"
#include "image/overlay.h"
#include "image/transform.h"
#include "nets/extract.h"
#include <stdlib.h>

static status check(const char *call, const centra_picture *p)
{
    if (p && p->rgb && p->width && p->height) return OK;
    return fail(ST_USAGE, "%s needs a picture with pixels and a place for the result", call);
}

static struct picture as_ours(const centra_picture *p) { return (struct picture){p->width, p->height, p->rgb}; }

static void give(struct picture p, centra_picture *out) { *out = (centra_picture){p.width, p.height, p.rgb}; }

centra_status centra_picture_read(const char *path, centra_picture *out)
{
    struct picture p = {0};
    if (!path || !out) return (centra_status)fail(ST_USAGE, "centra_picture_read needs a path and a place");
    const status st = picture_read(path, true, &p);
    if (st == OK) give(p, out);
    return (centra_status)st;
}

centra_status centra_picture_parse(const char *name, const unsigned char *bytes, size_t count, centra_picture *out)
{
    struct picture p = {0};
    if (!name || !out || (count && !bytes))
        return (centra_status)fail(ST_USAGE, "centra_picture_parse needs a name, bytes and a place");
    if (count > PICTURE_MOST_BYTES)
        return (centra_status)fail(ST_FORMAT, "'%.200s' has %zu bytes; at most %d are read", name, count,
                                   PICTURE_MOST_BYTES);
    const status st = picture_decode(name, bytes, count, true, &p);
    if (st == OK) give(p, out);
    return (centra_status)st;
}

int centra_picture_suffix(const char *name) { return name && picture_suffix(name); }

centra_status centra_picture_resize(const centra_picture *picture, size_t width, size_t height, centra_picture *out)
{
    struct picture p = {0};
    status st = check("centra_picture_resize", out ? picture : NULL);
    if (st != OK) return (centra_status)st;
    const struct picture from = as_ours(picture);
    st = picture_resize(&from, width, height, &p);
    if (st == OK) give(p, out);
    return (centra_status)st;
}

/* As in the paper's tests: resized to 23/21 of the side, then the middle. */
static struct transform test_form(size_t side)
{
    return transform_standard(TRANSFORM_RESIZE_CROP, side, side * 2 / 21);
}

centra_status centra_picture_seen(const centra_picture *picture, size_t side, centra_picture *out)
{
    struct picture p = {0};
    status st = check("centra_picture_seen", side && out ? picture : NULL);
    if (st != OK) return (centra_status)st;
    const struct transform t = test_form(side);
    const struct picture from = as_ours(picture);
    st = picture_new(side, side, &p);
    if (st == OK) st = transform_apply_bytes(&t, &from, NULL, p.rgb);
    if (st == OK) give(p, out);
    else picture_free(&p);
    return (centra_status)st;
}

centra_status centra_picture_overlay(const centra_picture *picture, const float *map, size_t height, size_t width,
                                     centra_picture *out)
{
    struct picture p = {0};
    status st = check("centra_picture_overlay", map && out ? picture : NULL);
    if (st != OK) return (centra_status)st;
    const struct picture from = as_ours(picture);
    st = picture_overlay(&from, map, height, width, &p);
    if (st == OK) give(p, out);
    return (centra_status)st;
}

void centra_picture_free(centra_picture *picture)
{
    if (!picture) return;
    free(picture->rgb);
    *picture = (centra_picture){0, 0, NULL};
}

centra_status centra_picture_png(const centra_picture *picture, unsigned char **bytes, size_t *count)
{
    text t = {0};
    status st = check("centra_picture_png", bytes && count ? picture : NULL);
    if (st != OK) return (centra_status)st;
    const struct picture p = as_ours(picture);
    st = picture_png(&p, &t);
    if (st != OK) {
        text_free(&t);
        return (centra_status)st;
    }
    *bytes = (unsigned char *)t.data;
    *count = t.length;
    return CENTRA_OK;
}

centra_status centra_extractor_describe(size_t index, centra_extractor_info *out)
{
    if (!out) return (centra_status)fail(ST_USAGE, "a place for the description is missing");
    if (index >= EXTRACT_KINDS)
        return (centra_status)fail(ST_USAGE, "there is no extractor %zu; there are %d", index, EXTRACT_KINDS);
    const struct extract_about *e = &extract_table[index];
    *out = (centra_extractor_info){e->name, e->title, e->paper};
    return CENTRA_OK;
}

centra_status centra_extractor_cells(const char *extractor, size_t *cells)
{
    struct extractor e = {EXTRACT_MAP, 0, {0}};
    if (!extractor || !cells) return (centra_status)fail(ST_USAGE, "centra_extractor_cells needs a name and a place");
    const status st = extractor_parse(extractor, &e);
    if (st == OK) *cells = extractor_cells(&e);
    return (centra_status)st;
}

centra_status centra_picture_cells(const centra_picture *picture, const char *extractor, size_t side, float *out)
{
    struct extractor e = {EXTRACT_MAP, 0, {0}};
    status st = OK;
    TRY(check("centra_picture_cells", out && side && extractor ? picture : NULL));
    TRY(extractor_parse(extractor, &e));
    const struct transform t = test_form(side);
    const struct picture p = as_ours(picture);
    st = e.kind == EXTRACT_GRID ? transform_cells(&t, &p, e.count, e.sizes, NULL, out)
                                : transform_apply(&t, &p, NULL, out);
done:
    return (centra_status)st;
}

centra_status centra_picture_input(const centra_picture *picture, size_t side, float *out)
{
    return centra_picture_cells(picture, "map", side, out);
}

void centra_free(void *memory) { free(memory); }
