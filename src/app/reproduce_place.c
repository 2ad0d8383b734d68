/* reproduce_place.c - where a row's files are, the lock on them, and what machine this is. */
#include "app/reproduce.h"
#include "base/file.h"
#include "base/plain.h"
#include "base/sha256.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

void reproduce_more(const struct call *c, text *to)
{
    for (size_t i = 0; i < c->text_count; i++) text_addf(to, "%s%s", i ? " " : "", c->texts[i]);
}

/* "-s1", and "-1f3a09bc" behind it for other settings than the row's. */
static void add_variant(const struct call *c, int64_t seed, bool own_settings, text *to)
{
    struct sha256 s;
    char hex[65];
    text_addf(to, "-s%jd", (intmax_t)seed);
    if (!own_settings || !c->text_count) return;
    sha256_begin(&s);
    for (size_t i = 0; i < c->text_count; i++) sha256_add(&s, c->texts[i], strlen(c->texts[i]) + 1);
    sha256_end(&s, hex);
    text_addf(to, "-%.8s", hex);
}

void reproduce_folder(const struct reproduction *p, const struct row_at *at, int64_t seed, bool own_settings, text *to)
{
    text_addf(to, "%s/%s/%s", p->settings->out, at->block->name, at->row->method);
    add_variant(p->call, seed, own_settings, to);
}

void reproduce_record_path(const struct reproduction *p, const struct row_at *at, int64_t seed, text *to)
{
    text_addf(to, "%s/%s--%s", text_string(&p->records), at->block->name, at->row->method);
    add_variant(p->call, seed, true, to);
    text_add(to, ".json");
}

status reproduce_lock(struct reproduction *p, const char *path, int *out)
{
    const int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0) return fail(ST_IO, "cannot write '%s': %s", path, plain_strerror(errno));
    if (flock(lock, LOCK_EX | LOCK_NB)) {
        progress_say(&p->progress, "waiting for another process, which has '%s'", path);
        while (flock(lock, LOCK_EX) && errno == EINTR) {}
    }
    *out = lock;
    return OK;
}

/* What stands behind "NAME" and a colon in a file of the system, without blanks around it. */
static bool add_fact(const char *path, const char *name, text *to)
{
    char line[512];
    bool found = false;
    FILE *f = fopen(path, "r");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, name, strlen(name))) continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        text_add(to, colon);
        found = *colon != '\0';
    }
    if (f) fclose(f);
    return found;
}

static bool add_gpu(text *to)
{
    static const char folder[] = "/proc/driver/nvidia/gpus";
    bool found = false;
    text path = {0};
    DIR *d = opendir(folder);
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        text_clear(&path);
        text_addf(&path, "%s/%s/information", folder, e->d_name);
        found = add_fact(text_string(&path), "Model", to);
    }
    if (d) closedir(d);
    text_free(&path);
    return found;
}

void reproduce_machine(const char *device, text *to)
{
    const bool gpu = !strncmp(device, "cuda", 4);
    if (gpu ? add_gpu(to) : add_fact("/proc/cpuinfo", "model name", to)) return;
    text_add(to, "unknown");
}
