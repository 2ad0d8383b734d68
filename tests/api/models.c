/* models.c - own models: what is recognised, what is refused, and that a store is whole whatever happens. */
#include "base/file.h"
#include "tests/api/netfile.h"
#include "tests/api/own.h"
#include "tests/test.h"
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A path in the test's folder, of which a few are valid at once. */
static const char *at(const char *name)
{
    static _Thread_local char path[4][700];
    static _Thread_local unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", test_folder(), name);
    return p;
}

/* The store is the test's own, and the shelf of shipped models has one, "standard". */
static void settle(void)
{
    char *bytes = NULL;
    size_t n = 0;
    struct file_writer w;
    setenv("XDG_DATA_HOME", at("data"), 1);
    setenv("CENTRA_MODELS", at("shipped"), 1);
    EXPECT_OK(folder_make(at("shipped")));
    EXPECT_OK(file_read(own_model_path(), 1 << 24, &bytes, &n));
    EXPECT_OK(file_begin(at("shipped/standard.safetensors"), &w));
    file_put(&w, bytes, n);
    EXPECT_OK(file_commit(&w));
    free(bytes);
}

static void leave(void) { unsetenv("CENTRA_MODELS"); }

/* Files in the store, whatever they are called. */
static size_t store_files(void)
{
    size_t n = 0;
    DIR *d = opendir(at("data/centra/models"));
    if (!d) return 0;
    for (const struct dirent *e; (e = readdir(d));) n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return n;
}

static const char *note_of(const centra_model *m, const char *key)
{
    const char *k, *value;
    for (size_t i = 0; centra_model_note(m, i, &k, &value) == CENTRA_OK; i++)
        if (!strcmp(k, key)) return value;
    return "";
}

static status add_as(const char *path, const char *name)
{
    return (status)centra_model_add(path, &(centra_model_add_options){.name = name}, NULL);
}

TEST(networks_are_recognised_by_their_arrays_under_both_names)
{
    static const char *const nets[][2] = {{"conv4", "net.width=4"},
                                          {"conv4-19", "net.width=3"},
                                          {"resnet12", "net.widths=4,5,6,7"},
                                          {"wrn", "net.depth=16 net.widen=2"}};
    settle();
    for (size_t i = 0; i < 8; i++) {
        const char *const *net = nets[i / 2];
        const struct netfile f = {
            .net = net[0], .options = net[1], .prefix = i % 2 ? "encoder." : NULL, .also = "pre.cat"};
        char file[64];
        const char *name = NULL;
        centra_model *m = NULL;
        centra_model_info about;
        snprintf(file, sizeof file, "%s-%zu.safetensors", net[0], i);
        REQUIRE(netfile_write(at(file), &f));
        EXPECT_OK((status)centra_model_add(at(file), NULL, &name));
        EXPECT_OK((status)centra_model_open(name, &m));
        REQUIRE(m);
        centra_model_describe(m, &about);
        EXPECT_TEXT(about.backbone, net[0]);
        EXPECT_INT(about.side, 84);
        EXPECT(strstr(note_of(m, "options"), net[1]) == note_of(m, "options"));
        EXPECT_TEXT(note_of(m, "added.file"), file);
        EXPECT_TEXT(note_of(m, "added.fingerprint"), about.fingerprint);
        centra_session *s = NULL;
        centra_classifier *c = NULL;
        EXPECT_OK((status)centra_session_open(&(centra_session_options){.threads = 1}, &s));
        EXPECT_OK((status)centra_classifier_new(s, m, NULL, &c));
        centra_classifier_free(c);
        centra_session_close(s);
        centra_model_close(m);
    }
    EXPECT_INT(store_files(), 8);
    leave();
}

