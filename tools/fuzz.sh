#!/bin/sh
# fuzz.sh SECONDS JOBS [NAME...] - builds the libFuzzer targets and runs each, or those named, that long.
set -eu
cd "$(dirname "$0")/.."
. tools/fuzz_targets.sh
seconds=$1 jobs=$2
shift 2
[ $# -gt 0 ] || set -- $(fuzz_targets)
fuzz_configure
bad=0
for name; do
    fuzz_build "$jobs" "$name"
    log=build-fuzz/$name.log
    if fuzz_run "$name" "$seconds" "$log"; then
        echo "fuzz $name: $(fuzz_inputs "$log") inputs in $seconds s, nothing found"
    else
        tail -40 "$log"
        bad=1
    fi
done
exit $bad
