#!/bin/sh
# valgrind.sh BUILD - memory errors and leaks on the portable path (valgrind does not know AVX-512): small tests and
# one scored episode.
set -eu
build=$1
check() { CENTRA_ISA=portable valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$@"; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# what forks, kills or counts on real time is left out: names are matched as parts
for part in arena json npy_ text tensor; do
    check "$build/centra-tests" "$part" || { echo "valgrind: tests of $part FAILED"; exit 1; }
done

# header LENGTH-PADDED: a .npy of version 1 is magic, 2 version bytes, the header's length, the header, the data
npy() { # npy FILE DESCR SHAPE BYTES
    header=$(printf "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" "$2" "$3")
    { printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "$header"; printf "$4"; } > "$1"
}
one='\000\000\200\077'; two='\000\000\000\100'; zero='\000\000\000\000'
npy "$dir/support.npy" '<f4' '(2, 2, 1)' "$one$zero$zero$one"
npy "$dir/labels.npy" '<i4' '(2,)' "$zero$one"
npy "$dir/query.npy" '<f4' '(1, 2, 2)' "$one$two$zero$one"
check "$build/centra" score --threads 2 --support "$dir/support.npy" --support-labels "$dir/labels.npy" \
    --query "$dir/query.npy" --json || { echo "valgrind: centra score FAILED"; exit 1; }
check "$build/example-shared" > /dev/null || { echo "valgrind: the example FAILED"; exit 1; }
echo "valgrind: ok"
