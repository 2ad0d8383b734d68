/* jpeg.c - JPEG through libjpeg, with its defaults (exact integer transform, smooth upsampling): Pillow's numbers.
 *
 * libjpeg reports errors by a callback that must not return: it jumps back to decode_all. Everything that must outlive the
 * jump lies in struct job, never in a local variable of the function that set it. */
#include "image/formats.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

enum {
    MOST_MEMORY = 512 << 20, /* for libjpeg's own tables: the coefficients of the largest progressive picture fit */
    MOST_SCANS = 100         /* a progressive file of many tiny scans would keep a processor busy for hours */
};

struct job {
    struct jpeg_error_mgr errors; /* first, so that the callbacks find the job */
    struct jpeg_decompress_struct c;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const struct encoded *in;
    struct picture p;
    uint8_t *row; /* [width, 4], for what is not RGB */
    int orientation;
    char message[JMSG_LENGTH_MAX];
};

static void on_error(j_common_ptr c)
{
    struct job *job = (struct job *)(void *)c->err;
    c->err->format_message(c, job->message);
    longjmp(job->back, 1);
}

/* Warnings and traces are silent, but those that mean missing data end the work: libjpeg would paint it grey. */
static void on_message(j_common_ptr c, int level)
{
    struct job *job = (struct job *)(void *)c->err;
    if (level >= 0) return;
    c->err->num_warnings++;
    if (c->err->msg_code != JWRN_JPEG_EOF && c->err->msg_code != JWRN_HIT_MARKER) return;
    snprintf(job->message, sizeof job->message, "it ends early or lacks part of its data");
    longjmp(job->back, 1);
}

static void on_progress(j_common_ptr c)
{
    struct job *job = (struct job *)(void *)c->err;
    if (job->c.input_scan_number > MOST_SCANS) {
        snprintf(job->message, sizeof job->message, "it has more than %d scans", (int)MOST_SCANS);
        longjmp(job->back, 1);
    }
}

static int orientation_of(const struct jpeg_decompress_struct *c)
{
    for (jpeg_saved_marker_ptr m = c->marker_list; m; m = m->next)
        if (m->marker == JPEG_APP0 + 1 && m->data_length >= 6 && !memcmp(m->data, "Exif\0\0", 6))
            return exif_orientation(m->data, m->data_length);
    return 1;
}

static status choose_colours(struct job *job)
{
    struct jpeg_decompress_struct *c = &job->c;
    switch (c->jpeg_color_space) {
    case JCS_GRAYSCALE: c->out_color_space = JCS_GRAYSCALE; return OK;
    case JCS_RGB:
    case JCS_YCbCr: c->out_color_space = JCS_RGB; return OK;
    case JCS_CMYK:
    case JCS_YCCK: c->out_color_space = JCS_CMYK; return OK;
    default: break;
    }
    return fail(ST_UNSUPPORTED, "'%s' is a JPEG with %d colour components, which have no agreed meaning", job->in->name,
                c->num_components);
}

/* a * b / 255, rounded, for 0 to 255. */
static int scaled(int a, int b)
{
    const int t = a * b + 128;
    return (t + (t >> 8)) >> 8;
}

static void put_grey(const uint8_t *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) memset(to + i * 3, from[i], 3);
}

/* Adobe's programs store ink inverted: 255 is no ink. */
static void put_cmyk(const uint8_t *from, size_t n, bool inverted, uint8_t *to)
{
    for (size_t i = 0; i < n; i++, from += 4, to += 3) {
        const int white = inverted ? from[3] : 255 - from[3];
        for (int c = 0; c < 3; c++) to[c] = (uint8_t)(white - scaled(inverted ? 255 - from[c] : from[c], white));
    }
}

static void read_rows(struct job *job)
{
    struct jpeg_decompress_struct *c = &job->c;
    const size_t width = job->p.width;
    while (c->output_scanline < c->output_height) {
        uint8_t *to = job->p.rgb + c->output_scanline * width * 3;
        uint8_t *row = c->output_components == 3 ? to : job->row;
        jpeg_read_scanlines(c, &row, 1);
        if (c->output_components == 1) put_grey(row, width, to);
        else if (c->output_components == 4) put_cmyk(row, width, c->saw_Adobe_marker, to);
    }
}

/* The part of its size that a JPEG is decoded in: an eighth, a quarter, a half or all, by smaller transforms of its blocks. */
static unsigned denominator(const struct jpeg_decompress_struct *c, size_t least)
{
    unsigned d = least ? 8 : 1;
    while (d > 1 && (c->image_width / d < least || c->image_height / d < least)) d /= 2;
    return d;
}

/* Everything that may jump. */
static status decode_all(struct job *job)
{
    struct jpeg_decompress_struct *c = &job->c;
    status st;
    if (setjmp(job->back)) return fail(ST_FORMAT, "'%s' is a damaged JPEG: %s", job->in->name, job->message);
    jpeg_create_decompress(c);
    c->mem->max_memory_to_use = MOST_MEMORY;
    c->progress = &job->progress;
    jpeg_mem_src(c, job->in->bytes, (unsigned long)job->in->n);
    jpeg_save_markers(c, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(c, TRUE);
    if ((st = picture_bound(job->in->name, c->image_width, c->image_height)) != OK) return st;
    if ((st = choose_colours(job)) != OK) return st;
    job->orientation = orientation_of(c);
    c->scale_num = 1;
    c->scale_denom = denominator(c, job->in->least);
    jpeg_start_decompress(c);
    job->row = malloc((size_t)c->output_width * 4);
    if (!job->row) return fail(ST_MEMORY, "no memory to read '%s'", job->in->name);
    if ((st = picture_new(c->output_width, c->output_height, &job->p)) != OK) return st;
    read_rows(job);
    jpeg_finish_decompress(c);
    return OK;
}

status jpeg_decode(const struct encoded *in, struct picture *out, int *orientation)
{
    struct job job = {.in = in};
    job.c.err = jpeg_std_error(&job.errors);
    job.errors.error_exit = on_error;
    job.errors.emit_message = on_message;
    job.progress.progress_monitor = on_progress;
    const status st = decode_all(&job);
    jpeg_destroy_decompress(&job.c); /* does nothing to one that was never created */
    free(job.row);
    if (st == OK) {
        *out = job.p;
        *orientation = job.orientation;
    } else picture_free(&job.p);
    return st;
}
