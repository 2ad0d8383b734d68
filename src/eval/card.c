/* card.c - models in a few words of metadata; card_read.c has the way back. */
#include "eval/card.h"
#include <string.h>

static void add_numbers(text *to, const float v[3])
{
    char number[NUMBER_BYTES];
    for (int i = 0; i < 3; i++) {
        number_text((double)v[i], number);
        text_addf(to, "%s%s", i ? " " : "", number);
    }
}

status card_write(const struct model *m, const struct transform *t, struct card_line out[CARD_LINES])
{
    static const char *const keys[CARD_LINES] = {"backbone", "head",      "options", "extractor", "input",
                                                 "pad",      "transform", "mean",    "std"};
    status st = OK;
    for (size_t i = 0; i < CARD_LINES; i++) out[i] = (struct card_line){.key = keys[i]};
    text_add(&out[0].value, m->net->name);
    text_add(&out[1].value, m->head ? m->head->name : "");
    options_text(m->net->options, "net.", m->net_settings, &out[2].value);
    if (m->head) options_text(m->head->options, "head.", m->head_settings, &out[2].value);
    extractor_add_name(&m->extractor, &out[3].value);
    text_addf(&out[4].value, "%zu", t->side);
    text_addf(&out[5].value, "%zu", t->pad);
    text_add(&out[6].value, card_transforms[t->kind]);
    add_numbers(&out[7].value, t->mean);
    add_numbers(&out[8].value, t->std);
    for (size_t i = 0; i < CARD_LINES && st == OK; i++) st = text_status(&out[i].value);
    return st;
}

void card_add_setup(const struct net *net, const void *net_settings, const struct extractor *e,
                    const struct transform *t, text *to)
{
    text options = {0};
    options_text(net->options, "", net_settings, &options);
    if (to->st == OK) to->st = options.st;
    text_addf(to, "%zu+%zu %s, ", t->side, t->pad, card_transforms[t->kind]);
    extractor_add_name(e, to);
    text_addf(to, ", %s %s, mean ", net->name, text_string(&options));
    text_free(&options);
    add_numbers(to, t->mean);
    text_add(to, ", std ");
    add_numbers(to, t->std);
}

void card_free(struct card_line lines[CARD_LINES])
{
    for (size_t i = 0; i < CARD_LINES; i++) text_free(&lines[i].value);
}
