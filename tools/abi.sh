#!/bin/sh
# abi.sh BUILD [--record] - what a program compiled against centra.h counts on: soname, exported names, prototypes, values of
# enums, and the size and place of every member of the public structs. Compared with tests/abi.txt, which --record rewrites.
# A change before 1.0 needs a new minor version and a line in CHANGELOG.md; later, a new soname.
set -eu
cd "$(dirname "$0")/.."
build=$1
recorded=tests/abi.txt
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The header as the compiler sees it, one declaration a line.
${CC:-cc} -std=c17 -E -P -Iinclude '-D__attribute__(x)=' include/centra.h | tr -s ' \n\t' ' ' | awk '
    { text = text $0 " " }
    END {
        for (i = 1; i <= length(text); i++) {
            c = substr(text, i, 1)
            if (c == "{") depth++
            if (c == "}") depth--
            line = line c
            if (c == ";" && !depth) { sub(/^ +/, "", line); print line; line = "" }
        }
    }' > "$dir/declarations"

# A C program that prints the layout, since only the compiler knows it.
awk '
    function member(name, text) {
        if (match(text, /\(\* *[a-z_0-9]+\)/)) { # a pointer to a function
            text = substr(text, RSTART, RLENGTH); gsub(/[^a-z_0-9]/, "", text)
            print_member(name, text); return
        }
        count = split(text, part, ",")
        for (j = 1; j <= count; j++) {
            sub(/\[.*/, "", part[j]); sub(/ +$/, "", part[j]); sub(/.*[ *]/, "", part[j])
            print_member(name, part[j])
        }
    }
    function print_member(name, field) {
        if (field != "")
            printf "    printf(\"    %%3zu %%3zu %s\\n\", offsetof(%s, %s), sizeof((%s *)0)->%s);\n", field, name, field, name, field
    }
    BEGIN { print "#include \"centra.h\"\n#include <stdio.h>\nint main(void)\n{" }
    /^typedef struct centra_[a-z_0-9]+ \{/ {
        name = $3
        printf "    printf(\"struct %s: %%zu bytes, aligned to %%zu\\n\", sizeof(%s), _Alignof(%s));\n", name, name, name
        body = $0; sub(/^[^{]*\{/, "", body); sub(/\}[^}]*$/, "", body)
        n = split(body, line, ";")
        for (i = 1; i < n; i++) member(name, line[i])
    }
    /^typedef enum centra_[a-z_0-9]+ \{/ {
        printf "    printf(\"enum %s: %%zu bytes\\n\", sizeof(%s));\n", $3, $3
        body = $0; sub(/^[^{]*\{/, "", body); sub(/\}[^}]*$/, "", body)
        n = split(body, line, ",")
        for (i = 1; i <= n; i++) { split(line[i], word, " "); printf "    printf(\"    %%3d %s\\n\", (int)%s);\n", word[1], word[1] }
    }
    END { print "    return 0;\n}" }' "$dir/declarations" | sed 's/sizeof((\([a-z_0-9]*\) \*)0)->\([a-z_0-9]*\)/sizeof(((\1 *)0)->\2)/' > "$dir/layout.c"
${CC:-cc} -std=c17 -Wall -Wextra -Werror -Iinclude "$dir/layout.c" -o "$dir/layout"

{
    readelf -dW "$build/libcentra.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/soname \1/p'
    echo "pointer: $(printf 'int main(void) { return sizeof(void *); }' > "$dir/p.c"; ${CC:-cc} "$dir/p.c" -o "$dir/p"; "$dir/p" || echo $?) bytes"
    "$dir/layout"
    nm -D --defined-only "$build/libcentra.so" | awk 'NF == 3 { print "exported " $3 }' | LC_ALL=C sort
    grep -v '^typedef struct centra_[a-z_0-9]* [{c]' "$dir/declarations" | grep 'centra_' | grep -v '^typedef enum'
} > "$dir/seen"

# A library without names, or a header that was not understood, must not pass for a library without changes.
structs=$(grep -c '^typedef struct [a-z_0-9]* {' include/centra.h include/centra_own.h | awk -F: '{ n += $2 } END { print n }')
[ "$(grep -c '^struct ' "$dir/seen")" -eq "$structs" ] || { echo "abi: of $structs structs, $(grep -c '^struct ' "$dir/seen") were understood"; exit 1; }
prototypes=$(sed -n 's/.*[ *]\(centra_[a-z_0-9]*\)(.*/exported \1/p' "$dir/seen" | grep -vx 'exported centra_parallel_for' | LC_ALL=C sort -u)
[ "$prototypes" = "$(grep '^exported ' "$dir/seen")" ] || { echo "abi: prototypes and exported names differ"; exit 1; }

[ "${2:-}" != --record ] || { cp "$dir/seen" "$recorded"; echo "abi: recorded in $recorded"; exit 0; }
[ "$(sed -n 2p "$dir/seen")" = "pointer: 8 bytes" ] || { echo "abi: SKIPPED: the record is of a 64-bit machine"; exit 77; }
diff "$recorded" "$dir/seen" || { echo "abi: < is recorded in $recorded, > is what was built; see the head of tools/abi.sh"; exit 1; }
echo "abi: $(grep -c '^exported ' "$dir/seen") functions, $structs structs as recorded"
