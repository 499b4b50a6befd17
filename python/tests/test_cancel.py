"""Runs that end early: cancel() from another thread, Ctrl-C."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tern
from conftest import in_order, program
from test_model import run_python

ENDLESS = 10**15


def loop():
    """A program that counts its first input down to 0, and its inputs."""
    path, calls = program("pt215_while_loop")
    inputs = in_order(calls[0], "in")
    assert inputs[0].dtype == np.int64 and inputs[0].shape == ()
    return path, tern.load(path, threads=1), inputs


def cancel_after(seconds, act):
    timer = threading.Timer(seconds, act)
    timer.start()
    return timer


def test_cancel_ends_a_run():
    _, model, (n, *rest) = loop()
    session = model.session()
    wanted = np.asarray(session(n, *rest)[-1] if isinstance(session(n, *rest), tuple) else session(n, *rest))
    for act in (session.cancel, model.cancel):
        timer = cancel_after(0.1, act)
        start = time.monotonic()
        with pytest.raises(tern.Cancelled, match="the run was cancelled") as e:
            session(np.array(ENDLESS), *rest)
        assert time.monotonic() - start < 20
        timer.join()
        assert e.value.code == "cancelled" and isinstance(e.value, RuntimeError) and isinstance(e.value, tern.Error)
        again = session(n, *rest)
        np.testing.assert_array_equal(np.asarray(again[-1] if isinstance(again, tuple) else again), wanted)


def test_cancel_without_a_run_does_nothing(digits, images):
    session = digits.session()
    session.cancel()
    digits.cancel()
    assert session(images).shape == digits(images).shape == (2, 10)


def test_cancel_of_a_model_ends_calls_of_all_threads():
    _, model, (_, *rest) = loop()
    ended = []

    def work():
        try:
            model(np.array(ENDLESS), *rest)
        except tern.Cancelled as e:
            ended.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    [t.start() for t in threads]
    time.sleep(0.3)
    model.cancel()
    [t.join(20) for t in threads]
    assert len(ended) == 3


def test_cancel_ends_repeated_runs(digits, images):
    session = digits.session()
    timer = cancel_after(0.1, session.cancel)
    with pytest.raises(tern.Cancelled):
        session.time(images, runs=10**9)
    timer.join()


LOOP = """
import signal, sys, time, numpy, tern
session = tern.load(sys.argv[1], threads=1).session()
x = numpy.load(sys.argv[2])
{before}
print("started", flush=True)
try:
    session(numpy.array({count}), x)
    print("ran")
except KeyboardInterrupt:
    print("interrupted")
session(numpy.array(3), x)
print("usable", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def interrupted(tmp_path, before="", count=ENDLESS):
    path, _, (_, x) = loop()
    np.save(tmp_path / "x.npy", x)
    code = LOOP.format(before=before, count=count)
    import os

    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    process = subprocess.Popen([sys.executable, "-c", code, path, tmp_path / "x.npy"], env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    try:
        assert process.stdout.readline() == "started\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return output.splitlines()


def test_ctrl_c_ends_a_run(tmp_path):
    assert interrupted(tmp_path) == ["interrupted", "usable True"]


def test_ctrl_c_leaves_runs_to_handlers_of_the_application(tmp_path):
    before = "signal.signal(signal.SIGINT, lambda *_: print('handled'))"
    assert interrupted(tmp_path, before, 1_000_000) == ["handled", "ran", "usable False"]


def test_ctrl_c_in_threads(tmp_path):
    """A run on another thread is not the main thread's: it goes on until it is cancelled."""
    code = """
import sys, threading, numpy, tern, signal, os, time
session = tern.load(sys.argv[1], threads=1).session()
x = numpy.load(sys.argv[2])
ended = []
def work():
    try:
        session(numpy.array(10**15), x)
    except tern.Cancelled:
        ended.append(1)
t = threading.Thread(target=work)
t.start()
time.sleep(0.2)
try:
    os.kill(os.getpid(), signal.SIGINT)
    t.join(5)
except KeyboardInterrupt:
    pass
assert t.is_alive()
session.cancel()
t.join(20)
assert ended == [1]
"""
    path, _, (_, x) = loop()
    np.save(tmp_path / "x.npy", x)
    done = run_python(code, path, tmp_path / "x.npy")
    assert done.returncode == 0, done.stderr
