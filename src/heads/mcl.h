/* mcl.h - the walk behind the heads of mcl.c, for those who look into it: they are the ones with `centrality`. */
#ifndef HEADS_MCL_H
#define HEADS_MCL_H
#include "heads/head.h"

/* From the settings of one of these heads. */
struct walk mcl_walk(const void *settings);
#endif
