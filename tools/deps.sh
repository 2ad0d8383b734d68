#!/bin/sh
# deps.sh WHAT - installs the packages that `make WHAT` needs and this machine lacks; silent when nothing is missing.
# A thing counts as there when its command is there, so that hand-made installations are left alone.
set -eu

need() { # need COMMAND PACKAGE
    command -v "$1" > /dev/null 2>&1 || missing="$missing $2"
}

missing=""
case ${1:-build} in
    build)
        command -v cc > /dev/null 2>&1 || command -v gcc > /dev/null 2>&1 || missing="$missing gcc libc6-dev"
        need cmake cmake; need make make; need objcopy binutils ;;
    lint)
        need cmake cmake; need clang clang; need g++ g++; need clang-format clang-format; need clang-tidy clang-tidy
        need nm binutils ;;
    fuzz) need cmake cmake; need clang clang
        if command -v clang > /dev/null 2>&1 && ! ls "$(clang -print-resource-dir)"/lib/*/*fuzzer*.a > /dev/null 2>&1; then
            missing="$missing libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
        fi ;;
    valgrind) need valgrind valgrind ;;
    *) echo "deps.sh: there is no '$1'; it knows build, lint, fuzz and valgrind" >&2; exit 2 ;;
esac
[ -n "$missing" ] || exit 0

if ! command -v apt-get > /dev/null 2>&1; then
    echo "missing:$missing (names of Debian packages); please install them and try again" >&2
    exit 1
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null 2>&1 || { echo "missing:$missing; run as root: apt-get install$missing" >&2; exit 1; }
    sudo=sudo
fi
echo "installing:$missing"
install() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing > /dev/null; }
install 2> /dev/null || { $sudo apt-get update -qq && install; } || {
    echo "could not install:$missing" >&2
    exit 1
}
