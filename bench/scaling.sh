#!/bin/sh
# scaling.sh PROGRAM [RANKSxTHREADS | N...] - pictures a second of Conv-4's training on the CPU for numbers of processes and threads, and
# what part of so many times 1x1 that is. A number by itself is that many processes of one thread that know nothing of each other: what
# the machine has, shared memory, shared units and clock included. Default: 1x1, then all cores as one process, as four, and apart.
# A step has one episode of 80 pictures (84x84) for each process, four at least; the second epoch's time counts, the median of three runs.
set -eu
program=$(realpath "$1")
shift
cores=$(nproc)
[ $# -gt 0 ] || set -- 1x1 "1x$((cores / 4))" "1x$cores" "4x$((cores / 4))" "$cores"
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
rate_of() { # rate_of FOLDER PICTURES: of the second epoch
    awk -F '"seconds":' -v pictures="$2" \
        'NR == 1 { first = $2 + 0 } NR == 2 { printf "%.1f\n", pictures / ($2 - first) }' "$1/metrics.jsonl"
}
apart() { # apart N: the sum of their rates
    rm -rf run
    mkdir run
    for i in $(seq "$1"); do
        "$program" train recipe.txt --data set.pack --out "run/$i" --threads 1 --quiet --device cpu \
            --set train.episodes=8 > "run/$i.log" 2>&1 &
    done
    wait
    for i in $(seq "$1"); do rate_of "run/$i" $((8 * 80)); done | awk '{ sum += $1 } END { printf "%.1f\n", sum }'
}
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
    rate_of run $((4 * steps * 80))
}
one=
printf '%-16s %14s %12s\n' 'ranks x threads' 'pictures/s' 'efficiency'
for pair in "$@"; do
    ranks=${pair%x*} threads=${pair#*x}
    : > rates
    case $pair in
        *x*) for _ in 1 2 3; do run "$ranks" "$threads" >> rates; done ;;
        *) threads=1; for _ in 1 2 3; do apart "$pair" >> rates; done; pair="$pair apart" ;;
    esac
    rate=$(sort -n rates | sed -n 2p)
    : "${one:=$rate}"
    awk -v n="$pair" -v r="$rate" -v one="$one" -v k=$((ranks * threads)) \
        'BEGIN { printf "%-16s %14.1f %11.1f%%\n", n, r, 100 * r / (one * k) }'
done
