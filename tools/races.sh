#!/bin/sh
# races.sh BUILD [SECONDS [PART...]] - the tests of a GPU under compute-sanitizer: memcheck (bad accesses) and racecheck (threads of a
# block that meet in shared memory). Each test is a process of its own under each tool, JOBS of them side by side, and has SECONDS
# (300) to end. CENTRA_TEST_BRIEF has the fewest cases that reach every kernel. One line a test: passed, failed, skipped, or late;
# what the tool said of the failed ones follows. Ends with the sum, and well only when every test ended and none failed.
set -u
build=$1
seconds=${2:-300}
if [ $# -gt 2 ]; then shift 2; else set -- ops/half heads/walk_single ops/at_once cuda/; fi
command -v compute-sanitizer > /dev/null || { echo "races.sh: there is no compute-sanitizer; it comes with CUDA" >&2; exit 1; }
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export CENTRA_TEST_DEVICE=cuda CENTRA_TEST_BRIEF=1

cat > "$logs/try" <<'TRY'
#!/bin/sh
# try PROGRAM SECONDS LOGS TOOL TEST: the tool's own status tells an error from a test that fails
options=--error-exitcode=99
[ "$4" = racecheck ] || options="$options --report-api-errors no"
log=$3/$4-$5.log
began=$(date +%s)
timeout -k 10 "$2" compute-sanitizer --tool "$4" $options "$1" "$5" > "$log" 2>&1
code=$?
case $code in
    0) word=passed ;;
    77) word=skipped ;;
    124 | 137) word=late ;;
    *) word=failed ;;
esac
echo "$word $4 $5 ($(($(date +%s) - began)) s, status $code)"
[ $word != failed ] || grep -E '=========|FAIL|\.c:[0-9]+:' "$log" | head -n 20 | sed 's/^/    /'
TRY
chmod +x "$logs/try"

for tool in memcheck racecheck; do
    "$build/centra-tests" --list "$@" | sed "s/.* /$tool /"
done | xargs -P "${JOBS:-8}" -n 2 "$logs/try" "$build/centra-tests" "$seconds" "$logs" | tee "$logs/all"
awk '$1 == "passed" { p++ } $1 == "failed" { f++ } $1 == "late" { l++ } $1 == "skipped" { s++ }
    END { printf "%d passed, %d failed, %d skipped; %d did not end\n", p, f, s, l; exit f + l > 0 || p == 0 }' "$logs/all"