/* As the released code saves: a dictionary within a dictionary, "encoder." before every name, counters of norms. */
TEST(a_released_checkpoint_becomes_a_model_with_our_names)
{
    centra_model *m = NULL;
    centra_weights *w = NULL;
    centra_model_info about;
    centra_array_info a;
    bool ours = false;
    settle();
    EXPECT_OK(add_as(CENTRA_SOURCE_DIR "/tests/weights/fixtures/conv4.pth", "released"));
    EXPECT_OK((status)centra_model_open("released", &m));
    REQUIRE(m);
    centra_model_describe(m, &about);
    EXPECT_TEXT(about.backbone, "conv4");
    EXPECT_TEXT(note_of(m, "options"), "net.width=2");
    EXPECT_OK((status)centra_weights_open(about.path, &w));
    REQUIRE(w);
    for (size_t i = 0; centra_weights_array(w, i, &a) == CENTRA_OK; i++) {
        EXPECT(strncmp(a.name, "encoder.", 8));
        ours = ours || !strcmp(a.name, "layer4.1.running_var");
    }
    EXPECT(ours);
    centra_weights_close(w);
    centra_model_close(m);
    leave();
}

TEST(a_model_that_says_what_it_is_keeps_its_words_and_its_fingerprint)
{
    const centra_model_add_options o = {.name = "mine", .licence = "CC0-1.0", .source = "our tests"};
    centra_model *m = NULL, *before = NULL;
    centra_model_info a, b;
    settle();
    EXPECT_OK((status)centra_model_add(own_model_path(), &o, NULL));
    EXPECT_OK((status)centra_model_open("mine", &m));
    EXPECT_OK((status)centra_model_open(own_model_path(), &before));
    REQUIRE(m && before);
    centra_model_describe(m, &a);
    centra_model_describe(before, &b);
    EXPECT_TEXT(a.fingerprint, b.fingerprint);
    EXPECT_TEXT(a.data, b.data);
    EXPECT_TEXT(a.head, b.head);
    EXPECT_TEXT(note_of(m, "options"), note_of(before, "options"));
    EXPECT_TEXT(note_of(m, "recipe"), note_of(before, "recipe"));
    EXPECT_TEXT(note_of(m, "licence"), "CC0-1.0");
    EXPECT_TEXT(note_of(m, "source"), "our tests");
    EXPECT_TEXT(note_of(m, "added.sha256"), "e3ed1b82863512c44ba58e094011e653801572dec475d064e1aa3a3f82ae0ad9");
    centra_model_close(m);
    centra_model_close(before);
    leave();
}

TEST(files_that_fit_no_network_are_refused_and_nothing_is_kept)
{
    static const struct meta lie = {"backbone", "resnet12"}, strange = {"backbone", "vgg"};
    static const struct {
        struct netfile f;
        const char *said;
    } files[] = {
        {{.net = "conv4", .options = "net.width=4", .without = "layer3.1.bias"},
         "the nearest is conv4: 1 missing: layer3.1.bias"},
        {{.net = "conv4", .options = "net.width=4", .also = "layer9.weight"},
         "the nearest is conv4: 1 extra: layer9.weight"},
        {{.net = "conv4", .options = "net.width=4", .turned = "layer2.0.weight"},
         "the nearest is conv4: 1 of another shape: layer2.0.weight is [144], not [4, 4, 3, 3]"},
        {{.net = "conv4", .options = "net.width=4", .prefix = "backbone."},
         "has no array of any network that is known here"},
        {{.net = "conv4", .options = "net.width=4", .sick = "layer4.1.running_var"},
         "'layer4.1.running_var' has a value that is not finite"},
        {{.net = "conv4", .options = "net.width=4", .metas = 1, .meta = &lie}, "does not fit resnet12: 80 missing: "},
        {{.net = "conv4", .options = "net.width=4", .metas = 1, .meta = &strange}, "there is no network 'vgg'"},
    };
    settle();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        REQUIRE(netfile_write(at("f.safetensors"), &files[i].f));
        const status st = add_as(at("f.safetensors"), "spoilt");
        EXPECT(st == ST_FORMAT || st == ST_VALUE || st == ST_USAGE);
        if (!strstr(centra_message(), files[i].said))
            test_failed(__FILE__, __LINE__, "file %zu: \"%s\" lacks \"%s\"", i, centra_message(), files[i].said);
        EXPECT_INT(store_files(), 0);
    }
    leave();
}

