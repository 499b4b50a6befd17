"""Graph networks of PyTorch Geometric; `length` counts nodes, each with about eight edges."""
import torch
from torch_geometric import nn

WIDTH, EDGES = 64, 8
BASES = {"gcn": nn.GCN, "sage": nn.GraphSAGE, "gin": nn.GIN, "gat": nn.GAT, "edge_cnn": nn.EdgeCNN}


class Convolutions(torch.nn.Module):
    def __init__(self, make):
        super().__init__()
        self.layers = torch.nn.ModuleList(make() for _ in range(3))

    def forward(self, nodes, edges):
        for layer in self.layers:
            nodes = layer(nodes, edges).relu()
        return nodes


LAYERS = {
    "transformer": lambda: nn.TransformerConv(WIDTH, WIDTH // 4, heads=4),
    "gatv2": lambda: nn.GATv2Conv(WIDTH, WIDTH // 4, heads=4),
    "tag": lambda: nn.TAGConv(WIDTH, WIDTH),
    "chebyshev": lambda: nn.ChebConv(WIDTH, WIDTH, 3),
    "gated": lambda: nn.GatedGraphConv(WIDTH, 2),
    "pna": lambda: nn.PNAConv(WIDTH, WIDTH, ["mean", "max", "std"], ["identity", "amplification"],
                              torch.full((2 * EDGES,), 10)),
}


def names():
    return [*BASES, *LAYERS]


def make(architecture, batch, length):
    nodes = torch.randn(length, WIDTH)
    edges = torch.randint(0, length, (2, EDGES * length))
    if architecture in BASES:
        return BASES[architecture](WIDTH, WIDTH, num_layers=3), (nodes, edges)
    return Convolutions(LAYERS[architecture]), (nodes, edges)
