#!/bin/sh
# solvers.sh [PROGRAM] - milliseconds of the walk's solvers over map sizes, ways and damping: where `auto` should change over.
# A Markdown table goes to standard output. Inference, 64 channels, features of 8 kinds; best of 5 runs each.
set -eu
program=${1:-build/centra}
solvers="auto iterate deflated"
printf '| features a query | way | queries | alpha |'
for s in $solvers; do printf ' %s ms |' "$s"; done
printf '\n|---|---|---|---|---|---|---|\n'

median() { # median SIDE WAY QUERIES ALPHA SOLVER
    "$program" bench heads --head mcl --head.alpha "$4" --head.solver "$5" --channels 64 --map "$1" --way "$2" \
        --queries "$3" --repeats 5 --warmup 1 --json | sed 's/.*"min_ms":\([0-9.]*\).*/\1/'
}

for shape in "5 2 30" "5 5 12" "5 20 3" "5 100 1" "8 5 12" "8 20 3" "12 2 30" "12 5 12" "12 20 2" "19 2 15" "19 5 4"; do
    set -- $shape
    for alpha in 0.1 0.5 0.9 0.999; do
        printf '| %s | %s | %s | %s |' "$(($1 * $1))" "$2" "$(($2 * $3))" "$alpha"
        for solver in $solvers; do printf ' %.2f |' "$(median "$1" "$2" "$3" "$alpha" "$solver")"; done
        printf '\n'
    done
done
