"""Checks of the tern command, each with a name: counted, and told where they fail."""
import subprocess


class Checks:
    def __init__(self, tern, folder):
        self.tern, self.folder, self.passed, self.failed = tern, folder, 0, 0

    def check(self, name, ok, detail=""):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            print(f"FAIL {name}: {detail}")

    def run(self, *command):
        return subprocess.run([self.tern, *map(str, command)], capture_output=True, text=True)
