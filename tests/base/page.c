/* page.c - pages: what comes from outside stays text, pictures are part of the page. */
#include "base/page.h"
#include "base/file.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

TEST(page_texts_cannot_become_markup)
{
    text t = {0};
    page_begin(&t, "<script>alert('x')</script> & \"more\"");
    page_end(&t);
    EXPECT_OK(text_status(&t));
    EXPECT(!strstr(t.data, "<script>"));
    EXPECT(strstr(t.data, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;more&quot;"));
    text_free(&t);
}

/* The vectors of RFC 4648. */
TEST(page_pictures_are_base64)
{
    static const char *const pairs[][2] = {{"f", "Zg=="},        {"fo", "Zm8="},        {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < 6; i++) {
        char wanted[128];
        text t = {0};
        page_picture(&t, (const unsigned char *)pairs[i][0], strlen(pairs[i][0]), "a \"b\"");
        snprintf(wanted, sizeof wanted, "<img alt=\"a &quot;b&quot;\" src=\"data:image/png;base64,%s\"/>", pairs[i][1]);
        EXPECT_TEXT(t.data, wanted);
        text_free(&t);
    }
}

TEST(pages_are_written_whole)
{
    char path[512], *bytes = NULL;
    size_t n = 0;
    text t = {0};
    snprintf(path, sizeof path, "%s/page.html", test_folder());
    page_begin(&t, "a page");
    page_end(&t);
    EXPECT_OK(page_write(&t, path));
    EXPECT_OK(file_read(path, 1 << 20, &bytes, &n));
    EXPECT(bytes && n == t.length && !memcmp(bytes, t.data, n));
    EXPECT_STATUS(page_write(&t, "no/such/folder/page.html"), ST_IO);
    free(bytes);
    text_free(&t);
}
