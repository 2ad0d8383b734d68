/* weights.c - centra weights: what a file of weights holds, and the same in another format, or its network as ONNX. */
#include "app/library.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/json.h"
#include <string.h>

enum { TO_SAFETENSORS, TO_HALF, TO_NPY, TO_ONNX };
static const char *const formats[] = {"safetensors", "half", "npy", "onnx", NULL};

struct weights_settings {
    int to; /* index of formats */
    const char *backbone;
    int64_t side;
};

static void add_shape(text *to, const centra_array_info *a)
{
    text_add(to, "[");
    for (size_t d = 0; d < a->rank; d++) text_addf(to, "%s%zu", d ? ", " : "", a->dim[d]);
    text_add(to, "]");
}

/* A value may have several lines, as a recipe has; nothing else in it reaches the terminal as more than a character. */
static void add_meta(text *to, const char *key, const char *value)
{
    const size_t from = to->length;
    size_t name;
    text_addf(to, "%s: ", key);
    name = to->length;
    text_addf(to, "%s\n", value);
    if (text_status(to) != OK) return;
    for (size_t i = from; i < to->length; i++) {
        const unsigned char c = (unsigned char)to->data[i];
        if ((c < ' ' && (c != '\n' || i < name)) || c == 0x7f) to->data[i] = '?';
    }
}

static void show_table(const centra_weights *w, const char *fingerprint, text *to)
{
    struct table table = {.align = "lll"};
    centra_array_info a;
    const char *key, *value;
    text_addf(to, "%s, %zu arrays, fingerprint %s\n", centra_weights_kind(w), centra_weights_count(w), fingerprint);
    for (size_t i = 0; library_has(centra_weights_meta(w, i, &key, &value)); i++) add_meta(to, key, value);
    for (size_t i = 0; library_has(centra_weights_array(w, i, &a)); i++) {
        text shape = {0};
        add_shape(&shape, &a);
        table_cell(&table, "%s", a.name);
        table_cell(&table, "%s", a.type);
        table_cell(&table, "%s", text_string(&shape));
        text_free(&shape);
    }
    table_write(&table, 2, to);
}

static void json_array_info(struct json_writer *j, const centra_array_info *a)
{
    json_object(j);
    json_key(j, "name");
    json_string(j, a->name);
    json_key(j, "type");
    json_string(j, a->type);
    json_key(j, "shape");
    json_array(j);
    for (size_t d = 0; d < a->rank; d++) json_int(j, (int64_t)a->dim[d]);
    json_array_end(j);
    json_object_end(j);
}

static void show_json(const centra_weights *w, const char *fingerprint, text *to)
{
    struct json_writer j;
    centra_array_info a;
    const char *key, *value;
    json_begin(&j, to, true);
    json_object(&j);
    json_key(&j, "kind");
    json_string(&j, centra_weights_kind(w));
    json_key(&j, "fingerprint");
    json_string(&j, fingerprint);
    json_key(&j, "metadata");
    json_object(&j);
    for (size_t i = 0; library_has(centra_weights_meta(w, i, &key, &value)); i++) {
        json_key(&j, key);
        json_string(&j, value);
    }
    json_object_end(&j);
    json_key(&j, "arrays");
    json_array(&j);
    for (size_t i = 0; library_has(centra_weights_array(w, i, &a)); i++) json_array_info(&j, &a);
    json_array_end(&j);
    json_object_end(&j);
    text_add(to, "\n");
}

static status show(const struct call *c, const centra_weights *w)
{
    char fingerprint[65];
    text t = {0};
    status st = library(centra_weights_fingerprint(w, fingerprint));
    if (st != OK) return st;
    (c->common.json ? show_json : show_table)(w, fingerprint, &t);
    return put(&t);
}

static bool says_backbone(const centra_weights *w)
{
    const char *key, *value;
    for (size_t i = 0; centra_weights_meta(w, i, &key, &value) == CENTRA_OK; i++)
        if (!strcmp(key, "backbone")) return true;
    return false;
}

