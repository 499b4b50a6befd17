"""torchvision's detectors, whose results depend on the data in size."""
import torch
import torchvision
from torch import nn

DETECTORS = ("fasterrcnn", "maskrcnn", "keypointrcnn", "retinanet", "fcos", "ssd")


class OneImage(nn.Module):
    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, image):
        return self.detector([image])


def names():
    return [n for n in torchvision.models.list_models() if n.startswith(DETECTORS)]


def make(architecture, batch, length):
    model = torchvision.models.get_model(architecture, weights=None, weights_backbone=None)
    return OneImage(model), (torch.rand(3, length, length),)
