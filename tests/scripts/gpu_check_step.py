"""A step of gpu_check.py, and a command with a limit of time."""
import dataclasses
import os
import re
import signal
import subprocess

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$")


@dataclasses.dataclass
class Step:
    name: str
    passed: int = 0
    failed: int = 0
    failures: list = dataclasses.field(default_factory=list)
    skipped: str = ""  # reason for skipping
    seconds: float = 0
    table: list = dataclasses.field(default_factory=list)  # lines of Markdown for the report
    notes: list = dataclasses.field(default_factory=list)
    shown: list = dataclasses.field(default_factory=list)  # lines to print


@dataclasses.dataclass
class Done:
    output: str
    wrong: str  # description of a failure


def end_group(process):
    """Ends the process and those that it started, which would hold its pipe open."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def call(command, limit, environment=None):
    """Runs a command for `limit` seconds at most."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", env={**os.environ, **(environment or {})}, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        end_group(process)
        return Done(process.communicate()[0], f"took longer than its {limit:.0f} s: give --minutes more, or a larger --every")
    except BaseException:
        end_group(process)
        raise
    if process.returncode < 0:
        return Done(output, f"died of {signal.Signals(-process.returncode).name}")
    return Done(output, f"exit status {process.returncode}" if process.returncode else "")
