"""Networks for time series: recurrent, convolutional, transformers and mixers of transformers."""
import torch
from torch import nn
from transformers import PatchTSMixerConfig, PatchTSMixerModel, PatchTSTConfig, PatchTSTModel

CHANNELS = 8


class Recurrent(nn.Module):
    def __init__(self, layer, width, layers, bidirectional=False):
        super().__init__()
        self.layer = layer(CHANNELS, width, layers, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(width * (1 + bidirectional), 1)

    def forward(self, x):
        return self.head(self.layer(x)[0])


class Tcn(nn.Module):
    """Causal convolutions with growing dilation (Bai et al. 2018)."""

    def __init__(self, width=64, levels=6):
        super().__init__()
        sizes = [CHANNELS] + [width] * levels
        self.first = nn.ModuleList(nn.Conv1d(a, b, 3, dilation=2**i) for i, (a, b) in enumerate(zip(sizes, sizes[1:])))
        self.skip = nn.ModuleList(nn.Conv1d(a, b, 1) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        x = x.transpose(1, 2)
        for i, (first, skip) in enumerate(zip(self.first, self.skip)):
            x = torch.relu(first(nn.functional.pad(x, (2 * 2**i, 0))) + skip(x))
        return x.transpose(1, 2)


class NBeats(nn.Module):
    """Stacks of fully connected blocks with backcasts (Oreshkin et al. 2020)."""

    def __init__(self, length, width=256, blocks=6):
        super().__init__()
        size = length * CHANNELS
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                                  nn.Linear(width, size + 24)) for _ in range(blocks))

    def forward(self, x):
        x, forecast = x.flatten(1), 0
        for block in self.blocks:
            y = block(x)
            x, forecast = x - y[:, 24:], forecast + y[:, :24]
        return forecast


class DLinear(nn.Module):
    """A linear layer for trend and one for the remainder (Zeng et al. 2023)."""

    def __init__(self, length):
        super().__init__()
        self.average = nn.AvgPool1d(25, 1, 12, count_include_pad=False)
        self.trend, self.remainder = nn.Linear(length, 96), nn.Linear(length, 96)

    def forward(self, x):
        x = x.transpose(1, 2)
        trend = self.average(x)
        return self.trend(trend) + self.remainder(x - trend)


class Encoder(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.embed = nn.Linear(CHANNELS, width)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 512, 0.0, batch_first=True), 3,
                                            enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(self.embed(x))


class First(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).last_hidden_state


MODELS = {
    "lstm": lambda t: Recurrent(nn.LSTM, 128, 2), "gru": lambda t: Recurrent(nn.GRU, 128, 2),
    "bilstm": lambda t: Recurrent(nn.LSTM, 64, 1, True), "rnn": lambda t: Recurrent(nn.RNN, 128, 1),
    "tcn": lambda t: Tcn(), "nbeats": NBeats, "dlinear": DLinear, "encoder": lambda t: Encoder(),
    "patchtst": lambda t: First(PatchTSTModel(PatchTSTConfig(num_input_channels=CHANNELS, context_length=t, patch_length=16,
                                                             patch_stride=8))),
    "patchtsmixer": lambda t: First(PatchTSMixerModel(PatchTSMixerConfig(num_input_channels=CHANNELS, context_length=t,
                                                                         patch_length=8, patch_stride=8))),
}


def names():
    return list(MODELS)


def make(architecture, batch, length):
    return MODELS[architecture](length), (torch.randn(batch, length, CHANNELS),)