TEST(files_that_are_cut_or_hostile_are_refused_and_nothing_is_kept)
{
    char *bytes = NULL;
    size_t n = 0;
    settle();
    EXPECT_OK(file_read(own_model_path(), 1 << 24, &bytes, &n));
    for (size_t part = 0; part < 8; part++) {
        struct file_writer w;
        EXPECT_OK(file_begin(at("half.safetensors"), &w));
        file_put(&w, bytes, n * part / 8);
        EXPECT_OK(file_commit(&w));
        EXPECT_STATUS(add_as(at("half.safetensors"), "half"), ST_FORMAT);
    }
    free(bytes);
    EXPECT_STATUS(add_as(CENTRA_SOURCE_DIR "/tests/weights/fixtures/evil.pth", "evil"), ST_FORMAT);
    EXPECT(strstr(centra_message(), "posix.system"));
    EXPECT_STATUS(add_as(at("nothing"), "gone"), ST_IO);
    EXPECT_STATUS(add_as(at("shipped"), "folder"), ST_FORMAT);
    EXPECT_INT(store_files(), 0);
    leave();
}

TEST(names_are_checked_before_anything_is_read)
{
    static const char *const bad[] = {"", ".", "..", "../x", "a/b", "-x", ".x", "a b", "caf\xc3\xa9", "x\n"};
    char longest[200];
    settle();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT_STATUS(add_as(own_model_path(), bad[i]), ST_USAGE);
        EXPECT(strstr(centra_message(), "cannot be a model's name"));
    }
    memset(longest, 'a', sizeof longest);
    longest[128] = '\0';
    EXPECT_STATUS(add_as(own_model_path(), longest), ST_USAGE);
    longest[127] = '\0';
    EXPECT_OK(add_as(own_model_path(), longest));
    EXPECT_OK(add_as(own_model_path(), "A-1_b.c"));
    EXPECT_STATUS(add_as(own_model_path(), "A-1_b.c"), ST_USAGE);
    EXPECT_TEXT(centra_message(),
                "there already is a model A-1_b.c; give another --name, or remove it: centra models remove");
    EXPECT_STATUS(add_as(own_model_path(), "standard"), ST_USAGE);
    EXPECT_TEXT(centra_message(),
                "there already is a model standard, which came with the library; give another --name");
    EXPECT_INT(store_files(), 2);
    leave();
}

TEST(a_default_is_the_users_choice_then_the_best_that_came_along)
{
    const char *name = NULL;
    centra_model *m = NULL;
    centra_model_info about;
    centra_model_place place;
    settle();
    EXPECT_OK((status)centra_model_default(&name));
    EXPECT_TEXT(name, "standard");
    EXPECT_OK(add_as(own_model_path(), "mine"));
    EXPECT_OK((status)centra_model_default(&name));
    EXPECT_TEXT(name, "standard"); /* adding chooses nothing */
    EXPECT_OK((status)centra_model_set_default("mine"));
    EXPECT_OK((status)centra_model_open(NULL, &m));
    REQUIRE(m);
    centra_model_describe(m, &about);
    EXPECT_TEXT(about.name, "mine");
    centra_model_close(m);
    EXPECT_OK((status)centra_model_at(0, &place));
    EXPECT(!place.own && !place.standard && place.bytes > 100000);
    EXPECT_OK((status)centra_model_at(1, &place));
    EXPECT(place.own && place.standard);
    EXPECT_TEXT(place.name, "mine");
    EXPECT_STATUS((status)centra_model_at(2, &place), ST_USAGE);
    EXPECT_STATUS((status)centra_model_set_default("none"), ST_USAGE);
    EXPECT_OK((status)centra_model_set_default("standard"));
    EXPECT_STATUS((status)centra_model_remove("standard"), ST_USAGE);
    EXPECT(strstr(centra_message(), "came with the library and cannot be removed"));
    EXPECT_OK((status)centra_model_set_default("mine"));
    EXPECT_OK((status)centra_model_remove("mine"));
    EXPECT_OK((status)centra_model_default(&name));
    EXPECT_TEXT(name, "standard");
    EXPECT_STATUS((status)centra_model_remove("mine"), ST_USAGE);
    EXPECT_STATUS((status)centra_model_remove("../shipped/standard"), ST_USAGE);
    EXPECT_INT(store_files(), 0);
    leave();
}

