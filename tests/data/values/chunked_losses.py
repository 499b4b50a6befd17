"""linear_cross_entropy by chunks of the batch: PyTorch's operators torch_nn::_linear_cross_entropy_batch_chunked*."""
import torch
from torch.nn.functional import linear_cross_entropy
from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions

ROWS, FEATURES, CLASSES = 7, 5, 6


def make(case):
    options = LinearCrossEntropyOptions(batch_chunk_size=3)
    for kind in (torch.float32, torch.float64, torch.bfloat16):
        x, weight = torch.randn(ROWS, FEATURES, dtype=kind), torch.randn(CLASSES, FEATURES, dtype=kind)
        labels = torch.tensor([0, 5, 2, 2, 1, 4, 3])
        soft = torch.rand(ROWS, CLASSES, dtype=kind).softmax(1)
        bias, classes = torch.randn(CLASSES, dtype=kind), torch.rand(CLASSES, dtype=kind)

        def losses(x, weight, labels, soft, bias, classes):
            results = []
            for reduction in ("mean", "sum", "none"):
                loss = dict(reduction=reduction, options=options)
                results += [linear_cross_entropy(x, weight, labels, **loss),
                            linear_cross_entropy(x, weight, labels, linear_bias=bias, weight=classes, ignore_index=2, **loss),
                            linear_cross_entropy(x, weight, soft, linear_bias=bias, **loss),
                            linear_cross_entropy(x, weight, soft, weight=classes, **loss)]
            results += [linear_cross_entropy(x, weight, labels, linear_bias=bias, weight=classes, label_smoothing=0.2, options=options)]
            return results
        case(f"chunked_losses_{str(kind).split('.')[1]}", losses, (x, weight, labels, soft, bias, classes))
