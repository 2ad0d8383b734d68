#!/bin/sh
# lint.sh BUILD - runs every check of this folder, all of them even when one complains, and says which did.
set -u
cd "$(dirname "$0")/.."
build=$1
failed=""
step() { # step NAME COMMAND...
    name=$1; shift
    if "$@"; then echo "lint: $name ok"; else echo "lint: $name FAILED"; failed="$failed $name"; fi
}
step format tools/format.sh --dry-run -Werror
step words tools/words.sh
step sizes tools/sizes.sh
step layers tools/layers.sh
step headers tools/headers.sh
step symbols tools/symbols.sh "$build"
step docs tools/docs.sh
step tidy tools/tidy.sh "$build"
[ -z "$failed" ] || { echo "lint:$failed"; exit 1; }
