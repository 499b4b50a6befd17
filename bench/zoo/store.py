"""Results of a sweep: one JSON line each, appended as they come, so that an interrupted sweep resumes."""
import json


class Store:
    def __init__(self, path):
        self.path, self.results = path, []
        if path.exists():
            for number, line in enumerate(path.read_text().splitlines(), 1):
                try:
                    self.results.append(json.loads(line))
                except json.JSONDecodeError as error:
                    if number == len(path.read_text().splitlines()):
                        break  # the last line of an interrupted sweep may be incomplete
                    raise SystemExit(f"{path}:{number}: {error}; delete the line to go on") from error
            self._drop_incomplete_end()

    def _drop_incomplete_end(self):
        text = "".join(json.dumps(r) + "\n" for r in self.results)
        if text != self.path.read_text():
            pending = self.path.with_suffix(".pending")
            pending.write_text(text)
            pending.replace(self.path)

    def names(self, processor, with_errors=True):
        """Cases that need no measurement on this processor."""
        return {r["name"] for r in self.results if r.get("processor") == processor and (with_errors or "error" not in r)}

    def add(self, result):
        self.results.append(result)
        with self.path.open("a") as file:
            file.write(json.dumps(result) + "\n")
