"""Networks for tables of 40 numbers and 10 categories, and a recommender."""
import torch
from rtdl_revisiting_models import MLP, FTTransformer, ResNet
from torch import nn

NUMBERS, CATEGORIES = 40, [7] * 10


class Numbers(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, numbers, categories):
        return self.model(torch.cat((numbers, categories.to(numbers.dtype)), 1))


class DeepAndCross(nn.Module):
    """Cross layers beside a deep network over embedded categories (Wang et al. 2017)."""

    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.ModuleList(nn.Embedding(n, width) for n in CATEGORIES)
        size = NUMBERS + width * len(CATEGORIES)
        self.cross = nn.ModuleList(nn.Linear(size, size) for _ in range(3))
        self.deep = nn.Sequential(nn.Linear(size, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU())
        self.head = nn.Linear(size + 128, 1)

    def forward(self, numbers, categories):
        first = torch.cat([numbers, *(e(categories[:, i]) for i, e in enumerate(self.embed))], 1)
        x = first
        for layer in self.cross:
            x = first * layer(x) + x
        return self.head(torch.cat((x, self.deep(first)), 1))


class Recommender(nn.Module):
    """Sums of embedding bags and their pairwise products (DLRM, Naumov et al. 2019)."""

    def __init__(self, width=32, rows=10000):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in CATEGORIES)
        self.bottom = nn.Sequential(nn.Linear(NUMBERS, 128), nn.ReLU(), nn.Linear(128, width), nn.ReLU())
        pairs = (len(CATEGORIES) + 1) * len(CATEGORIES) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 128), nn.ReLU(), nn.Linear(128, 1))
        self.register_buffer("pairs", torch.tril_indices(len(CATEGORIES) + 1, len(CATEGORIES) + 1, -1))

    def forward(self, numbers, categories):
        x = self.bottom(numbers)
        all_of = torch.stack([x, *(bag(categories[:, i:i + 1]) for i, bag in enumerate(self.bags))], 1)
        products = all_of @ all_of.transpose(1, 2)
        return self.top(torch.cat((x, products[:, self.pairs[0], self.pairs[1]]), 1))


MODELS = {
    "mlp": lambda: Numbers(MLP(d_in=NUMBERS + len(CATEGORIES), d_out=1, n_blocks=3, d_block=384, dropout=0.1)),
    "resnet": lambda: Numbers(ResNet(d_in=NUMBERS + len(CATEGORIES), d_out=1, n_blocks=3, d_block=192, d_hidden=None,
                                     d_hidden_multiplier=2.0, dropout1=0.1, dropout2=0.0)),
    "ft_transformer": lambda: FTTransformer(n_cont_features=NUMBERS, cat_cardinalities=CATEGORIES, d_out=1,
                                            **FTTransformer.get_default_kwargs()),
    "deep_and_cross": DeepAndCross, "recommender": Recommender,
}


def names():
    return list(MODELS)


def make(architecture, batch, length):
    return MODELS[architecture](), (torch.randn(batch, NUMBERS), torch.randint(0, 7, (batch, len(CATEGORIES))))
