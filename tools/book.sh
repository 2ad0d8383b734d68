#!/bin/sh
# book.sh BUILD [--keep DIR] - does what README.md says in one folder and the chapters of docs/book.md, one after the other, in
# another, with the program installed from BUILD; then looks at the commands of all pages, also those that are not run, for names of
# commands and options that do not exist. book.awk says how blocks are marked. --keep leaves the folders in DIR.
set -eu
cd "$(dirname "$0")/.."
source=$PWD
build=$(cd "$1" && pwd)
book=$(mktemp -d)
trap 'rm -rf "$book"' EXIT
mkdir "$book/folder" "$book/bin" "$book/home"
folder=$book/folder
if [ "${2:-}" = --keep ]; then mkdir "$3"; folder=$(cd "$3" && pwd); fi
: > "$book/passed"; : > "$book/skipped"
failed=0

# What a reader has after `make install`, and nothing of this machine's own models.
cmake --install "$build" --prefix "$book/usr" > "$book/out" 2>&1 || { cat "$book/out"; exit 1; }
library=$(dirname "$(find "$book/usr" -name 'libcentra.so')")
export PATH="$book/bin:$book/usr/bin:$PATH" CPATH="$book/usr/include" LIBRARY_PATH="$library" LD_LIBRARY_PATH="$library" \
    PYTHONPATH="$source/python" CENTRA_LIBRARY="$library/libcentra.so" HOME="$book/home" XDG_DATA_HOME="$book/home" book
unset CENTRA_MODELS CENTRA_DATA CENTRA_ISA
for name in readme book; do
    mkdir "$folder/$name"
    ln -s "$build" "$folder/$name/build"
    ln -s "$source/examples" "$folder/$name/examples"
done
if python=$(tools/python.sh numpy); then
    printf '#!/bin/sh\nexec "%s" -B "$@"\n' "$python" > "$book/bin/python3"
    chmod +x "$book/bin/python3"
else
    echo "SKIP blocks in Python: $python"
fi
centra=$book/usr/bin/centra
"$centra" data synth --out "$book/png" --classes 0,0,1 --pictures 1 --quiet
if "$centra" data check "$book/png" | grep -q 'cannot read PNG'; then
    echo "SKIP the book: its pictures are PNG files, which this build cannot read"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi

cat > "$book/prelude" << 'END'
set -eu
at() { echo "$1" > "$book/at"; }
passed() { cat "$book/at" >> "$book/passed"; }
skipped() { cat "$book/at" >> "$book/skipped"; }
has_python() { [ -x "$book/bin/python3" ]; }
ended() { # ended STATUS
    [ "$got" -eq "$1" ] || { echo "ended with $got, not with $1" >> "$book/err"; exit 1; }
    passed
}
prints() { # prints FILE: the last output has its lines, but for numbers
    awk -f "$book/prints.awk" "$1" "$book/out" > "$book/err" || exit 1
    passed
}
served() { # served COMMAND...
    "$@" --port 0 > "$book/out" 2> "$book/err" &
    for i in $(seq 300); do
        grep -q http:// "$book/out" && break
        kill -0 $! 2> /dev/null || break
        sleep 0.1
    done
    kill $! 2> /dev/null || :
    wait $! && got=0 || got=$?
    grep -q 'no server' "$book/err" && skipped && return
    ended 130
}
END
cat > "$book/prints.awk" << 'END'
function plain(s) { gsub(/[-+]?[0-9]+(\.[0-9]+)?/, "N", s); gsub(/[ \t]+/, " ", s); sub(/ $/, "", s); return s }
NR == FNR { want[++wants] = plain($0); next }
{ got[++gots] = plain($0) }
END {
    for (g = 1; w < wants; ) {
        if (want[++w] == "...") { gap = 1; continue }
        while (gap && g <= gots && got[g] != want[w]) g++
        if (g > gots || got[g] != want[w]) { print "printed: " got[g] "\nnot:     " want[w]; exit 1 }
        g++; gap = 0
    }
    if (!gap && g <= gots) { print "printed as well: " got[g]; exit 1 }
}
END

chapters=$(sed -n 's/^[0-9]*\. \[[^]]*\](\([a-z-]*\.md\)).*/docs\/\1/p' docs/book.md)
[ -n "$chapters" ] || { echo "docs/book.md lists no chapters"; exit 1; }
for page in README.md $chapters; do
    mkdir -p "$book/$page.d"
    awk -v page="$page" -v files="$book/$page.d" -f tools/book.awk "$page" > "$book/script"
    status=0
    case $page in README.md) name=readme ;; *) name=book ;; esac
    (cd "$folder/$name" && cat "$book/prelude" "$book/script" > "$book/whole" && exec sh "$book/whole") > "$book/page" 2>&1 || status=$?
    [ $status -eq 0 ] && continue
    failed=$((failed + 1))
    echo "FAIL $(cat "$book/at") (status $status)"
    tail -q -n 15 "$book/page" "$book/out" "$book/err"
    [ $name = readme ] || { echo "later chapters build on this one and were not tried"; break; }
done

# Spelling: `centra COMMAND --option` anywhere in blocks marked sh.
pages="README.md $(find docs -name '*.md' | sort | tr '\n' ' ')"
awk -f tools/spelled.awk $pages > "$book/spelled"
sort -u "$book/spelled" | cut -d ' ' -f 2 | sort -u > "$book/commands"
while read -r command; do
    "$centra" help "$command" > "$book/help" 2> /dev/null || : > "$book/help"
    grep -oE -e '--[a-zA-Z0-9.+-]+' "$book/help" | sort -u > "$book/known"
    grep " $command " "$book/spelled" | while read -r where _ option; do
        if [ ! -s "$book/help" ]; then echo "$where: there is no centra $command"
        elif [ "$option" != - ] && ! grep -qxF -e "$option" "$book/known"; then echo "$where: centra $command has no $option"
        fi
    done
done < "$book/commands" > "$book/wrong"
if [ -s "$book/wrong" ]; then cat "$book/wrong"; failed=$((failed + 1)); else echo "$book/spelled" >> "$book/passed"; fi

while read -r where; do echo "SKIP $where: not here"; done < "$book/skipped"
echo "$(wc -l < "$book/passed") passed, $failed failed, $(wc -l < "$book/skipped") skipped"
[ $failed -eq 0 ]