/* The network that the file says it is for, or the one that --backbone names. */
static status open_net(const struct call *c, const centra_weights *w, centra_session *session, centra_net **out)
{
    const struct weights_settings *s = c->settings;
    const char *path = c->arguments[1];
    centra_model *model = NULL;
    status st = OK;
    if (s->backbone) {
        TRY(library(centra_net_new(session, s->backbone, c->net_options, c->net_option_count, CENTRA_F32, 0, out)));
        TRY(library(centra_net_load(*out, path)));
        return OK;
    }
    if (!says_backbone(w))
        TRY(fail(ST_USAGE, "'%.200s' does not say which network it is for; name it with --backbone", path));
    TRY(library(centra_model_open(path, &model)));
    TRY(library(centra_model_net(session, model, c->net_options, c->net_option_count, CENTRA_F32, out)));
done:
    centra_model_close(model);
    return st;
}

static status write_onnx(const struct call *c, const centra_weights *w)
{
    const struct weights_settings *s = c->settings;
    centra_session *session = NULL;
    centra_net *net = NULL;
    status st = OK;
    TRY(session_open(c, &session));
    TRY(open_net(c, w, session, &net));
    TRY(library(centra_net_write_onnx(net, (size_t)s->side, c->arguments[2])));
done:
    centra_net_free(net);
    centra_session_close(session);
    return st;
}

static status convert_to(const struct call *c, const centra_weights *w)
{
    const struct weights_settings *s = c->settings;
    if (s->to != TO_ONNX && (s->backbone || s->side || c->net_option_count))
        return fail(ST_USAGE, "--backbone, --side and --net options are for --to onnx alone");
    interrupt_hold();
    const status st = s->to == TO_ONNX ? write_onnx(c, w)
                                       : library(centra_weights_convert(w, formats[s->to], c->arguments[2]));
    interrupt_release();
    return st;
}

static status weights_run(const struct call *c)
{
    centra_weights *w = NULL;
    const bool convert = !strcmp(c->arguments[0], "convert");
    if (convert != (c->argument_count == 3))
        return fail(ST_USAGE, convert ? "a file to write is missing: centra weights convert IN OUT"
                                      : "one file is enough: centra weights show FILE");
    status st = library(centra_weights_open(c->arguments[1], &w));
    if (st != OK) return st;
    st = convert ? convert_to(c, w) : show(c, w);
    centra_weights_close(w);
    return st;
}

static const char *const what[] = {"convert", "show", NULL};

static const struct option weights_options[] = {
    OPT_NAME(
        struct weights_settings, to, "to", 0, formats,
        "convert: the format to write; half is safetensors with filters and matrices in 16 bits, npy a new folder"),
    OPT_TEXT(struct weights_settings, backbone, "backbone", NULL, "NAME",
             "onnx: the network of a file that does not say it"),
    OPT_INT(struct weights_settings, side, "side", 0, 0, 4096,
            "onnx: side of the pictures; 0: the model's own, else 84"),
    OPT_END};

static const char *const weights_details[] = {
    "FILE is safetensors, .pth, a folder of .npy files, a run's folder (its best.safetensors), or a name that centra "
    "models list shows.",
    "--to onnx writes the network itself, for ONNX Runtime and others: opset 17, batch norms folded into the "
    "convolutions, mean and deviation of the colours in front. Its input is [n, 3, side, side] for any n, pixels "
    "divided "
    "by 255; its output is the last map. Options of a network that --backbone names are written --net.KEY VALUE.",
    NULL};

const struct command weights_command = {
    .name = "weights",
    .title = "shows what a file of weights holds, or converts it",
    .arguments = "convert|show FILE [OUT]",
    .least = 2,
    .most = 3,
    .choices = what,
    .options = weights_options,
    .settings_bytes = sizeof(struct weights_settings),
    .net_options = true,
    .details = weights_details,
    .run = weights_run,
    .examples = {{"centra weights show model.pth", "names, types, shapes and the fingerprint"},
                 {"centra weights convert --to onnx model.safetensors model.onnx", "the network for other programs"}},
};
