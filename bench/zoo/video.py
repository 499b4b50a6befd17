"""torchvision's networks for videos and optical flow."""
import torch
import torchvision

CLIPS = ("r3d", "mc3", "r2plus1d", "s3d", "mvit", "swin3d_t", "swin3d_s")


def names():
    return [n for n in torchvision.models.list_models() if n.startswith((*CLIPS, "raft"))]


def make(architecture, batch, length):
    model = torchvision.models.get_model(architecture, weights=None)
    if architecture.startswith("raft"):
        return model, tuple(torch.randn(batch, 3, 128, 128) for _ in range(2))
    side = 224 if architecture.startswith(("mvit", "s3d")) else length
    return model, (torch.randn(batch, 3, 16, side, side),)
