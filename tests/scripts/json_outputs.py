#!/usr/bin/env python3
"""The outputs of --json are as docs/json describes them: NAME.schema.json for each command, and for each form of it.

  json_outputs.py --tern TERN --data BUILD/test-data     ends with `N passed, N failed`

Every property of an output must be in the schema, and every schema must have an output here. Where Python has the package
jsonschema, that package checks schemas and outputs as well.
"""
import argparse
import json
import pathlib
import re
import struct
import tempfile

import checks

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits"
TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
    "number": (int, float),
}  # fmt: skip


def is_a(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def problems(schema, value, path="$"):
    """Differences of a value from the subset of JSON Schema that docs/json uses."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_a(value, k) for k in kinds):
        yield f"{path} is {value!r:.80} instead of {' or '.join(kinds)}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{path} is {value!r}, which is none of {schema['enum']}"
    elif isinstance(value, dict) and ("properties" in schema or "additionalProperties" in schema):
        yield from (f"{path} lacks {name}" for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if inner is None:
                yield f"{path}.{name} is not in the schema"
            else:
                yield from problems(inner, item, f"{path}.{name}")
    elif isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from problems(schema["items"], item, f"{path}[{i}]")


class Outputs(checks.Checks):
    def __init__(self, tern, folder):
        super().__init__(tern, folder)
        self.schemas = {p.name.removesuffix(".schema.json"): json.loads(p.read_text()) for p in ROOT.glob("docs/json/*.schema.json")}
        self.seen = set()

    def output(self, name, *command, status=0):
        """Checks the output of a command by the schema NAME, and returns the output."""
        self.seen.add(name)
        run = self.run(*command, "--json")
        title = " ".join(str(word).split("/")[-1] for word in command)
        if run.returncode != status:
            return self.check(title, False, f"exit status {run.returncode}: {run.stderr.strip()[-300:]}")
        value = json.loads(run.stdout)
        found = list(problems(self.schemas[name], value))
        if jsonschema:
            validator = jsonschema.Draft202012Validator(self.schemas[name])
            found += [f"jsonschema: {e.message[:200]}" for e in validator.iter_errors(value)]
        self.check(title, not found, "; ".join(found[:5]))
        return value


def export(t, data, folder):
    t.output("export", "export", DIGITS / "digits.pt2", "-o", folder / "digits.tern")
    t.output("export", "export", data / "programs/kv_cache.pt2", "-o", folder / "packed.tern", "--target", "cpu", "--tune",
             "--tune-seconds", "0.2", "--compress", "zstd")  # fmt: skip
    t.output("export", "export", data / "programs/kv_cache.pt2", "-o", folder / "int4.tern", "--quantize", "int4")
    calibrate = ["--calibrate", DIGITS / "digits_test.safetensors"]
    t.output("export", "export", DIGITS / "digits.pt2", "-o", folder / "sqnr.tern", "--quantize", "int8,int4", *calibrate,
             "--target-sqnr", "20")  # fmt: skip
    t.output("export", "export", DIGITS / "digits.pt2", "-o", folder / "bits.tern", "--quantize", "int8,int4", *calibrate,
             "--bits", "8")  # fmt: skip
    t.output("export", "export", ROOT / "examples/training/digits.pt2", "-o", folder / "train.tern", "--train", "--loss",
             "cross_entropy", "--activation-memory", "least", "--gradient-norm")  # fmt: skip
    t.output("export", "export", data / "gguf/llama_q4_k_m.gguf", "-o", folder / "llama.tern")


def two_calls(path):
    """A file with the images of two calls, all zeros."""
    rows = {f"call{i}.images": {"dtype": "F32", "shape": [2, 1, 8, 8], "data_offsets": [i * 512, i * 512 + 512]} for i in range(2)}
    header = json.dumps(rows).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(1024))
    return path


def run_and_measure(t, data, folder):
    digits, sized = folder / "digits.tern", ["--random", "--size", "s34=4"]
    t.output("run", "run", digits, *sized)
    t.output("run", "run", digits, "--input", two_calls(folder / "calls.safetensors"))
    short = ["--seconds", "0.02"]
    t.output("bench", "bench", digits, *sized, *short, "--nodes", "3", "--threads", "1", "--lost")
    t.output("bench-sessions", "bench", digits, *sized, *short, "--sessions", "2", "--threads", "1")
    t.output("bench-choices", "bench", digits, *sized, *short, "--choices", "--threads", "1")
    t.output("bench-cores", "bench", digits, *sized, *short, "--threads", "1,2")
    t.output("verify", "verify", digits, *sized, "--precision", "bfloat16", "--nodes")
    t.output("verify", "verify", digits, *sized, "--precision", "bfloat16", "--min-sqnr", "200", status=1)
    t.output("verify", "verify", folder / "int4.tern", "--random", "--reference", data / "programs/kv_cache.pt2")
    t.output("generate", "generate", folder / "llama.tern", "--ids", "1,2,3", "--max-tokens", "3", "--logprobs", "2")
    t.output("generate", "generate", folder / "llama.tern", "--ids", "1,2,3", "--max-tokens", "1")
    t.output("train", "train", folder / "train.tern", "--data", DIGITS / "digits_test.safetensors", "--array",
             "target=labels", "--epochs", "2", "--held-out", "0.2", "--metric", "f1", "-o",
             folder / "trained.safetensors")  # fmt: skip
    traces = [folder / f"{i}.json" for i in range(2)]
    for trace in traces:
        t.run("run", digits, *sized, "--trace", trace)
    t.output("trace", "trace", traces[0])
    t.output("trace-merge", "trace", "merge", *traces, "-o", folder / "merged.json")


def look(t, data, folder):
    t.output("version", "version")
    t.output("devices", "devices")
    t.output("ops", "ops", "softmax")
    t.output("ops", "ops", "matmul")
    for name in ("cond", "data_dependent", "map", "buffer_mutation", "opt_adam"):
        t.output("inspect", "inspect", data / f"programs/{name}.pt2")
    for name in ("digits", "packed", "int4", "train"):
        t.output("inspect", "inspect", folder / f"{name}.tern")
    blocks = [s["type"] for s in t.output("inspect", "inspect", folder / "llama.tern")["states"] if "block" in s["type"]]
    t.check("inspect: k-quants", any(b.get("super_columns") == 256 and b.get("bits") == 6 for b in blocks), blocks[:2])
    t.output("inspect-gguf", "inspect", data / "gguf/llama_q4_k_m.gguf")
    damaged = folder / "damaged.tern"
    damaged.write_bytes((folder / "digits.tern").read_bytes()[:3000])
    t.output("upgrade", "upgrade", data / "museum/0.1/option_compressed.tern", "-o", folder / "upgraded.tern")
    t.output("validate", "validate", damaged, folder / "digits.tern", status=1)
    t.output("validate", "validate", folder / "digits.tern", data / "programs/cond.pt2")
    t.output("conform", "conform", data / "programs/cond.pt2", data / "programs/kv_cache.pt2")
    t.output("conform", "conform", "--gradients", data / "programs/cond.pt2", status=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        t = Outputs(a.tern.resolve(), folder)
        export(t, a.data, folder)
        run_and_measure(t, a.data, folder)
        look(t, a.data, folder)
    for schema in sorted(t.schemas):
        if jsonschema:
            jsonschema.Draft202012Validator.check_schema(t.schemas[schema])
        t.check(f"an output of {schema}", schema in t.seen, "no command above prints it")
    listed = [line.split()[0] for line in t.run("help").stdout.splitlines() if line.startswith("  ") and line[2:3].isalpha()]
    for command in listed:
        has = re.search(r"--json(?![-\w])", t.run(command, "--help").stdout)
        t.check(f"{command} --json", not has or command in t.schemas, "docs/json has no schema of it")
    print(f"{t.passed} passed, {t.failed} failed")
    return t.failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
