"""torchvision's classifiers and segmentation networks."""
import torch
import torchvision

SEGMENTATION = ("deeplab", "fcn", "lraspp")
OTHERS = ("fasterrcnn", "maskrcnn", "keypointrcnn", "retinanet", "fcos", "ssd", "raft", "quantized", "r3d", "mc3", "r2plus1d",
          "s3d", "mvit", "swin3d")
FIXED = {"vit": 224, "maxvit": 224}  # transformers with positions of one size
LARGE = ("vit_h", "vit_l", "regnet_y_128gf", "regnet_y_32gf", "regnet_x_32gf", "regnet_y_16gf", "regnet_x_16gf")


def names():
    return [n for n in torchvision.models.list_models() if not n.startswith(OTHERS + LARGE)]


def make(architecture, batch, length):
    side = next((s for prefix, s in FIXED.items() if architecture.startswith(prefix)), length)
    extra = {"weights_backbone": None} if architecture.startswith(SEGMENTATION) else {}
    if architecture in ("googlenet", "inception_v3"):
        extra["init_weights"] = False  # its own initial values take minutes
        side = 299 if architecture == "inception_v3" else side
    return torchvision.models.get_model(architecture, weights=None, **extra), (torch.randn(batch, 3, side, side),)
