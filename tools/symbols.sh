#!/bin/sh
# symbols.sh BUILD - the libraries give their users centra_* and nothing else.
set -eu
build=$1
bad=0
check() { # check FILE NM-OPTIONS
    file=$1; shift
    names=$(nm "$@" --defined-only "$file" | awk 'NF == 3 && $2 ~ /[A-Z]/ && $2 != "N" { print $3 }')
    strange=$(printf '%s\n' "$names" | grep -v '^centra_' || true)
    [ -z "$strange" ] || { echo "$file exports, besides centra_*:"; printf '%s\n' "$strange" | head -20; bad=1; }
    # a library with no symbols would pass every filter
    printf '%s\n' "$names" | grep -q '^centra_version$' || { echo "$file does not export centra_version"; bad=1; }
}
check "$build/libcentra.so" -D
check "$build/libcentra.a" -g
exit $bad
