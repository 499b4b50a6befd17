"""The runtimes, by precision: their titles, what they load, and the command lines that make it and take a turn."""
import dataclasses
import json
import pathlib
import re
import sys

CONTEXT = 1024  # positions of the caches
TEXTS = (4, 8)  # numbers of prompts answered at once, measured in separate turns


@dataclasses.dataclass(frozen=True)
class Runtime:
    title: str
    precision: str
    file: str
    form: tuple = ()  # options of `tern export`, or the type of the GGUF file


RUNTIMES = {
    "tern_f32": Runtime("Tern", "float32", "f32.tern"),
    "llama_f32": Runtime("llama.cpp", "float32", "f32.gguf", ("F32",)),
    "torch_f32": Runtime("transformers", "float32", "torch"),
    "tern_bf16": Runtime("Tern", "bfloat16", "bf16.tern", ("--precision", "bfloat16")),
    "llama_bf16": Runtime("llama.cpp", "bfloat16", "bf16.gguf", ("BF16",)),
    "torch_bf16": Runtime("transformers", "bfloat16", "torch"),
    "tern_int8": Runtime("Tern", "int8", "int8.tern", ("--quantize", "int8")),
    "llama_int8": Runtime("llama.cpp", "int8", "q8_0.gguf", ("Q8_0",)),
    "tern_int4": Runtime("Tern", "int4", "int4.tern", ("--quantize", "int4", "--scales", "bfloat16")),
    "llama_int4": Runtime("llama.cpp", "int4", "q4_0.gguf", ("Q4_0",)),
}


@dataclasses.dataclass(frozen=True)
class Commands:
    name: str
    folder: pathlib.Path
    tern: str
    generate_text: str
    llama_bench: str
    llama_batched: str
    threads: int
    prompt: int  # tokens
    answer: int

    @property
    def file(self):
        return self.folder / RUNTIMES[self.name].file

    @property
    def slots(self):
        """Tern's archive of several texts."""
        return self.file.with_stem(self.file.stem + "_slots")

    def conversions(self):
        """Files, and the command lines that make them."""
        form = RUNTIMES[self.name].form
        if self.name.startswith("tern_"):
            export = [self.tern, "export", str(self.folder / "model.pt2"), "--llm", *form, "-o"]
            return {self.file: [*export, str(self.file)], self.slots: [*export, str(self.slots), "--batch", str(max(TEXTS))]}
        return {self.file: [sys.executable, "-m", "generate.prepare", str(self.folder), "--gguf", str(self.file), *form]}

    def turn(self):
        """Reads a prompt and makes an answer, in a new process."""
        if self.name.startswith("tern_"):
            ids = ",".join(str(11 + i) for i in range(self.prompt))
            return [self.generate_text, str(self.file), ids, "--no-bos", "--max-tokens", str(self.answer), "--threads",
                    str(self.threads), "--time", "--repeat", "2"]
        if self.name.startswith("llama_"):
            return [sys.executable, "-m", "generate.llama_turn", self.llama_bench, str(self.file), str(self.threads),
                    str(self.prompt), str(self.answer)]
        return [sys.executable, "-m", "generate.torch_turn", str(self.file), RUNTIMES[self.name].precision,
                str(self.threads), str(self.prompt), str(self.answer)]

    def turns_of(self, texts):
        """Command lines that answer so many prompts of the same length at once, the first one that works; none where the
        runtime has no program for it."""
        if self.name.startswith("tern_"):
            prompts = [",".join(str(11 + t + i) for i in range(self.prompt)) for t in range(texts)]
            return [[self.generate_text, str(self.slots), *prompts, "--no-bos", "--max-tokens", str(self.answer), "--threads",
                     str(self.threads), "--time", "--repeat", "2"]]
        if self.name.startswith("llama_"):
            positions = texts * (self.prompt + self.answer)
            command = [self.llama_batched, "-m", str(self.file), "-t", str(self.threads), "-c", str(positions), "-npp",
                       str(self.prompt), "-ntg", str(self.answer), "-npl", str(texts), "--output-format", "jsonl"]
            # Some builds crash with a segmentation fault in products of quantized weights on AMX.
            return [command, [*command, "--no-repack"]] if pathlib.Path(self.llama_batched).exists() else []
        return [[*self.turn(), str(texts)]]

    def tokens_a_second(self, out, err):
        """Of all texts, from what a turn of several printed."""
        if self.name.startswith("tern_"):
            return float(re.search(r"together: .*, ([\d.]+) tokens a second", err).group(1))
        line = next(part for part in (out + err).splitlines()[::-1] if part.startswith("{"))
        figures = json.loads(line)
        return figures["speed_tg"] if self.name.startswith("llama_") else figures["per_s"]

    def figures(self, out, err):
        """First token in ms, at first and again, and tokens a second, from what a turn printed."""
        if self.name.startswith("tern_"):
            first, again = re.findall(r"first token after ([\d.]+) ms, then ([\d.]+) tokens a second", err)
            return {"first_ms": float(first[0]), "again_ms": float(again[0]), "per_s": float(again[1])}
        return json.loads(out.splitlines()[-1])
