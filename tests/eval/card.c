/* card.c - a model in metadata reads back as it was written, and nonsense is refused. */
#include "eval/card.h"
#include "tests/ops/world.h"
#include "tests/test.h"

static const char *of_lines(void *context, const char *key)
{
    const struct card_line *lines = context;
    for (int i = 0; i < CARD_LINES; i++)
        if (!strcmp(lines[i].key, key)) return text_string(&lines[i].value);
    return NULL;
}

TEST(card_reads_back_what_was_written)
{
    struct world w;
    struct model m, again;
    struct card_line lines[CARD_LINES], second[CARD_LINES];
    arena *memory = arena_new(1000);
    struct transform t = transform_standard(TRANSFORM_PAD_CROP, 64, 5);
    struct card c = {.transform = transform_standard(TRANSFORM_RESIZE_CROP, 84, 8)};
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
    REQUIRE(model_new(w.dev, "resnet12", "mcl-katz", &m) == OK);
    EXPECT_OK(option_set(m.head->options, "--head.", "gamma", "41.5", m.head_settings));
    EXPECT_OK(extractor_parse("pyramid-5,3", &m.extractor));
    t.mean[1] = 0.25f;
    EXPECT_OK(card_write(&m, &t, lines));
    EXPECT_OK(card_read("f", of_lines, lines, &c));
    EXPECT_TEXT(c.backbone, "resnet12");
    EXPECT_TEXT(c.head, "mcl-katz");
    EXPECT_TEXT(c.extractor, "pyramid-5,3");
    EXPECT(c.transform.kind == TRANSFORM_PAD_CROP && c.transform.side == 64 && c.transform.pad == 5);
    EXPECT(!memcmp(c.transform.mean, t.mean, sizeof t.mean) && !memcmp(c.transform.std, t.std, sizeof t.std));
    REQUIRE(model_new(w.dev, "resnet12", "mcl-katz", &again) == OK);
    EXPECT_OK(card_options(&c, "net.", again.net->options, again.net_settings, memory));
    EXPECT_OK(card_options(&c, "head.", again.head->options, again.head_settings, memory));
    EXPECT(!memcmp(again.head_settings, m.head_settings, m.head->settings_bytes));
    EXPECT_OK(card_write(&again, &t, second));
    EXPECT_TEXT(text_string(&second[2].value), text_string(&lines[2].value));
    EXPECT(strstr(text_string(&lines[2].value), "net.widths=64,160,320,640"));
    card_free(second);
    card_free(lines);
    arena_free(memory);
    model_free(&again);
    model_free(&m);
    world_close(&w);
}

static const char *of_pair(void *context, const char *key)
{
    const char *const *pair = context;
    return strcmp(pair[0], key) ? NULL : pair[1];
}

TEST(card_refuses_nonsense_and_leaves_what_is_absent)
{
    static const char *const bad[][2] = {
        {"input", "0"},      {"input", "84x"},      {"input", "1e9"},      {"pad", "-1"},    {"transform", "fold"},
        {"mean", "0.1 0.2"}, {"mean", "1e300 0 0"}, {"std", "1e-300 1 1"}, {"std", "1 0 1"}, {"std", "1 x 1"}};
    struct card c = {.backbone = "conv4", .transform = transform_standard(TRANSFORM_RESIZE_CROP, 84, 8)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT_STATUS(card_read("f", of_pair, (void *)(uintptr_t)bad[i], &c), ST_FORMAT);
        EXPECT(strstr(error_text(), "'f': its "));
    }
    EXPECT_OK(card_read("f", of_pair, (void *)(uintptr_t)(const char *const[]){"other", "x"}, &c));
    EXPECT_TEXT(c.backbone, "conv4");
    EXPECT_INT(c.transform.side, 84);
}
