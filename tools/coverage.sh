#!/bin/sh
# coverage.sh JOBS - builds with counters in build-coverage, runs every test there, and tells which share of the lines and
# branches of src/ ran; the CUDA backend, which needs a GPU, is left out. The page is build-coverage/html/index.html.
# Fails below the shares that docs/testing.md promises.
set -eu
cd "$(dirname "$0")/.."
build=build-coverage
# Counters are raised by atomic operations. Without, gcc 12 took one for a loop's own count, read it twice, and went one block too far
# where another thread had raised it in between; and what gcov works out from counts that lack some is wrong. That is slow, so
# suites do not run again for every instruction set (the tests of kernels run each of them anyway), nor tests that compare figures.
flags="-O1 -g -DNDEBUG --coverage -fprofile-update=atomic -DCENTRA_COVERAGE"
cmake -S . -B $build $(command -v ninja > /dev/null && [ ! -e $build/CMakeCache.txt ] && echo -G Ninja) \
    -DCENTRA_TEST_ISAS= -DCMAKE_BUILD_TYPE=Coverage "-DCMAKE_C_FLAGS_COVERAGE=$flags" "-DCMAKE_CXX_FLAGS_COVERAGE=-O1" \
    -DCMAKE_EXE_LINKER_FLAGS_COVERAGE=--coverage -DCMAKE_SHARED_LINKER_FLAGS_COVERAGE=--coverage \
    -DCMAKE_MODULE_LINKER_FLAGS_COVERAGE=--coverage > /dev/null
cmake --build $build -j "$1" > $build/build.log 2>&1 || { tail -40 $build/build.log; exit 1; }
find $build -name '*.gcda' -delete
# Counters are written to files at the end of a process, which a server in its sandbox could not. Where the torture fills the
# disk, each file that cannot be written would say so on standard error, more than the pipe there holds.
CENTRA_TEST_NO_SANDBOX=1 GCOV_ERROR_FILE=/dev/null tools/test.sh $build "$1" > $build/test.log 2>&1 || { tail -60 $build/test.log; exit 1; }
tail -n 1 $build/test.log
mkdir -p $build/html
# Optimised Python: this gcovr asserts that a function has one line, but kernels have a body for each type of number.
PYTHONOPTIMIZE=1 gcovr --root . --object-directory $build --filter 'src/' --exclude 'src/cuda/' --gcov-ignore-parse-errors \
    --exclude-unreachable-branches --html-details $build/html/index.html --txt $build/coverage.txt \
    --json-summary $build/coverage.json --print-summary --fail-under-line 90 --fail-under-branch 80 $build
