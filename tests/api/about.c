/* about.c - what the library says of itself. */
#include "centra.h"
#include "heads/head.h"
#include "tests/test.h"
#include <stdio.h>

TEST(version_is_that_of_the_header)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%d.%d.%d", CENTRA_VERSION_MAJOR, CENTRA_VERSION_MINOR, CENTRA_VERSION_PATCH);
    EXPECT_TEXT(centra_version(), wanted);
    EXPECT_TEXT(centra_status_name(CENTRA_OK), "success");
    EXPECT_TEXT(centra_status_name(CENTRA_MEMORY), "no memory");
}

TEST(heads_are_listed_in_order_with_their_options)
{
    size_t n = 0;
    const char *before = "";
    while (head_table[n]) n++;
    EXPECT_INT(centra_head_count(), n);
    for (size_t i = 0; i < n; i++) {
        centra_head_info h;
        EXPECT_OK((status)centra_head_describe(i, &h));
        EXPECT_TEXT(h.name, head_table[i]->name);
        EXPECT(strcmp(before, h.name) < 0);
        EXPECT(h.title && *h.title && h.paper && *h.paper);
        EXPECT_INT(h.probabilities, head_table[i]->probabilities);
        EXPECT_INT(h.centrality, head_table[i]->walk != NULL);
        EXPECT_INT(h.pools, head_table[i]->pools);
        EXPECT_INT(h.base, head_table[i]->base);
        for (size_t k = 0; k < h.option_count; k++) {
            centra_option_info o;
            EXPECT_OK((status)centra_head_option(i, k, &o));
            EXPECT_TEXT(o.name, head_table[i]->options[k].name);
            EXPECT(o.help && *o.help && *o.type);
        }
        centra_option_info o;
        EXPECT_STATUS((status)centra_head_option(i, h.option_count, &o), ST_USAGE);
        before = h.name;
    }
    centra_head_info h;
    EXPECT_STATUS((status)centra_head_describe(n, &h), ST_USAGE);
    EXPECT(strstr(centra_message(), "there is no head"));
    EXPECT_STATUS((status)centra_head_describe(0, NULL), ST_USAGE);
    EXPECT_STATUS((status)centra_head_option(0, 0, NULL), ST_USAGE);
}

static void find_head(const char *name, size_t *index)
{
    centra_head_info h;
    for (*index = 0; *index < centra_head_count(); ++*index)
        if (centra_head_describe(*index, &h) == CENTRA_OK && !strcmp(h.name, name)) return;
    test_failed(__FILE__, __LINE__, "there is no head %s", name);
}

TEST(options_of_a_head_in_words)
{
    size_t katz;
    centra_option_info o;
    find_head("mcl-katz", &katz);
    EXPECT_OK((status)centra_head_option(katz, 2, &o));
    EXPECT_TEXT(o.name, "alpha");
    EXPECT_TEXT(o.type, "float");
    EXPECT_TEXT(o.standard, "0.5");
    EXPECT_TEXT(o.range, "between 0 and 1, exclusive");
    EXPECT(!o.choices);
    EXPECT_OK((status)centra_head_option(katz, 3, &o));
    EXPECT_TEXT(o.type, "name");
    EXPECT_TEXT(o.standard, "auto");
    EXPECT_TEXT(o.range, "one of auto, full, block, reduced, deflated, qr, pinv, iterate");
    REQUIRE(o.choices);
    EXPECT_TEXT(o.choices[7], "iterate");
    EXPECT(!o.choices[8]);
}

TEST(kernels_and_instruction_sets_are_listed)
{
    size_t isas = 0;
    bool portable = false;
    EXPECT(centra_kernel_count() > 20);
    for (size_t i = 0; i < centra_kernel_count(); i++) EXPECT(centra_kernel_name(i) && *centra_kernel_name(i));
    EXPECT(!centra_kernel_name(centra_kernel_count()));
    for (; centra_isa_name(isas); isas++) portable = !strcmp(centra_isa_name(isas), "portable");
    EXPECT(isas > 0 && portable); /* the last, because the best comes first */
}

TEST(session_says_what_it_uses)
{
    centra_session *s = NULL;
    EXPECT_OK(
        (status)centra_session_open(&(centra_session_options){.threads = 3, .isa = "portable", .device = "cpu"}, &s));
    REQUIRE(s);
    EXPECT_INT(centra_session_threads(s), 3);
    EXPECT_TEXT(centra_session_isa(s), "portable");
    EXPECT_TEXT(centra_session_device(s), "cpu");
    centra_session_close(s);
    EXPECT_OK((status)centra_session_open(NULL, &s));
    EXPECT(centra_session_threads(s) >= 1);
    centra_session_close(s);
}
