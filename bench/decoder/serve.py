"""The decoder in one other runtime: decoder.serve RUNTIME FOLDER --threads N, and one of

--convert        writes the runtime's own file
--output FILE    writes the logits, as .npy
--turns          makes a token for each line of standard input and answers with its milliseconds, as `tern bench --turns`

Each class convert()s, and load()s a function that makes a token and returns its logits."""
import argparse
import json
import pathlib
import subprocess
import sys
import time

from .runtimes import GROUP, RUNTIMES


class Adapter:
    def __init__(self, name, folder, threads, llama_bench):
        self.form, self.folder, self.threads, self.llama_bench = RUNTIMES[name].form, folder, threads, llama_bench
        self.file = folder / RUNTIMES[name].file

    def run_ms(self, run):
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) * 1e3


class Torch(Adapter):
    def load(self):
        import torch

        from . import model

        torch.set_num_threads(self.threads)
        module, inputs = model.with_static_cache(model.decoder()), model.inputs()

        def run():
            with torch.inference_mode():
                return module(**inputs).float().numpy()

        return run


class Llama(Adapter):
    """llama-bench is a process of its own and times itself; it shows no logits. Its cache begins empty: fewer slots to read
    than the others have."""

    TOKENS = 32

    def convert(self):
        from . import gguf_file

        gguf_file.write(self.file, self.form)

    def load(self):
        command = [self.llama_bench, "-m", self.file, "-t", str(self.threads), "-p", "0", "-n", str(self.TOKENS), "-r",
                   "1", "-o", "json"]
        return lambda: json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)

    def run_ms(self, run):
        return run()[0]["avg_ns"] / 1e6 / self.TOKENS


def onnx_of_floats(folder):
    """The decoder as ONNX in float32, from which converters of weights start."""
    import torch

    from . import model

    path = folder / "float32/model.onnx"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        with torch.no_grad():
            torch.onnx.export(model.WithPast(model.decoder(torch.float32)), model.past_inputs(), path, dynamo=True,
                              external_data=True, verbose=False)
    return path


class Ov(Adapter):
    def convert(self):
        import nncf
        import openvino

        converted = openvino.convert_model(onnx_of_floats(self.folder))
        options = {"group_size": GROUP, "ratio": 1.0, "all_layers": True} if "INT4" in self.form else {}
        compressed = nncf.compress_weights(converted, mode=nncf.CompressWeightsMode[self.form], **options)
        openvino.save_model(compressed, self.file, compress_to_fp16=False)

    def load(self):
        import openvino

        from . import model

        options = {"INFERENCE_NUM_THREADS": self.threads, "PERFORMANCE_HINT": "LATENCY"}
        request = openvino.Core().compile_model(self.file, "CPU", options).create_infer_request()
        inputs = [x.numpy() for x in model.past_inputs()]
        return lambda: request.infer(inputs, share_inputs=True, share_outputs=True)[0]


class Ort(Adapter):
    """MatMulNBits, whose activations are quantized to int8 (accuracy level 4), as ONNX Runtime's own builder of decoders
    sets it."""

    def convert(self):
        import onnx
        from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

        config = DefaultWeightOnlyQuantConfig(block_size=GROUP, is_symmetric=True, accuracy_level=4, bits=int(self.form))
        quantizer = MatMulNBitsQuantizer(onnx.load(onnx_of_floats(self.folder)), algo_config=config)
        quantizer.process()
        self.file.parent.mkdir(exist_ok=True)
        quantizer.model.save_model_to_file(str(self.file), use_external_data_format=True)

    def load(self):
        import onnxruntime

        from . import model

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = self.threads, 3
        session = onnxruntime.InferenceSession(self.file, options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for slot, x in zip(session.get_inputs(), model.past_inputs()):
            binding.bind_ortvalue_input(slot.name, onnxruntime.OrtValue.ortvalue_from_numpy(x.numpy()))
        for slot in session.get_outputs():
            binding.bind_output(slot.name)

        def run():
            session.run_with_iobinding(binding)
            return binding.get_outputs()[0].numpy()

        return run


ADAPTERS = {"torch": Torch, "llama": Llama, "ov": Ov, "ort": Ort}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runtime", choices=[name for name in RUNTIMES if name.split("_")[0] in ADAPTERS])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--llama-bench", default="llama-bench")
    parser.add_argument("--output", type=pathlib.Path)
    for name in ("convert", "turns"):
        parser.add_argument(f"--{name}", action="store_true")
    a = parser.parse_args()
    adapter = ADAPTERS[a.runtime.split("_")[0]](a.runtime, a.folder.resolve(), a.threads, a.llama_bench)
    if a.convert:
        adapter.convert()
        return
    # Libraries print to stdout; only answers may go to the reader.
    answers, sys.stdout = sys.stdout, sys.stderr
    run = adapter.load()
    if a.output:
        import numpy

        numpy.save(a.output, run())
    if a.turns:
        for _ in sys.stdin:
            print(f"{adapter.run_ms(run):.6f}", file=answers, flush=True)


if __name__ == "__main__":
    main()
