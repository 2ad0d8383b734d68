/* models.c - transcripts of centra models: a file added, used by name everywhere, chosen and removed. */
#include "base/file.h"
#include "tests/api/netfile.h"
#include "tests/api/own.h"
#include "tests/app/program.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

#define FINGERPRINT "9b16e93c974bd0e11e32ddb3dfcce457f7913f8572d371a84bee5b9480c42b7a"

static const char *at(const char *name)
{
    static char path[4][700];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", test_folder(), name);
    return p;
}

static void settle(void) { setenv("XDG_DATA_HOME", at("data"), 1); }

static void add_mine(void)
{
    EXPECT_RUN(0,
               "mine added: conv4, side 84, fingerprint 9b16e93c974b...\n"
               "centra models default mine makes it the one that is taken unasked\n",
               "", "models", "add", own_model_path(), "--name", "mine", "--licence", "CC0-1.0", "--source",
               "our tests");
}

TEST(models_add_list_show_default_and_remove)
{
    settle();
    add_mine();
    struct ran r = program_run("", WORDS("models", "list"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out,
                  "mine                conv4     mcl-katz     84   0.5 MB  own               synthetic patterns    "
                  "           83.8 %\n"));
    struct ran same = program_run("", WORDS("list", "models"));
    EXPECT_TEXT(same.out, r.out);
    ran_free(&same);
    ran_free(&r);
    EXPECT_RUN(0, "resnet12-general\n", "", "models", "default");
    EXPECT_RUN(0, "mine\n", "", "models", "default", "mine");
    EXPECT_RUN(0, "{\n  \"default\": \"mine\"\n}\n", "", "models", "default", "--json");
    EXPECT_RUN(0, "resnet12-general\nconv4-mini\nconv4-cub\nconv4-cub-1shot\nresnet12-cub-1shot\nmine\n", "", "models",
               "list", "--names");
    r = program_run("", WORDS("models", "show", "mine"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "\nlicence           CC0-1.0\n") && strstr(r.out, "\nsource            our tests\n"));
    EXPECT(strstr(r.out, "\nadded from        conv4-synth.safetensors\n"));
    EXPECT(strstr(r.out, "\nfingerprint       " FINGERPRINT "\n"));
    EXPECT(strstr(r.out, "\ndefault           yes\n"));
    ran_free(&r);
    r = program_run("", WORDS("models", "show", "mine", "--json"));
    EXPECT(strstr(r.out, "\"licence\": \"CC0-1.0\"") && strstr(r.out, "\"added.file\": \"conv4-synth.safetensors\""));
    EXPECT(strstr(r.out, "\"from\": \"own\",\n  \"default\": true"));
    ran_free(&r);
    EXPECT_RUN(0, "it was the default, which now is resnet12-general\n", "", "models", "remove", "mine");
    EXPECT_RUN(0, "conv4-cub\n", "", "models", "default", "conv4-cub");
    EXPECT_RUN(0, "resnet12-general\n", "", "models", "default", "--reset");
    EXPECT_RUN(0, "resnet12-general\nconv4-mini\nconv4-cub\nconv4-cub-1shot\nresnet12-cub-1shot\n", "", "models",
               "list", "--names");
}

TEST(models_refuse_in_words)
{
    settle();
    add_mine();
    EXPECT_REFUSED(
        2, "centra models: there already is a model mine; give another --name, or remove it: centra models remove",
        "models", "add", own_model_path(), "--name", "mine");
    EXPECT_REFUSED(
        2, "centra models: there already is a model conv4-mini, which came with the library; give another --name",
        "models", "add", own_model_path(), "--name", "conv4-mini");
    EXPECT_REFUSED(
        2,
        "centra models: the model conv4-mini came with the library and cannot be removed; centra models default "
        "NAME chooses another one",
        "models", "remove", "conv4-mini");
    EXPECT_REFUSED(2, "centra models: there is no model 'nobody'; centra models list shows those that there are",
                   "models", "show", "nobody");
    EXPECT_REFUSED(2, "centra models: there is no model 'mime', did you mean mine?", "models", "show", "mime");
    EXPECT_REFUSED(2, "centra models: there is no model 'mime', did you mean mine?", "models", "default", "mime");
    EXPECT_REFUSED(2, "centra models: there is no model 'mime', did you mean mine?", "models", "remove", "mime");
    EXPECT_REFUSED(2, "centra weights: there is neither a file nor a model 'mime', did you mean mine?", "weights",
                   "show", "mime");
    EXPECT_REFUSED(2, "centra eval: there is neither a file nor a model 'mime', did you mean mine?", "eval",
                   "--weights", "mime", "--data", "synth:1");
    EXPECT_REFUSED(2, "centra models: something is missing: centra models add FILE", "models", "add");
    EXPECT_REFUSED(2, "centra models: too much: centra models list", "models", "list", "mine");
    EXPECT_REFUSED(2, "centra models: either a name or --reset, not both: centra models default", "models", "default",
                   "mine", "--reset");
    EXPECT_REFUSED(1, "centra models: cannot open 'none.pth': No such file or directory", "models", "add", "none.pth");
    EXPECT_REFUSED(
        1,
        "centra models: 'x' is for no network that is known here; the nearest is conv4: 1 missing: "
        "layer2.1.weight; 1 extra: fc.weight",
        "models", "add",
        netfile_write(at("x"), &(struct netfile){.net = "conv4", .without = "layer2.1.weight", .also = "fc.weight"})
            ? "x"
            : "");
    EXPECT_REFUSED(2, "centra models: conv4 needs pictures of at least 16 x 16 pixels, but the side is 15", "models",
                   "add", own_model_path(), "--name", "blind", "--side", "15");
    EXPECT_RUN(0, "resnet12-general\nconv4-mini\nconv4-cub\nconv4-cub-1shot\nresnet12-cub-1shot\nmine\n", "", "models",
               "list", "--names");
}

