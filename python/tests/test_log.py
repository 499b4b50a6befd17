"""Messages that no call raises."""

import logging
import threading

import pytest

import tern


def test_messages_go_to_logging(caplog):
    tern.set_log(None)
    with caplog.at_level(logging.INFO):
        tern._tern._log(1, "a 100 % full folder")
        tern._tern._log(2, "broken")
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("tern", "WARNING", "a 100 % full folder"), ("tern", "ERROR", "broken")]  # fmt: skip


def test_messages_go_to_a_function(caplog):
    got = []
    tern.set_log(lambda level, message: got.append((level, message)))
    try:
        thread = threading.Thread(target=tern._tern._log, args=(1, "from a thread"))
        thread.start()
        thread.join()
        tern._tern._log(2, "broken")
    finally:
        tern.set_log(None)
    assert got == [("warning", "from a thread"), ("error", "broken")] and not caplog.records


def test_a_function_that_raises_disturbs_nothing(capsys, monkeypatch):
    caught = []
    monkeypatch.setattr("sys.unraisablehook", lambda u: caught.append(u.exc_type))
    tern.set_log(lambda level, message: 1 / 0)
    try:
        tern._tern._log(1, "x")
    finally:
        tern.set_log(None)
    assert caught == [ZeroDivisionError]
    with pytest.raises(TypeError, match=r"set_log\(\) takes a function of \(level, message\) or None, not a int"):
        tern.set_log(3)
