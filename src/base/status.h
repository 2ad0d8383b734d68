/* status.h - how everything in Centra reports failure.
 *
 * A function that can fail returns a status; 0 is success. The line that finds a fault also explains it: fail()
 * stores one sentence for the user in a slot of the calling thread and returns the code, so a caller can pass the
 * code on untouched. The sentence names the thing, the value and the remedy. Work done on another thread moves its
 * sentence across with error_take and error_put (base/pool.c does this at its join). */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

typedef enum status {
    OK = 0,
    ST_USAGE,       /* the caller asked for something that does not exist or does not fit (exit status 2) */
    ST_VALUE,       /* an input value is out of range or not finite */
    ST_SHAPE,       /* shapes of the inputs do not fit each other */
    ST_FORMAT,      /* a file is not what it claims to be */
    ST_IO,          /* the system could not read or write */
    ST_MEMORY,      /* no memory */
    ST_UNSUPPORTED, /* this build or device cannot do it */
    ST_NUMERIC,     /* the mathematics has no answer here (a singular matrix) */
    ST_COUNT
} status;

enum { ERROR_BYTES = 512 }; /* a longer sentence is cut */

struct error { /* a sentence on its way between threads */
    status st;
    char text[ERROR_BYTES];
};

/* Stores the sentence for this thread and returns `st`. */
status fail(status st, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The sentence of this thread's last failure, or "". Never NULL; valid until the next fail() of this thread. */
const char *error_text(void);
/* Moves this thread's sentence out (leaving "") or in. */
void error_take(status st, struct error *out);
status error_put(const struct error *in);
/* A few words for each code: "no memory". */
const char *status_name(status st);

/* The one control-flow macro: needs `status st` and a label `done` in the function. */
#define TRY(call) \
    do { \
        if ((st = (call)) != OK) goto done; \
    } while (0)

#endif
