/* classify.c - labels pictures by a few known ones of each class, as `centra classify` does.
 *
 *     cc classify.c $(pkg-config --cflags --libs centra) -o classify        (c++ works as well)
 *     ./classify known/ new1.jpg new2.jpg                                   (known/ has a folder for each class)
 *
 * The known pictures are encoded once, then every picture is compared with them. Familiarity is the part of known pictures
 * that would look stranger; below 0.05 a picture is probably of none of the classes. */
#include <centra.h>
#include <stdio.h>

static centra_status tell(centra_classifier *classifier, const centra_support *known, const char *path)
{
    centra_picture picture = {0, 0, NULL};
    centra_guess guess;
    const char *label = "none of these";
    centra_status status = centra_picture_read(path, &picture);
    if (status == CENTRA_OK) status = centra_classify(classifier, known, &picture, 1, NULL, &guess);
    if (status == CENTRA_OK) {
        if (!(guess.familiarity < 0.05)) centra_support_class(known, guess.best, &label, NULL);
        printf("%s: %s, %.0f %%\n", path, label, 100 * guess.probability);
    }
    centra_picture_free(&picture);
    return status;
}

int main(int argc, char **argv)
{
    centra_model *model = NULL;
    centra_session *session = NULL;
    centra_classifier *classifier = NULL;
    centra_support *known = NULL;
    int failed = 0;
    if (argc < 3) return fprintf(stderr, "usage: classify FOLDER PICTURE...\n"), 2;

    centra_status status = centra_model_open(NULL, &model); /* the standard one */
    if (status == CENTRA_OK) status = centra_session_open(NULL, &session);
    if (status == CENTRA_OK) status = centra_classifier_new(session, model, NULL, &classifier);
    if (status == CENTRA_OK) status = centra_support_new(model, &known);
    if (status == CENTRA_OK) status = centra_support_add_folder(known, classifier, argv[1], NULL, NULL);
    if (status == CENTRA_OK) status = centra_support_calibrate(known, classifier);
    if (status != CENTRA_OK) failed = fprintf(stderr, "classify: %s\n", centra_message()) > 0;
    for (int i = 2; i < argc && status == CENTRA_OK; i++)
        if (tell(classifier, known, argv[i]) != CENTRA_OK)
            failed = fprintf(stderr, "classify: %s\n", centra_message()) > 0; /* the others go on */

    centra_support_free(known);
    centra_classifier_free(classifier);
    centra_session_close(session);
    centra_model_close(model);
    return failed;
}
