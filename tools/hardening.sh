#!/bin/sh
# hardening.sh BUILD - reads the built program and libraries and fails where a protection of cmake/hardening.cmake is missing.
set -eu
build=$1
bad=0
miss() { echo "hardening: $1 $2"; bad=1; }

version=$(sed -nE 's/^#define CENTRA_VERSION_MAJOR ([0-9]+).*/\1/p' "$(dirname "$0")/../include/centra.h")
soname=$(readelf -dW "$build/libcentra.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = "libcentra.so.$version" ] || miss libcentra.so "has the soname '$soname', not libcentra.so.$version"

for name in centra libcentra.so centra-mpi.so centra-cuda.so; do
    file=$build/$name
    if ! [ -e "$file" ]; then
        case $name in centra-*) continue ;; *) miss "$name" "was not built"; continue ;; esac
    fi
    segments=$(readelf -lW "$file") dynamic=$(readelf -dW "$file") symbols=$(readelf -sW "$file")
    printf '%s\n' "$segments" | grep -q 'Elf file type is DYN' || miss "$name" "is not position-independent"
    printf '%s\n' "$segments" | grep -q GNU_RELRO || miss "$name" "has no read-only relocations"
    printf '%s\n' "$dynamic" | grep -qE '\(FLAGS(_1)?\).*(BIND_)?NOW' || miss "$name" "binds its names late"
    printf '%s\n' "$dynamic" | grep -q TEXTREL && miss "$name" "has relocations in its code"
    printf '%s\n' "$dynamic" | grep -qE '\((RPATH|RUNPATH)\)' && [ "$name" = centra ] && miss "$name" "looks for libraries in a folder of this build"
    printf '%s\n' "$segments" | awk '/GNU_STACK/ { found = 1; if ($0 ~ /RWE/) bad = 1 } END { exit !found || bad }' ||
        miss "$name" "has an executable stack"
    printf '%s\n' "$segments" | awk '/LOAD/ && /W/ && / [RW ]*W[ ]*E /' | grep -q . && miss "$name" "has memory that is writable and executable"
    printf '%s\n' "$symbols" | grep -q __stack_chk_fail || miss "$name" "has no stack protector"
    [ "$name" = centra-cuda.so ] && continue
    case $name in centra | libcentra.so) # these copy and print
        printf '%s\n' "$symbols" | grep -qE '__(memcpy|snprintf|vsnprintf|fprintf|read)_chk' || miss "$name" "has no checked copies (_FORTIFY_SOURCE)" ;;
    esac
    case $(uname -m) in x86_64) # landing places of indirect jumps; a few come with the compiler's own start-up code
        [ "$(objdump -d --no-show-raw-insn "$file" | grep -c endbr64)" -ge 16 ] || miss "$name" "does not mark the targets of jumps" ;;
    esac
done
[ $bad -ne 0 ] || echo "hardening: PIE, RELRO, bound at start, stack protected and not executable, checked copies, soname $soname"
exit $bad
