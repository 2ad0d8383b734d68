#!/bin/sh
# scaling.sh PROGRAM [RANKSxTHREADS | N...] - pictures a second of Conv-4's training on the CPU for numbers of processes and threads, and
# what part of so many times 1x1 that is. A number by itself is that many processes of one thread that know nothing of each other: what
# the machine has, shared memory, shared units and clock included. Default: 1x1, then all cores as one process, as four, and apart.
# A step has four episodes of 80 pictures (84x84), or one for each process if that is more; the second epoch's time counts. Cases take
# turns, ROUNDS (3) times, and medians are told. Then one more run of the case with most threads says where these waited (CENTRA_WAITS,
# docs/scaling.md). 16 cores need about 90 seconds.
set -eu
program=$(realpath "$1")
shift
cores=$(nproc)
rounds=${ROUNDS:-3}
[ $# -gt 0 ] || set -- 1x1 "1x$((cores / 4 > 1 ? cores / 4 : 2))" "1x$cores" "4x$((cores / 4 > 1 ? cores / 4 : 1))" "$cores"
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
    batch=$((ranks > 4 ? ranks : 4))
    steps=$((2 + (ranks * threads) / 2))
    rm -rf run
    set -- "$program" train recipe.txt --data set.pack --out run --threads "$threads" --quiet --device cpu \
        --set train.episodes=$((batch * steps)) --set train.batch=$batch
    if [ "$ranks" -gt 1 ]; then
        mpirun -n "$ranks" --map-by "slot:PE=$threads" "$@" > log 2>&1 || { cat log >&2; exit 1; }
    else
        "$@" > log 2>&1 || { cat log >&2; exit 1; }
    fi
    rate_of run $((batch * steps * 80))
}
most=1
for _ in $(seq "$rounds"); do
    for pair in "$@"; do
        case $pair in
            *x*) run "${pair%x*}" "${pair#*x}" >> "rates.$pair"
                 [ "${pair#*x}" -le "$most" ] || most=${pair#*x} ;;
            *) apart "$pair" >> "rates.$pair" ;;
        esac
    done
done
one=
printf '%-16s %14s %12s\n' 'ranks x threads' 'pictures/s' 'efficiency'
for pair in "$@"; do
    rate=$(sort -n "rates.$pair" | sed -n "$(((rounds + 1) / 2))p")
    : "${one:=$rate}"
    case $pair in
        *x*) name=$pair threads=$((${pair%x*} * ${pair#*x})) ;;
        *) name="$pair apart" threads=$pair ;;
    esac
    awk -v n="$name" -v r="$rate" -v one="$one" -v k="$threads" \
        'BEGIN { printf "%-16s %14.1f %11.1f%%\n", n, r, 100 * r / (one * k) }'
done
CENTRA_WAITS=$folder/waits run 1 "$most" > rate
echo
awk -v most="$most" '/^[0-9]+ threads; / { there = $1 == most; if (there) text = "" }
    there { text = text $0 "\n" } END { printf "%s", text }' waits | head -20
