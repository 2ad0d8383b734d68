#!/bin/sh
# deps.sh WHAT - installs the packages that `make WHAT` needs and this machine lacks; silent when nothing is missing.
# A thing counts as there when its command or header is there, so that hand-made installations are left alone.
set -eu

need() { # need COMMAND PACKAGE
    command -v "$1" > /dev/null 2>&1 || missing="$missing $2"
}

want() { # want HEADER PACKAGE: the build goes on without it
    printf '#include <stdio.h>\n#include <%s>\n' "$1" | cc -E - > /dev/null 2>&1 || wanted="$wanted $2"
}

missing=""
wanted=""
case ${1:-build} in
    build)
        command -v cc > /dev/null 2>&1 || command -v gcc > /dev/null 2>&1 || missing="$missing gcc libc6-dev"
        need cmake cmake; need make make; need objcopy binutils
        want jpeglib.h libjpeg-dev; want png.h libpng-dev; want webp/decode.h libwebp-dev
        want microhttpd.h libmicrohttpd-dev
        command -v mpirun > /dev/null 2>&1 && command -v mpicc > /dev/null 2>&1 || wanted="$wanted libopenmpi-dev openmpi-bin" ;;
    lint)
        need cmake cmake; need clang clang; need g++ g++; need clang-format clang-format; need clang-tidy clang-tidy
        need nm binutils
        want jpeglib.h libjpeg-dev; want png.h libpng-dev; want webp/decode.h libwebp-dev; want oneapi/dnnl/dnnl.h libdnnl-dev
        want microhttpd.h libmicrohttpd-dev ;;
    docs) need cmake cmake; need cmark-gfm cmark-gfm; need mandoc mandoc ;;
    oracle) want oneapi/dnnl/dnnl.h libdnnl-dev ;;
    fuzz) need cmake cmake; need clang clang
        if command -v clang > /dev/null 2>&1 && ! ls "$(clang -print-resource-dir)"/lib/*/*fuzzer*.a > /dev/null 2>&1; then
            missing="$missing libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
        fi ;;
    wheel) need tar tar; "$(dirname "$0")/python.sh" setuptools wheel > /dev/null || missing="$missing python3 python3-setuptools python3-wheel" ;;
    valgrind) need valgrind valgrind ;;
    coverage) need gcc gcc; need cmake cmake; need gcovr gcovr ;;
    deb)
        need gcc gcc; need cmake cmake; need objcopy binutils
        need dh debhelper; need dh_python3 dh-python; need dpkg-buildpackage dpkg-dev; need fakeroot fakeroot; need lintian lintian
        want jpeglib.h libjpeg-dev; want png.h libpng-dev; want webp/decode.h libwebp-dev
        want microhttpd.h libmicrohttpd-dev
        for module in numpy setuptools; do
            /usr/bin/python3 -c "import $module" > /dev/null 2>&1 || missing="$missing python3 python3-$module"
        done
        missing="$missing$wanted" wanted="" ;; # a package has every format
    deb-check) need debootstrap debootstrap ;;
    *) echo "deps.sh: there is no '$1'; it knows build, lint, docs, fuzz, oracle, valgrind, wheel, coverage, deb and deb-check" >&2; exit 2 ;;
esac
[ -n "$missing$wanted" ] || exit 0

give_up() { # give_up WHY: an error only where something is missing that the work cannot do without
    [ -z "$missing" ] || { echo "missing:$missing (names of Debian packages): $1" >&2; exit 1; }
    echo "going on without:$wanted ($1)" >&2
    exit 0
}
command -v apt-get > /dev/null 2>&1 || give_up "please install them and try again"
sudo=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null 2>&1 || give_up "run as root: apt-get install$missing$wanted"
    sudo=sudo
fi
echo "installing:$missing$wanted"
install() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" > /dev/null; }
install $missing $wanted 2> /dev/null || { $sudo apt-get update -qq && install $missing $wanted; } ||
    { [ -n "$missing" ] && install $missing; } || give_up "apt-get could not install them"
