#!/bin/sh
# docs.sh - every block marked ```c in README.md, CONTRIBUTING.md and docs/ compiles. A block without #include is put
# behind centra.h; one that starts with a statement instead of a declaration at file level is put into a function.
# A block marked ```c excerpt shows a shape from inside the tree and is not compiled.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
awk -v dir="$dir" '
    /^```c[ \t]*$/ { n++; file = sprintf("%s/%03d.c", dir, n); printf "#line %d \"%s\"\n", FNR + 1, FILENAME > file; next }
    /^```/ { if (file) close(file); file = ""; next }
    file { print > file }' README.md CONTRIBUTING.md $(find docs -name '*.md' | sort)
bad=0
for block in "$dir"/*.c; do
    [ -e "$block" ] || break
    unit=$dir/unit
    # file level: a #include, or a function body's opening brace at the start of a line
    if grep -qE '^(#include|\{|int main)' "$block"; then
        { echo '#include "centra.h"'; cat "$block"; } > "$unit"
    else
        { echo '#include "centra.h"'; echo '#include <stdio.h>'; echo 'int snippet(void);'; echo 'int snippet(void) {'
          cat "$block"; echo 'return 0; }'; } > "$unit"
    fi
    ${CC:-cc} -std=c17 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -Wall -Wextra -Wno-unused -Wno-missing-prototypes \
        -Werror -Iinclude -Isrc -x c -fsyntax-only "$unit" || bad=1
done
exit $bad
