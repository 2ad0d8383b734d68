#!/bin/sh
# mutants.sh BUILD [COUNT [SEED]] - are the tests of heads and ops sharp? One operator or constant of src/heads and src/ops is changed
# at a time (tools/mutants.awk), its object compiled, the tests of BUILD (made by ninja) linked with it in place of the right one,
# and run until one fails: stage by stage, the nearest and quickest tests first. A mutant that no test notices has survived.
# COUNT mutants are drawn by SEED, the same ones everywhere. tools/mutants.txt lists those that change nothing and those that only
# another device than the CPU can notice, each below its reason; neither counts. Fails when fewer than 95 % of the others are killed.
#
# JOBS of them are tried side by side (all processors). build-mutants/seed-SEED.txt has a line per mutant as soon as it is
# decided; a run that was stopped goes on with the others as long as BUILD's tests are the same. AGAIN=1 tries the survivors of
# the last run once more, with the tests as they are now. After MINUTES no further mutant is begun: the report is about the
# first ones of the draw then, and says so. The report is build-mutants/report.txt. LIST=FILE tries the changes in FILE, lines as
# tools/mutants.awk writes them, instead of a draw; SEED is then a name for them. KNOWN=/dev/null tries the listed ones as well.
set -eu
cd "$(dirname "$0")/.."
build=$1
count=${2:-300}
seed=${3:-1}
jobs=${JOBS:-$(nproc 2> /dev/null || echo 2)}
began=$(date +%s)
out=$PWD/build-mutants
verdicts=$out/seed-$seed.txt
say() { echo "mutants: $*" >&2; }
[ -e "$build/build.ninja" ] || { say "$build was not made by ninja; make one with cmake -S . -B $build -G Ninja"; exit 1; }
[ -x "$build/centra-tests" ] || { say "$build has no centra-tests; make it with cmake --build $build --target centra-tests"; exit 1; }
mkdir -p "$out"

base="src/base/arena.c src/base/dense.c"
files=$(find src/heads src/ops -name '*.c' | LC_ALL=C sort)
echo "$files" | grep -v norm_thin | xargs awk -f tools/mutants.awk > "$out/all.txt"
# Lehmer's generator, which is exact in double: rand() differs from one awk to the next
awk -v seed="$seed" 'BEGIN { x = seed % 2147483646 + 1; for (i = 0; i < 20; i++) x = x * 48271 % 2147483647 }
    { x = x * 48271 % 2147483647; printf "%010d %s\n", x, $0 }' "$out/all.txt" | LC_ALL=C sort | head -n "$count" |
    cut -d ' ' -f 2- > "$out/drawn.txt"
[ ! "${LIST:-}" ] || cp "$LIST" "$out/drawn.txt"

# Objects in front of the archive are taken instead of the archive's. Heads, ops, the arena and the loops of base/dense.c are compiled for the sanitizers,
# which see what a mutant does outside of its memory, as they do in .ci/run; the rest stays quick.
sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
command_of() { # command_of TARGET: the last command that makes it
    (cd "$build" && ninja -t commands "$1") | tail -n 1
}
linker=
for name in lld gold; do # a fifth of the time
    [ "$linker" ] || ! command -v ld.$name > /dev/null || linker=-fuse-ld=$name
done
link=$(command_of centra-tests |
    sed "s|^: && ||; s| && :\$||; s| -o centra-tests | -fsanitize=address,undefined $linker OBJECTS -o PROGRAM |")
