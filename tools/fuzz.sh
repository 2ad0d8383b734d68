#!/bin/sh
# fuzz.sh SECONDS JOBS [NAME...] - builds the libFuzzer targets and runs each, or those named, that long from its corpus, which stays as
# it is, with its dictionary. What was run is a table in build-fuzz/campaign.md; what crashed lies in build-fuzz/found and
# belongs, once understood, into tests/fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."
seconds=$1 jobs=$2
shift 2
cmake -S . -B build-fuzz $(command -v ninja > /dev/null && [ ! -e build-fuzz/CMakeCache.txt ] && echo -G Ninja) \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -g" -DCENTRA_FUZZ=ON \
    -DCMAKE_C_COMPILER=clang -DCENTRA_SANITIZE=address,undefined -DCENTRA_TESTS=OFF > /dev/null
[ $# -gt 0 ] || set -- $(ls tests/fuzz/*.c | sed 's|.*/||; s|\.c$||' | grep -v '^replay$')
table=build-fuzz/campaign.md
printf '| target | seconds | inputs | a second | edges | files | found |\n| --- | --- | --- | --- | --- | --- | --- |\n' > $table
bad=0
for name; do
    cmake --build build-fuzz -j "$jobs" --target "fuzz-$name" > build-fuzz/build.log || { cat build-fuzz/build.log; exit 1; }
    mkdir -p "build-fuzz/found/$name"
    log=build-fuzz/$name.log
    status=0
    "build-fuzz/fuzz-$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
        -dict="tests/fuzz/dictionaries/$name.dict" -artifact_prefix="build-fuzz/found/$name-" "build-fuzz/found/$name" \
        "tests/fuzz/corpus/$name" > "$log" 2>&1 || status=$?
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    files=$(find "build-fuzz/found/$name" -type f | wc -l)
    echo "| $name | $seconds | ${inputs:-?} | ${rate:-?} | ${edges:-?} | $files | $([ $status -eq 0 ] && echo nothing || echo "**something**") |" >> $table
    if [ $status -eq 0 ]; then
        echo "fuzz $name: $inputs inputs in $seconds s, nothing found"
    else
        tail -40 "$log"
        bad=1
    fi
done
exit $bad
