"""run.py [NAME...] - the Python tests, or those of test_NAME.py; ends with N passed, N failed, N skipped.

Exits with 77 when nothing but skips was there, 1 after a failure. A skip says its reason, aloud.
"""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Counted(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self.passed += 1


def main(names: list[str]) -> int:
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
    files = [f"test_{name}" for name in names] or sorted(path.stem for path in HERE.glob("test_*.py"))
    suite = unittest.defaultTestLoader.loadTestsFromNames(files)
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=Counted, verbosity=1, buffer=True).run(suite)
    for test, reason in result.skipped:
        print(f"SKIP {test.id()}: {reason}")
    # a failed subtest is one failed test, however many of its kind
    failed = len({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    failed += len(result.unexpectedSuccesses)
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed else 0 if result.passed else 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
