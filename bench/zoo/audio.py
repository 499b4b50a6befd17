"""torchaudio's networks; `length` counts frames of 10 ms."""
import torch
import torchaudio.models as models
from torch import nn

MELS, SAMPLES = 80, 160


class Conformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.conformer = models.Conformer(input_dim=MELS, num_heads=4, ffn_dim=256, num_layers=4,
                                          depthwise_conv_kernel_size=31)

    def forward(self, frames, lengths):
        return self.conformer(frames, lengths)[0]


class Emformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.emformer = models.Emformer(256, 4, 1024, 4, segment_length=16, left_context_length=30, right_context_length=4)

    def forward(self, frames, lengths):
        return self.emformer(frames, lengths)[0]


class First(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return self.model(*inputs)[0]


def _waveform(batch, length):
    return (torch.randn(batch, length * SAMPLES),)


def _frames(batch, length, width=MELS):
    return torch.randn(batch, length, width), torch.full((batch,), length)


MODELS = {
    "conformer": lambda b, t: (Conformer(), _frames(b, t)),
    "emformer": lambda b, t: (Emformer(), _frames(b, t // 16 * 16 + 4, 256)),
    "deepspeech": lambda b, t: (models.DeepSpeech(MELS, n_hidden=512), (torch.randn(b, 1, t, MELS),)),
    "wav2letter": lambda b, t: (models.Wav2Letter(input_type="mfcc", num_features=MELS), (torch.randn(b, MELS, t),)),
    "wav2vec2_base": lambda b, t: (First(models.wav2vec2_base()), _waveform(b, t)),
    "hubert_base": lambda b, t: (First(models.hubert_base()), _waveform(b, t)),
    "wavlm_base": lambda b, t: (First(models.wavlm_base()), _waveform(b, t)),
    "conv_tasnet_base": lambda b, t: (models.conv_tasnet_base(), (torch.randn(b, 1, t * SAMPLES),)),
    "hdemucs": lambda b, t: (models.HDemucs(["a", "b"], channels=16), (torch.randn(b, 2, t * SAMPLES),)),
    "squim_objective_base": lambda b, t: (models.squim_objective_base(), _waveform(b, t)),
}


def names():
    return list(MODELS)


def make(architecture, batch, length):
    return MODELS[architecture](batch, length)
