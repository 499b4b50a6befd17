"""The architectures: KINDS names the module that makes each kind. `python -m zoo.catalog` prints the catalog as JSON."""
import dataclasses
import functools
import importlib
import json
import sys

from .case import FORMS, Case

IMAGES = ("s224", "s161", "s256", "s299")
TOKENS = ("t32", "t77", "t128", "t512", "t2048")


@dataclasses.dataclass(frozen=True)
class Kind:
    module: str  # has names() and make(architecture, batch, length)
    batches: tuple
    sizes: tuple
    forms: tuple = tuple(FORMS)
    weight: int = 1  # share of a sample


KINDS = {
    "torchvision": Kind("vision", (1, 8, 16), IMAGES, weight=3),
    "timm": Kind("timm_families", (1, 8, 16), IMAGES, weight=4),
    "transformers": Kind("transformers_bases", (1, 8, 16), TOKENS, weight=4),
    "detection": Kind("detection", (1,), ("s320", "s257"), ("float32",)),
    "video": Kind("video", (1, 8), ("s112",), ("float32", "bfloat16")),
    "audio": Kind("audio", (1, 8), ("t128", "t500"), ("float32", "bfloat16")),
    "diffusers": Kind("diffusion", (1, 8), ("s32", "s48"), ("float32", "bfloat16")),
    "series": Kind("series", (1, 8, 16), ("t32", "t128", "t512"), ("float32", "bfloat16")),
    "graphs": Kind("graphs", (1,), ("t300", "t2048"), ("float32",)),
    "tabular": Kind("tabular", (1, 8, 16, 256), ("full",)),
    "eight": Kind("eight", (1,), ("full",), ("float32",)),
    "operator": Kind("operators", (1,), ("full",), ("float32", "bfloat16"), weight=4),
}


@functools.cache
def module_of(kind):
    return importlib.import_module(f".{KINDS[kind].module}", __package__)


def listing(kinds):
    """{kind: {"architectures", ...}}; a kind without its library has no architectures."""
    found = {}
    for name in kinds:
        try:
            architectures = list(module_of(name).names())
        except ImportError as error:
            print(f"{name}: {error}", file=sys.stderr)
            architectures = []
        kind = KINDS[name]
        found[name] = {"architectures": architectures, "batches": kind.batches, "sizes": kind.sizes, "forms": kind.forms,
                       "weight": kind.weight}
    return found


def import_classes(name):
    """Imports the classes of a pickled module."""
    module_of(Case.parse(name).kind)


def make(name):
    """The module, ready to run, and its inputs; the same each time."""
    import torch

    from .forms import in_form

    case = Case.parse(name)
    torch.manual_seed(0)
    module, inputs = module_of(case.kind).make(case.architecture, case.batch, case.length)
    for parameter in module.parameters():
        parameter.requires_grad_(False)
        if parameter.dim() > 1 and not parameter.any():  # zeros in last layers would make all results equal
            torch.nn.init.normal_(parameter, std=0.02)
    return in_form(module.eval(), inputs, case.form), inputs


if __name__ == "__main__":
    print(json.dumps(listing(sys.argv[1:] or KINDS)))
