"""Unit tests of Python, with the last line that the gate reads."""
import sys
import unittest


def main():
    """Runs the caller's tests; the exit status is 1 where one fails."""
    result = unittest.main(exit=False, verbosity=0).result
    wrong = result.failures + result.errors
    for test, trace in wrong:
        print("FAIL", test, trace.strip().splitlines()[-1])
    print(f"{result.testsRun - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(bool(wrong))
