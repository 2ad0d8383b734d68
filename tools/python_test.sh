#!/bin/sh
# python_test.sh NAME [MODULE...] - tests/python/test_NAME.py where there is a python3 with NumPy and these modules; else a loud
# skip. Ends with N passed, N failed, N skipped, as the other tests do.
cd "$(dirname "$0")/.." || exit 1
name=$1
shift
python=$(tools/python.sh numpy "$@") || {
    echo "SKIP test_$name: $python"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}
exec "$python" -B tests/python/run.py "$name"
