"""The processors that qemu-user stands for. Each has its own instruction sets, so libraries choose their own kernels."""
import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Processor:
    title: str
    qemu: str  # argument of -cpu
    vector_bytes: int  # size of an SVE register
    part: int  # Arm's number of the part; libraries read it in /proc/cpuinfo
    features: str  # Linux's names of the instruction sets


BASE = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp"
NARROW = BASE + " jscvt fcma ilrcpc flagm frint i8mm bf16"
SVE = NARROW + " sve sve2 svei8mm svebf16"
PROCESSORS = {
    "neoverse-v2": Processor("Neoverse V2", "max,sme=off,sve-max-vq=1,pauth-impdef=on", 16, 0xD4F, SVE),
    "neoverse-v1": Processor("Neoverse V1", "max,sme=off,sve-max-vq=2,pauth-impdef=on", 32, 0xD40, SVE),
    "cortex-a76": Processor("Cortex-A76", "cortex-a76", 16, 0xD0B, BASE),
}


def write_cpuinfo(name, root: pathlib.Path):
    """Writes /proc/cpuinfo of the processor into the folder that qemu-user searches before the system's root. Without it
    libraries would read this machine's."""
    processor = PROCESSORS[name]
    (root / "proc").mkdir(parents=True, exist_ok=True)
    (root / "proc/cpuinfo").write_text(
        f"processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: {processor.features}\nCPU implementer\t: 0x41\n"
        f"CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: {processor.part:#x}\nCPU revision\t: 0\n\n")
