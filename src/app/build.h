/* build.h - which state of the source tree the program was built from. */
#ifndef APP_BUILD_H
#define APP_BUILD_H

/* A commit, with "+changes" behind it where the tree differed; "unknown" outside of git. Written by cmake/commit.cmake at
 * every build. */
extern const char build_commit[];
#endif
