# page.awk - what cmark-gfm or mandoc made of a page, as a page of the rendered book, for render.sh; needs anchor.awk.
# -v title=..., -v up=../ (the way to the top), -v before=, -v after= (FILE|TITLE of the neighbouring chapters, or nothing).
function neighbour(which, arrow, text,    part) {
    split(text, part, "|")
    return sprintf("<a class=\"%s\" href=\"%s\">%s</a>", which, part[1], which == "before" ? arrow " " part[2] : part[2] " " arrow)
}
BEGIN {
    print "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>"
    print "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<meta name=\"color-scheme\" content=\"light dark\"/>"
    printf "<title>%s - Centra</title>\n<link rel=\"stylesheet\" href=\"%sdocs/style.css\"/>\n</head>\n<body>\n", title, up
    printf "<nav><a href=\"%sdocs/book.html\">The book of Centra</a> <a href=\"%sdocs/book.html#reference\">Reference</a> ", up, up
    printf "<a href=\"%sman/index.html\">Manual pages</a> <a href=\"%sREADME.html\">Read me</a></nav>\n<main>\n", up, up
}
/^<h[1-6]>/ {
    level = substr($0, 2, 2)
    heading = $0
    gsub(/<[^>]*>/, "", heading)
    gsub(/&[a-z]+;/, "", heading)
    sub(/^<h[1-6]>/, "<" level " id=\"" anchor(heading, "") "\">")
}
{
    # a page's own links to other pages of the tree
    line = $0
    out = ""
    while (match(line, /href="[^"]*"/)) {
        target = substr(line, RSTART, RLENGTH)
        if (target !~ /^href="[a-z]+:/) sub(/\.md["#]/, "&", target) && sub(/\.md/, ".html", target)
        out = out substr(line, 1, RSTART - 1) target
        line = substr(line, RSTART + RLENGTH)
    }
    $0 = out line
    if (/^<table>/) { print "<div class=\"wide\">"; wide = 1 }
    print
    if (wide && /^<\/table>/) { print "</div>"; wide = 0 }
}
END {
    print "</main>"
    if (before != "" || after != "")
        print "<footer>" (before != "" ? neighbour("before", "\342\206\220", before) : "") (after != "" ? neighbour("after", "\342\206\222", after) : "") "</footer>"
    print "</body>\n</html>"
}
