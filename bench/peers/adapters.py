"""One class per runtime that Python drives: convert() writes its own file, load() reads it and returns a function that
does one run and returns its outputs. What a runtime imports, it imports when made: loading is timed without it.

Each runs as its users are told to run it for latency: weights frozen where that is an option, no copy of inputs and
outputs where it can do without, and thread pools that spin as they do by default. Arithmetic is float32 throughout, but
in those that say otherwise."""
import importlib
import os
import pathlib

from safetensors.numpy import load_file


class Adapter:
    def __init__(self, model: str, folder: pathlib.Path, file: str, threads: int, models: str):
        self.model, self.folder, self.file, self.threads = model, folder, str(folder / file), threads
        self.models_module = models
        self.arrays = load_file(folder / "data.safetensors")
        self.inputs = [self.arrays[f"in{i}"] for i in range(len(self.arrays) - 1)]
        self.imports()

    def imports(self):
        pass

    def models(self):
        """The module that makes the models: imported late, because it imports PyTorch."""
        return importlib.import_module(self.models_module)


class Torch(Adapter):
    """PyTorch as it is, from a pickled module whose weights are mapped."""

    def imports(self):
        import torch

        self.torch = torch
        torch.set_num_threads(self.threads)
        self.tensors = [torch.from_numpy(x) for x in self.inputs]
        self.import_classes()

    def import_classes(self):
        self.models().import_classes(self.model)

    def convert(self):
        self.torch.save(self.models().make(self.model)[0], self.file)

    def module(self):
        return self.torch.load(self.file, weights_only=False, mmap=True)

    def load(self):
        return self.runner(self.module())

    def runner(self, function):
        def run():
            with self.torch.inference_mode():
                return function(*self.tensors)

        return run


class Compile(Torch):
    """torch.compile with frozen weights: the fastest runs, but code for frozen weights is not cached, and is compiled again
    in each process."""

    def imports(self):
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(self.folder / "inductor")
        super().imports()
        import torch._dynamo
        from torch._inductor import compile_fx, config  # noqa: F401

        config.freezing = True

    def convert(self):
        super().convert()
        self.load()()

    def load(self):
        return self.runner(self.torch.compile(self.module()))


class Autocast(Torch):
    """bfloat16 where autocast thinks it right: products and convolutions."""

    def runner(self, function):
        run = super().runner(function)

        def narrow():
            with self.torch.autocast("cpu", self.torch.bfloat16):
                result = run()
                return (result[0] if isinstance(result, (list, tuple)) else result).float()

        return narrow


class CompileAutocast(Autocast, Compile):
    pass


class Aoti(Torch):
    """AOTInductor: a package that holds compiled code and weights."""

    def imports(self):
        super().imports()
        import torch._inductor.package
        from torch._inductor.cpu_vec_isa import pick_vec_isa

        pick_vec_isa()  # compiles a test program to detect the processor; a loader in C++ skips this

    def import_classes(self):
        pass  # a package needs none

    def convert(self):
        program = self.torch.export.load(self.folder / "model.pt2")
        with self.torch.no_grad():
            self.torch._inductor.aoti_compile_and_package(program, package_path=self.file,
                                                          inductor_configs={"freezing": True})

    def load(self):
        return self.runner(self.torch._inductor.aoti_load_package(self.file))


class Ort(Adapter):
    def imports(self):
        import onnxruntime

        self.ort = onnxruntime

        past = self.folder / "past.safetensors"
        if past.exists():
            tensors = load_file(past)
            self.inputs += [tensors[f"past{i}"] for i in range(len(tensors))]

    def convert(self):
        import torch

        if self.model == "llama_cached":
            program, inputs = self.with_past(*self.models().make(self.model))
        else:
            program, inputs = torch.export.load(self.folder / "model.pt2"), ()
        with torch.no_grad():
            torch.onnx.export(program, inputs, self.file, dynamo=True, verbose=False)

    def with_past(self, module, inputs):
        """The cache as inputs and outputs, as it has no state; attention reads the filled slots alone."""
        from safetensors.torch import save_file

        from .modules import PastLlama

        module, past = PastLlama.of(module)
        save_file({f"past{i}": x for i, x in enumerate(past)}, self.folder / "past.safetensors")
        return module, (*inputs, *past)

    def session(self):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = self.threads, 3
        return self.ort.InferenceSession(self.file, options, providers=["CPUExecutionProvider"])

    def load(self):
        """Through a binding: outputs that have been allocated once are written again."""
        session = self.session()
        binding = session.io_binding()
        for slot, x in zip(session.get_inputs(), self.inputs):
            binding.bind_ortvalue_input(slot.name, self.ort.OrtValue.ortvalue_from_numpy(x))
        for slot in session.get_outputs():
            binding.bind_output(slot.name)
        session.run_with_iobinding(binding)
        values = binding.get_outputs()
        for slot, value in zip(session.get_outputs(), values):
            binding.bind_ortvalue_output(slot.name, value)

        def run():
            session.run_with_iobinding(binding)
            return values[0]

        return run


class Ov(Adapter):
    def imports(self):
        import openvino

        self.ov = openvino

    def convert(self):
        import torch

        program = torch.export.load(self.folder / "model.pt2").run_decompositions({})
        model = self.ov.convert_model(program)
        self.ov.save_model(model, self.file, compress_to_fp16=False)

    precision = {"INFERENCE_PRECISION_HINT": "f32"}

    def load(self):
        options = {"INFERENCE_NUM_THREADS": self.threads, "PERFORMANCE_HINT": "LATENCY"} | self.precision
        request = self.ov.Core().compile_model(self.file, "CPU", options).create_infer_request()
        return lambda: request.infer(self.inputs, share_inputs=True, share_outputs=True)[0]


class OvAsItComes(Ov):
    """In bfloat16 where the processor has instructions for it."""

    precision = {}


class Et(Adapter):
    """ExecuTorch with XNNPACK."""

    def imports(self):
        import torch
        from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
        from executorch.runtime import Runtime

        _unsafe_reset_threadpool(self.threads)
        self.torch, self.runtime = torch, Runtime.get()
        self.tensors = [torch.from_numpy(x) for x in self.inputs]

    def convert(self):
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower

        program = self.torch.export.load(self.folder / "model.pt2")
        lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
        with open(self.file, "wb") as file:
            lowered.write_to_file(file)

    def load(self):
        method = self.runtime.load_program(self.file).load_method("forward")
        return lambda: method.execute(self.tensors)[0]


ADAPTERS = {"eager": Torch, "compile": Compile, "aoti": Aoti, "ort": Ort, "ov": Ov, "et": Et, "autocast": Autocast,
            "compile_autocast": CompileAutocast, "ov_auto": OvAsItComes}
