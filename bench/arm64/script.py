"""PyTorch as a traced and frozen TorchScript program: its file needs no Python class of the model. Import this module
before those that read the tables of runtimes."""
from peers.adapters import ADAPTERS, Torch
from peers.runtimes import RUNTIMES, Runtime


class Script(Torch):
    def import_classes(self):
        pass

    def convert(self):
        module, inputs = self.models().make(self.model)
        with self.torch.no_grad():
            traced = self.torch.jit.trace(module, inputs, check_trace=False)
            self.torch.jit.freeze(traced.eval()).save(self.file)

    def load(self):
        return self.runner(self.torch.jit.load(self.file))


ADAPTERS["script"] = Script
RUNTIMES["script"] = Runtime("PyTorch", "script.pt", "torch")
