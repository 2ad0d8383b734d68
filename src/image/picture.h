/* picture.h - pictures as 8-bit RGB, and what is done to them before a network sees them.
 *
 * Decoding treats a file as hostile: sizes are bounded before memory is taken, so that a decompression bomb is an error and
 * not an allocation. Resizing gives Pillow's numbers to the last bit, because published accuracies were measured with
 * them (docs/pictures.md). Functions that make a picture leave `out` untouched when they fail. */
#ifndef IMAGE_PICTURE_H
#define IMAGE_PICTURE_H
#include "base/random.h"
#include "base/status.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture {
    size_t width, height;
    uint8_t *rgb; /* owned, [height, width, 3] */
};
void picture_free(struct picture *p);                                 /* accepts a zeroed struct */
status picture_new(size_t width, size_t height, struct picture *out); /* black; refuses more than the limit */

/* Most pixels of a picture (64 Mi) and bytes of a file (256 MiB) that are accepted. */
enum { PICTURE_MOST_PIXELS = 64 << 20, PICTURE_MOST_BYTES = 256 << 20 };

/* JPEG, PNG, WebP or binary PPM/PGM, told apart by their first bytes, never by name. Grey, palette, alpha (over white), 16 bit,
 * CMYK and YCCK become RGB. With `upright` the EXIF orientation is applied. `name` stands in messages. */
status picture_decode(const char *name, const void *bytes, size_t n, bool upright, struct picture *out);
status picture_read(const char *path, bool upright, struct picture *out);
/* The same where the picture will be made smaller anyway: a JPEG may come out as a half, a quarter or an eighth of its size, no
 * side shorter than `least`, in a fraction of the time. */
status picture_read_least(const char *path, bool upright, size_t least, struct picture *out);
/* What this build decodes: "jpeg", "png", "webp", "ppm", NULL. */
extern const char *const picture_formats[];
/* An 8-bit RGB PNG: its bytes are added to `to`, or written atomically as a file. Without libpng an own writer with stored blocks
 * is used. */
status picture_png(const struct picture *p, text *to);
status picture_write_png(const char *path, const struct picture *p);

struct box {
    size_t left, top, width, height;
};
/* Pillow's resizing with antialiasing (methods 6.3.1): bit for bit; bilinear unless said otherwise. */
enum resize_filter { RESIZE_BILINEAR, RESIZE_BICUBIC, RESIZE_LANCZOS };
extern const char *const resize_names[];
status picture_resize_by(const struct picture *p, size_t width, size_t height, enum resize_filter filter,
                         struct picture *out);
status picture_resize(const struct picture *p, size_t width, size_t height, struct picture *out);
/* The box of the resized picture, without the work for the rest of it. */
status picture_resize_part(const struct picture *p, size_t width, size_t height, const struct box *box,
                           struct picture *out);
/* What compression as a JPEG of that quality, 1 to 100, leaves of it, its colours at half the resolution or not. */
status picture_compress(const struct picture *p, int quality, bool halved, struct picture *out);
status picture_compress_check(int quality); /* whether this build can */
/* The shorter side becomes `side`, the longer trunc(side * long / short). */
status picture_shorter_size(const struct picture *p, size_t side, size_t *width, size_t *height);
status picture_resize_shorter(const struct picture *p, size_t side, struct picture *out);
/* The box; what lies outside the picture is black. */
status picture_crop(const struct picture *p, int64_t left, int64_t top, size_t width, size_t height,
                    struct picture *out);
/* torchvision's: offsets rounded half to even; a smaller picture is padded with black first (methods 6.3.2). */
status picture_centre_crop(const struct picture *p, size_t width, size_t height, struct picture *out);
/* Where that crop lies in a picture that is no smaller. */
struct box picture_centre_box(size_t have_width, size_t have_height, size_t width, size_t height);
status picture_pad_reflect(const struct picture *p, size_t pad, struct picture *out); /* the edge is not repeated */
status picture_pad_black(const struct picture *p, size_t pad, struct picture *out);
void picture_flip(struct picture *p); /* left and right */

/* RandomResizedCrop's box, scale (0.08, 1), ratio (3/4, 4/3) (methods 6.3.3). */
struct box picture_random_box(size_t width, size_t height, struct random *r);
/* ColorJitter on 8-bit numbers (methods 6.3.4): the three adjustments in the given order (a permutation of 0 brightness, 1
 * contrast, 2 saturation, 3 nothing). */
struct jitter {
    int order[4];
    float brightness, contrast, saturation;
};
struct jitter jitter_draw(struct random *r, float strength); /* factors in [1 - strength, 1 + strength] */
void picture_jitter(struct picture *p, const struct jitter *j);
#endif
