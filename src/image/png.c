/* png.c - PNG through libpng's full interface: its simple one takes no limits.
 *
 * libpng leaves on an error with longjmp. Everything that must outlive the jump lies in struct job. */
#include "image/formats.h"
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SIDE = PICTURE_MOST_PIXELS, /* the pixel limit is checked behind it */
    MOST_CHUNK_BYTES = 8 << 20,      /* of text, profiles and the like, unpacked */
    MOST_CHUNKS = 128
};

struct job {
    png_structp png;
    png_infop info;
    const struct encoded *in; /* reading */
    size_t at;
    struct picture p;
    uint8_t *rgba; /* [height, width, 4], for pictures with alpha */
    uint8_t **rows;
    int orientation;
    bool starved; /* libpng skips a chunk for which there is no memory, and its orientation with it */
    text *to;     /* writing */
    char message[160];
};

static void on_error(png_structp png, png_const_charp message)
{
    struct job *job = png_get_error_ptr(png);
    snprintf(job->message, sizeof job->message, "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }

static png_voidp take(png_structp png, png_alloc_size_t bytes)
{
    struct job *job = png_get_mem_ptr(png);
    void *memory = malloc(bytes);
    if (!memory) job->starved = true;
    return memory;
}

static void give(png_structp png, png_voidp memory)
{
    (void)png;
    free(memory);
}

static void read_bytes(png_structp png, png_bytep to, size_t n)
{
    struct job *job = png_get_io_ptr(png);
    if (n > job->in->n - job->at) png_error(png, "it ends early");
    memcpy(to, job->in->bytes + job->at, n);
    job->at += n;
}

/* Grey, palette, 1 to 16 bits and transparent colours become 8-bit RGB or RGBA. */
static void ask_for_rgb(struct job *job)
{
    png_set_expand(job->png);
    png_set_strip_16(job->png);
    png_set_gray_to_rgb(job->png);
    png_set_interlace_handling(job->png);
    png_read_update_info(job->png, job->info);
}

static status take_rows(struct job *job, size_t width, size_t height)
{
    const status st = picture_new(width, height, &job->p);
    if (st != OK) return st;
    const bool alpha = png_get_channels(job->png, job->info) == 4;
    job->rows = malloc(height * sizeof *job->rows);
    if (alpha) job->rgba = malloc(width * height * 4);
    if (!job->rows || (alpha && !job->rgba)) return fail(ST_MEMORY, "no memory to read '%s'", job->in->name);
    for (size_t y = 0; y < height; y++) job->rows[y] = alpha ? job->rgba + y * width * 4 : job->p.rgb + y * width * 3;
    return OK;
}

static int orientation_of(struct job *job)
{
    png_bytep exif = NULL;
    png_uint_32 n = 0;
#ifdef PNG_eXIf_SUPPORTED
    if (!png_get_eXIf_1(job->png, job->info, &n, &exif)) return 1;
#endif
    return exif ? exif_orientation(exif, n) : 1;
}

/* Everything that may jump while reading. Where memory is out the caller says so. */
static status read_all(struct job *job)
{
    status st;
    if (setjmp(png_jmpbuf(job->png)))
        return job->starved ? OK : fail(ST_FORMAT, "'%s' is a damaged PNG: %s", job->in->name, job->message);
    png_set_user_limits(job->png, MOST_SIDE, MOST_SIDE);
    png_set_chunk_malloc_max(job->png, MOST_CHUNK_BYTES);
    png_set_chunk_cache_max(job->png, MOST_CHUNKS);
    png_set_read_fn(job->png, job, read_bytes);
    png_read_info(job->png, job->info);
    const size_t width = png_get_image_width(job->png, job->info), height = png_get_image_height(job->png, job->info);
    if ((st = picture_bound(job->in->name, width, height)) != OK) return st;
    ask_for_rgb(job);
    if ((st = take_rows(job, width, height)) != OK) return st;
    png_read_image(job->png, job->rows);
    png_read_end(job->png, job->info);
    job->orientation = orientation_of(job);
    if (job->rgba) picture_flatten(job->rgba, job->p.width * job->p.height, job->p.rgb);
    return OK;
}

/* Whether every chunk up to the last lies in the file. libpng takes memory for an EXIF chunk by the length it claims, whatever
 * the limits say: 50 bytes could ask for 2 GiB. */
static bool chunks_fit(const struct encoded *in)
{
    for (size_t at = 8; in->n - at >= 12;) {
        const size_t length = png_get_uint_32(in->bytes + at);
        if (length > in->n - at - 12) return false;
        if (!memcmp(in->bytes + at + 4, "IEND", 4)) return true;
        at += 12 + length;
    }
    return false;
}

status png_decode(const struct encoded *in, struct picture *out, int *orientation)
{
    struct job job = {.in = in};
    status st = OK;
    if (!chunks_fit(in)) return fail(ST_FORMAT, "'%s' is a damaged PNG: it ends early", in->name);
    job.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning, &job, take, give);
    if (job.png) job.info = png_create_info_struct(job.png);
    if (job.info) st = read_all(&job);
    if (!job.info || job.starved) st = fail(ST_MEMORY, "no memory to read '%s'", in->name);
    png_destroy_read_struct(&job.png, &job.info, NULL);
    free(job.rgba);
    free(job.rows);
    if (st == OK) {
        *out = job.p;
        *orientation = job.orientation;
    } else picture_free(&job.p);
    return st;
}

static void write_bytes(png_structp png, png_bytep bytes, size_t n)
{
    const struct job *job = png_get_io_ptr(png);
    text_add_bytes(job->to, bytes, n);
}

static void flush_nothing(png_structp png) { (void)png; }

/* Everything that may jump while writing. */
static status write_all(struct job *job, const struct picture *p)
{
    if (setjmp(png_jmpbuf(job->png))) return fail(ST_MEMORY, "a PNG cannot be made: %s", job->message);
    png_set_user_limits(job->png, PICTURE_MOST_PIXELS, PICTURE_MOST_PIXELS); /* a picture may be one row */
    png_set_write_fn(job->png, job, write_bytes, flush_nothing);
    png_set_IHDR(job->png, job->info, (png_uint_32)p->width, (png_uint_32)p->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(job->png, job->info);
    for (size_t y = 0; y < p->height; y++) png_write_row(job->png, p->rgb + y * p->width * 3);
    png_write_end(job->png, NULL);
    return OK;
}

status png_write(text *to, const struct picture *p)
{
    struct job job = {.to = to};
    status st;
    job.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning, &job, take, give);
    if (job.png) job.info = png_create_info_struct(job.png);
    if (job.info) st = write_all(&job, p);
    else st = fail(ST_MEMORY, "no memory to write a PNG");
    png_destroy_write_struct(&job.png, &job.info);
    return st;
}
