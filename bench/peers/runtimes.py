"""The runtimes: their titles, what they load, and the command lines that convert, run and time a model with them."""
import dataclasses
import pathlib
import sys


@dataclasses.dataclass(frozen=True)
class Runtime:
    title: str
    file: str  # converted file in the model's folder; loading starts from this file
    package: str = ""  # package of the version in the report
    narrow: bool = False  # multiplies in bfloat16 if expected to be faster; other runtimes in float32


RUNTIMES = {
    "tern": Runtime("Tern", "model.tern"),
    "packed": Runtime("Tern, packed", "packed.tern"),
    "eager": Runtime("PyTorch eager", "module.pt", "torch"),
    "compile": Runtime("torch.compile", "compiled.pt", "torch"),
    "aoti": Runtime("AOTInductor", "aoti.pt2", "torch"),
    "ort": Runtime("ONNX Runtime", "model.onnx", "onnxruntime"),
    "ov": Runtime("OpenVINO", "model.xml", "openvino"),
    "et": Runtime("ExecuTorch", "model.pte", "executorch"),
    "auto": Runtime("Tern, auto", "model.tern", narrow=True),
    "autocast": Runtime("PyTorch autocast", "module.pt", "torch", narrow=True),
    "compile_autocast": Runtime("torch.compile, autocast", "compiled.pt", "torch", narrow=True),
    "ov_auto": Runtime("OpenVINO, as it comes", "model.xml", "openvino", narrow=True),
}

MODELS = "peers.models"  # the module that makes the models of `./dev bench peers`

# Tern itself: from a plain archive, from an archive with weights packed by `export --target cpu`, and in the precision
# chosen as fastest.
OURS = ("tern", "packed", "auto")


class Commands:
    """Command lines for one runtime and one model. Each runs as a process of its own, so that one runtime's threads,
    allocator and crashes stay its own."""

    def __init__(self, name, folder: pathlib.Path, threads, tern, models=MODELS):
        self.models = models
        self.name, self.folder, self.threads, self.tern = name, folder, threads, tern
        self.file = folder / RUNTIMES[name].file

    def _serve(self, *arguments):
        return [sys.executable, "-m", "peers.serve", self.name, str(self.folder), "--threads", str(self.threads),
                "--models", self.models, *arguments]

    def _tern(self, command, *arguments):
        precision = ["--precision", "auto"] if self.name == "auto" else []
        return [self.tern, command, str(self.file), "--inputs", str(self.folder / "data.safetensors"), "--threads",
                str(self.threads), *precision, *arguments]

    def convert(self):
        if self.name in OURS:
            target = ["--target", "cpu"] if self.name == "packed" else []
            return [self.tern, "export", *target, str(self.folder / "model.pt2"), "-o", str(self.file)]
        return self._serve("--convert")

    def turns(self, *arguments):
        """Answers each line of standard input by one run's milliseconds."""
        return self._tern("bench", "--turns") if self.name in OURS else self._serve("--turns", *arguments)

    def bench(self, *arguments):
        """Measures nodes; Tern alone."""
        return self._tern("bench", *arguments)

    def output(self, path):
        """Writes what a run returns."""
        return self._tern("run", "-o", str(path)) if self.name in OURS else self._serve("--output", str(path))

    def load(self):
        """Prints JSON with the milliseconds from the file to the first output."""
        return self._tern("bench", "--runs", "1", "--json") if self.name in OURS else self._serve("--load")


def load_ms(figures):
    """Of what the command of load() prints: loading and the first run, without starting the process or its libraries."""
    return sum(figures[key] for key in ("open_ms", "prepare_ms", "first_run_ms"))


def before_bytes(figures):
    """Of the same: private memory before loading, of the interpreter and of libraries."""
    return figures["before_bytes"] if "before_bytes" in figures else figures["memory"]["before"]
