#!/bin/sh
# test.sh BUILD [JOBS] - runs ctest and ends with the sum of the runs' totals: N passed, N failed, N skipped.
# A ctest entry that prints no total of its own (an example, a replayed corpus, a crash) counts as one test.
set -u
build=$1
status=0
(cd "$build" && ctest --output-on-failure -j "${2:-2}") || status=$?
awk '
    function close_entry() {
        if (open && !counted) { if (state == "Passed") passed++; else if (state == "Skipped") skipped++; else failed++ }
        open = 0
    }
    /^[0-9]+\/[0-9]+ Testing: / { close_entry(); open = 1; counted = 0; state = "" }
    /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failed += $3; skipped += $5; counted = 1; own = $3 }
    /^Test (Passed|Failed|Skipped)\.$/ {
        state = substr($2, 1, length($2) - 1)
        if (state == "Failed" && counted && own == 0) failed++ # died after its total, e.g. by a sanitizer
    }
    END { close_entry(); printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }
' "$build/Testing/Temporary/LastTest.log"
exit $status
