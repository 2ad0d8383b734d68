/* page.c - the frame and the look that all pages share. */
#include "base/page.h"
#include "base/file.h"

static const char style[] =
    ":root{--page:#fbfaf8;--card:#fff;--ink:#22262b;--soft:#68707a;--rule:#e5e3de;--loss:#b3541e;--accuracy:#1f6f8b;"
    "--rate:#5b7f3a;--training:#7a5195}\n"
    "@media(prefers-color-scheme:dark){:root{--page:#16181b;--card:#1e2125;--ink:#e8e6e1;--soft:#9aa1aa;--rule:#33373d;"
    "--loss:#e8935a;--accuracy:#63b7d3;--rate:#a3c47f;--training:#c39bd8}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:1100px;margin:0 auto;padding:40px 24px}\n"
    "h1{font-size:28px;font-weight:650;margin:0 0 4px;overflow-wrap:anywhere}\n"
    "h2{font-size:18px;font-weight:650;margin:36px 0 12px}\n"
    ".state{color:var(--soft);margin:0 0 28px}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:16px;margin-bottom:16px}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:16px}\n"
    ".tile,figure,pre,table{background:var(--card);border:1px solid var(--rule);border-radius:10px}\n"
    ".tile{padding:14px 18px}\n"
    ".tile b{display:block;font-size:24px;font-weight:650;font-variant-numeric:tabular-nums}\n"
    ".tile span{color:var(--soft);font-size:14px}\n"
    "figure{margin:0;padding:16px}\n"
    "figcaption{font-weight:650;margin-bottom:8px}\n"
    "svg{display:block;width:100%;height:auto}\n"
    "svg text{font-size:12px;fill:var(--soft);font-variant-numeric:tabular-nums}\n"
    ".grid line{stroke:var(--rule)}\n"
    ".grid .base,.grid .tick{stroke:var(--soft)}\n"
    ".grid .y{text-anchor:end}\n"
    ".grid .x{text-anchor:middle}\n"
    ".line{fill:none;stroke:var(--tone);stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round}\n"
    ".band{fill:var(--tone);opacity:.3}\n"
    ".dot{fill:var(--tone);stroke:var(--card);stroke-width:1.5}\n"
    "svg .value{fill:var(--ink);font-size:13px;font-weight:650}\n"
    ".loss{--tone:var(--loss)}\n.accuracy{--tone:var(--accuracy)}\n.rate{--tone:var(--rate)}\n.training{--tone:var(--"
    "training)}\n"
    "pre{margin:0;padding:16px 18px;overflow-x:auto;font:14px/1.5 ui-monospace,monospace}\n"
    "table{border-collapse:separate;border-spacing:0;width:100%}\n"
    "td{padding:8px 18px;border-top:1px solid var(--rule);overflow-wrap:anywhere}\n"
    "tr:first-child td{border-top:0}\n"
    "td:first-child{color:var(--soft);width:11em}\n"
    "table.wide td:first-child{color:var(--ink);width:auto}\n"
    "table.wide th{padding:10px 18px;text-align:right;font-weight:600;color:var(--soft);font-size:14px}\n"
    "table.wide td{text-align:right;font-variant-numeric:tabular-nums}\n"
    "table.wide th:first-child,table.wide td:first-child{text-align:left}\n"
    ".row{display:flex;flex-wrap:wrap;gap:12px;margin:0 0 16px}\n"
    ".row figure{padding:8px;width:138px}\n"
    ".row figcaption{font-weight:400;font-size:13px;line-height:1.35;color:var(--soft);margin:6px 0 0}\n"
    ".row img{display:block;width:120px;height:120px;border-radius:6px;image-rendering:auto}\n"
    ".row .right{border-color:var(--rate)}\n.row .wrong{border-color:var(--loss)}\n"
    ".queries{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:0 16px}\n"
    "p{max-width:75ch}\n";

void html_add(text *to, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '&': text_add(to, "&amp;"); break;
        case '<': text_add(to, "&lt;"); break;
        case '>': text_add(to, "&gt;"); break;
        case '"': text_add(to, "&quot;"); break;
        case '\'': text_add(to, "&#39;"); break;
        default:
            if ((unsigned char)*s < ' ' && *s != '\n' && *s != '\t') text_add(to, "\xef\xbf\xbd"); /* U+FFFD */
            else text_add_bytes(to, s, 1);
        }
    }
}

void page_begin(text *to, const char *title) { page_begin_styled(to, title, ""); }

void page_begin_styled(text *to, const char *title, const char *rules)
{
    text_add(to, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>");
    html_add(to, title);
    text_addf(to, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<main>\n<h1>", style, rules);
    html_add(to, title);
    text_add(to, "</h1>\n");
}

void page_end(text *to) { text_add(to, "</main>\n</body>\n</html>\n"); }

void page_tile(text *to, const text *value, const char *what)
{
    text_add(to, "<div class=\"tile\"><b>");
    html_add(to, text_string(value));
    text_add(to, "</b><span>");
    html_add(to, what);
    text_add(to, "</span></div>\n");
    if (value->st != OK && to->st == OK) to->st = value->st;
}

static void base64_add(text *to, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const unsigned b = i + 1 < n ? bytes[i + 1] : 0, c = i + 2 < n ? bytes[i + 2] : 0;
        const unsigned v = (unsigned)bytes[i] << 16 | b << 8 | c;
        const char four[4] = {digits[v >> 18], digits[v >> 12 & 63], i + 1 < n ? digits[v >> 6 & 63] : '=',
                              i + 2 < n ? digits[v & 63] : '='};
        text_add_bytes(to, four, 4);
    }
}

void page_picture(text *to, const unsigned char *png, size_t bytes, const char *alt)
{
    text_add(to, "<img alt=\"");
    html_add(to, alt);
    text_add(to, "\" src=\"data:image/png;base64,");
    base64_add(to, png, bytes);
    text_add(to, "\"/>");
}

status page_write(const text *page, const char *path)
{
    const status st = text_status(page);
    return st == OK ? file_write(path, page->data, page->length) : st;
}