static void write_words(const char *path, const char *words)
{
    struct file_writer w;
    EXPECT_OK(file_begin(path, &w));
    file_put(&w, words, strlen(words));
    EXPECT_OK(file_commit(&w));
}

/* No silent second choice: who chose a model that is gone hears it. */
TEST(a_default_that_is_gone_or_nonsense_is_told)
{
    centra_model *m = NULL;
    settle();
    EXPECT_OK(add_as(own_model_path(), "mine"));
    EXPECT_OK((status)centra_model_set_default("mine"));
    EXPECT_INT(remove(at("data/centra/models/mine.safetensors")), 0);
    EXPECT_STATUS((status)centra_model_open(NULL, &m), ST_USAGE);
    EXPECT_TEXT(centra_message(),
                "the default model 'mine' is not there any more; centra models default NAME sets another");
    write_words(at("data/centra/models/default"), "../../etc/passwd\n");
    EXPECT_STATUS((status)centra_model_open(NULL, &m), ST_FORMAT);
    EXPECT(strstr(centra_message(), "names no model; centra models default NAME sets it anew"));
    EXPECT_OK((status)centra_model_open("standard", &m));
    centra_model_close(m);
    EXPECT_OK((status)centra_model_set_default("standard"));
    EXPECT_OK((status)centra_model_open(NULL, &m));
    centra_model_close(m);
    EXPECT_OK((status)centra_model_set_default(NULL));
    EXPECT_INT(store_files(), 0);
    leave();
}

TEST(without_a_home_there_are_the_shipped_models_and_no_place_for_others)
{
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    centra_model_place place;
    centra_model *m = NULL;
    settle();
    unsetenv("HOME");
    setenv("XDG_DATA_HOME", "relative/path", 1); /* as if it were not set */
    EXPECT_OK((status)centra_model_at(0, &place));
    EXPECT_STATUS((status)centra_model_at(1, &place), ST_USAGE);
    EXPECT_OK((status)centra_model_open(NULL, &m));
    centra_model_close(m);
    EXPECT_STATUS(add_as(own_model_path(), "mine"), ST_USAGE);
    EXPECT_TEXT(centra_message(), "there is no place for own models: set HOME, or XDG_DATA_HOME to a whole path");
    EXPECT_STATUS((status)centra_model_set_default("standard"), ST_USAGE);
    setenv("HOME", at("home"), 1);
    EXPECT_OK(add_as(own_model_path(), "mine"));
    EXPECT(file_exists(at("home/.local/share/centra/models/mine.safetensors")));
    if (home) setenv("HOME", home, 1);
    free(home);
    leave();
}

/* A file where the folder should be: what the system says is passed on, and a shipped model is still found by name. */
TEST(a_store_that_cannot_be_read_is_told_but_does_not_stand_in_the_way)
{
    centra_weights *w = NULL;
    centra_model_place place;
    centra_model *m = NULL;
    settle();
    EXPECT_OK(folder_make(at("data/centra")));
    write_words(at("data/centra/models"), "");
    EXPECT_STATUS((status)centra_model_at(0, &place), ST_IO);
    EXPECT(strstr(centra_message(), "cannot read the folder of own models") &&
           strstr(centra_message(), "Not a directory"));
    EXPECT_STATUS((status)centra_model_open(NULL, &m), ST_IO);
    EXPECT_STATUS((status)centra_model_open("other", &m), ST_IO);
    EXPECT_STATUS(add_as(own_model_path(), "mine"), ST_IO);
    EXPECT_OK((status)centra_model_open("standard", &m));
    EXPECT_OK((status)centra_weights_open("standard", &w));
    centra_model_close(m);
    centra_weights_close(w);
    leave();
}

