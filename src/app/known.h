/* known.h - the known pictures of a command line: a folder of class folders, or a pack. */
#ifndef APP_KNOWN_H
#define APP_KNOWN_H
#include "app/command.h"

/* A model at work on known pictures. */
struct known {
    centra_session *session;
    centra_model *model;
    centra_classifier *classifier;
    centra_support *support;
};
/* `model` and `head` may be NULL; a head's options are the call's. Release with known_close, also after a failure. */
status known_open(const struct call *c, const char *model, const char *head, const char *path, struct known *out);
/* Adds the classes of another folder. */
status known_add(const struct call *c, struct known *k, const char *folder);
/* Calibrates, unless the pack brought that along and nothing was changed. */
status known_ready(struct known *k);
void known_close(struct known *k);
#endif
