#!/bin/sh
# deb_check_inside.sh program|library - the part of deb_check.sh that runs inside the fresh system, where /debs holds the
# packages and the list of the program's commands.
set -eu
export DEBIAN_FRONTEND=noninteractive

die() { echo "deb-check: $1" >&2; exit 1; }
quietly() { "$@" > /debs/log 2>&1 || { tail -20 /debs/log; die "failed: $*"; }; }
user="setpriv --reuid=65534 --regid=65534 --clear-groups"
as_user() { $user "$@"; }
files() { find / -xdev \( -path /debs -o -path /proc -o -path /tmp -o -path /var/cache -o -path /var/log -o -path /var/lib/apt \
    -o -path /var/lib/dpkg -o -name 'ld.so.cache*' -o -name aux-cache \) -prune -o -print | sort; }

# Two classes of one colour each, known to the model that came along; then the same by the page's server.
colour() { { printf 'P6 16 16 255\n'; for i in $(seq 256); do printf "$1"; done; } > "$2"; }
labels() {
    mkdir -p /debs/known/red /debs/known/blue
    colour '\377\020\020' /debs/known/red/1.ppm
    colour '\020\020\377' /debs/known/blue/1.ppm
    colour '\360\040\040' /debs/new.ppm
    as_user centra classify --support /debs/known --csv /debs/new.ppm | grep -q 'new.ppm,red,' || die "a red picture is not red"
}
page() {
    $user centra serve --port 0 --json --support /debs/known > /debs/address 2> /debs/log & server=$! # no function: its number is the server's
    trap 'kill "$server" 2> /dev/null || true' EXIT
    for i in $(seq 50); do test -s /debs/address && break; sleep 0.1; done
    port=$(sed -n 's/.*:\([0-9]*\)\/.*/\1/p' /debs/address)
    [ -n "$port" ] || { cat /debs/log; die "'centra serve' does not say where it is"; }
    bash -c "exec 3<> /dev/tcp/127.0.0.1/$port
        printf 'GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nConnection: close\r\n\r\n' >&3; cat <&3" |
        grep -q '"ok":true' || die "the server does not answer"
    kill "$server"
    code=0
    wait "$server" || code=$?
    [ "$code" -eq 130 ] || die "the server ended with $code, not 130"
    trap - EXIT
}

program() {
    quietly apt-get update
    files > /debs/before
    quietly apt-get install -y --no-install-recommends /debs/centra_*.deb
    as_user centra version
    as_user centra list heads | grep -q '^ *mcl-katz' || die "'centra list heads' does not know mcl-katz"
    as_user centra list recipes | grep -q 'cub-conv4-1shot' || die "'centra list recipes' does not find the recipes"
    if ldd /usr/bin/centra | grep -q 'libmpi\|not found'; then die "it needs a library that is missing, or MPI"; fi
    if dpkg -l | grep -qi 'mpi[0-9]\|openmpi'; then die "MPI was installed with it"; fi
    labels
    page
    for page in centra $(sed 's/^/centra-/' /debs/commands); do
        gzip -dc "/usr/share/man/man1/$page.1.gz" | grep -q '^\.TH' || die "$page(1) is no man page"
    done
    for file in bash-completion/completions/centra zsh/vendor-completions/_centra fish/vendor_completions.d/centra.fish \
        doc/centra/copyright doc/centra/changelog.gz; do
        test -s "/usr/share/$file" || die "/usr/share/$file is missing or empty"
    done
    quietly dpkg --verify centra
    quietly apt-get purge -y --auto-remove centra
    files > /debs/after
    diff /debs/before /debs/after || die "these paths differ after the purge"
}

library() {
    quietly apt-get install -y --no-install-recommends /debs/*.deb gcc libc6-dev pkg-config libjpeg-dev libpng-dev libwebp-dev
    cd /usr/share/doc/libcentra-dev/examples
    cc -std=c17 -Wall -Wextra -Werror score.c $(pkg-config --cflags --libs centra) -o /debs/shared
    cc score.c $(pkg-config --static --cflags --libs centra | sed 's/-lcentra/-l:libcentra.a/') -o /debs/static
    ldd /debs/shared | grep -q 'libcentra\.so\.0' || die "the client does not use libcentra.so.0"
    if ldd /debs/static | grep -q libcentra; then die "the static client uses the shared library"; fi
    as_user /debs/shared | diff - score.txt
    as_user /debs/static | diff - score.txt
    as_user python3 -c "import centra; print(len(centra.heads()), 'heads in Python')"
    quietly apt-get purge -y centra libcentra0 libcentra-dev python3-centra
    quietly apt-get install -y --no-install-recommends /debs/libcentra0_*.deb /debs/python3-centra_*.deb
    as_user python3 -c "import centra, numpy; print(centra.score(numpy.eye(4)[:, :, None], [0, 1, 2, 3], numpy.eye(4)[:, :, None]).predictions)" |
        grep -q '\[0 1 2 3\]' || die "python3-centra does not compute with libcentra0 alone"
    cd /
    quietly apt-get purge -y libcentra0 python3-centra
    left=$(files | grep centra || true)
    [ -z "$left" ] || die "left after the purge: $left"
}

"$1"
