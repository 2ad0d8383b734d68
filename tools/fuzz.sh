#!/bin/sh
# fuzz.sh SECONDS JOBS - builds the libFuzzer targets and runs each that long from its corpus, which stays as it is.
set -eu
cd "$(dirname "$0")/.."
cmake -S . -B build-fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -g" -DCENTRA_FUZZ=ON \
    -DCMAKE_C_COMPILER=clang -DCENTRA_SANITIZE=address,undefined -DCENTRA_TESTS=OFF > /dev/null
for source in tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    [ "$name" != replay ] || continue
    cmake --build build-fuzz -j "$2" --target "fuzz-$name" > build-fuzz/build.log || { cat build-fuzz/build.log; exit 1; }
    mkdir -p "build-fuzz/found/$name"
    log=build-fuzz/$name.log
    "build-fuzz/fuzz-$name" -max_total_time="$1" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
        -artifact_prefix="build-fuzz/found/$name-" "build-fuzz/found/$name" "tests/fuzz/corpus/$name" > "$log" 2>&1 || {
        tail -40 "$log"
        exit 1
    }
    echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $1 s, nothing found"
done
