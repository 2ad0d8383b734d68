#!/usr/bin/env bash
# campaign.sh MINUTES JOBS [NAME...] - fuzzes each target, or those named, until it has had that many minutes of a processor.
# campaign.sh --keep [NAME...]       - adds to tests/fuzz/corpus what reaches code that the corpus does not.
#
# Targets take turns of a minute, JOBS of them side by side. Each turn is a line of build-fuzz/turns.txt: the target, seconds of
# processor time, inputs, edges, and whether something was found. A campaign that was stopped goes on from there, on another machine
# from the corpus that --keep has left and from turns.txt, if that was taken along. The table is build-fuzz/campaign.md.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/fuzz_targets.sh
TURN=60
turns=build-fuzz/turns.txt

turn() { # turn NAME
    local log TIMEFORMAT='%U %S' status=0 seconds
    log=$(mktemp build-fuzz/turn.XXXXXX)
    { time fuzz_run "$1" $TURN "$log" || status=$?; } 2> "$log.time"
    seconds=$(awk '{print $1 + $2}' "$log.time")
    echo "$1 $seconds $(fuzz_inputs "$log") $(fuzz_edges "$log") $([ $status = 0 ] && echo nothing || echo something)" >> $turns
    if [ $status = 0 ]; then rm "$log" "$log.time"; else tail -40 "$log"; fi
}

# A name for each turn that is missing, all first turns before all second ones.
missing() { # missing MINUTES NAME...
    awk -v minutes="$1" -v turn=$TURN -v names="${*:2}" '
        { had[$1] += $2 }
        END {
            count = split(names, name, " ")
            for (i = 1; i <= count; i++) {
                left[i] = int((minutes * 60 - had[name[i]]) / turn + 0.999)
                if (left[i] > most) most = left[i]
            }
            for (round = most; round > 0; round--)
                for (i = 1; i <= count; i++) if (left[i] >= round) print name[i]
        }' $turns
}

table() {
    awk 'BEGIN { print "| target | minutes | inputs | edges | turns that found something |\n| --- | --- | --- | --- | --- |" }
        { seconds[$1] += $2; inputs[$1] += $3; if ($4 > edges[$1]) edges[$1] = $4; if ($5 == "something") found[$1]++ }
        END { for (n in seconds) printf "| %s | %.1f | %d | %d | %d |\n", n, seconds[n] / 60, inputs[n], edges[n], found[n] | "sort" }' $turns
}

keep() { # keep NAME...
    local name before
    for name; do
        before=$(ls "tests/fuzz/corpus/$name" | wc -l)
        "build-fuzz/fuzz-$name" -merge=1 -set_cover_merge=1 -rss_limit_mb=1024 "tests/fuzz/corpus/$name" "build-fuzz/found/$name" \
            > "build-fuzz/keep-$name.log" 2>&1
        echo "keep $name: $(($(ls "tests/fuzz/corpus/$name" | wc -l) - before)) more files"
    done
}

if [ "$1" = --turn ]; then
    turn "$2"
    exit
elif [ "$1" = --keep ]; then
    shift
    [ $# -gt 0 ] || set -- $(fuzz_targets)
    keep "$@"
    exit
fi
minutes=$1 jobs=$2
shift 2
[ $# -gt 0 ] || set -- $(fuzz_targets)
fuzz_configure
fuzz_build "$jobs" "$@"
touch $turns
while names=$(missing "$minutes" "$@") && [ -n "$names" ]; do
    echo "$names" | xargs -n 1 -P "$jobs" tools/campaign.sh --turn
done
table | tee build-fuzz/campaign.md
! grep -q ' something$' $turns
