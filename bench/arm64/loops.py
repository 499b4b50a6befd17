"""Reads the file of tests/arm64/counting_plugin.cpp: instructions by class, and the hottest loops with their modelled cycles."""
import bisect
import collections
import functools
import pathlib
import re
import subprocess

from . import instructions, model
from .instructions import CLASSES

NM, READELF = "aarch64-linux-gnu-nm", "aarch64-linux-gnu-readelf"
NEAR = 0.05  # blocks of one loop run equally often, up to this share
SHOWN = 12


class Counts:
    """One run: `blocks` are (address, executions, words)."""

    def __init__(self, path: pathlib.Path):
        self.runs, self.maps, self.blocks = [], [], []
        for line in path.read_text().splitlines():
            kind, *fields = line.split(maxsplit=4 if line.startswith("map") else -1)
            if kind == "runs":
                self.runs = [int(n) for n in fields]
            elif kind == "map":
                self.maps.append((*(int(n, 16) for n in fields[:3]), fields[3]))
            else:
                code = fields[2]
                self.blocks.append((int(fields[0], 16), int(fields[1]), [code[i:i + 8] for i in range(0, len(code), 8)]))
        self.maps.sort()

    def place(self, address):
        """(file, offset in the file) of an address."""
        i = bisect.bisect_right(self.maps, (address, 1 << 64)) - 1
        if i >= 0:
            begin, end, offset, path = self.maps[i]
            if begin <= address < end:
                return path, address - begin + offset
        return "generated code", address


@functools.cache
def symbols(path):
    """(file offsets, names), sorted, of the functions that a file names."""
    segments = re.findall(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)",
                          subprocess.run([READELF, "-lW", path], stdout=subprocess.PIPE, text=True, check=False).stdout)
    segments = [tuple(int(n, 16) for n in s) for s in segments]
    found = {}
    for extra in ("--dynamic", "--defined-only"):
        listing = subprocess.run([NM, "-C", "--defined-only", extra, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 text=True, check=False).stdout
        for line in listing.splitlines():
            parts = line.split(maxsplit=2)
            if len(parts) == 3 and parts[1] in "tTwWiIvV" and not parts[2].startswith("$"):
                address = int(parts[0], 16)
                for offset, virtual, size in segments:
                    if virtual <= address < virtual + size:
                        found[address - virtual + offset] = parts[2]
    offsets = sorted(found)
    return offsets, [found[o] for o in offsets]


def function_at(path, offset):
    if not path.startswith("/"):
        return ""
    offsets, names = symbols(path)
    i = bisect.bisect_right(offsets, offset) - 1
    # Few functions are longer; the name of another one far below would mislead.
    return names[i] if i >= 0 and offset - offsets[i] < 1 << 16 else ""


def merge(blocks, decoded):
    """Joins neighbouring blocks with equal counts, which are one long loop: [(address, executions, words)]."""
    after = collections.defaultdict(list)
    before = collections.defaultdict(list)
    for block in blocks:
        after[block[0]].append(block)
        before[block[0] + 4 * len(block[2])].append(block)

    def target(block):
        """The address that the last instruction of a block jumps to, if it does so backwards."""
        text = decoded[block[2][-1]].text
        return text if decoded[block[2][-1]].kind == "branch" else ""

    used, loops = set(), []
    for block in sorted(blocks, key=lambda b: -b[1] * len(b[2])):
        if id(block) in used:
            continue
        used.add(id(block))
        run = [block]
        for neighbours, at_end in ((after, True), (before, False)):
            while True:
                edge = run[-1] if at_end else run[0]
                key = edge[0] + 4 * len(edge[2]) if at_end else edge[0]
                found = [b for b in neighbours[key] if id(b) not in used and abs(b[1] - block[1]) <= NEAR * block[1]]
                # A conditional branch back ends a loop; nothing falls through it as often as the loop runs.
                if not found or (target(edge) if at_end else target(found[0])):
                    break
                used.add(id(found[0]))
                run.insert(len(run) if at_end else 0, found[0])
        loops.append((run[0][0], block[1], [w for b in run for w in b[2]]))
    return loops


def summary(path, vector_bytes, with_model=True):
    """What counts.json keeps of a run."""
    counts = Counts(path)
    decoded = instructions.decode({w for block in counts.blocks for w in block[2]}, vector_bytes)
    classes, loaded, multiply_adds, files = collections.Counter(), 0, 0, collections.Counter()
    for address, executions, words in counts.blocks:
        files[pathlib.Path(counts.place(address)[0]).name] += executions * len(words)
        for word in words:
            instruction = decoded[word]
            classes[instruction.kind] += executions
            loaded += executions * instruction.loaded_bytes
            multiply_adds += executions * instruction.multiply_adds
    total = sum(classes.values())
    loops = []
    for address, executions, words in sorted(merge(counts.blocks, decoded), key=lambda b: -b[1] * len(b[2]))[:SHOWN]:
        body = [decoded[w] for w in words]
        file, offset = counts.place(address)
        loop = {"share": executions * len(words) / total, "executions": executions, "instructions": len(words),
                "multiply_adds": sum(i.multiply_adds for i in body), "loaded_bytes": sum(i.loaded_bytes for i in body),
                "file": pathlib.Path(file).name, "offset": hex(offset), "function": function_at(file, offset)[:200],
                "classes": dict(collections.Counter(i.kind for i in body)), "text": [i.text for i in body]}
        if with_model:
            loop["cycles"] = model.cycles([i.text for i in body])
            loop["peak_share"] = model.peak_share(body, loop["cycles"])
        loops.append(loop)
    return {"runs": counts.runs, "instructions": total, "classes": {c: classes[c] for c in CLASSES if classes[c]},
            "loaded_bytes": loaded, "multiply_adds": multiply_adds, "files": dict(files.most_common(6)), "loops": loops}
