/* onnx_wire.c - protocol buffers: a field is its number and kind, then a varint, four bytes, or a length and so many bytes. */
#include "weights/onnx_wire.h"
#include <string.h>

enum wire_kind { KIND_VARINT = 0, KIND_BYTES = 2, KIND_FOUR = 5 };

static void varint(text *to, uint64_t value)
{
    unsigned char bytes[WIRE_MOST_VARINT];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) bytes[n++] = (unsigned char)(value | 0x80);
    bytes[n++] = (unsigned char)value;
    text_add_bytes(to, bytes, n);
}

static void tag(text *to, unsigned field, enum wire_kind kind) { varint(to, (uint64_t)field << 3 | kind); }

void wire_int(text *to, unsigned field, uint64_t value)
{
    tag(to, field, KIND_VARINT);
    varint(to, value);
}

void wire_float(text *to, unsigned field, float value)
{
    uint32_t bits;
    unsigned char bytes[4];
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(bits >> (8 * i));
    tag(to, field, KIND_FOUR);
    text_add_bytes(to, bytes, sizeof bytes);
}

void wire_begin(text *to, unsigned field, uint64_t count)
{
    tag(to, field, KIND_BYTES);
    varint(to, count);
}

size_t wire_begin_bytes(uint64_t count)
{
    size_t n = 2; /* the tag, and the varint's first byte */
    for (; count >= 0x80; count >>= 7) n++;
    return n;
}

void wire_bytes(text *to, unsigned field, const void *bytes, size_t count)
{
    wire_begin(to, field, count);
    if (count) text_add_bytes(to, bytes, count);
}

void wire_string(text *to, unsigned field, const char *value) { wire_bytes(to, field, value, strlen(value)); }

void wire_message(text *to, unsigned field, text *inner)
{
    if (inner->st != OK && to->st == OK) to->st = inner->st;
    wire_bytes(to, field, inner->data, inner->length);
    text_clear(inner);
}