TEST(weights_that_changed_in_the_store_are_refused)
{
    char *bytes = NULL;
    size_t n = 0;
    centra_model *m = NULL;
    struct file_writer w;
    settle();
    EXPECT_OK(add_as(own_model_path(), "mine"));
    EXPECT_OK(file_read(at("data/centra/models/mine.safetensors"), 1 << 24, &bytes, &n));
    bytes[n - 5] ^= 1;
    EXPECT_OK(file_begin(at("data/centra/models/mine.safetensors"), &w));
    file_put(&w, bytes, n);
    EXPECT_OK(file_commit(&w));
    free(bytes);
    EXPECT_STATUS((status)centra_model_open("mine", &m), ST_FORMAT);
    EXPECT(strstr(centra_message(), "is damaged: its weights have the fingerprint"));
    leave();
}

struct adder {
    pthread_t thread;
    const char *name;
    status st;
};

static void *adder_run(void *context)
{
    struct adder *a = context;
    a->st = add_as(own_model_path(), a->name);
    return NULL;
}

TEST(of_many_additions_at_once_each_is_whole_and_a_name_is_given_once)
{
    enum { ADDERS = 8 };
    struct adder a[ADDERS];
    size_t won = 0;
    settle();
    for (size_t i = 0; i < ADDERS; i++) {
        a[i] = (struct adder){.name = i % 2 ? "other" : "same"};
        REQUIRE(!pthread_create(&a[i].thread, NULL, adder_run, &a[i]));
    }
    for (size_t i = 0; i < ADDERS; i++) {
        pthread_join(a[i].thread, NULL);
        EXPECT(a[i].st == OK || a[i].st == ST_USAGE);
        won += a[i].st == OK;
    }
    EXPECT_INT(won, 2);
    EXPECT_INT(store_files(), 2);
    for (size_t i = 0; i < 2; i++) {
        centra_model *m = NULL;
        EXPECT_OK((status)centra_model_open(i ? "other" : "same", &m));
        centra_model_close(m);
    }
    leave();
}

TEST(adding_survives_failing_allocations)
{
    const struct netfile f = {.net = "conv4", .options = "net.width=2", .prefix = "encoder."};
    settle();
    REQUIRE(netfile_write(at("f.safetensors"), &f));
    const size_t live = alloc_live();
    size_t n = 1;
    for (bool done = false; n < 20000 && !done; n++) {
        alloc_fail_at(n);
        const status st = add_as(at("f.safetensors"), "mine");
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, done ? OK : ST_MEMORY);
        if (st == OK && !done) break;
        EXPECT_INT(store_files(), done);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(n > 50 && n < 20000);
    leave();
}

TEST(choosing_listing_and_removing_survive_failing_allocations)
{
    settle();
    EXPECT_OK(add_as(own_model_path(), "mine"));
    const size_t live = alloc_live();
    for (int call = 0; call < 4; call++) {
        bool done = false;
        for (size_t n = 1; n < 1000 && !done; n++) {
            centra_model_place place;
            const char *name;
            alloc_fail_at(n);
            const centra_status st = call == 0   ? centra_model_set_default("mine")
                                     : call == 1 ? centra_model_default(&name)
                                     : call == 2 ? centra_model_at(1, &place)
                                                 : centra_model_remove("mine");
            done = !alloc_did_fail();
            alloc_fail_at(0);
            EXPECT(st == CENTRA_OK || (st == CENTRA_MEMORY && !done));
            if (st == CENTRA_OK) done = true;
            EXPECT_INT(alloc_live(), live);
        }
        EXPECT(done);
    }
    EXPECT_INT(store_files(), 0);
    leave();
}

