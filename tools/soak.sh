#!/bin/sh
# soak.sh BUILD MINUTES - a server among good and bad clients for so long. Prints its memory (VmRSS) at the start, each minute and at the
# end, and what the clients saw. Exit status 1 when the server died, or good clients were refused for other reasons than haste.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
minutes=${2:-10}
command -v node > /dev/null 2>&1 || { echo "soak: SKIPPED: there is no node (Debian: nodejs)"; exit 77; }
CENTRA_BUILD=$build exec node tests/browser/soak.mjs "$minutes"
