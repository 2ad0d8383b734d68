/* sandbox_calls.c - system calls that stay possible, by seccomp: a small program for the kernel's packet filter. */
#include "serve/sandbox.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
static const uint32_t architecture = AUDIT_ARCH_X86_64;
#else
static const uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif
static const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
enum {
    X32 = 0x40000000 /* calls of another convention, with other numbers */,
    MOST_STEPS = 256,
    THREAD = 0x00010000 /* CLONE_THREAD */
};

static const int fatal[] = {
#define FATAL(name) SYS_##name,
#define REFUSED(name)
#define NEEDED(name)
#include "serve/sandbox_calls.def"
#undef FATAL
#undef REFUSED
};
static const int refused[] = {
#define FATAL(name)
#define REFUSED(name) SYS_##name,
#include "serve/sandbox_calls.def"
#undef REFUSED
#undef NEEDED
};
static const int needed[] = {
#define REFUSED(name)
#define NEEDED(name) SYS_##name,
#include "serve/sandbox_calls.def"
#undef FATAL
#undef REFUSED
#undef NEEDED
};

struct steps {
    struct sock_filter at[MOST_STEPS];
    unsigned short count;
};

static void step(struct steps *s, uint32_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
    s->at[s->count++] = (struct sock_filter){(uint16_t)code, if_true, if_false, value};
}

static void load(struct steps *s, size_t offset) { step(s, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void give(struct steps *s, uint32_t verdict) { step(s, BPF_RET | BPF_K, verdict, 0, 0); }

static void each(struct steps *s, const int *calls, size_t count, uint32_t verdict)
{
    for (size_t i = 0; i < count; i++) {
        step(s, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
        give(s, verdict);
    }
}

/* The call's argument decides: `yes` where `test` (BPF_JSET: any bit; BPF_JEQ: equal) holds for its low half, else `no`. */
static void judge(struct steps *s, int call, unsigned argument, uint16_t test, uint32_t value, uint32_t yes,
                  uint32_t no)
{
    step(s, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
    load(s, offsetof(struct seccomp_data, args) + 8 * argument); /* both processors have the low half first */
    step(s, BPF_JMP | test | BPF_K, value, 0, 1);
    give(s, yes);
    give(s, no);
}

static void write_steps(struct steps *s, bool strict)
{
    load(s, offsetof(struct seccomp_data, arch));
    step(s, BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
    give(s, SECCOMP_RET_KILL_PROCESS);
    load(s, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    step(s, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
    give(s, SECCOMP_RET_KILL_PROCESS);
#endif
    each(s, fatal, sizeof fatal / sizeof *fatal, SECCOMP_RET_KILL_PROCESS);
    each(s, refused, sizeof refused / sizeof *refused, refuse);
    judge(s, SYS_clone, 0, BPF_JSET, THREAD, SECCOMP_RET_ALLOW, refuse);
    each(s, (const int[]){SYS_clone3}, 1, SECCOMP_RET_ERRNO | ENOSYS);
    judge(s, SYS_tgkill, 0, BPF_JEQ, (uint32_t)getpid(), SECCOMP_RET_ALLOW, refuse);
    if (strict) {
        judge(s, SYS_mmap, 2, BPF_JSET, PROT_EXEC, refuse, SECCOMP_RET_ALLOW);
        judge(s, SYS_mprotect, 2, BPF_JSET, PROT_EXEC, refuse, SECCOMP_RET_ALLOW);
        each(s, needed, sizeof needed / sizeof *needed, SECCOMP_RET_ALLOW);
    }
    give(s, strict ? refuse : SECCOMP_RET_ALLOW);
}

const char *sandbox_calls(bool strict)
{
    _Static_assert(2 * (sizeof fatal + sizeof refused + sizeof needed) / sizeof *fatal + 32 < MOST_STEPS,
                   "the filter's steps have room");
    struct steps s = {0};
    write_steps(&s, strict);
    const struct sock_fprog program = {s.count, s.at};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return "this kernel keeps the right to new privileges";
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
        return "this kernel has no seccomp filters";
    return NULL;
}

#else

const char *sandbox_calls(bool strict)
{
    (void)strict;
    return "there is no filter of system calls for this system";
}

#endif