/* A terminal must not be steered by what a file says of itself. */
TEST(models_show_keeps_control_characters_to_itself)
{
    static const struct meta said[] = {{"licence", "free\x1b[2J\nfor all"}};
    settle();
    REQUIRE(netfile_write(at("x.safetensors"),
                          &(struct netfile){.net = "conv4", .options = "net.width=2", .metas = 1, .meta = said}));
    struct ran r = program_run("", WORDS("models", "add", at("x.safetensors")));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    r = program_run("", WORDS("models", "show", "x"));
    EXPECT(strstr(r.out, "licence      free?[2J?for all\n"));
    ran_free(&r);
}

/* What another project says under our names means something else: such a file has to be added first, or its network named. */
TEST(files_of_other_projects_are_told_to_be_added)
{
    static const struct meta said[] = {{"mean", "[0.5, 0.5, 0.5]"}, {"input", "1,224,224,3"}};
    settle();
    REQUIRE(netfile_write(at("theirs"),
                          &(struct netfile){.net = "conv4", .options = "net.width=2", .metas = 2, .meta = said}));
    EXPECT_REFUSED(
        1,
        "centra encode: 'theirs' does not say which network it is for; give a model that centra train made, or "
        "add it with centra models add",
        "encode", "--model", "theirs", "--out", "x.npy", "x.png");
    EXPECT_REFUSED(2, "centra eval: 'theirs' does not say which network it is for; name the backbone", "eval",
                   "--weights", "theirs", "--data", "synth:1");
}

static void save_picture(const char *name, size_t kind, uint64_t seed)
{
    centra_picture p = own_picture(kind, seed, 100, 100);
    unsigned char *bytes = NULL;
    size_t n = 0;
    struct file_writer w;
    EXPECT_OK((status)centra_picture_png(&p, &bytes, &n));
    EXPECT_OK(file_begin(at(name), &w));
    file_put(&w, bytes, n);
    EXPECT_OK(file_commit(&w));
    centra_free(bytes);
    centra_picture_free(&p);
}

TEST(commands_take_an_added_model_by_its_name_and_as_the_default)
{
    settle();
    add_mine();
    for (size_t k = 0; k < 2; k++) {
        char name[64];
        snprintf(name, sizeof name, "known/kind%zu", k);
        EXPECT_OK(folder_make(at(name)));
        for (uint64_t i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "known/kind%zu/%d.png", k, (int)i);
            save_picture(name, k, i);
        }
    }
    save_picture("new.png", 1, 9);
    struct ran named = program_run(
        "", WORDS("classify", "--model", "mine", "--support", "known", "--save-pack", "p", "new.png"));
    EXPECT_INT(named.status, 0);
    EXPECT(strstr(named.out, "kind1"));
    ran_free(&named);
    struct ran other = program_run("", WORDS("classify", "--support", "p", "new.png"));
    EXPECT_INT(other.status, 2); /* the pack of another model than the default */
    ran_free(&other);
    EXPECT_RUN(0, "mine\n", "", "models", "default", "mine");
    struct ran unasked = program_run("", WORDS("classify", "--support", "p", "new.png"));
    EXPECT_INT(unasked.status, 0);
    ran_free(&unasked);
    EXPECT_RUN(0, "", "", "encode", "--model", "mine", "--out", "a.npy", "new.png");
    EXPECT_RUN(0, "", "", "encode", "--weights", own_model_path(), "--out", "b.npy", "new.png");
    char *a = NULL, *b = NULL;
    size_t n = 0, m = 0;
    EXPECT_OK(file_read(at("a.npy"), 1 << 24, &a, &n));
    EXPECT_OK(file_read(at("b.npy"), 1 << 24, &b, &m));
    EXPECT(n > 1000 && n == m && !memcmp(a, b, n));
    free(a);
    free(b);
    struct ran e = program_run("", WORDS("eval", "--weights", "mine", "--data", "known", "--way", "2", "--query", "1",
                                         "--episodes", "3", "--quiet"));
    EXPECT_INT(e.status, 0);
    EXPECT(strstr(e.out, "mcl-katz"));
    ran_free(&e);
    struct ran x = program_run("",
                               WORDS("explain", "--model", "mine", "--support", "known", "--out", "why", "new.png"));
    EXPECT_INT(x.status, 0);
    ran_free(&x);
}

TEST(completions_ask_for_the_names_of_models)
{
    struct ran r = program_run("", WORDS("help", "--completion", "bash"));
    EXPECT(strstr(
        r.out,
        "classify:--model) COMPREPLY=($(compgen -f -W \"$(centra models list --names 2>/dev/null)\" -- \"$word\"))"));
    ran_free(&r);
    r = program_run("", WORDS("help", "--completion", "fish"));
    EXPECT(strstr(r.out, "-l model -d") && strstr(r.out, "-r -F -a '(centra models list --names 2>/dev/null)'"));
    ran_free(&r);
}
