"""One model in PyTorch on the GPU: gpu_check_torch.py eager|graph|MODE MODEL.pt2 RUNS

`graph` captures the run on the GPU in a CUDA graph; MODE is one of torch.compile: default, reduce-overhead.

Prints `ready` when it has compiled, and then answers each line of standard input with the median milliseconds of RUNS runs.
A run copies its inputs to the GPU and its results back, as `tern bench --device` does. PyTorch calls AMD's GPUs cuda too.
"""
import pathlib
import statistics
import sys
import time

import torch
from safetensors.torch import load_file
from torch.export.passes import move_to_device_pass


def inputs_of(model):
    tensors = load_file(model.with_suffix(".safetensors"))
    count = 0
    while f"in{count}" in tensors:
        count += 1
    return [tensors[f"in{i}"] for i in range(count)]


def captured(function, inputs):
    """Replays of the function's graph: inputs are copied into its own."""
    there = [x.to("cuda") for x in inputs]
    for _ in range(3):
        function(*there)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = function(*there)

    def replay(*given):
        for to, x in zip(there, given):
            to.copy_(x)
        graph.replay()
        return results

    return replay


def main():
    mode, model, runs = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    function = move_to_device_pass(torch.export.load(model), "cuda").module()
    inputs = inputs_of(model)
    if mode == "graph":
        with torch.inference_mode():
            function = captured(function, inputs)
    elif mode != "eager":
        function = torch.compile(function, mode=mode)

    def run():
        with torch.inference_mode():
            results = function(*(inputs if mode == "graph" else [x.to("cuda") for x in inputs]))
            return torch.utils._pytree.tree_map(lambda x: x.cpu() if isinstance(x, torch.Tensor) else x, results)

    def timed():
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) * 1e3

    for _ in range(5):  # compiles; CUDA graphs are captured in the second and third run
        run()
    print("ready", flush=True)
    for _ in sys.stdin:
        run()
        print(f"{statistics.median(timed() for _ in range(runs)):.6f}", flush=True)


if __name__ == "__main__":
    main()
