#!/bin/sh
# bench.sh BUILD - times of mcl-katz on the paper's shapes; with PyTorch at hand also bench/heads.py, which alternates
# the two.
set -eu
build=$1
for shape in "640 5" "640 8" "640 10" "64 5" "64 10" "64 19"; do
    set -- $shape
    "$build/centra" bench heads --head mcl-katz --channels "$1" --map "$2"
done
[ -e bench/heads.py ] || exit 0
# another python3 may stand before the system's, which is the one that has Debian's torch
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import torch' 2> /dev/null; then exec "$python" bench/heads.py "$build/centra"; fi
done
echo "bench: no python3 with torch (Debian: python3-torch), so no comparison"
