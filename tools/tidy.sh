#!/bin/sh
# tidy.sh BUILD - clang-tidy on each source once, in one process each (the analyser of clang 14 mixes up va_lists of
# several files). Files that are compiled for float and double are looked at as double; the vector kernels are left to
# the kernel check.
set -eu
cd "$(dirname "$0")/.."
build=$1
skip=none unserved=none # a file whose library is not here cannot be looked at
echo '#include <oneapi/dnnl/dnnl.h>' | cc -E - > /dev/null 2>&1 || skip=src/cpu/onednn.c
echo '#include <microhttpd.h>' | cc -E - > /dev/null 2>&1 || unserved=src/serve/http.c
alone=none # nor is a request that is asked for with MPI_Test one without a wait
command -v mpicc > /dev/null 2>&1 || alone='src/mpi/*'
MPI=$(mpicc -showme:compile 2> /dev/null || true)
export MPI
find src examples -name '*.c' ! -path 'src/cpu/simd/*' ! -path "$skip" ! -path "$unserved" ! -path "$alone" -print0 |
    xargs -0 -n 1 -P "$(nproc 2> /dev/null || echo 2)" sh -c '
        before="-include tools/analyser.h"
        case $1 in src/base/status.c | examples/*) before="" ;; esac
        clang-tidy --quiet --checks=-clang-analyzer-optin.mpi.MPI-Checker "$1" -- -std=c17 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -DCENTRA_REAL=64 -Isrc \
            -Iinclude $MPI $before 2> /dev/null' tidy > "$build/tidy.log" || { cat "$build/tidy.log"; exit 1; }
