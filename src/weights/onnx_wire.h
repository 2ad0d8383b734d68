/* onnx_wire.h - the wire format of protocol buffers, as far as ONNX needs it: numbers, texts, floats, messages in messages. */
#ifndef WEIGHTS_ONNX_WIRE_H
#define WEIGHTS_ONNX_WIRE_H
#include "base/text.h"
#include <stdint.h>

enum { WIRE_MOST_VARINT = 10 };

/* Each adds field number `field` with its value. A failure is kept by the text. */
void wire_int(text *to, unsigned field, uint64_t value);
void wire_float(text *to, unsigned field, float value);
void wire_bytes(text *to, unsigned field, const void *bytes, size_t count);
void wire_string(text *to, unsigned field, const char *value);
/* `inner` as a message; it is cleared afterwards, and its failure becomes that of `to`. */
void wire_message(text *to, unsigned field, text *inner);
/* The beginning of a field whose `count` bytes follow: for what is not copied together first. */
void wire_begin(text *to, unsigned field, uint64_t count);
/* Bytes that wire_begin adds for fields up to 15. */
size_t wire_begin_bytes(uint64_t count);
#endif
