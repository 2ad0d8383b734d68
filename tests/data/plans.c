/* Tests of data/plans.h. */
#include "data/plans.h"
#include "base/file.h"
#include "base/plain.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEADING "{\"centra\":\"episodes\",\"version\":1,\"data\":\"" HEX "\",\"episodes\":1}\n"
#define EPISODE \
    "{\"way\":2,\"shot\":1,\"query\":1,\"classes\":[4,0],\"support\":[81,7],\"queries\":[3,90],\"labels\":[1,0]}\n"

static const char *list_path(void)
{
    static char path[4096];
    plain_snprintf(path, sizeof path, "%s/list.jsonl", test_folder());
    return path;
}

/* Reads `bytes` as a file. */
static status read_text(const char *bytes, arena *memory, struct plan_list *out)
{
    FILE *f = fopen(list_path(), "wb");
    if (!f) return fail(ST_IO, "cannot write the test's file");
    fputs(bytes, f);
    fclose(f);
    return plan_list_read(list_path(), memory, out);
}

TEST(plans_read_back_as_they_were_written)
{
    size_t first[] = {0, 20, 40, 60, 80, 100}, size[] = {20, 20, 20, 20, 20, 20};
    struct sampler *s = NULL;
    struct plan plans[7];
    struct plan_list list = {.fingerprint = HEX, .count = 7, .plans = plans}, back = {.count = 0};
    arena *memory = arena_new(1024);
    REQUIRE(memory && sampler_new(6, first, size, 5, 2, 3, 1, &s) == OK);
    for (size_t i = 0; i < 7; i++) {
        EXPECT_OK(plan_new(5, 2, 3, &plans[i]));
        EXPECT_OK(sampler_episode(s, 0, i, &plans[i]));
    }
    EXPECT_OK(plan_list_write(list_path(), &list));
    EXPECT_OK(plan_list_read(list_path(), memory, &back));
    EXPECT_INT(back.count, 7);
    EXPECT_TEXT(back.fingerprint, HEX);
    for (size_t i = 0; i < back.count; i++) {
        const struct plan *a = &plans[i], *b = &back.plans[i];
        EXPECT(b->way == 5 && b->shot == 2 && b->query == 3);
        EXPECT(!memcmp(a->classes, b->classes, 5 * sizeof *a->classes));
        EXPECT(!memcmp(a->support, b->support, 10 * sizeof *a->support));
        EXPECT(!memcmp(a->queries, b->queries, 15 * sizeof *a->queries));
        EXPECT(!memcmp(a->query_labels, b->query_labels, 15 * sizeof *a->query_labels));
    }
    EXPECT_OK(plan_list_fits("x", &back, HEX, 6, 120));
    for (size_t i = 0; i < 7; i++) plan_free(&plans[i]);
    sampler_free(s);
    arena_free(memory);
}

TEST(plans_broken_lists_are_refused_with_the_line)
{
    static const struct {
        const char *bytes, *line, *says;
    } broken[] = {
        {"", "line 1", "ends"},
        {"[]\n", "line 1", "no object"},
        {"{\"centra\":\"episodes\",\"version\":2,\"data\":\"" HEX "\",\"episodes\":0}\n", "line 1", "version 2"},
        {"{\"centra\":\"episodes\",\"version\":1,\"data\":\"0\",\"episodes\":0}\n", "line 1", "SHA-256"},
        {"{\"centra\":\"walks\",\"version\":1,\"data\":\"" HEX "\",\"episodes\":0}\n", "line 1", "no list"},
        {"{\"centra\":\"episodes\",\"version\":1,\"data\":\"" HEX "\",\"episodes\":0,\"x\":1}\n", "line 1", "'x'"},
        {"{\"centra\":\"episodes\",\"version\":1,\"data\":\"" HEX "\",\"episodes\":1000000}\n", "line 1", "promises"},
        {HEADING, "line 1", "promises"},
        {HEADING "{\"way\":2}\n", "line 2", "no 'shot'"},
        {HEADING
         "{\"way\":2,\"shot\":1,\"query\":1,\"classes\":[4,0],\"support\":[81,7],\"queries\":[3,90],\"labels\":[1,0]}",
         "line 2", "ends"},
        {HEADING EPISODE EPISODE, "line 3", "ended"},
        {HEADING "{\"way\":0,\"shot\":1,\"query\":1,\"classes\":[],\"support\":[],\"queries\":[],\"labels\":[]}\n",
         "line 2", "is 0"},
        {HEADING
         "{\"way\":2,\"shot\":1,\"query\":1,\"classes\":[4],\"support\":[81,7],\"queries\":[3,90],\"labels\":[1,0]}\n",
         "line 2", "'classes'"},
        {HEADING "{\"way\":2,\"shot\":1,\"query\":1,\"classes\":[4,4],\"support\":[81,7],\"queries\":[3,90],\"labels\":"
                 "[1,0]}\n",
         "line 2", "class is there twice"},
        {HEADING "{\"way\":2,\"shot\":1,\"query\":1,\"classes\":[4,0],\"support\":[81,7],\"queries\":[7,90],\"labels\":"
                 "[1,0]}\n",
         "line 2", "picture is there twice"},
        {HEADING "{\"way\":2,\"shot\":1,\"query\":1,\"classes\":[4,0],\"support\":[81,7],\"queries\":[3,90],\"labels\":"
                 "[1,1]}\n",
         "line 2", "label 0"},
        {HEADING "{\"way\":2,\"shot\":1,\"query\":1,\"classes\":[4,0],\"support\":[81,7],\"queries\":[3,90],\"labels\":"
                 "[1,2]}\n",
         "line 2", "'labels'"},
        {HEADING "{\"way\":2,\"shot\":1,\"query\":1,\"classes\":[4,0],\"support\":[81,-7],\"queries\":[3,90],"
                 "\"labels\":[1,0]}\n",
         "line 2", "'support'"},
        {HEADING "{\"way\":2,\"shot\":1048576,\"query\":1,\"classes\":[4,0],\"support\":7,\"queries\":[3,90],"
                 "\"labels\":[1,0]}\n",
         "line 2", "'support'"},
    };
    arena *memory = arena_new(1024);
    struct plan_list list = {.count = 0};
    REQUIRE(memory);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        const status st = read_text(broken[i].bytes, memory, &list);
        if (st == OK || !strstr(error_text(), broken[i].line) || !strstr(error_text(), broken[i].says))
            test_failed(__FILE__, __LINE__, "list %zu gives \"%s\", wanted \"%s\" and \"%s\"", i, error_text(),
                        broken[i].line, broken[i].says);
    }
    EXPECT_OK(read_text(HEADING EPISODE, memory, &list));
    EXPECT_INT(list.plans[0].queries[1], 90);
    arena_free(memory);
}

TEST(plans_of_other_data_are_refused)
{
    arena *memory = arena_new(1024);
    struct plan_list list = {.count = 0};
    char other[65] = HEX;
    REQUIRE(memory && read_text(HEADING EPISODE, memory, &list) == OK);
    other[63] = '0';
    EXPECT_OK(plan_list_fits("a", &list, HEX, 5, 91));
    EXPECT_STATUS(plan_list_fits("a", &list, other, 5, 91), ST_VALUE);
    EXPECT_STATUS(plan_list_fits("a", &list, HEX, 4, 91), ST_VALUE);
    EXPECT_STATUS(plan_list_fits("a", &list, HEX, 5, 90), ST_VALUE);
    arena_free(memory);
}
