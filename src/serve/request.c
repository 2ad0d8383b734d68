/* request.c - arguments of a request, and answers that say what went wrong. */
#include "serve/request.h"
#include "base/json.h"
#include "base/plain.h"
#include <stdlib.h>
#include <string.h>

const char *request_argument(const struct request *r, const char *name)
{
    for (size_t i = 0; i < r->argument_count; i++)
        if (!strcmp(r->argument[i].name, name)) return r->argument[i].value;
    return NULL;
}

bool request_add_argument(struct request *r, const char *name, const char *value)
{
    if (r->argument_count == MOST_ARGUMENTS) return false;
    char *n = strdup(name), *v = strdup(value ? value : "");
    if (!n || !v) {
        free(n);
        free(v);
        return false;
    }
    r->argument[r->argument_count].name = n;
    r->argument[r->argument_count++].value = v;
    return true;
}

void request_free(struct request *r)
{
    for (size_t i = 0; i < r->argument_count; i++) {
        free(r->argument[i].name);
        free(r->argument[i].value);
    }
    free(r->content_type);
    text_free(&r->body);
    text_free(&r->reply.body);
    *r = (struct request){0};
}

void reply_error(struct reply *to, unsigned code, const char *format, ...)
{
    char sentence[ERROR_BYTES];
    struct json_writer w;
    va_list args;
    va_start(args, format);
    plain_vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    text_clear(&to->body);
    json_begin(&w, &to->body, false);
    json_object(&w);
    json_key(&w, "error"), json_string(&w, sentence);
    json_object_end(&w);
    to->code = code;
    to->type = "application/json";
    to->fixed = NULL;
    to->file = NULL;
}

void reply_failure(struct reply *to, centra_status st)
{
    static const unsigned codes[] = {
        [CENTRA_USAGE] = HTTP_UNPROCESSABLE,
        [CENTRA_VALUE] = HTTP_UNPROCESSABLE,
        [CENTRA_SHAPE] = HTTP_UNPROCESSABLE,
        [CENTRA_FORMAT] = HTTP_UNPROCESSABLE,
        [CENTRA_IO] = HTTP_BROKEN,
        [CENTRA_MEMORY] = HTTP_BUSY,
        [CENTRA_UNSUPPORTED] = HTTP_WRONG_TYPE,
        [CENTRA_NUMERIC] = HTTP_UNPROCESSABLE,
    };
    const size_t n = sizeof codes / sizeof *codes, i = (size_t)st;
    reply_error(to, i > 0 && i < n ? codes[i] : HTTP_BROKEN, "%s", centra_message());
}
