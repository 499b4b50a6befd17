"""What Python adds to a call, and how long an import takes: with TERN_TEST_FULL, as other programs disturb timings."""

import os
import subprocess
import sys
import threading
import time
import timeit

import numpy as np
import pytest

import tern

pytestmark = pytest.mark.skipif(not os.environ.get("TERN_TEST_FULL"), reason="timings")


def test_a_call_adds_less_than_5_us(digits_path):
    session = tern.load(digits_path, threads=1).session()
    x = np.zeros((1, 1, 8, 8), "float32")
    # Processor time of a thread: other programs add little.
    clock = time.thread_time
    python = min(timeit.repeat(lambda: session(x), timer=clock, number=500, repeat=40)) / 500
    native = min(timeit.repeat(lambda: session.time(x, runs=499), timer=clock, number=1, repeat=40)) / 500
    assert python - native < 5e-6, f"{python * 1e6:.2f} us for {native * 1e6:.2f} us in C++"


def test_import_takes_less_than_50_ms():
    code = "import time; t = time.process_time(); import tern; print(time.process_time() - t)"
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    times = [float(subprocess.check_output([sys.executable, "-c", code], env=env)) for _ in range(7)]
    assert min(times) < 0.05, times


def test_eight_threads_scale_as_in_cpp(digits_path):
    """Runs a second of eight threads, each with a session: calls from Python, and loops in C++, in turns."""
    model = tern.load(digits_path, threads=1)
    sessions = [model.session() for _ in range(8)]
    x = np.random.default_rng(0).random((64, 1, 8, 8), "float32")
    count = 100

    def rate(work):
        threads = [threading.Thread(target=work, args=(s,)) for s in sessions]
        start = time.perf_counter()
        [t.start() for t in threads]
        [t.join() for t in threads]
        return 8 * count / (time.perf_counter() - start)

    def in_python(session):
        for _ in range(count):
            session(x)

    rate(in_python)
    pairs = [(rate(in_python), rate(lambda s: s.time(x, runs=count - 1))) for _ in range(7)]
    python, native = (max(p) for p in zip(*pairs))
    print(f"{python:.0f} runs a second from Python, {native:.0f} in C++")
    assert python > 0.85 * native, pairs
