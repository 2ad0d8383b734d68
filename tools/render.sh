#!/bin/sh
# render.sh BUILD - the book, the reference and the man pages as HTML in BUILD/html, by cmark-gfm and mandoc, the tree's folders kept so
# that links stay what they are. Ends with 1 where a link or picture of the result leads nowhere.
set -eu
cd "$(dirname "$0")/.."
build=$1
html=$build/html
rm -rf "$html"
mkdir -p "$html/docs" "$html/models" "$html/python" "$html/man"
cp -r docs/images docs/style.css "$html/docs"

# The chapters as lines FILE|TITLE, for the way from one to the next.
sed -n 's/^[0-9]*\. \[\([^]]*\)\](\([a-z-]*\)\.md).*/\2.html|\1/p' docs/book.md > "$html/chapters"
beside() { # beside FILE STEP: the chapter so many places behind it, if it is one
    awk -F '|' -v file="$1" -v step="$2" '{ line[NR] = $0; if ($1 == file) at = NR } END { if (at) print line[at + step] }' "$html/chapters"
}

pages="README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md models/README.md python/README.md $(find docs -name '*.md' | sort)"
for page in $pages; do
    case $page in */*) up=../ ;; *) up= ;; esac
    name=$(basename "$page" .md).html
    case $page in docs/*) before=$(beside "$name" -1) after=$(beside "$name" 1) ;; *) before="" after="" ;; esac
    cmark-gfm -e table -e autolink "$page" |
        awk -v title="$(sed -n '1s/^# //p' "$page")" -v up=$up -v before="$before" -v after="$after" -f tools/anchor.awk -f tools/page.awk \
        > "$html/$(dirname "$page")/$name"
done
rm "$html/chapters"

# Files of the tree that pages link to come along.
awk -f tools/anchor.awk -f tools/links.awk $pages | sed -n 's/^\([^#:]*\):[0-9]* \([^#]*\).*/\1 \2/p' | sort -u | while read -r page target; do
    case $target in *.md | *.png | "") continue ;; esac
    file=$(printf '%s' "$(dirname "$page")/$target" | sed 's|^\./||; :again; s|[^/.][^/]*/\.\./||; t again')
    mkdir -p "$html/$(dirname "$file")"
    cp "$file" "$html/$file"
done

# Man pages, as the program writes them.
index="<h1>Manual pages</h1><ul>"
for command in "" $("$build/centra" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    name=centra${command:+-$command}
    "$build/centra" help --man $command > "$html/man/$name.1"
    mandoc -T html -O fragment "$html/man/$name.1" | sed 's|<b>\(centra[a-z-]*\)</b>(1)|<a href="\1.1.html">\1</a>(1)|g' |
        awk -v title="$name(1)" -v up=../ -f tools/anchor.awk -f tools/page.awk > "$html/man/$name.1.html"
    index="$index<li><a href=\"$name.1.html\">$name</a>: $(sed -n '/^\.SH NAME/{n;s/.* \\- //;s/\\-/-/g;p;}' "$html/man/$name.1")</li>"
done
printf '%s</ul>\n' "$index" | awk -v title="Manual pages" -v up=../ -f tools/anchor.awk -f tools/page.awk > "$html/man/index.html"
printf '<!DOCTYPE html>\n<title>Centra</title>\n<meta http-equiv="refresh" content="0; url=docs/book.html"/>\n<a href="docs/book.html">The book of Centra</a>\n' \
    > "$html/index.html"

(cd "$html" && find . -name '*.html' | sort | xargs awk -f "$OLDPWD/tools/hrefs.awk") > "$build/hrefs"
sed -n 's/^#//p' "$build/hrefs" | sort -u > "$build/ids"
grep -v '^#' "$build/hrefs" | sort -u | while read -r page target; do
    file=${target%%#*}
    if [ -n "$file" ]; then file=$(dirname "$page")/$file; else file=$page; fi
    file=./$(printf '%s' "$file" | sed 's|^\./||; :again; s|[^/.][^/]*/\.\./||; t again')
    if [ ! -e "$html/$file" ]; then echo "$page: there is no $target"
    else case $target in *'#'*) grep -qxF "$file ${target#*#}" "$build/ids" || echo "$page: nothing is called $target" ;; esac; fi
done > "$build/wrong"
rm "$build/hrefs" "$build/ids"
cat "$build/wrong"
echo "$html/index.html: $(find "$html" -name '*.html' | wc -l) pages"
[ ! -s "$build/wrong" ] && rm "$build/wrong"
