#!/bin/sh
# words.sh - refuses what should not be committed: a TODO without an issue number, blanks at line ends, tabs outside
# Makefiles, somebody's home folder, code switched off with #if 0.
set -eu
cd "$(dirname "$0")/.."
files=$(find . \( -name .git -o -name 'build*' -o -name carry -o -name corpus -o -name fixtures \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.def' -o -name '*.cu' -o -name '*.md' -o -name '*.sh' -o -name '*.py' -o -name '*.cmake' \
    -o -name '*.in' -o -name '*.txt' -o -name Makefile -o -path ./.ci/run \) -print | sort)
tab=$(printf '\t')
bad=0
refuse() { # refuse WHY PATTERN FILES
    why=$1; pattern=$2; shift 2
    if grep -nE "$pattern" "$@" /dev/null; then echo "^ $why"; bad=1; fi
}
code=$(printf '%s\n' $files | grep -v '^./tools/words.sh$')
refuse "TODO needs an issue number: TODO(#12)" 'TODO($|[^(]|\([^#])|FIXME|(^|[^X])XXX($|[^X])' $(printf '%s\n' $code | grep -v '\.md$')
refuse "blanks at the end of a line" '[[:blank:]]$' $files
refuse "tab" "$tab" $(printf '%s\n' $files | grep -v '/Makefile$')
refuse "a path of one machine" '(^|[^[:alnum:]_.-])/(home|root|Users)/[[:alnum:]]' $code
refuse "code switched off: git remembers" '^[[:blank:]]*#[[:blank:]]*if 0' $code
exit $bad