/* The weights are the same, but what the network sees of a picture, and so its features, is not. */
TEST(a_pack_is_refused_by_the_same_weights_with_another_input)
{
    centra_model *m[2] = {NULL, NULL};
    centra_session *s = NULL;
    centra_classifier *c = NULL;
    centra_support *made = NULL, *seen = NULL;
    centra_picture p = own_picture(0, 1, 90, 90);
    unsigned char *bytes = NULL;
    size_t n = 0;
    settle();
    EXPECT_OK(add_as(own_model_path(), "a"));
    EXPECT_OK((status)centra_model_add(own_model_path(), &(centra_model_add_options){.name = "b", .side = 100}, NULL));
    EXPECT_OK((status)centra_model_open("a", &m[0]));
    EXPECT_OK((status)centra_model_open("b", &m[1]));
    EXPECT_OK((status)centra_session_open(&(centra_session_options){.threads = 1}, &s));
    EXPECT_OK((status)centra_classifier_new(s, m[0], NULL, &c));
    EXPECT_OK((status)centra_support_new(m[0], &made));
    EXPECT_OK((status)centra_support_add(made, c, &(centra_known){"x", "x/1", &p}, 1));
    EXPECT_OK((status)centra_support_write(made, &bytes, &n));
    EXPECT_OK((status)centra_support_parse(m[0], "x.pack", bytes, n, &seen));
    centra_support_free(seen);
    seen = NULL;
    EXPECT_STATUS((status)centra_support_parse(m[1], "x.pack", bytes, n, &seen), ST_USAGE);
    EXPECT_TEXT(centra_message(),
                "the pack 'x.pack' was made with the weights of the model b set up otherwise: 84+8 resize-crop, not "
                "100+9 resize-crop; give a model set up so, or the pictures themselves");
    EXPECT(!seen);
    centra_free(bytes);
    centra_picture_free(&p);
    centra_support_free(made);
    centra_classifier_free(c);
    centra_session_close(s);
    for (size_t i = 0; i < 2; i++) centra_model_close(m[i]);
    leave();
}

TEST(a_models_network_sees_and_encodes_as_its_file_says)
{
    centra_model *m = NULL;
    centra_session *s = NULL;
    centra_net *net = NULL;
    centra_picture p = own_picture(2, 3, 120, 100);
    float *in = calloc(3 * 84 * 84, sizeof *in), *wanted = calloc(3 * 84 * 84, sizeof *wanted);
    const void *features = NULL;
    size_t dim[4];
    REQUIRE(in && wanted && p.rgb);
    settle();
    EXPECT_OK((status)centra_model_open(own_model_path(), &m));
    EXPECT_OK((status)centra_session_open(&(centra_session_options){.threads = 1}, &s));
    EXPECT_OK((status)centra_model_net(s, m, NULL, 0, CENTRA_F32, &net));
    EXPECT_OK((status)centra_model_input(m, &p, NULL, in));
    EXPECT_OK((status)centra_picture_input(&p, 84, wanted));
    EXPECT(!memcmp(in, wanted, 3 * 84 * 84 * sizeof *in));
    EXPECT_OK((status)centra_net_encode(net, in, 1, 84, 84, &features, dim));
    EXPECT(dim[0] == 1 && dim[1] == 64 && dim[2] == 5 && dim[3] == 5);
    centra_net_free(net);
    net = NULL;
    EXPECT_STATUS((status)centra_model_net(s, m, &(centra_option){"width", "32"}, 1, CENTRA_F32, &net), ST_SHAPE);
    EXPECT_STATUS((status)centra_model_input(m, &p, "grid", in), ST_USAGE);
    const size_t live = alloc_live();
    bool done = false;
    for (size_t n = 1; n < 5000 && !done; n++) {
        alloc_fail_at(n);
        const centra_status st = centra_model_net(s, m, NULL, 0, CENTRA_F32, &net);
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS((status)st, done ? OK : ST_MEMORY);
        if (!done) EXPECT_INT(alloc_live(), live);
    }
    EXPECT(done);
    centra_net_free(net);
    centra_session_close(s);
    centra_model_close(m);
    centra_picture_free(&p);
    free(in);
    free(wanted);
    leave();
}
