/* tar_write.c - tars made block by block. */
#include "tests/data/tar_write.h"
#include "tests/data/sample.h"
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512 };

void tar_sum(text *t, size_t at)
{
    unsigned sum = 0;
    char *h = t->data + at;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) sum += (unsigned char)h[i];
    snprintf(h + 148, 8, "%06o", sum);
}

void tar_add(text *t, const char *magic, char type, const char *name, const void *data, size_t n)
{
    static const char zero[BLOCK];
    char h[BLOCK] = {0};
    size_t at = t->length, length = strlen(name);
    memcpy(h, name, length < 100 ? length : 100);
    snprintf(h + 100, 8, "%07o", 0644);
    snprintf(h + 124, 12, "%011zo", n);
    h[156] = type;
    memcpy(h + 257, magic, 8);
    text_add_bytes(t, h, BLOCK);
    tar_sum(t, at);
    if (n) text_add_bytes(t, data, n);
    if (n % BLOCK) text_add_bytes(t, zero, BLOCK - n % BLOCK);
}

void tar_grey(text *t, const char *name, int grey)
{
    char ppm[SAMPLE_PPM_BYTES];
    sample_ppm(grey, ppm);
    tar_add(t, USTAR, '0', name, ppm, sizeof ppm);
}

void tar_end(text *t)
{
    static const char zero[2 * BLOCK];
    text_add_bytes(t, zero, sizeof zero);
}
