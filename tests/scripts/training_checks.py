"""Commands, data and tolerances of the checks of training."""
import json
import pathlib
import struct

import checks


ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/train"
IMAGES = ROOT / "examples/digits/digits_test.safetensors"
CNN = ROOT / "examples/training/digits.pt2"
# Relative error of losses against PyTorch: in float64, and with float32 parameters.
CLOSE, CLOSE_SINGLE = 1e-9, 1e-5
# A state of 8 bits jumps by a code where a sum near the bound of two codes rounds the other way.
CLOSE_OF_MODEL = {"tied": CLOSE_SINGLE, "eight_bits": 1e-3}
INTERRUPTED, TERMINATED = 130, 143
FLAGS = {"nesterov", "amsgrad"}


class TrainingChecks(checks.Checks):
    def export(self, model, *options, output="model.tern"):
        done = self.run("export", model, "--train", "-o", self.folder / output, *options)
        self.check(f"export {pathlib.Path(model).name} {' '.join(map(str, options))}", done.returncode == 0, done.stderr)
        return self.folder / output

    def train_command(self, model, *options, data=IMAGES, output="out.tern"):
        arrays = ["--array", "target=labels"] if data == IMAGES else []
        return ["train", model, "--data", data, "-o", self.folder / output, "--threads", 1, *arrays, *options]

    def train(self, model, *options, **places):
        return self.run(*self.train_command(model, *options, **places))

    def ends(self, name, status, text, *command):
        done = self.run(*command)
        self.check(name, done.returncode == status and text in done.stdout + done.stderr,
                   f"status {done.returncode}: {done.stdout}{done.stderr}")


def error_of_steps(report, expected):
    """The largest relative error of the losses of named steps; None: the step was left out."""
    mine = [report["losses"], *report["further_losses"].values()]
    return max(0 if its is None is ours else abs(ours - its) / abs(its) if None not in (ours, its) else 1
               for a, b in zip(mine, expected, strict=True) for ours, its in zip(a, b, strict=True))


def newest_step(folder):
    return max((int(path.stem.split("-")[1]) for path in folder.glob("checkpoint-*.safetensors")), default=0)


def states_of(path):
    """The bytes of all states and losses of a checkpoint."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8:8 + length])
    return {name: data[8 + length + t["data_offsets"][0]:8 + length + t["data_offsets"][1]]
            for name, t in tensors.items() if name.startswith("state.") or name == "history.losses"}


def tensors_of(path):
    """Names, and numbers of float64, of a .safetensors file."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8:8 + length])
    metadata = tensors.pop("__metadata__", {})
    return {name: struct.unpack(f"<{(t['data_offsets'][1] - t['data_offsets'][0]) // 8}d",
                                data[8 + length + t["data_offsets"][0]:8 + length + t["data_offsets"][1]])
            for name, t in tensors.items() if t["dtype"] == "F64"}, metadata


def difference(mine, its):
    return max(abs(a - b) for a, b in zip(mine, its, strict=True)) / max(map(abs, its))


def result_of(path, letter="d"):
    """The numbers of a .npy of float64, or float32 (f)."""
    data = path.read_bytes()
    length = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - length) // struct.calcsize(letter)}{letter}", data[length:])
