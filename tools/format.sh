#!/bin/sh
# format.sh OPTIONS - clang-format on every C file; `-i` rewrites, `--dry-run -Werror` complains.
set -eu
cd "$(dirname "$0")/.."
find src tests include examples -name '*.[ch]' -print0 | xargs -0 clang-format --style=file "$@"
