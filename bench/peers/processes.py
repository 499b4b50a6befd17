"""Processes to measure: their memory, the time they compute, and a process that takes turns. Linux, standard library."""
import pathlib
import signal
import subprocess
import threading
import time


def private_bytes(pid):
    """Private memory of a process: anonymous and shared-memory pages, not mapped files."""
    total = 0
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(("RssAnon:", "RssShmem:")):
            total += int(line.split()[1]) * 1024
    return total


def cpu_seconds(pid):
    """What all threads of a process have computed so far, to the nanosecond."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:  # the thread has ended
            pass
    return total / 1e9


def busy_seconds():
    """What all processors together have computed since the machine started."""
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:7])) / 100


def ending(code, log):
    """Says how a process ended: its signal or status, and the last line that it wrote."""
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    lines = [line.strip() for line in pathlib.Path(log).read_text(errors="replace").splitlines() if line.strip()]
    wrong = [line for line in lines if "Error" in line and not line.startswith(("File", "#"))]
    return how + (f": {(wrong or lines)[-1][:160]}" if lines else "")


class Failed(Exception):
    """A runtime cannot do it; says why in a line."""


def call(command, log, environment, limit=1800):
    """Runs a command to its end and returns what it printed; standard error goes to the log."""
    with open(log, "w") as errors:
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, timeout=limit,
                                  check=False)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"took more than {limit} s") from error
    if done.returncode:
        raise Failed(ending(done.returncode, log))
    return done.stdout


class TurnProcess:
    """A process that does one run for each line it is sent and answers with the milliseconds."""

    def __init__(self, command, log, environment=None):
        self.log = log
        with open(log, "w") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                                            bufsize=1, env=environment)

    def run_ms(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failed(ending(self.process.wait(), self.log))
        return float(line.split()[0])

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def rest(self, quiet=0.05, limit=2.0):
        """Waits until the process computes next to nothing: until its threads no longer spin. False where they go on."""
        end = time.monotonic() + limit
        before = self.cpu_seconds()
        while time.monotonic() < end:
            time.sleep(quiet)
            now = self.cpu_seconds()
            if now - before < 0.05 * quiet:
                return True
            before = now
        return False

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class PeakMemory:
    """The largest private memory of a process meanwhile; sampled, as the system keeps a peak only of all its pages."""

    def __init__(self, pid, every=0.002):
        self.pid, self.every, self.peak = pid, every, 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.sample, daemon=True)

    def sample(self):
        while True:
            try:
                self.peak = max(self.peak, private_bytes(self.pid))
            except OSError:  # the process has ended
                return
            if self.stop.wait(self.every):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
