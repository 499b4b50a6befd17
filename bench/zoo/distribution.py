"""The distribution of a sweep: ratios to the fastest peer, their share behind, the worst, lost time by cause.

Ratios are Tern's time divided by that of the fastest peer: below 1 Tern is faster. Standard library alone.
"""
from collections import defaultdict

from peers.report import NONE, best_peer, geometric_mean, number, ratio, table

BEGIN = "<!-- zoo: begin; `./dev bench zoo --docs` writes what follows -->"
END = "<!-- zoo: end -->"
BEHIND = 0.97  # a model is behind if the fastest peer takes less than this share of Tern's time
WORST, CAUSES = 10, 10
EIGHT = "eight"  # kind of the models that Tern was tuned with; they count apart
DISTURBED = 0.25  # share of the processors that other programs took during the turns


def is_disturbed(result):
    return result.get("others_share", 0) > DISTURBED


def comparable(results, narrow=False):
    """Undisturbed results with a ratio, as (ratio, result), the slowest Tern first."""
    pairs = [(ratio(r["runtimes"], narrow), r) for r in results if "runtimes" in r and not is_disturbed(r)]
    return sorted(((value, r) for value, r in pairs if value is not None), key=lambda pair: -pair[0])


def share_behind(ratios):
    return sum(1 / r < BEHIND for r in ratios) / len(ratios) if ratios else 0


def quantile(ratios, q):
    ordered = sorted(ratios)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def _group(result):
    if result["kind"] == EIGHT:
        return "the eight models of `./dev bench peers`, " + result["form"]
    return ("operators" if result["kind"] == "operator" else "models") + ", " + result["form"]


def _summary_row(title, ratios):
    if not ratios:
        return [title, "0", *[NONE] * 4]
    return [title, str(len(ratios)), f"{geometric_mean(ratios):.2f}", f"{quantile(ratios, 0.5):.2f}",
            f"{quantile(ratios, 0.9):.2f}", f"{100 * share_behind(ratios):.0f} %"]


def summary(results):
    """One row for models and operators in each form, for each kind of models, and for runtimes as they come."""
    groups = defaultdict(list)
    for value, result in comparable(results):
        groups[_group(result)].append(value)
    for value, result in comparable(results):
        if result["kind"] not in (EIGHT, "operator"):
            groups[result["kind"] + ", all forms"].append(value)
    for value, result in comparable(results, narrow=True):
        if "auto" in result["runtimes"]:
            groups[_group(result) + ", as they come"].append(value)
    order = sorted(groups, key=lambda g: (g.endswith("all forms"), not g.startswith("models"), g.startswith("the"), g))
    return table(["Tern's time to the fastest peer's", "measured", "geometric mean", "median", "90 % at most", "behind"],
                 [_summary_row(title, groups[title]) for title in order])


def worst(results, count=WORST):
    rows = []
    for value, result in comparable(results)[:count]:
        peer = best_peer(result["runtimes"])
        rows.append([result["name"], number(result["runtimes"]["tern"]["ms"]["median"]),
                     f"{number(result['runtimes'][peer]['ms']['median'])} ({peer})", f"{value:.2f}", main_cause(result)])
    return table(["worst", "Tern, ms", "fastest peer, ms", "ratio", "largest loss"], rows)


def _cause(entry):
    return " ".join(filter(None, (entry["op"], entry["algorithm"], entry["size"])))


def main_cause(result):
    lost = result.get("lost") or []
    return f"{_cause(lost[0])} ({number(lost[0]['lost_ms'])} ms)" if lost else NONE


def causes(results, count=CAUSES):
    """Lost time by cause: the mean share of a model's time, over models behind, and over all."""
    measured = [(value, r) for value, r in comparable(results) if r.get("lost") and r.get("tern_nodes_ms")]
    behind = [r for value, r in measured if 1 / value < BEHIND]

    def shares(chosen):
        sums = defaultdict(float)
        for result in chosen:
            for entry in result["lost"]:
                sums[_cause(entry)] += entry["lost_ms"] / result["tern_nodes_ms"] / len(chosen)
        return sums

    every, late = shares([r for _, r in measured]), shares(behind)
    order = sorted(every, key=lambda c: -max(every[c], late.get(c, 0)))[:count]
    return table(["time beyond the machine's limits, by cause", f"share of the time of {len(measured)} cases",
                  f"of the {len(behind)} behind"],
                 [[cause, f"{100 * every[cause]:.1f} %", f"{100 * late.get(cause, 0):.1f} %"] for cause in order])


def failures(results):
    """Counts of cases that a runtime could not run, and of cases that PyTorch could not export."""
    counts = defaultdict(int)
    for result in results:
        if "error" in result:
            counts["PyTorch"] += 1
        for runtime in result.get("failures", {}):
            counts[runtime] += 1
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))) or "none"


def by_processor(results):
    """Results of each processor: figures of different machines do not mix."""
    groups = defaultdict(list)
    for result in results:
        groups[result.get("processor", "unknown")].append(result)
    return groups


def markdown(results):
    """The same results give the same text."""
    sections = []
    for processor, group in sorted(by_processor(results).items()):
        models = [r for r in group if r["kind"] not in ("operator", EIGHT)]
        operators = [r for r in group if r["kind"] == "operator"]
        architectures = {(r["kind"], r["name"].split(".")[1]) for r in models}
        disturbed = sum(map(is_disturbed, group))
        sections += [f"{processor}: {len(models)} models of {len(architectures)} architectures and {len(operators)} operators"
                     f"{f', {disturbed} disturbed by other programs' if disturbed else ''}; "
                     f"behind: the fastest peer takes less than {BEHIND} of Tern's time. Failures: {failures(group)}.",
                     summary(group)]
        for title, part in (("models", models), ("operators", operators)):
            if comparable(part):
                sections += [f"The slowest {title} beside the fastest peer:", worst(part)]
            if any(r.get("lost") for _, r in comparable(part)):
                sections += [f"Lost time of {title}:", causes(part)]
    return "".join(section.strip() + "\n\n" for section in sections)
