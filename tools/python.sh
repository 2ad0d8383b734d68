#!/bin/sh
# python.sh MODULE... - the first python3 that has these modules: CENTRA_PYTHON alone where that is set, else Debian's, else the
# first on the path. Fails with a sentence on standard output where there is none.
for python in ${CENTRA_PYTHON:-/usr/bin/python3 python3}; do
    command -v "$python" > /dev/null 2>&1 || continue
    missing=""
    for module; do "$python" -c "import $module" > /dev/null 2>&1 || missing="$missing $module"; done
    [ -n "$missing" ] || { command -v "$python"; exit 0; }
done
echo "no python3 with $* (Debian: python3$(printf ' python3-%s' "$@"))"
exit 1
