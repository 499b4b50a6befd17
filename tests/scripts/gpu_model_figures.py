"""Figures of programs on the emulated CUDA device, from what build/gpu_model counts. Standard library alone.

Bytes are of three kinds: `least` are operands and results of each node once; `memory` are the different sectors of 32 bytes
that a launch touches, which memory moves at least; `requested` are all sectors of all requests of warps, which caches
answer or not."""
import dataclasses
import math
import operator

SECTOR = 32


@dataclasses.dataclass(frozen=True)
class Device:
    """Published peaks, dense: bytes and operations a second. docs/gpu_model.md names the sources."""
    name: str
    memory: float
    vector: float  # float32, outside of matrix units
    matrix: float  # bfloat16 and float16
    double: float  # float64, outside of matrix units
    units: int     # multiprocessors, compute units


H100 = Device("H100 SXM", 3.35e12, 66.9e12, 989.4e12, 33.5e12, 132)
MI300X = Device("MI300X", 5.3e12, 163.4e12, 1307.4e12, 81.7e12, 304)
# A multiprocessor of an H100: per cycle its 32 load and store units take a warp's request, or one pass over the banks
# of shared memory. Its 128 lanes of float32 make an fma each, so the peak gives the clock.
CLOCK = H100.vector / (H100.units * 128 * 2)
DEVICES = (H100, MI300X)

PRODUCTS = {"matmul", "grouped_matmul", "convolution", "attention"}
GROUPS = {"pointwise": "pointwise", "layer_norm": "norm", "rms_norm": "norm", "group_norm": "norm", "batch_norm": "norm",
          "softmax": "softmax", "matmul": "product", "grouped_matmul": "product", "convolution": "product",
          "attention": "attention", "reduce": "reduction", "select_reduce": "reduction"}
NARROW = {"bfloat16", "float16"}


def group_of(op):
    return GROUPS.get(op, "other")


def least_seconds(node, device):
    """What the definition of a node takes where nothing but the peak of its type limits it."""
    if node["op"] in PRODUCTS and node["type"] in NARROW:
        peak = device.matrix
    else:
        peak = device.double if node["type"] == "float64" else device.vector
    return max(node["bytes"] / device.memory, node["operations"] / peak)


def of_library(node):
    """Whether a vendor's library computes it: its kernels are none of Tern's, and do not count."""
    return not all(launch["counted"] for launch in node["launches"]) or not node["launches"]


def memory_bytes(launch):
    """Atomics read and write. None where not all of the launch ran."""
    if not launch["whole"]:
        return None
    return launch["loads"]["memory_bytes"] + launch["stores"]["memory_bytes"] + 2 * launch["atomics"]["memory_bytes"]


def launched_seconds(node):
    """What the launches of a node take on an H100 where nothing but peaks limits them: bytes that memory moves, arithmetic
    as it is done, and requests, on as many multiprocessors as there are blocks. A launch that did not run as a whole moves
    its part of the node's least bytes. A node that a library computes takes the least, beside Tern's launches for it."""
    seconds = least_seconds(node, H100) if of_library(node) else 0
    for launch in filter(operator.itemgetter("counted"), node["launches"]):
        moved = memory_bytes(launch)
        if moved is None:
            moved = node["bytes"] / len(node["launches"])
        busy = min(1, blocks(launch) / H100.units)
        requests = launch["shared"]["passes"] + sum(launch[kind]["requests"] for kind in ("loads", "stores", "atomics"))
        seconds += max(moved / H100.memory, launch["operations"] / (busy * H100.vector),
                       launch["tensor_operations"] / (busy * H100.matrix), requests / (busy * H100.units * CLOCK))
    return seconds


def blocks(launch):
    return math.prod(launch["grid"])


def warps(launch):
    return blocks(launch) * -(-math.prod(launch["block"]) // 32)


def ratio(part, whole):
    return part / whole if whole else None


class Sums:
    """Of some nodes of a program, all of their launches together."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.launches = [launch for node in nodes for launch in node["launches"]]
        self.counted = [launch for launch in self.launches if launch["counted"]]
        accesses = [launch[kind] for launch in self.launches for kind in ("loads", "stores", "atomics")]
        self.requests = sum(a["requests"] for a in accesses)
        self.sectors = sum(a["sectors"] for a in accesses)
        self.least_sectors = sum(a["least_sectors"] for a in accesses)
        self.least = sum(node["bytes"] for node in nodes)
        moved = [memory_bytes(launch) for launch in self.launches]
        self.memory = None if None in moved else sum(moved)
        self.requested = SECTOR * self.sectors
        self.passes = sum(launch["shared"]["passes"] for launch in self.launches)
        self.least_passes = sum(launch["shared"]["least_passes"] for launch in self.launches)
        self.local = sum(launch["local_bytes"] for launch in self.launches)
        self.operations = sum(launch["operations"] for launch in self.launches)
        self.tensor = sum(launch["tensor_operations"] for launch in self.launches)

    def figures(self):
        """What the report shows and the baseline keeps. None: does not apply, or is not known."""
        known = [launch for launch in self.launches if "registers" in launch]
        return {
            "launches": len(self.launches),
            "memory_ratio": None if self.memory is None else ratio(self.memory, self.least),
            "requested_ratio": ratio(self.requested, self.least) if self.counted else None,
            "sectors": ratio(self.sectors, self.requests),
            "least_sectors": ratio(self.least_sectors, self.requests),
            "coalescing": ratio(self.sectors, self.least_sectors),
            "conflicts": ratio(self.passes, self.least_passes),
            "times": ratio(self.launched_seconds(), self.least_seconds(H100)),
            "tensor_share": ratio(self.tensor, self.tensor + self.operations),
            "warps": min(map(warps, self.counted), default=None),
            "registers": max((launch["registers"] for launch in known), default=None),
            "spill_bytes": sum(launch["spill_bytes"] for launch in known) if known else None,
            "occupancy": min((launch["occupancy"] for launch in known), default=None),
        }

    def least_seconds(self, device):
        return sum(least_seconds(node, device) for node in self.nodes)

    def launched_seconds(self):
        return sum(map(launched_seconds, self.nodes))


MOST_MOVED, FULLY, MOST_TENSOR = 1.1, 1.001, 0.9


def misses(group, figures, narrow):
    """The targets that figures of nodes of one group do not reach, as words."""
    missed = []
    if figures["spill_bytes"]:
        missed.append("spills")
    if group in ("pointwise", "norm", "softmax"):
        if figures["memory_ratio"] is not None and figures["memory_ratio"] > MOST_MOVED:
            missed.append("bytes")
        if figures["coalescing"] is not None and figures["coalescing"] > FULLY:
            missed.append("coalescing")
    share = figures["tensor_share"]
    if group in ("product", "attention") and narrow and share is not None and share < MOST_TENSOR:
        missed.append("tensor cores")
    return missed


def narrow(nodes):
    return any(node["type"] in NARROW for node in nodes)


def by_kernel(program):
    """The nodes of a program that the same kernels compute, the longest at their best first: (op, kernels, Sums)."""
    groups = {}
    for node in program["nodes"]:
        key = node["op"], tuple(sorted({launch["kernel"] for launch in node["launches"]}))
        groups.setdefault(key, []).append(node)
    rows = [(op, kernels, Sums(nodes)) for (op, kernels), nodes in groups.items()]
    return sorted(rows, key=lambda row: -row[2].launched_seconds())