make=$(command_of CMakeFiles/objects-plain.dir/src/ops/sum.c.o | sed "s/ -MD .*//; s/ -O3 / -O1 /; s/ -D_FORTIFY_SOURCE=3//")
compile() { # compile FILE OBJECT: for the sanitizers and not for speed
    mkdir -p "${2%/*}"
    (cd "$build" && $make $sanitize -w -o "$2" -c "$1")
}
link_with() { # link_with FILE OBJECT PROGRAM: the tests with that object for FILE
    objects=$2
    for source in $base $files; do
        [ $source = "$1" ] || objects="$objects $out/$source.o"
    done
    whole="${link%%OBJECTS*}$objects${link#*OBJECTS}"
    (cd "$build" && sh -c "${whole%%PROGRAM*}$3${whole#*PROGRAM}")
}
changed() { # changed FILE LINE COLUMN FROM TO: the file with that change
    awk -v n="$2" -v at="$3" -v from="$4" -v to="$5" '
        NR == n { $0 = substr($0, 1, at - 1) to substr($0, at + length(from)) } { print }' "$1"
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
run() { # run SECONDS STAGE FILE PLACE: 0 when every test passes; memory that nobody has written is not 0, and there is an end of it
    words=$(words "$2" "$3")
    [ "$words" ] || return 0
    mkdir -p "$4/tmp"
    TMPDIR=$4/tmp ASAN_OPTIONS=detect_leaks=0:max_malloc_fill_size=1000000:allocator_may_return_null=1:hard_rss_limit_mb=6000 \
        timeout -k 5 "$1" "${5:-$4/tests}" --first $words > "$4/log.txt" 2>&1 || { code=$?; [ $code -eq 77 ] || return $code; }
}
limit() { # limit STAGE: ten times what it takes without a mutant
    sed -n "s/^limit $1 //p" "$verdicts"
}
side_by_side() { # side_by_side COMMAND: COMMAND 1 to COMMAND JOBS; 1 when one of them failed
    pids=
    i=1
    while [ $i -le "$jobs" ]; do
        "$1" $i &
        pids="$pids $!"
        i=$((i + 1))
    done
    all=0
    for pid in $pids; do wait "$pid" || all=1; done
    return $all
}

compile_part() { # compile_part NUMBER: each JOBS-th file as it is
    at=0
    for source in $base $files; do
        at=$((at + 1))
        [ $((at % jobs + 1)) -eq "$1" ] || continue
        compile "$PWD/$source" "$out/$source.o" || return 1
    done
}
time_stage() { # time_stage STAGE FOLDER: writes down how long it takes as things are
    from=$(date +%s)
    mkdir -p "$out/right-$1-$2"
    run 1200 "$1" "src/$2/" "$out/right-$1-$2" "$out/right-tests" || { tail -20 "$out/right-$1-$2/log.txt"; return 1; }
    echo $(($(date +%s) - from)) > "$out/right-$1-$2/seconds.txt"
}
measure() { # measure STAGE...: adds how long each may take to the verdicts; every test must pass without a mutant
    pids=
    for part in near-ops near-heads folders-ops library-ops library-heads; do
        case " $* " in *" ${part%-*} "*) ;; *) continue ;; esac
        if [ "$jobs" -lt 5 ]; then
            time_stage ${part%-*} ${part#*-} || return 1
        else
            time_stage ${part%-*} ${part#*-} &
            pids="$pids $!"
        fi
    done
    for pid in $pids; do wait "$pid" || return 1; done
    for stage in "$@"; do
        cat "$out"/right-$stage-*/seconds.txt | awk -v stage="$stage" '{ n += $1 } END { print "limit", stage, 20 + 10 * n }' >> "$verdicts"
    done
}

# the first line names the tests, the next ones how long each stage may take
tests=$(cksum < "$build/centra-tests")
if [ "${AGAIN:-}" ]; then
    sed -i "/^survived@/d; 1s/.*/tests $tests/" "$verdicts"
elif [ "$(head -n 1 "$verdicts" 2> /dev/null)" != "tests $tests" ]; then
    printf 'tests %s\nlimit own 120\n' "$tests" > "$verdicts"
fi
sources="$base $make $(find src include -name '*.[ch]' | LC_ALL=C sort | xargs cat | cksum)" # objects of the last run may serve
if [ "$sources" != "$(cat "$out/sources.txt" 2> /dev/null)" ]; then
    side_by_side compile_part
    echo "$sources" > "$out/sources.txt"
fi
link_with src/base/arena.c "$out/src/base/arena.c.o" "$out/right-tests"
"$out/right-tests" --list | sed 's|^.*/tests/||' > "$out/tests.txt"
new=
for stage in $stages; do
    [ "$(limit $stage)" ] || new="$new $stage"
done
[ ! "$new" ] || measure $new || { rm "$verdicts"; say "the tests fail without any"; exit 1; }

listed() { # listed FILE LINE COLUMN FROM TO: how tools/mutants.txt lists it, same or beyond; 1: not at all
    RIGHT=$(sed -n "$2s/^ *//p" "$1") WRONG=$(changed "$@" | sed -n "$2s/^ *//p") awk -F @ -v file="$1" '
        function is_it(line, from, to,   at, k) { # some place where `from` stands, made `to`
            while ((k = index(substr(line, at + 1), from)) > 0) {
                at += k
                if (substr(line, 1, at - 1) to substr(line, at + length(from)) == ENVIRON["WRONG"]) return 1
            }
            return 0
        }
        { how = $1 ~ /^beyond:/ ? "beyond" : "same"; sub(/^beyond:/, "", $1) }
        $1 == file && $2 == ENVIRON["RIGHT"] && ($3 == "*" || is_it($2, $3, $4)) { print how; found = 1; exit }
        END { exit !found }' "${KNOWN:-tools/mutants.txt}"
}
verdict_of() { # verdict_of PLACE FILE LINE COLUMN FROM TO: the stage that kills it, or time, same, beyond, invalid, survived
    place=$1
    shift
    listed "$@" && return
    changed "$@" > "$place/mutant.c"
    compile "$place/mutant.c" "$place/mutant.o" > "$place/log.txt" 2>&1 || { echo invalid; return; }
    link_with "$1" "$place/mutant.o" "$place/tests" > "$place/log.txt" 2>&1 || return 0
    for stage in $stages; do
        code=0
        run "$(limit $stage)" $stage "$1" "$place" || code=$?
        rm -rf "$place/tmp"
        case $code in 0) ;; 124 | 137) echo time; return ;; *) echo $stage; return ;; esac
    done
    echo survived
}
work() { # work NUMBER: takes the next mutant that nobody has, until there is none
    place=$out/work-$1
    rm -rf "$place"
    mkdir -p "$place"
    next=0
    while IFS=@ read -r file line column from to; do
        next=$((next + 1))
        change="$file@$line@$column@$from@$to"
        if [ "${MINUTES:-}" ] && [ $(($(date +%s) - began)) -ge $((60 * MINUTES)) ]; then return; fi
        mkdir "$out/taken/$next" 2> /dev/null || continue
        if grep -qF "@$change" "$verdicts"; then continue; fi
        verdict=$(verdict_of "$place" "$file" "$line" "$column" "$from" "$to" 2> /dev/null < /dev/null)
        [ "$verdict" ] || { say "$change could not be linked or judged"; cat "$place/log.txt" >&2; return 1; }
        echo "$verdict@$change" >> "$verdicts" # one short write at the end: whole lines, whoever else writes
        if [ "$verdict" = survived ]; then echo "$file:$line:$column:$from becomes $to"; fi
    done < "$out/drawn.txt"
}
rm -rf "$out/taken"
mkdir "$out/taken"
side_by_side work

