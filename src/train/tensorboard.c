/* tensorboard.c - event files, byte by byte.
 *
 * The messages are Event {1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary} with Summary {1: repeated
 * Value}, Value {1: string tag, 2: float simple_value}; a field is its number and wire type in a byte, then its data. */
#include "train/tensorboard.h"
#include "base/file.h"
#include "base/plain.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tensorboard {
    int fd;
    char *path;                          /* owned */
    text part, summary, message, record; /* each is wrapped in the next */
};

uint32_t crc32c(const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= b[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

uint32_t crc32c_masked(const void *bytes, size_t n)
{
    const uint32_t crc = crc32c(bytes, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* Numbers, little-endian whatever the machine */

static void add_fixed(text *to, uint64_t v, size_t bytes)
{
    unsigned char out[8];
    for (size_t i = 0; i < bytes; i++) out[i] = (unsigned char)(v >> 8 * i);
    text_add_bytes(to, out, bytes);
}

static void add_varint(text *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) add_fixed(to, (v & 0x7f) | 0x80, 1);
    add_fixed(to, v, 1);
}

/* Fields */

enum wire { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

static void add_key(text *to, unsigned field, enum wire wire) { add_varint(to, field << 3 | (unsigned)wire); }

static void add_bytes(text *to, unsigned field, const void *bytes, size_t n)
{
    add_key(to, field, LENGTH);
    add_varint(to, n);
    text_add_bytes(to, bytes, n);
}

static void add_double(text *to, unsigned field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_key(to, field, FIXED64);
    add_fixed(to, bits, 8);
}

static void add_float(text *to, unsigned field, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_key(to, field, FIXED32);
    add_fixed(to, bits, 4);
}

/* Wraps t->message into a record and appends it in one write. */
static status write_record(struct tensorboard *t)
{
    status st = text_status(&t->message);
    if (st != OK) return st;
    text *r = &t->record;
    text_clear(r);
    add_fixed(r, t->message.length, 8);
    const uint32_t head = r->st == OK ? crc32c_masked(r->data, 8) : 0;
    add_fixed(r, head, 4);
    text_add_bytes(r, t->message.data, t->message.length);
    add_fixed(r, crc32c_masked(t->message.data, t->message.length), 4);
    if ((st = text_status(r)) != OK) return st;
    ssize_t n;
    do n = write(t->fd, r->data, r->length);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)r->length) return OK;
    return fail(ST_IO, "cannot write '%s': %s", t->path, plain_strerror(n < 0 ? errno : ENOSPC));
}

static status open_file(struct tensorboard *t, const char *folder, double time)
{
    text path = {0};
    text_addf(&path, "%s/events.out.tfevents.%010.0f.centra.%ld", folder, floor(time), (long)getpid());
    const status st = text_status(&path);
    if (st != OK) {
        text_free(&path);
        return st;
    }
    t->path = path.data; /* owned from here */
    t->fd = open(t->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return t->fd >= 0 ? OK : fail(ST_IO, "cannot write '%s': %s", t->path, plain_strerror(errno));
}

status tensorboard_open(const char *folder, double time, struct tensorboard **out)
{
    static const char version[] = "brain.Event:2";
    status st = OK;
    struct tensorboard *t = calloc(1, sizeof *t);
    if (!t) return fail(ST_MEMORY, "no memory for TensorBoard's files");
    t->fd = -1;
    TRY(folder_make(folder));
    TRY(open_file(t, folder, time));
    add_double(&t->message, 1, time);
    add_bytes(&t->message, 3, version, sizeof version - 1);
    TRY(write_record(t));
    *out = t;
    t = NULL;
done:
    tensorboard_close(t);
    return st;
}

void tensorboard_close(struct tensorboard *t)
{
    if (!t) return;
    if (t->fd >= 0) close(t->fd);
    text_free(&t->message);
    text_free(&t->part);
    text_free(&t->summary);
    text_free(&t->record);
    free(t->path);
    free(t);
}

status tensorboard_add(struct tensorboard *t, const char *name, uint64_t step, double time, double value)
{
    text *m = &t->message, *part = &t->part, *summary = &t->summary;
    if (isnan(value)) return OK;
    text_clear(part);
    text_clear(m);
    add_bytes(part, 1, name, strlen(name));
    add_float(part, 2, (float)value);
    if (part->st != OK) return text_status(part);
    text_clear(summary);
    add_bytes(summary, 1, part->data, part->length);
    if (summary->st != OK) return text_status(summary);
    add_double(m, 1, time);
    add_key(m, 2, VARINT);
    add_varint(m, step);
    add_bytes(m, 5, summary->data, summary->length);
    return write_record(t);
}
