#!/bin/sh
# mutants.sh BUILD [COUNT [SEED]] - are the tests of heads and ops sharp? One operator or constant of src/heads and src/ops is changed
# at a time (tools/mutants.awk), its object compiled, the tests of BUILD (made by ninja) linked with it in place of the right one,
# and run until one fails: stage by stage, the nearest and quickest tests first. A mutant that no test notices has survived.
# COUNT mutants are drawn by SEED, so that the same ones come each time. tools/mutants.txt lists those that change nothing,
# each below its reason. Fails when fewer than 95 % of the others are killed.
#
# build-mutants/seed-SEED.txt has a line per mutant as soon as it is decided; a run that was stopped goes on behind the last one as
# long as BUILD's tests are the same. AGAIN=1 tries the survivors of the last run once more, with the tests as they are now.
# The report is build-mutants/report.txt.
set -eu
cd "$(dirname "$0")/.."
build=$1
count=${2:-300}
seed=${3:-1}
out=$PWD/build-mutants
verdicts=$out/seed-$seed.txt
mkdir -p "$out"

files=$(find src/heads src/ops -name '*.c' | LC_ALL=C sort)
echo "$files" | grep -v norm_thin | xargs awk -f tools/mutants.awk > "$out/all.txt"
awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f %s\n", rand(), $0 }' "$out/all.txt" | LC_ALL=C sort | head -n "$count" |
    cut -d ' ' -f 2- > "$out/drawn.txt"

# Objects in front of the archive are taken instead of the archive's. Heads, ops and the arena are compiled for the sanitizers,
# which see what a mutant does outside of its memory, as they do in .ci/run; the rest stays quick.
sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
command_of() { # command_of TARGET: the last command that makes it
    (cd "$build" && ninja -t commands "$1") | tail -n 1
}
linker=$(command -v ld.lld > /dev/null && echo -fuse-ld=lld || true) # it takes a fifth of the time
link=$(command_of centra-tests |
    sed "s|^: && ||; s| && :\$||; s| -o centra-tests | -fsanitize=address,undefined $linker OBJECTS -o $out/mutant-tests |")
make=$(command_of CMakeFiles/objects-plain.dir/src/ops/sum.c.o | sed "s/ -MD .*//; s/ -O3 / -O1 /; s/ -D_FORTIFY_SOURCE=3//")
compile() { # compile FILE OBJECT: for the sanitizers and not for speed
    mkdir -p "${2%/*}"
    (cd "$build" && $make $sanitize -w -o "$2" -c "$1") > "$out/mutant.log" 2>&1
}
link_with() { # link_with FILE OBJECT: the tests with that object for FILE
    objects=$2
    for source in src/base/arena.c $files; do
        [ $source = "$1" ] || objects="$objects $out/$source.o"
    done
    (cd "$build" && sh -c "${link%%OBJECTS*}$objects${link#*OBJECTS}") > "$out/mutant.log" 2>&1 || { cat "$out/mutant.log"; exit 1; }
}
build_mutant() { # build_mutant FILE LINE COLUMN FROM TO: 1 when it does not compile
    awk -v n="$2" -v at="$3" -v from="$4" -v to="$5" '
        NR == n { $0 = substr($0, 1, at - 1) to substr($0, at + length(from)) } { print }' "$1" > "$out/mutant.c"
    compile "$out/mutant.c" "$out/mutant.o" || return 1
    link_with "$1" "$out/mutant.o"
}

