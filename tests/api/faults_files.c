/* faults_files.c - each public call on files and pictures with its n-th allocation failing: it says so, leaks nothing, and makes no
 * half of a file. */
#include "centra.h"
#include "tests/api/own.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 20000 };

static char where[512];

static const char *in_folder(const char *name)
{
    static char path[4][600];
    static unsigned turn;
    char *out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", where, name);
    return out;
}

/* Runs `call` until none of its allocations fails any more; `step` at a time. */
static void check_each(const char *what, centra_status (*call)(void), size_t step)
{
    const size_t live = alloc_live();
    bool done = false;
    size_t n = 1;
    for (; n < MOST && !done; n += step) {
        alloc_fail_at(n);
        const centra_status st = call();
        done = !alloc_did_fail();
        alloc_fail_at(0);
        if (st != (done ? CENTRA_OK : CENTRA_MEMORY))
            test_failed(__FILE__, __LINE__, "%s with allocation %zu failing gives %s (%s)", what, n,
                        centra_status_name(st), centra_message());
        if (!done && !*centra_message()) test_failed(__FILE__, __LINE__, "%s says nothing at allocation %zu", what, n);
        if (alloc_live() != live) {
            test_failed(__FILE__, __LINE__, "%s leaks %zu blocks when allocation %zu fails", what, alloc_live() - live,
                        n);
            return;
        }
    }
    if (!done) test_failed(__FILE__, __LINE__, "%s still allocates after %zu", what, n);
}
#define CHECK_EACH(call, step) check_each(#call, call, step)

static const char SPEC[] = "synth:3?side=16&train=2&val=1&test=2&pictures=3";

static centra_status make_set(void)
{
    const centra_status st = centra_data_synth(SPEC, in_folder("new"), NULL);
    if (st == CENTRA_OK && rename(in_folder("new"), in_folder("set"))) return CENTRA_IO;
    return st;
}

static centra_status use_data(void)
{
    centra_data *d = NULL;
    centra_picture p = {0};
    size_t support[2], queries[2];
    int64_t labels[2];
    centra_status st = centra_data_open(in_folder("set"), "test", &d);
    if (st == CENTRA_OK) st = centra_data_picture(d, 1, &p);
    if (st == CENTRA_OK) st = centra_data_episode(d, 2, 1, 1, 7, 0, support, queries, labels);
    centra_picture_free(&p);
    centra_data_close(d);
    return st;
}

static centra_status use_synth(void)
{
    centra_data *d = NULL;
    centra_picture p = {0};
    centra_status st = centra_data_open(SPEC, "train", &d);
    if (st == CENTRA_OK) st = centra_data_picture(d, 0, &p);
    centra_picture_free(&p);
    centra_data_close(d);
    return st;
}

static centra_status check_set(void)
{
    centra_data_report *r = NULL;
    const centra_status st = centra_data_check(in_folder("set"), NULL, &(centra_data_watch){.threads = 1}, &r);
    if (st == CENTRA_OK && centra_data_unreadable_at(r, 0)) return CENTRA_FORMAT;
    centra_data_report_free(r);
    return st;
}

static centra_status pack_set(void)
{
    centra_pack_result made = {0};
    unlink(in_folder("set.pack"));
    const centra_status st = centra_data_pack(in_folder("set"), in_folder("set.pack"),
                                              &(centra_pack_options){.side = 8}, &(centra_data_watch){.threads = 1},
                                              &made);
    const bool there = access(in_folder("set.pack"), F_OK) == 0;
    if (there != (st == CENTRA_OK) || (there && (made.skipped || made.pictures != 15))) return CENTRA_FORMAT;
    return st;
}

static centra_status split_set(void)
{
    const double parts[3] = {1, 1, 0};
    centra_split_result made;
    return centra_data_split(in_folder("set/train"), parts, 1, &(centra_data_watch){.threads = 1}, &made);
}

