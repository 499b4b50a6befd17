#!/usr/bin/env python3
"""Quantized programs keep their weights in their own bits: no float copy of one in the archive, and each node reads it.

  quantized.py --tern TERN FOLDER

Exports the cases of FOLDER (build/test-data/quantized) whose tools quantize every weight: products, experts, batches of
matrices, convolutions and tables of embeddings. Looks at what `tern inspect --json` says, and at what `tern run --json`
says that the CPU does. Prints what is wrong, and ends with `N passed, N failed`.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# The first part of a name identifies the case's maker. Products of activations by activations have no weight.
QUANTIZED = re.compile(
    r"^(pt2e_x86_(mlp|dynamic_mlp|cnn)|ao_(int8wo|int8da|float8wo|int4intx|int2intx)_mlp|hand_int"
    r"|all_(int8|int4|mxfp8)_(embedding|bag|tied|experts|bmm|loop|conv2d|conv1d)|grouped_mx(_v2|_dynamic|$))"
)
FLOATS = {"float64", "float32", "bfloat16", "float16"}
LEAST = 16  # rows and columns of a weight; scales and biases have fewer
WEIGHT = {"matmul": 1, "grouped_matmul": 1, "convolution": 1, "index_select": 0}  # operand


def is_matrix(state):
    sizes = [n for n in state["type"]["sizes"] if n > 1]
    return len(sizes) > 1 and min(sizes[0], max(sizes[1:])) >= LEAST


def wrong_of(program):
    """Float weights that a node reads, and conversions of weights to floats."""
    states = {s["name"]: s for s in program["states"]}
    for function in program["functions"]:
        made = {}  # value: its state, through views alone
        given = {v["value"] for v in function["inputs"] if v.get("kind") != "state"}  # values of each run
        for value in function["inputs"]:
            if value.get("kind") == "state":
                made[value["value"]] = states[value["state"]]
        for node in function["nodes"]:
            operands = [v for v in node["inputs"] if v is not None and v >= 0]
            if given.intersection(operands):
                given.update(node["outputs"])
            if node["op"] in ("reshape", "permute", "slice") and operands and operands[0] in made:
                made[node["outputs"][0]] = made[operands[0]]
            elif node["op"] in WEIGHT:
                operand = node["inputs"][WEIGHT[node["op"]]]
                if operand in given:
                    continue
                weight = made.get(operand)
                if weight is None:
                    yield f"{node['op']} reads a weight that is computed in each run"
                elif weight["type"]["dtype"] in FLOATS and is_matrix(weight):
                    yield f"{node['op']} reads the float weight {weight['name']}"
            elif node["op"] in ("pointwise", "dequantize"):
                for v in operands:
                    if v in made and is_matrix(made[v]):
                        yield f"{node['op']} computes with all of the weight {made[v]['name']}"
    for node in program["widened"]:
        yield f"inspect: {node['op']} widens {node['weight']}"


def untied(program):
    """Tied weights are one state."""
    quantized = [s["name"] for s in program["states"] if "block" in s["type"]]
    if len(quantized) != 1 or len(program["states"]) != 1:
        yield f"a tied weight is {len(program['states'])} states"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    a = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(folder) / "case.tern"
        for case in sorted(a.folder.glob("*.pt2")):
            if not QUANTIZED.match(case.stem):
                continue
            export = subprocess.run([a.tern, "export", case, "-o", archive], capture_output=True, text=True)
            wrong = [export.stderr.strip()] if export.returncode else []
            if not wrong:
                shown = subprocess.run([a.tern, "inspect", "--json", archive], capture_output=True, text=True, check=True)
                program = json.loads(shown.stdout)
                wrong = list(wrong_of(program))
                wrong += untied(program) if "_tied" in case.stem else []
            if not wrong and case.stem.startswith("all_"):
                run = subprocess.run([a.tern, "run", "--json", archive, "--input", case.with_suffix(".safetensors")], capture_output=True, text=True)
                if run.returncode:
                    run = subprocess.run([a.tern, "run", "--json", archive, "--random"], capture_output=True, text=True, check=True)
                wrong = [f"run: {n['op']} widens {n['weight']}" for n in json.loads(run.stdout)["widened"]]
            for text in wrong:
                print(f"FAIL {case.stem}: {text}")
            passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
