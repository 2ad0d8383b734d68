#!/bin/sh
# mutants.sh BUILD [COUNT [SEED]] - are the tests of heads and ops sharp? One operator or constant of src/heads and src/ops is changed
# at a time (tools/mutants.awk), its object compiled, the tests of BUILD (made by ninja) linked with it in place of the right one,
# and run until one fails. A mutant that no test notices has survived. COUNT mutants are drawn by SEED, so that the same ones
# come each time. tools/mutants.txt lists those that change nothing, each below its reason. Fails when fewer than 95 %
# are killed. The report is build-mutants/report.txt.
set -eu
cd "$(dirname "$0")/.."
build=$1
count=${2:-240}
seed=${3:-1}
out=$PWD/build-mutants
mkdir -p "$out"

find src/heads src/ops -name '*.c' | LC_ALL=C sort | xargs awk -f tools/mutants.awk > "$out/all.txt"
awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f %s\n", rand(), $0 }' "$out/all.txt" | LC_ALL=C sort | head -n "$count" |
    cut -d ' ' -f 2- | LC_ALL=C sort > "$out/drawn.txt"

# an object in front of the archive is taken instead of the archive's
link=$(cd "$build" && ninja -t commands centra-tests | tail -n 1 |
    sed "s|^: && ||; s| && :\$||; s| -o centra-tests | $out/mutant.o -o $out/mutant-tests |")
compile() { # compile FILE: the command that makes its object, without the names of files, and not for speed
    (cd "$build" && ninja -t commands "CMakeFiles/objects-plain.dir/$1.o") | tail -n 1 | sed 's/ -MD .*//; s/ -O3 / -O1 /'
}
run() { # run SECONDS WORDS...: 0 when every test passes
    seconds=$1; shift
    timeout -k 5 "$seconds" "$out/mutant-tests" --first "$@" > "$out/mutant.log" 2>&1
}
# what kills most in the least time comes first
quick="ops/gradient ops/values ops/errors ops/channels ops/tape ops/half heads/worked heads/fitted heads/solved heads/deepemd
    heads/frn heads/mn4 heads/ctx heads/pool heads/proto heads/mirror heads/walk_values heads/walk_gradients heads/walk_tape
    heads/golden"
slow="ops/networks ops/threads heads/nonfinite heads/registry heads/walk_properties heads/walk_solvers nets/nets train/pretrain
    api/score api/params"
more() { # more FILE: what takes long and is about few files
    case $1 in
        *norm*) echo ops/norm_act_pool nets/ peers/gradients ;;
        *conv2d* | *dropout*) echo nets/ ;;
        *chunks* | *walk*) echo heads/chunks heads/walk_ ;;
        *tape* | *node*) echo api/allocations api/faults ;;
    esac
}
cp "$build/centra-tests" "$out/mutant-tests"
run 1200 $quick && run 1200 $slow || { tail -20 "$out/mutant.log"; echo "mutants: the tests fail without any"; exit 1; }

killed=0 survived=0 hung=0 same=0 invalid=0
started=$(date +%s)
key_of() { # key_of FILE LINE FROM TO: how tools/mutants.txt names it
    printf '%s@%s@%s@%s\n' "$1" "$(sed -n "$2p" "$1" | sed 's/^ *//')" "$3" "$4" | sed 's/@ \([^ ]*\) @ \([^ ]*\) $/@\1@\2/'
}
build_mutant() { # build_mutant FILE LINE COLUMN FROM TO: 1 when it does not compile
    awk -v n="$2" -v at="$3" -v from="$4" -v to="$5" '
        NR == n { $0 = substr($0, 1, at - 1) to substr($0, at + length(from)) } { print }' "$1" > "$out/mutant.c"
    make=$(compile "$1")
    (cd "$build" && $make -w -o "$out/mutant.o" -c "$out/mutant.c") > "$out/mutant.log" 2>&1 || return 1
    (cd "$build" && sh -c "$link") > "$out/mutant.log" 2>&1 || { cat "$out/mutant.log"; exit 1; }
}
count_dead() { # count_dead STATUS
    case $1 in 124 | 137) hung=$((hung + 1)) ;; *) killed=$((killed + 1)) ;; esac
}

# first the quick tests for all of them, then the others for who is left
: > "$out/left.txt"
while IFS=@ read -r file line column from to; do
    if grep -qxF "$(key_of "$file" "$line" "$from" "$to")" tools/mutants.txt; then same=$((same + 1)); continue; fi
    build_mutant "$file" "$line" "$column" "$from" "$to" || { invalid=$((invalid + 1)); continue; }
    status=0
    run 60 $quick || status=$?
    if [ $status -eq 0 ]; then echo "$file@$line@$column@$from@$to" >> "$out/left.txt"; else count_dead $status; fi
done < "$out/drawn.txt"
echo "$killed killed and $hung ended by the quick tests, $(wc -l < "$out/left.txt") left"

: > "$out/survivors.txt"
while IFS=@ read -r file line column from to; do
    build_mutant "$file" "$line" "$column" "$from" "$to"
    status=0
    run 240 $slow $(more "$file") || status=$?
    [ $status -eq 0 ] || { count_dead $status; continue; }
    survived=$((survived + 1))
    key_of "$file" "$line" "$from" "$to" | tee -a "$out/survivors.txt"
done < "$out/left.txt"

total=$((killed + hung + survived))
{
    echo "$(wc -l < "$out/all.txt") changes are possible; $((total + same + invalid)) drawn with seed $seed"
    echo "$invalid do not compile, $same change nothing (tools/mutants.txt)"
    echo "of $total: $killed killed, $hung killed by the time limit, $survived survived, in $(($(date +%s) - started)) s"
} | tee "$out/report.txt"
cat "$out/survivors.txt" >> "$out/report.txt"
[ $total -gt 0 ] || { echo "mutants: there was none"; exit 1; }
[ $((100 * (killed + hung))) -ge $((95 * total)) ] || { echo "mutants: fewer than 95 % killed"; exit 1; }
