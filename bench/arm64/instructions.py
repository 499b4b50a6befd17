"""Instructions of aarch64: their class, the bytes that they load, the multiply-adds that they do. Standard library and
objdump."""
import dataclasses
import re
import subprocess
import tempfile

OBJDUMP = "aarch64-linux-gnu-objdump"
CLASSES = ("multiply-add", "vector", "vector load", "vector store", "load", "store", "branch", "scalar")

BRANCHES = re.compile(r"(b|bl|br|blr|ret|cbn?z|tbn?z|b\.\w+|bra\w*|blra\w*|reta\w*)$")
LOADS = re.compile(r"(ld|ldr|ldp|ldur|ldnp|ldar|ldapr|ldxr|ldaxr|ldtr|ld[1-4]|ldff1|ldnf1|ldnt1)")
STORES = re.compile(r"(str|stp|stur|stnp|stlr|stxr|stlxr|sttr|st[1-4]|stnt1)")
VECTOR_REGISTER = re.compile(r"(?:[vz]\d+(?:\.\w+)?|[qdshb]\d+|p\d+)\b")
ARRANGED = re.compile(r"[vz](\d+)\.(\d*)([bhsdq])")
ELEMENT_BYTES = {"b": 1, "h": 2, "s": 4, "d": 8, "q": 16}
GENERAL_BYTES = {"x": 8, "w": 4}
# Multiply-adds of 128 bits.
PER_128_BITS = {"bfmmla": 16, "smmla": 32, "ummla": 32, "usmmla": 32, "bfdot": 8, "sdot": 16, "udot": 16, "usdot": 16,
                "sudot": 16, "bfmlalb": 4, "bfmlalt": 4, "fmlal": 4, "fmlal2": 4, "fmlsl": 4, "fmlsl2": 4, "fmlalb": 4,
                "fmlalt": 4}
PER_ELEMENT = {"fmla", "fmls", "mla", "mls", "fmad", "fmsb", "fnmla", "fnmls", "mad", "msb", "fmlaq"}
WIDENING = re.compile(r"[su]mls?[al]l[bt2]?$|sqdmlal2?$")
SCALAR_FUSED = {"fmadd", "fmsub", "fnmadd", "fnmsub"}


@dataclasses.dataclass(frozen=True)
class Instruction:
    text: str
    kind: str  # a member of CLASSES
    loaded_bytes: int = 0
    multiply_adds: int = 0


def register_bytes(register, vector_bytes):
    """Size of a register as an operand of a load or store."""
    found = ARRANGED.match(register)
    if found:
        if register[0] == "z":
            return vector_bytes
        return int(found[2]) * ELEMENT_BYTES[found[3]] if found[2] else ELEMENT_BYTES[found[3]]
    if register[0] == "z":
        return vector_bytes
    return ELEMENT_BYTES.get(register[0]) or GENERAL_BYTES.get(register[0], 8)


def bytes_of_load(mnemonic, operands, vector_bytes):
    if mnemonic.endswith(("rb", "rsb", "urb", "ursb")):
        return 1
    if mnemonic.endswith(("rh", "rsh", "urh", "ursh")):
        return 2
    if mnemonic.endswith(("rsw", "ursw")):
        return 4
    registers = operands.split("[")[0] if not operands.startswith("{") else operands[1:operands.index("}")]
    broadcast = re.match(r"ld\d?r|ld1r", mnemonic) and mnemonic.startswith("ld1r") and operands.startswith("{")
    names = [r.strip() for r in registers.split(",") if r.strip()]
    if "-" in registers:  # {v0.16b-v3.16b}
        first, last = (ARRANGED.match(x.strip()) for x in registers.split("-"))
        names = [registers.split("-")[0].strip()] * ((int(last[1]) - int(first[1])) % 32 + 1)
    if broadcast or re.match(r"\{[^}]*\}\[\d+\]", operands):
        return sum(ELEMENT_BYTES[ARRANGED.match(n)[3]] for n in names)
    return sum(register_bytes(n, vector_bytes) for n in names)


def multiply_adds_of(mnemonic, operands, vector_bytes):
    """Multiply-adds of an instruction, 0 for others."""
    if mnemonic in SCALAR_FUSED:
        return 1
    found = ARRANGED.match(operands)
    if not found:
        return 1 if mnemonic in ("fmla", "fmls") else 0
    size = vector_bytes if operands[0] == "z" else int(found[2] or 1) * ELEMENT_BYTES[found[3]]
    if mnemonic in PER_128_BITS:
        return PER_128_BITS[mnemonic] * size // 16
    if mnemonic in PER_ELEMENT or WIDENING.match(mnemonic):
        return size // ELEMENT_BYTES[found[3]]
    return 0


def classify(text, vector_bytes):
    mnemonic, _, operands = text.partition("\t")
    if BRANCHES.match(mnemonic):
        return Instruction(text, "branch")
    is_load, is_store = LOADS.match(mnemonic), STORES.match(mnemonic)
    if is_load or is_store:
        vector = VECTOR_REGISTER.match(operands.lstrip("{ "))
        kind = ("vector " if vector else "") + ("load" if is_load else "store")
        return Instruction(text, kind, bytes_of_load(mnemonic, operands, vector_bytes) if is_load else 0)
    multiply_adds = multiply_adds_of(mnemonic, operands, vector_bytes)
    if multiply_adds:
        return Instruction(text, "multiply-add", 0, multiply_adds)
    return Instruction(text, "vector" if VECTOR_REGISTER.search(operands) else "scalar")


def disassemble(words):
    """{word: text} of the 4-byte words in hexadecimal."""
    words = sorted(words)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(bytes.fromhex(word) for word in words))
        file.flush()
        listing = subprocess.run([OBJDUMP, "-D", "-z", "-b", "binary", "-m", "aarch64", file.name], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout
    lines = re.findall(r"^ *([0-9a-f]+):\t[0-9a-f]{8} \t(.*)$", listing, re.MULTILINE)
    texts = [None] * len(words)
    for address, text in lines:
        texts[int(address, 16) // 4] = re.sub(r"\s*//.*| <.*", "", text).strip()
    return dict(zip(words, texts))


def decode(words, vector_bytes):
    """{word: Instruction}."""
    return {word: classify(text or ".inst", vector_bytes) for word, text in disassemble(words).items()}
