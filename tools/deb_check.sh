#!/bin/sh
# deb_check.sh DEBS - installs the packages of folder DEBS in a fresh minimal Debian, uses and removes them there. Mirror,
# suite and proxy are those of this machine's apt. The system lies in a temporary folder, its mounts in a name space of
# their own: both are gone at the end, however it ends. Needs root and the network.
set -eu
cd "$(dirname "$0")/.."
debs=$(cd "$1" && pwd)

skip() { echo "deb-check: SKIPPED, nothing was checked: $1" >&2; exit 0; }
[ "$(id -u)" -eq 0 ] || skip "it needs root"
unshare --mount true 2> /dev/null || skip "mounts are not allowed here"
tools/deps.sh deb-check
if [ "${2:-}" != inside ]; then exec unshare --mount --propagation private "$0" "$debs" inside; fi

# lines "address suite component", the main suite of this release first
targets=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages')
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(echo "$targets" | awk -v suite="$suite" '$2 == suite && $3 == "main" { print $1; exit }')
[ -n "$mirror" ] || skip "apt has no source for this release ('$suite')"
proxy=""; valid=""
eval "$(apt-config shell proxy Acquire::http::Proxy valid Acquire::Check-Valid-Until)"
[ -z "$proxy" ] || export http_proxy="$proxy"

dir=$(mktemp -d)
root=$dir/root
# the mounts go first: whoever removes a tree with /proc in it removes more than he wants
trap 'umount "$root/proc" 2> /dev/null || true; rm -rf --one-file-system "$dir"' EXIT
trap 'exit 1' HUP INT TERM
start=$(date +%s)
step() { echo "deb-check: $1 ($(($(date +%s) - start)) s)"; }

debootstrap --variant=minbase "$suite" "$root" "$mirror" > "$dir/log" 2>&1 || { tail -20 "$dir/log"; exit 1; }
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
# updates and security fixes too: the packages may have been built against them
echo "$targets" | awk -v suite="$suite" 'index($2, suite) == 1 { print "deb", $1, $2, $3 }' > "$root/etc/apt/sources.list"
[ -z "$valid" ] || echo "Acquire::Check-Valid-Until \"$valid\";" > "$root/etc/apt/apt.conf.d/90valid"
mkdir "$root/debs"
cp "$debs"/*.deb tools/deb_check_inside.sh "$root/debs/"
sed -n 's/^COMMAND(\([a-z_]*\).*/\1/p' src/app/commands.def > "$root/debs/commands"
step "$suite, $(du -smx "$root" | cut -f1) MB, is there"

inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin ${http_proxy:+http_proxy="$http_proxy"} LC_ALL=C.UTF-8 \
    chroot "$root" /debs/deb_check_inside.sh "$1"; }
inside program
step "the program was installed, used and purged"
inside library
step "a client was compiled against the library and run; Python used it too; all were purged"
