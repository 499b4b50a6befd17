"""Compares figures of ./dev gpu-model with those that are committed: one that is worse fails. Standard library alone."""
# Each figure: the sign of a deterioration (1: more is worse), and the tolerated change. Registers count by their
# occupancy limit.
WORSE = {
    "launches": (1, 0.0),
    "memory_ratio": (1, 0.01),
    "requested_ratio": (1, 0.01),
    "coalescing": (1, 0.01),
    "conflicts": (1, 0.01),
    "times": (1, 0.02),
    "spill_bytes": (1, 0.0),
    "graphs": (1, 0.0),
    "outside_graphs": (1, 0.0),
    "occupancy": (-1, 0.001),
    "tensor_share": (-1, 0.01),
}
# Figures unknown without ptxas.
OF_ASSEMBLER = ("spill_bytes", "occupancy")


def kept(figures):
    """What the baseline keeps of figures."""
    return {name: round(figures[name], 4) for name in WORSE if figures.get(name) is not None}


def regressions(name, old, new):
    """A line for each figure of a program that is worse than it was."""
    lines = []
    for figure, (sign, slack) in WORSE.items():
        before, now = old.get(figure), new.get(figure)
        if before is None:
            continue
        if now is None:
            if figure in OF_ASSEMBLER and new["launches"]:
                lines.append(f"{name}: {figure} is not known, and was {before:.4g}")
            continue
        if sign * (now - before) > slack * max(abs(before), 1) + 1e-9:
            lines.append(f"{name}: {figure} is {now:.4g}, and was {before:.4g}")
    return lines


def improvements(old, new):
    return any(new.get(f) is not None and old.get(f) is not None and sign * (old[f] - new[f]) > slack * max(abs(old[f]), 1) + 1e-9
               for f, (sign, slack) in WORSE.items())


def compare(baseline, programs):
    """(lines of failures, names of the programs that are better) of {name: figures}."""
    failures, better = [], []
    for name, figures in programs.items():
        if name not in baseline:
            failures.append(f"{name}: has no figures in the baseline; ./dev gpu-model --update writes them")
            continue
        worse = regressions(name, baseline[name], figures)
        failures += worse
        if not worse and improvements(baseline[name], figures):
            better.append(name)
    return failures, better
