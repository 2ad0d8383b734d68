/* net.h - what stands behind a centra_net. */
#ifndef API_NET_H
#define API_NET_H
#include "api/session.h"
#include "base/arena.h"
#include "image/transform.h"
#include "nets/extract.h"
#include "nets/net.h"

struct centra_net {
    centra_session *session;
    const struct net *net;
    void *settings;        /* owned */
    arena *memory;         /* owned: texts of the settings that a model's file has; NULL: they are the caller's */
    struct params *params; /* owned */
    struct extractor extractor;
    struct transform transform; /* of its pictures: the model's, or the standard one */
    dtype type;
    size_t batches; /* that went through since the weights were loaded; after some, they are frozen */
    char *features; /* owned: the last result */
    size_t bytes;   /* of it */
};
#endif
