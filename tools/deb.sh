#!/bin/sh
# deb.sh OUT [JOBS] - the Debian packages centra, libcentra0, libcentra-dev and python3-centra of this tree, built, checked by lintian and
# left in OUT. packaging/debian becomes debian/ in a copy of the sources, so that this folder stays as it is. The
# maintainer is DEBFULLNAME <DEBEMAIL>; the date is that of the last commit, so that the same sources give the same files.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
jobs=${2:-2}
version=$(sed -nE 's/^#define CENTRA_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+).*/\2/p' include/centra.h | paste -sd.)
seconds=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || stat -c %Y include/centra.h)}
date=$(LC_ALL=C date -u -R -d "@$seconds")
maintainer="${DEBFULLNAME:-Centra developers} <${DEBEMAIL:-developers@centra.invalid}>"

tree=$out/centra-$version
rm -rf "$tree" "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
mkdir "$tree"
tar --exclude=./.git --exclude='./build*' --exclude=./carry --exclude="./${1#./}" -cf - . | tar -xf - -C "$tree"
cp -r packaging/debian "$tree/debian"
for file in control changelog; do
    sed "s|@MAINTAINER@|$maintainer|; s|@VERSION@|$version|; s|@DATE@|$date|" "$tree/debian/$file.in" > "$tree/debian/$file"
    rm "$tree/debian/$file.in"
done

# No debug symbols: they would make packages of their own, and the others depend on this folder's name.
# -d: tools/deps.sh has looked for what is needed, and takes a cmake or gcc that is no package as well.
export DEB_CFLAGS_STRIP=-g DEB_BUILD_OPTIONS="parallel=$jobs noautodbgsym ${DEB_BUILD_OPTIONS:-}"
(cd "$tree" && dpkg-buildpackage -b -d -us -uc) > "$out/log" 2>&1 || { tail -60 "$out/log"; exit 1; }
# a first upload to Debian closes the bug that asked for the package; this is none
lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$out"/*.changes
rm -rf "$tree"
for deb in "$out"/*.deb; do
    echo "${deb##*/}: $(stat -c %s "$deb") bytes, installed $(dpkg-deb -f "$deb" Installed-Size) KiB"
done
