/* model.c - models: what they say about themselves, how they are found, what is refused. */
#include "base/file.h"
#include "tests/api/own.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

TEST(a_model_says_what_it_is)
{
    centra_model *m = NULL;
    centra_model_info i;
    EXPECT_OK((status)centra_model_open(own_model_path(), &m));
    REQUIRE(m);
    centra_model_describe(m, &i);
    EXPECT_TEXT(i.name, "conv4-synth");
    EXPECT_TEXT(i.backbone, "conv4");
    EXPECT_TEXT(i.head, "mcl-katz");
    EXPECT_TEXT(i.extractor, "map");
    EXPECT_TEXT(i.data, "synthetic patterns");
    EXPECT_INT(i.side, 84);
    EXPECT_INT(strlen(i.fingerprint), 64);
    EXPECT(atof(i.accuracy) > 60);
    centra_model_close(m);
}

static status copy_file(const char *from, const char *to)
{
    char *bytes = NULL;
    size_t n = 0;
    struct file_writer w;
    status st = OK;
    TRY(file_read(from, 1 << 24, &bytes, &n));
    TRY(file_begin(to, &w));
    file_put(&w, bytes, n);
    TRY(file_commit(&w));
done:
    free(bytes);
    return st;
}

/* The shelf: standard models first, others by name; a run's folder by its own. */
TEST(models_are_found_by_name_folder_and_preference)
{
    char path[700], run[600];
    const char *name = NULL, *at = NULL;
    centra_model *m = NULL;
    centra_model_info i;
    static const char *const files[] = {"zebra", "conv4-cub", "conv4-mini", "apple", "resnet12-general"};
    static const char *const wanted[] = {"resnet12-general", "conv4-mini", "conv4-cub", "apple", "zebra"};
    for (size_t k = 0; k < 5; k++) {
        snprintf(path, sizeof path, "%s/%s.safetensors", test_folder(), files[k]);
        EXPECT_OK(copy_file(own_model_path(), path));
    }
    snprintf(run, sizeof run, "%s/birds", test_folder());
    EXPECT_OK(folder_make(run));
    snprintf(path, sizeof path, "%s/best.safetensors", run);
    EXPECT_OK(copy_file(own_model_path(), path));
    setenv("CENTRA_MODELS", test_folder(), 1);
    for (size_t k = 0; k < 5; k++) {
        EXPECT_OK((status)centra_model_shipped(k, &name, &at));
        EXPECT_TEXT(name, wanted[k]);
        EXPECT(file_exists(at));
    }
    EXPECT_STATUS((status)centra_model_shipped(5, &name, &at), ST_USAGE);
    EXPECT_OK((status)centra_model_open(NULL, &m));
    REQUIRE(m);
    centra_model_describe(m, &i);
    EXPECT_TEXT(i.name, "resnet12-general");
    centra_model_close(m);
    EXPECT_STATUS((status)centra_model_open("aple", &m), ST_USAGE);
    EXPECT_TEXT(centra_message(), "there is no model 'aple', did you mean apple?");
    unsetenv("CENTRA_MODELS");
    EXPECT_OK((status)centra_model_open(run, &m));
    centra_model_describe(m, &i);
    EXPECT_TEXT(i.name, "birds");
    centra_model_close(m);
}

TEST(a_missing_model_is_refused_in_words)
{
    centra_model *m = NULL;
    setenv("CENTRA_MODELS", test_folder(), 1);
    EXPECT_STATUS((status)centra_model_open(NULL, &m), ST_USAGE);
    EXPECT(strstr(centra_message(), "no model is named, and there is none in '"));
    EXPECT_STATUS((status)centra_model_open("no/such/file", &m), ST_USAGE);
    EXPECT_TEXT(centra_message(),
                "there is no model 'no/such/file': it is no file, no run's folder and none that centra "
                "list models shows");
    unsetenv("CENTRA_MODELS");
    EXPECT(!m);
}

TEST(weights_that_do_not_say_their_network_are_refused)
{
    char path[600];
    centra_model *m = NULL;
    snprintf(path, sizeof path, "%s/plain.safetensors", test_folder());
    struct file_writer w;
    static const char file[] = "\x10\0\0\0\0\0\0\0{}              ";
    EXPECT_OK(file_begin(path, &w));
    file_put(&w, file, sizeof file - 1);
    EXPECT_OK(file_commit(&w));
    EXPECT_STATUS((status)centra_model_open(path, &m), ST_FORMAT);
    EXPECT(strstr(centra_message(), "does not say which network it is for; give a model that centra train made, or "
                                    "add it with centra models add"));
}

TEST(a_head_without_its_parameters_is_refused)
{
    struct own o;
    centra_classifier *c = NULL;
    REQUIRE(own_open(&o, NULL, 1));
    EXPECT_STATUS(
        (status)centra_classifier_new(o.session, o.model, &(centra_classifier_options){.head = "relation"}, &c),
        ST_USAGE);
    EXPECT_TEXT(centra_message(),
                "the model conv4-synth was not trained with the head relation and has no parameters for it");
    EXPECT_STATUS((status)centra_classifier_new(o.session, o.model, &(centra_classifier_options){.head = "mlc"}, &c),
                  ST_USAGE);
    own_close(&o);
}
