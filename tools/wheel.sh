#!/bin/sh
# wheel.sh OUT - the Python package as a wheel and a source distribution in OUT, built offline with the system's setuptools.
# The library is not inside: it is found at run time (docs/python.md). The same sources give the same bytes.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
python=$(tools/python.sh setuptools wheel) || { echo "wheel: $python" >&2; exit 1; }
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || stat -c %Y include/centra.h)}
export SOURCE_DATE_EPOCH
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/include" # setup.py reads the version there
cp include/centra.h "$tree/include/"
cp -r python "$tree/python"
cp LICENSE "$tree/python/"
find "$tree" -name __pycache__ -prune -exec rm -rf {} +
find "$tree" -exec touch -d "@$SOURCE_DATE_EPOCH" {} + # a wheel keeps the files' times
rm -f "$out"/centra-*.whl "$out"/centra-*.tar.gz
(cd "$tree/python" && umask 022 && "$python" setup.py -q sdist --formats=gztar -d "$out" bdist_wheel -d "$out") > "$tree/log" 2>&1 ||
    { cat "$tree/log" >&2; exit 1; }
# setuptools packs the sources with the times of now
for archive in "$out"/centra-*.tar.gz; do
    mkdir "$tree/sources"
    tar -xzf "$archive" -C "$tree/sources"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=ustar -C "$tree/sources" -cf - $(ls "$tree/sources") |
        gzip -9n > "$archive"
done
ls "$out"/centra-*