# of this draw alone, in its order
awk -F @ 'NR == FNR { if (NF >= 6) { v = $1; sub(/^[^@]*@/, ""); of[$0] = v } next } $0 in of { print of[$0] "@" $0 }' \
    "$verdicts" "$out/drawn.txt" > "$out/decided.txt"
awk -F @ -v possible="$(wc -l < "$out/all.txt")" -v drawn="$(wc -l < "$out/drawn.txt")" -v seed="$seed" '
    { tried++; n[$1]++; split($2, at, "/"); all[at[2]]++; if ($1 == "survived") left[at[2]]++ }
    END {
        dead = n["own"] + n["near"] + n["folders"] + n["library"] + n["time"]; total = dead + n["survived"]
        printf "%d changes are possible; %d drawn with seed %s (%d in heads, %d in ops)\n", possible, drawn, seed, all["heads"], all["ops"]
        if (tried < drawn) printf "stopped before the end of the draw: its first %d are counted\n", tried
        printf "%d do not compile, %d change nothing, %d are beyond the CPU (tools/mutants.txt)\n", n["invalid"], n["same"], n["beyond"]
        printf "of the other %d: %d killed by the nearest tests, %d by those of both folders, %d by the library'"'"'s, %d by the time limit; %d survived (%d in heads, %d in ops)\n",
            total, n["own"] + n["near"], n["folders"], n["library"], n["time"], n["survived"], left["heads"], left["ops"]
        printf "killed: %.1f %%\n", total ? 100 * dead / total : 0
        exit !(total && 100 * dead >= 95 * total)
    }' "$out/decided.txt" > "$out/report.txt" && enough=yes || enough=
cat "$out/report.txt"
sed -n 's/^survived@//p' "$out/decided.txt" | while IFS=@ read -r file line column from to; do
    echo "$file:$line:$column"
    echo "$file@$(sed -n "$line s/^ *//p" "$file")@$from@$to"
done >> "$out/report.txt"
[ $enough ] || { say "fewer than 95 % killed; who survived stands in build-mutants/report.txt"; exit 1; }