stages=${STAGES:-own near folders library}
long="at_once|networks|norm_act_pool|threads|chunks|hard_input|memory|nonfinite|registry|walk_properties|walk_s|walk_t"
about() { # about FILE: what is about few files and takes longer than the nearest tests do
    case $1 in
        *norm*) echo tests/ops/norm_act_pool.c ranks_with_synchronised_norms_are_as_one_with_whole_steps ;;
        *bottleneck* | *depthwise*) echo tests/nets/mobilenetv2.c ;;
        *dropout*) echo tests/nets/golden_dropblock.c ;;
        *chunks*) echo tests/heads/chunks.c ;;
        *walk*) echo tests/heads/walk_*.c ;;
    esac
}
words() { # words STAGE FILE: which tests; by their files, since the runner takes parts of paths
    folder=${2#src/}
    folder=${folder%%/*}
    stem=${2##*/}
    stem=${stem%.c}
    case $1-$folder in
        own-*) sed -n "/^$folder\/.* .*$stem/s/.* //p" "$out/tests.txt" ;;
        near-*) { ls tests/$folder/*.c | grep -Ev "tests/$folder/($long)"; about "$2"; } ;;
        folders-*) ls tests/ops/*.c tests/heads/*.c | grep -Ev "heads/(chunks|hard_input|memory)|norm_act_pool" ;;
        library-heads) ls tests/heads/chunks.c tests/train/trainer.c tests/eval/evaluate.c tests/api/eval.c tests/api/explain_parts.c \
            tests/api/params.c tests/api/score.c tests/api/allocations.c ;;
        library-ops) ls tests/nets/*.c tests/ops/norm_act_pool.c tests/heads/chunks.c tests/peers/gradients.c tests/train/pretrain.c tests/train/trainer.c \
            tests/api/allocations.c tests/api/net.c | grep -v golden_backbone ;;
    esac | sed 's|tests/||g'
}
run() { # run SECONDS STAGE FILE: 0 when every test passes; memory that nobody has written is not 0, and there is an end of it
    words=$(words "$2" "$3")
    [ "$words" ] || return 0
    ASAN_OPTIONS=detect_leaks=0:max_malloc_fill_size=1000000:allocator_may_return_null=1:hard_rss_limit_mb=6000 \
        timeout -k 5 "$1" "$out/mutant-tests" --first $words > "$out/mutant.log" 2>&1 || { code=$?; [ $code -eq 77 ] || return $code; }
}
limit() { # limit STAGE: ten times what it takes without a mutant
    sed -n "s/^limit $1 //p" "$verdicts"
}

# the first line names the tests, the next ones how long each stage may take
tests=$(cksum < "$build/centra-tests")
if [ "${AGAIN:-}" ]; then
    sed -i "/^survived@/d; 1s/.*/tests $tests/" "$verdicts"
elif [ "$(head -n 1 "$verdicts" 2> /dev/null)" != "tests $tests" ]; then
    for source in src/base/arena.c $files; do
        compile "$PWD/$source" "$out/$source.o" || { cat "$out/mutant.log"; exit 1; }
    done
    link_with src/base/arena.c "$out/src/base/arena.c.o"
    "$out/mutant-tests" --list | sed 's|^.*/tests/||' > "$out/tests.txt"
    echo "tests $tests" > "$verdicts"
    echo "limit own 120" >> "$verdicts"
    for stage in near folders library; do
        began=$(date +%s)
        for folder in ops heads; do
            [ $stage-$folder = folders-heads ] || run 1200 $stage src/$folder/ || { tail -20 "$out/mutant.log"; rm "$verdicts"; echo "mutants: the tests fail without any"; exit 1; }
        done
        echo "limit $stage $((20 + 10 * ($(date +%s) - began)))" >> "$verdicts"
    done
fi

key_of() { # key_of FILE LINE FROM TO: how tools/mutants.txt names it
    printf '%s@%s@%s@%s\n' "$1" "$(sed -n "$2p" "$1" | sed 's/^ *//')" "$3" "$4" | sed 's/@ \([^ ]*\) @ \([^ ]*\) $/@\1@\2/'
}
verdict_of() { # verdict_of FILE LINE COLUMN FROM TO: the stage that kills it, or time, same, invalid, survived
    key=$(key_of "$1" "$2" "$4" "$5")
    if grep -qxF -e "$key" -e "${key%@*@*}@*@*" tools/mutants.txt; then echo same; return; fi
    build_mutant "$@" || { echo invalid; return; }
    for stage in $stages; do
        code=0
        run "$(limit $stage)" $stage "$1" || code=$?
        case $code in 0) ;; 124 | 137) echo time; return ;; *) echo $stage; return ;; esac
    done
    echo survived
}
while IFS=@ read -r file line column from to; do
    change="$file@$line@$column@$from@$to"
    if grep -qF "@$change" "$verdicts"; then continue; fi
    verdict=$(verdict_of "$file" "$line" "$column" "$from" "$to" 2> /dev/null < /dev/null)
    [ "$verdict" ] || { echo "mutants: $change could not be linked or judged"; exit 1; }
    echo "$verdict@$change" >> "$verdicts"
    if [ "$verdict" = survived ]; then echo "$file:$line:$column:$from becomes$to"; fi
done < "$out/drawn.txt"

awk -F @ -v possible="$(wc -l < "$out/all.txt")" -v seed="$seed" '
    NF < 6 { next }
    { drawn++; n[$1]++; split($2, at, "/"); all[at[2]]++; if ($1 == "survived") left[at[2]]++ }
    END {
        dead = n["own"] + n["near"] + n["folders"] + n["library"] + n["time"]; total = dead + n["survived"]
        printf "%d changes are possible; %d drawn with seed %s (%d in heads, %d in ops)\n", possible, drawn, seed, all["heads"], all["ops"]
        printf "%d do not compile, %d change nothing (tools/mutants.txt)\n", n["invalid"], n["same"]
        printf "of the other %d: %d killed by the nearest tests, %d by those of both folders, %d by the library'"'"'s, %d by the time limit; %d survived (%d in heads, %d in ops)\n",
            total, n["own"] + n["near"], n["folders"], n["library"], n["time"], n["survived"], left["heads"], left["ops"]
        printf "killed: %.1f %%\n", total ? 100 * dead / total : 0
        exit !(total && 100 * dead >= 95 * total)
    }' "$verdicts" > "$out/report.txt" && enough=yes || enough=
cat "$out/report.txt"
sed -n 's/^survived@//p' "$verdicts" | while IFS=@ read -r file line column from to; do
    echo "$file:$line:$column"
    key_of "$file" "$line" "$from" "$to"
done >> "$out/report.txt"
[ $enough ] || { echo "mutants: fewer than 95 % killed; who survived stands in build-mutants/report.txt"; exit 1; }
