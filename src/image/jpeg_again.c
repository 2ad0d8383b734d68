/* jpeg_again.c - what a JPEG file makes of a picture: compressed in memory and decoded again, so that the cost of a set's
 * compression can be measured. */
#include "image/formats.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

struct job { /* outlives the jump that libjpeg's errors are */
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct c;
    jmp_buf back;
    unsigned char *bytes; /* by malloc of libjpeg */
    unsigned long n;
    char message[JMSG_LENGTH_MAX];
};

static void on_error(j_common_ptr c)
{
    struct job *job = (struct job *)(void *)c->err;
    c->err->format_message(c, job->message);
    longjmp(job->back, 1);
}

static void compress(struct job *job, const struct picture *p, int quality, bool halved)
{
    struct jpeg_compress_struct *c = &job->c;
    jpeg_create_compress(c);
    jpeg_mem_dest(c, &job->bytes, &job->n);
    c->image_width = (JDIMENSION)p->width;
    c->image_height = (JDIMENSION)p->height;
    c->input_components = 3;
    c->in_color_space = JCS_RGB;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, quality, TRUE);
    c->comp_info[0].h_samp_factor = c->comp_info[0].v_samp_factor = halved ? 2 : 1;
    jpeg_start_compress(c, TRUE);
    while (c->next_scanline < c->image_height) {
        JSAMPROW row = p->rgb + (size_t)c->next_scanline * p->width * 3;
        jpeg_write_scanlines(c, &row, 1);
    }
    jpeg_finish_compress(c);
}

status jpeg_again(const struct picture *p, int quality, bool halved, struct picture *out)
{
    int orientation;
    status st;
    struct job *job = calloc(1, sizeof *job);
    if (!job) return fail(ST_MEMORY, "no memory to compress a picture");
    if (p->width > JPEG_MAX_DIMENSION || p->height > JPEG_MAX_DIMENSION) {
        free(job);
        return fail(ST_VALUE, "a picture of %zu x %zu pixels is too large for JPEG", p->width, p->height);
    }
    job->c.err = jpeg_std_error(&job->errors);
    job->errors.error_exit = on_error;
    if (setjmp(job->back)) {
        st = fail(ST_MEMORY, "a picture could not be compressed: %s", job->message);
    } else {
        compress(job, p, quality, halved);
        st = jpeg_decode(&(struct encoded){.name = "compressed again", .bytes = job->bytes, .n = job->n}, out,
                         &orientation);
    }
    jpeg_destroy_compress(&job->c);
    free(job->bytes);
    free(job);
    return st;
}
