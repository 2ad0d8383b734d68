#!/bin/sh
# headers.sh - each header compiles alone, and centra.h also as C++. The vector layer is tried for every instruction set.
set -eu
cd "$(dirname "$0")/.."
flags="-std=c17 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -Wall -Wextra -Wno-unused-function -Werror -Isrc -Iinclude -I."
bad=0
alone() { # alone HEADER FLAGS...
    header=$1; shift
    printf '#include "%s"\ntypedef int translation_unit_is_not_empty;\n' "$header" |
        ${CC:-cc} $flags "$@" -x c -fsyntax-only - || { echo "$header does not compile alone ($*)"; bad=1; }
}
for header in include/*.h tests/*.h $(find src -name '*.h' ! -path 'src/cpu/simd/*' ! -path 'src/mpi/*' | sort); do
    alone "$header" -DCENTRA_REAL=32
done
if command -v mpicc > /dev/null 2>&1; then alone src/mpi/mpi.h $(mpicc -showme:compile); fi
if [ "$(uname -m)" = x86_64 ]; then # the other headers of simd are parts of vec.h
    for real in 32 64; do
        alone src/cpu/simd/vec.h -DCENTRA_REAL=$real -mavx2 -mfma
        alone src/cpu/simd/vec.h -DCENTRA_REAL=$real -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma
    done
fi
printf '#include "centra.h"\n' | ${CXX:-c++} -std=c++17 -Wall -Wextra -Werror -Iinclude -x c++ -fsyntax-only - || {
    echo "include/centra.h does not compile as C++"
    bad=1
}
exit $bad
