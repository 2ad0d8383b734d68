/* sandbox.h - what a server gives up for good, so that whoever takes it over by a picture or a request has little to gain.
 *
 * Two steps of the Linux kernel, each of which binds this process and all that it starts. Neither needs a privilege or a
 * library. SECURITY.md says what they are worth; sandbox_calls.def lists the system calls. */
#ifndef SERVE_SANDBOX_H
#define SERVE_SANDBOX_H
#include <stdbool.h>
#include <stddef.h>

/* Of the calling thread and the threads that it will make: files can be read below `readable` (folders or files; what is not
 * there is passed over), changed below `writable`, and nowhere else; no TCP connection can be made, and no signal reach
 * another process, where the kernel knows how. By Landlock, Linux 5.13. NULL when that is in force from now on, else a
 * few words why it is not. */
const char *sandbox_files(const char *const *readable, size_t readable_count, const char *const *writable,
                          size_t writable_count);

/* Of all threads: starting programs, looking into processes and changing the system end the process; new sockets are refused.
 * With `strict`, whatever a server on the CPU does not need is refused too, above all opening files. By seccomp.
 * NULL when that is in force from now on, else a few words why it is not. */
const char *sandbox_calls(bool strict);
#endif
