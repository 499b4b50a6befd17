#!/usr/bin/env python3
"""What all_reduce costs among thousands of ranks, by a model of messages: Tern's algorithm, rings, trees and nodes.

  collective_model.py [--alpha 20] [--overhead 2] [--gigabytes 12.5] [--node 8] [--jitter 0] [--ranks 2,8,64,512,4096]

A message of n bytes takes alpha microseconds and n bytes of its sender's and its receiver's port, each of which has one
message at a time; starting or ending one takes `overhead` of the processor. --jitter adds to each message a random time
with this mean. Ports of a node's ranks are as fast among each other as --node-gigabytes says. Needs NumPy.

  collective_model.py --check    the simulation agrees with the formulas of docs/collective_costs.md where there is no jitter
"""
import argparse
import sys

import numpy as np


class Network:
    """The clocks of P ranks: `now` of the program, `send` and `take` of the ports."""

    def __init__(self, ranks, alpha, overhead, bandwidth, jitter, seed=0):
        self.alpha, self.overhead, self.bandwidth, self.jitter = alpha, overhead, bandwidth, jitter
        self.now, self.sending, self.taking = (np.zeros(ranks) for _ in range(3))
        self.random = np.random.default_rng(seed)
        self.ranks = np.arange(ranks)

    def shift(self, distance, size, wait=True):
        """Rank r sends `size` bytes to rank r + distance. `wait`: it needs what it gets before it goes on."""
        self.exchange((self.ranks + distance) % len(self.ranks), size, wait)

    def exchange(self, to, size, wait=True):
        """Rank r sends `size` bytes to rank to[r]; each gets one message."""
        sender = np.empty_like(to)
        sender[to] = self.ranks
        self.now += self.overhead
        begun = np.maximum(self.now, self.sending)
        self.sending = begun + size / self.bandwidth
        noise = self.random.exponential(self.jitter, len(to)) if self.jitter else 0
        arrives = (begun + self.alpha + noise)[sender]
        self.taking = np.maximum(arrives, self.taking) + size / self.bandwidth
        self.now += self.overhead
        if wait:
            self.now = np.maximum(self.now, self.taking)

    def settle(self):
        self.now = np.maximum(self.now, np.maximum(self.sending, self.taking))

    def end(self):
        self.settle()
        return self.now.max()


def direct(network, size):
    """Tern's: every rank sends each other its share, joins its own in the order of ranks, and sends that to all."""
    ranks = len(network.ranks)
    if size <= 8192:
        for i in range(1, ranks):
            network.shift(i, size, wait=False)
    else:
        for _ in range(2):
            for i in range(1, ranks):
                network.shift(i, size / ranks, wait=False)
            network.settle()
    return network.end()


def ring(network, size):
    ranks = len(network.ranks)
    for _ in range(2 * (ranks - 1)):
        network.shift(1, size / ranks)
    return network.end()


def halving(network, size):
    """Recursive halving, then doubling (Rabenseifner): ranks must be a power of two."""
    ranks = len(network.ranks)
    distances = [1 << i for i in range(ranks.bit_length() - 1)]
    for d in reversed(distances):
        network.exchange(network.ranks ^ d, size * d / ranks)
    for d in distances:
        network.exchange(network.ranks ^ d, size * d / ranks)
    return network.end()


def tree(network, size):
    """Two halves, each up and down a binary tree of its own, in pieces: log P steps to fill the pipeline."""
    pieces = max(1, min(64, size // (1 << 18)))
    depth = max(1, (len(network.ranks) - 1).bit_length())
    for _ in range(2 * depth + 2 * pieces):
        network.shift(1, size / pieces / 2)
    return network.end()


def nodes(make, inner, outer, size, count):
    """Shares within a node, one all_reduce among nodes for each share (all at once), and shares within the node again.
    `outer`: a network where `inner` ranks share the port of their node."""
    within = make(inner, True)
    for i in range(1, inner):
        within.shift(i, size / inner, wait=False)
    first = within.end()
    return 2 * first + outer(make(count // inner, False), size / inner)


def check():
    """Against the sums by hand: n bytes, P ranks, no overhead, alpha 10, 1 byte for each microsecond."""
    n, p = 1 << 20, 8
    fresh = lambda: Network(p, 10, 0, 1, 0)
    expected = {  # latencies on the critical path, and bytes through a port
        direct: 2 * 10 + 2 * (p - 1) / p * n,
        ring: 2 * (p - 1) * 10 + 2 * (p - 1) / p * n,
        halving: 2 * 3 * 10 + 2 * (p - 1) / p * n,
    }
    for algorithm, time in expected.items():
        found = algorithm(fresh(), n)
        print(f"{algorithm.__name__}: {found:.0f} and {time:.0f}")
        if abs(found - time) > 0.001 * time:
            sys.exit("the simulation and the formula differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alpha", type=float, default=20)
    parser.add_argument("--overhead", type=float, default=2)
    parser.add_argument("--gigabytes", type=float, default=12.5)
    parser.add_argument("--node", type=int, default=8)
    parser.add_argument("--node-alpha", type=float, default=5)
    parser.add_argument("--node-gigabytes", type=float, default=100)
    parser.add_argument("--jitter", type=float, default=0)
    parser.add_argument("--ranks", default="2,8,64,512,4096")
    parser.add_argument("--bytes", default="4096,1048576,67108864,1073741824")
    parser.add_argument("--check", action="store_true")
    a = parser.parse_args()
    if a.check:
        return check()
    rate = lambda gigabytes: gigabytes * 1e3  # bytes for each microsecond

    def flat(ranks, within=None, shared=True):
        """All ranks. `shared`: those of one node share its port; else one of them has it, as in a ring of nodes."""
        share = a.node if shared else 1
        if within or (ranks <= a.node and within is None):
            return Network(ranks, a.node_alpha, a.overhead, rate(a.node_gigabytes), a.jitter)
        return Network(ranks, a.alpha, a.overhead, rate(a.gigabytes) / share, a.jitter)

    print(f"milliseconds; {a.node} ranks share a node's port of {a.gigabytes} GB/s, alpha {a.alpha} us, "
          f"overhead {a.overhead} us, jitter {a.jitter} us")
    print(f"{'bytes':>12} {'ranks':>6} {'direct':>10} {'ring':>10} {'halving':>10} {'tree':>10} {'nodes':>10}")
    for size in map(int, a.bytes.split(",")):
        for ranks in map(int, a.ranks.split(",")):
            times = [direct(flat(ranks), size), ring(flat(ranks, shared=False), size), halving(flat(ranks), size),
                     tree(flat(ranks, shared=False), size)]
            times.append(nodes(flat, a.node, halving, size, ranks) if ranks > a.node else times[0])
            print(f"{size:12} {ranks:6} " + " ".join(f"{t / 1e3:10.3f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
