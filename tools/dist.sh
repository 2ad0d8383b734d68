#!/bin/sh
# dist.sh OUT [--check] - the committed sources as OUT/centra-VERSION.tar.gz and its SHA-256. The same commit gives the same bytes
# anywhere: names are in git's order, times are the commit's, nobody owns the files. --check makes it again from a clone in
# another folder, under another umask, time zone and locale and compares.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(git show HEAD:include/centra.h | sed -nE 's/^#define CENTRA_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+).*/\2/p' | paste -sd.)
name=centra-$version

pack() { # pack TREE FILE
    git -C "$1" -c tar.umask=0022 -c core.autocrlf=false archive --format=tar --prefix="$name/" HEAD | gzip -9n > "$2"
}
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "dist: note: what is not committed is not in it"
pack . "$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
echo "$name.tar.gz: $(stat -c %s "$out/$name.tar.gz") bytes, SHA-256 $(cut -d ' ' -f 1 "$out/$name.tar.gz.sha256")"
[ "${2:-}" = --check ] || exit 0

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(umask 077; export TZ=Pacific/Kiritimati LC_ALL=C.UTF-8
    git clone -q --no-hardlinks . "$dir/clone"; touch "$dir"/clone/*; pack "$dir/clone" "$dir/again.tar.gz")
cmp "$out/$name.tar.gz" "$dir/again.tar.gz" || { echo "dist: two archives of one commit differ"; exit 1; }
echo "dist: a second archive, from a clone elsewhere, has the same bytes"
