#!/bin/sh
# layers.sh - every #include "folder/x.h" in src/ must be allowed by layers.txt: a folder may include itself and what
# stands behind its colon. centra.h is for api (which implements it), app and serve; includes without a folder are
# refused because they hide where a header lives.
set -eu
cd "$(dirname "$0")/.."
awk '
    FILENAME ~ /layers\.txt$/ { sub(":", "", $1); known[$1] = 1; for (i = 1; i <= NF; i++) ok[$1, $i] = 1; next }
    FNR == 1 { split(FILENAME, p, "/"); from = p[2]
        if (!(from in known)) { print FILENAME ": folder " from " is not in tools/layers.txt"; bad = 1 } }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, q, "\""); to = q[2]
        if (to == "centra.h") { if (from != "api" && from != "app" && from != "serve") {
            print FILENAME ":" FNR ": " from " may not include centra.h"; bad = 1 } }
        else if (to !~ /\//) { print FILENAME ":" FNR ": write \"" to "\" from src/, as \"folder/" to "\""; bad = 1 }
        else { sub(/\/.*/, "", to)
            if (!((from, to) in ok)) { print FILENAME ":" FNR ": " from " may not include " to; bad = 1 } }
    }
    END { exit bad }' tools/layers.txt $(find src -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def')
