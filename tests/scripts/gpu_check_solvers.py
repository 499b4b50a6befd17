"""Where the vendor's solvers are faster than Tern's kernels, for gpu_check.py: the rows of devices/gpu/*/crossovers.cpp.

build/solver_speed prints a line for each batch: kind, LAPACK's letter of the type, side, matrices, and the milliseconds of
Tern's kernels and of the routines `small` and `large`. A routine that the library does not have takes the time of Tern's.
"""
from gpu_check_step import Step, call

GAIN = 0.9  # chooses a routine if its time is at most this fraction of Tern's kernels
MANY = 16  # smallest count of matrices decided by the times of the larger batch
ROUTINES = ("kOwn", "kSmall", "kLarge")
MEASURED = 7  # words of a line


def winner(times):
    own, small, large = times
    best = 1 if small <= large else 2
    return ROUTINES[best] if times[best] <= GAIN * own else ROUTINES[0]


def chosen(rows, side, count):
    """As routine_for does: the last row that holds."""
    routine = ROUTINES[0]
    for least_side, least_count, one in rows:
        if side >= least_side and count >= least_count:
            routine = one
    return routine


def rows_of(times):
    """Rows (side, count, routine) that choose the winner of every {(side, count): times}."""
    rows = []
    for least, matches in ((1, lambda count: count < MANY), (MANY, lambda count: count >= MANY)):
        for side, count in sorted(key for key in times if matches(key[1])):
            best = winner(times[side, count])
            if chosen(rows, side, least) != best:
                rows.append((side, least, best))
    return rows


def table(lines):
    """The rows as C++, one for all types that agree."""
    measured = {}
    for kind, letter, side, count, *times in map(str.split, lines):
        measured.setdefault(kind, {}).setdefault(letter, {})[int(side), int(count)] = tuple(map(float, times))
    text = []
    for kind, types in measured.items():
        groups = {}
        for letter, times in types.items():
            groups.setdefault(tuple(rows_of(times)), []).append(letter)
        for rows, letters in groups.items():
            text += [f'{{{kind}, "{"".join(letters)}", {side}, {count}, {routine}}},' for side, count, routine in rows]
    return text


def measure(program, device, limit):
    name = "solvers"
    if not program.exists():
        return Step(name, skipped=f"{program.name} is not built: './dev gpu-check' builds it")
    small = ["--small"] if device.emulated else []
    # The program ends by itself; its last measurement may take longer.
    done = call([str(program), device.name, f"{limit * 0.7:.1f}", *small], limit)
    lines = [line for line in done.output.splitlines() if len(line.split()) == MEASURED]
    failures = [line for line in done.output.splitlines() if line.startswith("FAIL")]
    if done.wrong:
        failures = failures or [done.wrong]
    step = Step(name, len(lines), len(failures), failures)
    if not lines and not failures:
        return Step(name, 0, 1, ["nothing was measured: give --minutes more"])
    if device.emulated:
        return step  # without times
    step.table = ["| kind | type | side | matrices | Tern, ms | small, ms | large, ms |", "|---" * MEASURED + "|"]
    step.table += [f"| {' | '.join(line.split())} |" for line in lines]
    step.shown = [f"the rows for devices/gpu/{'cuda' if device.plugin == 'cuda' else 'hip'}/crossovers.cpp:", *table(lines)]
    step.notes = [f"- `{line}`" if line.startswith("{") else line for line in step.shown]
    return step
