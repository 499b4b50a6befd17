"""The runtimes, by bits a weight: their titles, what they load, and the command lines that make and run it."""
import dataclasses
import pathlib
import sys


@dataclasses.dataclass(frozen=True)
class Runtime:
    title: str
    bits: int
    file: str
    form: str = ""  # format option of its converter, or of `tern export --quantize`


RUNTIMES = {
    "tern_bf16": Runtime("Tern, bfloat16", 16, "bf16.tern"),
    "tern_int8": Runtime("Tern, int8", 8, "int8.tern", "int8"),
    "tern_int4": Runtime("Tern, int4", 4, "int4.tern", "int4"),
    "tern_mxfp4": Runtime("Tern, MXFP4", 4, "mxfp4.tern", "mxfp4"),
    "torch_bf16": Runtime("PyTorch, bfloat16", 16, "model.pt2"),
    "llama_q8_0": Runtime("llama.cpp, Q8_0", 8, "q8_0.gguf", "Q8_0"),
    "llama_q4_0": Runtime("llama.cpp, Q4_0", 4, "q4_0.gguf", "Q4_0"),
    "llama_mxfp4": Runtime("llama.cpp, MXFP4", 4, "mxfp4.gguf", "MXFP4"),
    "ov_int8": Runtime("OpenVINO, int8", 8, "ov_int8.xml", "INT8_SYM"),
    "ov_int4": Runtime("OpenVINO, int4", 4, "ov_int4.xml", "INT4_SYM"),
    "ort_int8": Runtime("ONNX Runtime, int8", 8, "ort_int8/model.onnx", "8"),
    "ort_int4": Runtime("ONNX Runtime, int4", 4, "ort_int4/model.onnx", "4"),
}
GROUP = 32  # elements sharing a scale, for converters with this option


@dataclasses.dataclass(frozen=True)
class Commands:
    name: str
    folder: pathlib.Path
    threads: int
    tern: str
    llama_bench: str

    @property
    def file(self):
        return self.folder / RUNTIMES[self.name].file

    @property
    def ours(self):
        return self.name.startswith("tern_")

    def _serve(self, *arguments):
        return [sys.executable, "-m", "decoder.serve", self.name, str(self.folder), "--threads", str(self.threads),
                "--llama-bench", self.llama_bench, *arguments]

    def _tern(self, command, *arguments):
        return [self.tern, command, str(self.file), "--inputs", str(self.folder / "inputs.safetensors"), "--threads",
                str(self.threads), *arguments]

    def convert(self):
        if self.ours:
            form = RUNTIMES[self.name].form
            return [self.tern, "export", str(self.folder / "model.pt2"), "-o", str(self.file),
                    *(["--quantize", form] if form else [])]
        return self._serve("--convert")

    def turns(self):
        """Answers each line of standard input by the milliseconds of a token."""
        return self._tern("bench", "--turns") if self.ours else self._serve("--turns")

    def output(self, path):
        """Writes the logits."""
        return self._tern("run", "-o", str(path)) if self.ours else self._serve("--output", str(path))

    def peaks(self):
        """Prints JSON with the machine's reading bandwidth."""
        return self._tern("bench", "--runs", "1", "--json")
