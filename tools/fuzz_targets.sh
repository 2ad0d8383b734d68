# fuzz_targets.sh - for fuzz.sh and campaign.sh to source, in the project's folder: what there is to fuzz, building it, one run.

fuzz_targets() { ls tests/fuzz/*.c | sed 's|.*/||; s|\.c$||' | grep -v '^replay$'; }

fuzz_configure() {
    cmake -S . -B build-fuzz $(command -v ninja > /dev/null && [ ! -e build-fuzz/CMakeCache.txt ] && echo -G Ninja) \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -g" -DCENTRA_FUZZ=ON \
        -DCMAKE_C_COMPILER=clang -DCENTRA_SANITIZE=address,undefined -DCENTRA_TESTS=OFF > /dev/null
}

fuzz_build() { # fuzz_build JOBS NAME...
    local jobs=$1
    shift
    cmake --build build-fuzz -j "$jobs" --target $(printf 'fuzz-%s ' "$@") > build-fuzz/build.log ||
        { cat build-fuzz/build.log; return 1; }
}

# From the corpus, which stays as it is, and what earlier runs have kept in build-fuzz/found/NAME. What crashes lies beside that and
# belongs, once understood, into tests/fuzz/corpus.
fuzz_run() { # fuzz_run NAME SECONDS LOG
    mkdir -p "build-fuzz/found/$1"
    "build-fuzz/fuzz-$1" -max_total_time="$2" -timeout=60 -rss_limit_mb=1024 -print_final_stats=1 \
        -dict="tests/fuzz/dictionaries/$1.dict" -artifact_prefix="build-fuzz/found/$1-" "build-fuzz/found/$1" \
        "tests/fuzz/corpus/$1" > "$3" 2>&1
}

fuzz_inputs() { sed -n 's/^stat::number_of_executed_units: *//p' "$1"; }         # fuzz_inputs LOG
fuzz_edges() { sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$1" | tail -n 1; }          # fuzz_edges LOG
