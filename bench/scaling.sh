#!/bin/sh
# scaling.sh PROGRAM [RANKSxTHREADS...] - pictures a second of Conv-4's training on the CPU for numbers of processes and threads, and
# what part of so many times 1x1 that is. Default: 1x1, then all cores as one process, as four, and as half and half.
# A step has one episode of 80 pictures (84x84) for each process, four at least; the second epoch's time counts, the median of three runs.
set -eu
program=$(realpath "$1")
shift
cores=$(nproc)
[ $# -gt 0 ] || set -- 1x1 "1x$((cores / 4))" "1x$cores" "4x$((cores / 4))" "2x$((cores / 2))"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$program" data pack 'synth:1?train=8&val=4&test=4&pictures=40&side=92' set.pack --quiet > /dev/null
cat > recipe.txt << 'END'
[data]
side = 84
pad = 8
[net]
name = conv4
[head]
name = mcl-katz
[train]
epochs = 2
batch = 4
way = 5
shot = 1
query = 15
rate = 0.01
[validate]
every = 1000
episodes = 2
way = 2
query = 1
END
run() { # run RANKS THREADS: pictures a second
    ranks=$1 threads=$2
    steps=$((2 + (ranks * threads) / 2))
    rm -rf run
    set -- "$program" train recipe.txt --data set.pack --out run --threads "$threads" --quiet --device cpu \
        --set train.episodes=$((4 * steps))
    if [ "$ranks" -gt 1 ]; then
        mpirun -n "$ranks" --map-by "slot:PE=$threads" "$@" > log 2>&1 || { cat log >&2; exit 1; }
    else
        "$@" > log 2>&1 || { cat log >&2; exit 1; }
    fi
    awk -F '"seconds":' -v pictures=$((4 * steps * 80)) \
        'NR == 1 { first = $2 + 0 } NR == 2 { printf "%.1f\n", pictures / ($2 - first) }' run/metrics.jsonl
}
one=
printf '%-16s %14s %12s\n' 'ranks x threads' 'pictures/s' 'efficiency'
for pair in "$@"; do
    ranks=${pair%x*} threads=${pair#*x}
    : > rates
    for _ in 1 2 3; do run "$ranks" "$threads" >> rates; done
    rate=$(sort -n rates | sed -n 2p)
    : "${one:=$rate}"
    awk -v n="$pair" -v r="$rate" -v one="$one" -v k=$((ranks * threads)) \
        'BEGIN { printf "%-16s %14.1f %11.1f%%\n", n, r, 100 * r / (one * k) }'
done
