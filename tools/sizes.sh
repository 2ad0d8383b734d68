#!/bin/sh
# sizes.sh - files over 600 lines and functions over 60 are refused, files over 400 mentioned. Tables (*.def) are exempt.
# A function is what lies between a brace alone at the start of a line and the next closing one there.
set -eu
cd "$(dirname "$0")/.."
awk '
    function file_end() {
        if (lines > 600) { printf "%s has %d lines; 600 is the limit, cut it by idea\n", name, lines; bad = 1 }
        else if (lines > 400) printf "note: %s has %d lines; is it two ideas?\n", name, lines
    }
    FNR == 1 { if (name) file_end(); name = FILENAME; start = 0; before = "" }
    { lines = FNR }
    /^\{/ { start = FNR; title = before }
    /^\}/ { if (start && FNR - start - 1 > 60) {
            printf "%s:%d: %s: %d lines; 60 is the limit\n", FILENAME, start, title, FNR - start - 1; bad = 1 }
        start = 0 }
    { before = $0 }
    END { if (name) file_end(); exit bad }' $(find src tests include examples -name '*.[ch]' | sort)
