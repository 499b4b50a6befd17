"""What is trained: resnet18 with SGD and momentum, a transformer's encoder with AdamW, batches of 8."""
import torch
from torch import nn

BATCH = 8


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(1000, 256)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, 0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.head = nn.Linear(256, 1000)

    def forward(self, tokens):
        return self.head(self.layers(self.tokens(tokens)))


def resnet18():
    import torchvision

    return torchvision.models.resnet18(num_classes=1000), torch.randn(BATCH, 3, 224, 224), (BATCH,), 1


def encoder():
    return Encoder(), torch.randint(0, 1000, (BATCH, 128)), (BATCH, 128), -1


# Model, torch's optimizer, and the equivalent options of tern export.
MODELS = {
    "resnet18": (resnet18, lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9, fused=True),
                 ["--optimizer", "sgd", "--momentum", "0.9", "--lr", "1e-3"]),
    "encoder": (encoder, lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True), ["--optimizer", "adamw", "--class-axis", "-1"]),
}


def make(name):
    """A model in train() mode, its input, the sizes of the target, and the result's axis of classes."""
    torch.manual_seed(0)
    model, x, target, axis = MODELS[name][0]()
    return model.train(), x, target, axis
