#!/bin/sh
# links.sh - every relative link and picture in the Markdown pages of the tree leads to a file that is there, and to a heading where it
# names one; every page of docs/ stands in docs/book.md. Pages elsewhere (https:) are not asked for.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
pages="README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md models/README.md python/README.md $(find docs -name '*.md' | sort)"
awk -f tools/anchor.awk -f tools/links.awk $pages > "$dir/all"
sed -n 's/^#//p' "$dir/all" > "$dir/anchors"
bad=0
wrong() { echo "$1"; bad=$((bad + 1)); }
grep -v '^#' "$dir/all" > "$dir/links" || :
while read -r where target; do
    page=${where%:*}
    file=${target%%#*}
    if [ -n "$file" ]; then file=$(dirname "$page")/$file; else file=$page; fi
    file=$(printf '%s' "$file" | sed 's|^\./||; :again; s|[^/.][^/]*/\.\./||; t again')
    [ -e "$file" ] || { wrong "$where: there is no $file"; continue; }
    case $target in
        *'#'*) grep -qxF "$file ${target#*#}" "$dir/anchors" || wrong "$where: $file has no heading for #${target#*#}" ;;
    esac
done < "$dir/links"
for page in docs/*.md; do
    [ "$page" = docs/book.md ] || grep -qE "^docs/book.md:[0-9]+ $(basename "$page")\$" "$dir/links" || wrong "docs/book.md does not name $page"
done
echo "$(wc -l < "$dir/links") links, $bad wrong"
[ $bad -eq 0 ]
