"""Lets several processes take turns, so that a slow moment of the machine meets all of them alike."""
import statistics

from .processes import Failed

WARM_UP, RUNS = 1, 3


def order(names, turn):
    """Who comes first changes from turn to turn."""
    names = list(names)
    first = turn % len(names) if names else 0
    return names[first:] + names[:first]


def one_turn(process):
    """One run that does not count, the median of three, and then rest before another one's turn."""
    for _ in range(WARM_UP):
        process.run_ms()
    ms = statistics.median(process.run_ms() for _ in range(RUNS))
    return ms, process.rest()


def take_turns(processes, turns):
    """Milliseconds of each turn of each process, who failed and why, and whose threads were never at rest."""
    times = {name: [] for name in processes}
    failures, restless = {}, set()
    for turn in range(turns):
        for name in order([n for n in processes if n not in failures], turn):
            try:
                ms, rested = one_turn(processes[name])
                times[name].append(ms)
                if not rested:
                    restless.add(name)
            except Failed as error:
                failures[name] = str(error)
    return {name: t for name, t in times.items() if name not in failures}, failures, restless


def summary(times):
    """Median and quartiles."""
    if len(times) < 2:
        return {"median": times[0], "q1": times[0], "q3": times[0]}
    q1, median, q3 = statistics.quantiles(times, n=4, method="inclusive")
    return {"median": median, "q1": q1, "q3": q3}