static centra_status read_weights(void)
{
    centra_weights *w = NULL;
    char hex[65];
    centra_status st = centra_weights_open(own_model_path(), &w);
    if (st == CENTRA_OK) st = centra_weights_fingerprint(w, hex);
    if (st == CENTRA_OK) st = centra_weights_convert(w, "safetensors", in_folder("copy.safetensors"));
    centra_weights_close(w);
    return st;
}

static centra_status read_model(void)
{
    centra_model *m = NULL;
    centra_support *s = NULL;
    centra_status st = centra_model_open(own_model_path(), &m);
    if (st == CENTRA_OK) st = centra_support_new(m, &s);
    centra_support_free(s);
    centra_model_close(m);
    return st;
}

static centra_status ask_shelf(void)
{
    const char *name, *path;
    return centra_model_shipped(0, &name, &path);
}

static centra_picture sample; /* 12 x 10 */

static centra_status use_picture(void)
{
    centra_picture small = {0}, seen = {0}, marked = {0}, again = {0};
    unsigned char *png = NULL;
    static float input[3 * 8 * 8], map[4] = {0, 1, 2, 3};
    size_t n = 0;
    centra_status st = centra_picture_resize(&sample, 5, 7, &small);
    if (st == CENTRA_OK) st = centra_picture_seen(&sample, 8, &seen);
    if (st == CENTRA_OK) st = centra_picture_input(&sample, 8, input);
    if (st == CENTRA_OK) st = centra_picture_overlay(&sample, map, 2, 2, &marked);
    if (st == CENTRA_OK) st = centra_picture_png(&sample, &png, &n);
    if (st == CENTRA_OK) st = centra_picture_parse("sample", png, n, &again);
    centra_picture_free(&small);
    centra_picture_free(&seen);
    centra_picture_free(&marked);
    centra_picture_free(&again);
    centra_free(png);
    return st;
}

static centra_status use_cells(void)
{
    size_t cells = 0;
    static float out[13 * 3 * 8 * 8];
    centra_option_info o;
    centra_status st = centra_extractor_cells("grid-3,2", &cells);
    if (st == CENTRA_OK && cells != 13) return CENTRA_SHAPE;
    if (st == CENTRA_OK) st = centra_picture_cells(&sample, "grid-3,2", 8, out);
    return st == CENTRA_OK ? centra_net_option(0, 0, &o) : st;
}

static centra_status ask_file(void)
{
    centra_picture p = {0};
    const centra_status st = centra_picture_read(in_folder("one.png"), &p);
    centra_picture_free(&p);
    return st;
}

static bool write_sample(void)
{
    unsigned char *png = NULL;
    size_t n = 0;
    FILE *f = fopen(in_folder("one.png"), "wb");
    sample = own_picture(1, 5, 12, 10);
    const bool good = f && sample.rgb && centra_picture_png(&sample, &png, &n) == CENTRA_OK &&
                      fwrite(png, 1, n, f) == n;
    centra_free(png);
    return f && fclose(f) == 0 && good;
}

TEST(calls_on_pictures_survive_failing_allocations)
{
    snprintf(where, sizeof where, "%s", test_folder());
    REQUIRE(write_sample());
    CHECK_EACH(use_picture, 1);
    CHECK_EACH(use_cells, 1);
    CHECK_EACH(ask_file, 1);
    centra_picture_free(&sample);
}

TEST(calls_on_data_sets_survive_failing_allocations)
{
    snprintf(where, sizeof where, "%s", test_folder());
    CHECK_EACH(make_set, 1);
    CHECK_EACH(use_data, 1);
    CHECK_EACH(use_synth, 1);
    CHECK_EACH(check_set, 1);
    CHECK_EACH(pack_set, 1);
    CHECK_EACH(split_set, 1);
}

TEST(calls_on_weights_and_models_survive_failing_allocations)
{
    snprintf(where, sizeof where, "%s", test_folder());
    CHECK_EACH(read_weights, 1);
    CHECK_EACH(read_model, 1);
    CHECK_EACH(ask_shelf, 1);
}
