"""Modelled cycles of loops by llvm-mca, and the share of the multiply-add peak that they reach. Caches and branches cost
nothing in this model."""
import functools
import re
import shutil
import subprocess

CORES = {"cortex-a55": "Cortex-A55", "cortex-a76": "Cortex-A76", "neoverse-v1": "Neoverse V1",
         "neoverse-v2": "Neoverse V2", "apple-m1": "Apple M1"}
ITERATIONS = 100
COPIES = 24


def tool():
    """The newest llvm-mca of the system."""
    for version in range(30, 13, -1):
        found = shutil.which(f"llvm-mca-{version}")
        if found:
            return found
    return shutil.which("llvm-mca")


def assembly(lines):
    """Text for llvm-mca. Branches lose their targets, which are addresses of another place."""
    kept = []
    for line in lines:
        line = re.sub(r"\b0x[0-9a-f]+$", "0", line) if re.match(r"(b|bl|cb|tb)[\w.]*\t", line) else line
        if not line.startswith(".inst"):
            kept.append(line)
    return "\n".join(kept) + "\n"


@functools.cache
def cycles_on(core, text):
    """Cycles of one iteration on a core; None if the core lacks an instruction."""
    done = subprocess.run([tool(), "-mtriple=aarch64", f"-mcpu={core}", f"-iterations={ITERATIONS}", "-"], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    found = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    return int(found[1]) / ITERATIONS if found and not done.returncode else None


def cycles(lines):
    return {core: cycles_on(core, assembly(lines)) for core in CORES}


@functools.cache
def least_cycles(core, text):
    """Cycles of one multiply-add of this kind when nothing else runs: the inverse of the peak."""
    mnemonic, _, operands = text.partition("\t")
    result, *sources = operands.split(",")

    def renamed(operand, number):
        return re.sub(r"^(\s*)([vzqdsh])\d+", lambda m: f"{m[1]}{m[2]}{number}", operand)

    # Registers 0 to 7 are sources, since an operand with an index takes no higher one.
    operands = [renamed(source, k) for k, source in enumerate(sources)]
    copies = [f"{mnemonic}\t{','.join([renamed(result, 8 + i), *operands])}" for i in range(COPIES)]
    found = cycles_on(core, "\n".join(copies) + "\n")
    return found / COPIES if found else None


def peak_share(body, modelled):
    """{core: share of the multiply-add peak} of instructions whose cycles were modelled; None without multiply-adds."""
    shares = {}
    for core, total in modelled.items():
        least = [least_cycles(core, i.text) for i in body if i.multiply_adds]
        shares[core] = sum(least) / total if total and least and None not in least else None
    return shares
