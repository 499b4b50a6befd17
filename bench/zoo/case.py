"""A case: one architecture with a batch, a size and a form. Standard library alone."""
import dataclasses
import random

FORMS = {"float32": 2, "bfloat16": 1, "int8": 1}  # type of weights and products, and its weight in a random order


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str  # the library or field: a key of KINDS in catalog.py
    architecture: str
    batch: int
    size: str  # s224: images of 224x224; t128: 128 tokens or samples; full: the architecture's own size
    form: str  # a key of FORMS

    @property
    def name(self):
        return f"{self.kind}.{self.architecture}.b{self.batch}.{self.size}.{self.form}"

    @property
    def length(self):
        """Side of images or number of tokens; None for the architecture's own size."""
        return None if self.size == "full" else int(self.size[1:])

    @staticmethod
    def parse(name):
        kind, rest = name.split(".", 1)
        architecture, batch, size, form = rest.rsplit(".", 3)
        return Case(kind, architecture, int(batch[1:]), size, form)


def order(catalog, seed=None):
    """All cases of {kind: {"architectures", "batches", "sizes", "forms", "weight"}}, those of the kinds in proportion to
    their weights. The first case of every architecture comes before the second of any. `seed` shuffles the architectures of
    a kind and the cases of an architecture."""
    shuffled = random.Random(seed)
    placed = []
    for kind, entry in catalog.items():
        groups = [[Case(kind, architecture, batch, size, form) for form in entry["forms"] for batch in entry["batches"]
                   for size in entry["sizes"]] for architecture in entry["architectures"]]
        if seed is not None:
            shuffled.shuffle(groups)
            for group in groups:
                group.sort(key=lambda case: shuffled.random() ** (1 / FORMS[case.form]), reverse=True)
        placed += [((i + 0.5) / entry["weight"], group) for i, group in enumerate(groups)]
    groups = [group for _, group in sorted(placed, key=lambda pair: pair[0])]
    rounds = max(map(len, groups), default=0)
    return [group[i] for i in range(rounds) for group in groups if i < len(group)]
