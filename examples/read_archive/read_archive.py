#!/usr/bin/env python3
"""Reads .tern archives without Tern: lists tensors and attached files, and decodes every tensor.

  read_archive.py FILE                 list format version, metadata, functions, tensors and attached files
  read_archive.py FILE --check         the same, after a check of every hash (needs libxxhash)
  read_archive.py FILE --tensor NAME   print the numbers of a tensor
  read_archive.py FILE --file NAME     write an attached file to the standard output

Needs Python's standard library alone, and libzstd or Python 3.14 for compressed segments. The code follows
docs/format.md from the top to the bottom; field numbers are those of schema/archive.fbs.
"""
import argparse
import array
import ctypes
import ctypes.util
import math
import mmap
import struct
import sys

MAGIC = b"\x89TERN\r\n\x1a"
VERSIONS = [(0, 1), (1, 0)]

# Element types: name, bytes, and the letter of struct or (exponent bits, mantissa bits, bias, special codes).
TYPES = {
    1: ("bool", 1, "?"), 2: ("uint8", 1, "B"), 3: ("int8", 1, "b"), 4: ("int16", 2, "h"), 5: ("int32", 4, "i"),
    6: ("int64", 8, "q"), 7: ("uint16", 2, "H"), 8: ("uint32", 4, "I"), 9: ("uint64", 8, "Q"), 10: ("float16", 2, "e"),
    11: ("bfloat16", 2, "bfloat16"), 12: ("float32", 4, "f"), 13: ("float64", 8, "d"), 14: ("complex32", 4, "ee"),
    15: ("complex64", 8, "ff"), 16: ("complex128", 16, "dd"), 17: ("float8_e4m3fn", 1, (4, 3, 7, "fn")),
    18: ("float8_e5m2", 1, (5, 2, 15, "ieee")), 19: ("float8_e4m3fnuz", 1, (4, 3, 8, "fnuz")),
    20: ("float8_e5m2fnuz", 1, (5, 2, 16, "fnuz")), 21: ("float8_e8m0fnu", 1, "e8m0"),
    22: ("float6_e2m3fn", 1, (2, 3, 1, "finite")), 23: ("float6_e3m2fn", 1, (3, 2, 3, "finite")),
    24: ("float4_e2m1fn_x2", 1, (2, 1, 1, "finite")), 25: ("int4", 1, "int4"), 26: ("int2", 1, "int2"),
}
PER_BYTE = {24: 2, 25: 2, 26: 4}  # elements that share a byte
STATE_KINDS = ["parameter", "buffer", "constant"]


class FormatError(Exception):
    """The file is no archive that this reader understands."""


# Hashes and compression


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def library(name):
    path = ctypes.util.find_library(name)
    if path is None:
        raise FormatError(f"this needs the library {name}")
    return ctypes.CDLL(path)


def xxh3_128(data):
    """XXH3-128 with seed 0, low half first."""
    function = library("xxhash").XXH3_128bits
    function.restype, function.argtypes = Hash128, [ctypes.c_char_p, ctypes.c_size_t]
    data = bytes(data)
    return bytes(function(data, len(data)))


def unpack_frame(frame, size):
    """Decodes one zstd frame of `size` decoded bytes."""
    try:
        from compression import zstd  # Python 3.14
        out = zstd.decompress(frame)
    except ImportError:
        buffer = ctypes.create_string_buffer(max(size, 1))
        function = library("zstd").ZSTD_decompress
        function.restype = ctypes.c_size_t
        function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        out = buffer.raw[:size] if function(buffer, size, bytes(frame), len(frame)) == size else b""
    if len(out) != size:
        raise FormatError("a frame does not decode to the size of its piece")
    return out


# FlatBuffers


class Table:
    """A table of the index. Fields are numbered in the order of the schema."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.fields = at - struct.unpack_from("<i", data, at)[0]
        self.count = struct.unpack_from("<H", data, self.fields)[0] // 2 - 2

    def where(self, number):
        """Position of a field, or None if it is absent: newer fields are absent in older archives."""
        offset = struct.unpack_from("<H", self.data, self.fields + 4 + 2 * number)[0] if number < self.count else 0
        return self.at + offset if offset else None

    def number(self, number, letter, default=0):
        at = self.where(number)
        return default if at is None else struct.unpack_from("<" + letter, self.data, at)[0]

    def vector(self, number):
        """Position of the first element of a vector, and the number of elements."""
        at = self.where(number)
        if at is None:
            return 0, 0
        at += struct.unpack_from("<I", self.data, at)[0]
        return at + 4, struct.unpack_from("<I", self.data, at)[0]

    def structs(self, number, layout):
        """Numbers or structs of a vector; `layout` is that of struct, with the padding at the end."""
        at, count = self.vector(number)
        size = struct.calcsize("<" + layout)
        return [struct.unpack_from("<" + layout, self.data, at + i * size) for i in range(count)]

    def numbers(self, number, letter):
        return [row[0] for row in self.structs(number, letter)]

    def references(self, number):
        at, count = self.vector(number)
        return [at + 4 * i + struct.unpack_from("<I", self.data, at + 4 * i)[0] for i in range(count)]

    def tables(self, number):
        return [Table(self.data, at) for at in self.references(number)]

    def strings(self, number):
        out = []
        for at in self.references(number):
            size = struct.unpack_from("<I", self.data, at)[0]
            out.append(bytes(self.data[at + 4 : at + 4 + size]).decode("utf-8"))
        return out


# Element types


def small_float(code, exponent_bits, mantissa_bits, bias, special):
    """The number of a code of a float of at most 8 bits."""
    magnitude_bits = exponent_bits + mantissa_bits
    sign = -1.0 if code >> magnitude_bits & 1 else 1.0
    magnitude = code & ((1 << magnitude_bits) - 1)
    exponent, mantissa = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
    if special == "fn" and magnitude == (1 << magnitude_bits) - 1 or special == "fnuz" and magnitude == 0 and sign < 0:
        return math.nan
    if special == "ieee" and exponent == (1 << exponent_bits) - 1:
        return math.nan if mantissa else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits)


CODES = {n: [small_float(c, *t[2]) for c in range(256)] for n, t in TYPES.items() if isinstance(t[2], tuple)}
CODES[21] = [math.ldexp(1.0, c - 127) for c in range(255)] + [math.nan]
CODES[25] = [(c & 15) - (c & 8) * 2 for c in range(256)]
CODES[26] = [(c & 3) - (c & 2) * 2 for c in range(256)]


def decode(dtype, data, count):
    """The first `count` elements of packed bytes, as Python's numbers."""
    per_byte = PER_BYTE.get(dtype, 1)
    letter = TYPES[dtype][2]
    if per_byte > 1:
        bits = 8 // per_byte
        codes = [byte >> bits * i & ((1 << bits) - 1) for byte in data for i in range(per_byte)]
        return [CODES[dtype][c] for c in codes[:count]]
    if dtype in CODES:
        return [CODES[dtype][byte] for byte in data[:count]]
    if letter == "bfloat16":
        halves = struct.unpack_from(f"<{count}H", data)
        return list(struct.unpack(f"<{count}f", struct.pack(f"<{count}I", *(h << 16 for h in halves))))
    if len(letter) == 2:
        parts = struct.unpack_from(f"<{2 * count}{letter[0]}", data)
        return [complex(*pair) for pair in zip(parts[::2], parts[1::2])]
    return list(struct.unpack_from(f"<{count}{letter}", data))


def rounded(numbers):
    """The numbers rounded to float32."""
    return array.array("f", numbers)


# Tensors


class Type:
    """The type of a tensor: element type, sizes, and the block format of quantized values."""

    def __init__(self, row, size_of):
        self.dtype = row.number(0, "B")
        self.shape = [size_of(s) for s in row.numbers(1, "q")]
        self.block = row.number(2, "i")
        self.layout = row.number(3, "B")
        self.block_rows = row.number(4, "i", 1)
        self.scale = row.number(5, "B", 21)
        self.zero_point = row.number(6, "B")
        self.zero = row.number(7, "B")
        self.outer = row.number(8, "?")
        self.kept = row.number(9, "B")
        self.bits = row.number(10, "B")
        self.super_columns = row.number(11, "i")
        if self.dtype not in TYPES or self.zero_point > 2 or self.layout > 1 or self.kept not in (0, 2):
            raise FormatError("a type that this reader does not know")

    def __str__(self):
        text = f"{TYPES[self.dtype][0]}{self.shape}"
        return text if not self.block else f"{text} in blocks of {self.block_rows} by {self.block}"

    def count(self):
        return math.prod(self.shape)


class Blocks:
    """The parts of a quantized value, whose leading axes count as rows."""

    def __init__(self, t):
        self.t = t
        self.columns = t.shape[-1]
        self.rows = math.prod(t.shape[:-1])
        size = TYPES[t.dtype][1]
        if t.kept:
            self.row_bytes = self.columns // 2 * size
            self.places = self.rows * self.row_bytes
            self.size = self.places + self.rows * self.columns // 8
            return
        self.row_bytes = self.columns * t.bits // 8 if t.bits else self.columns // PER_BYTE.get(t.dtype, 1) * size
        self.scale_rows = -(-self.rows // t.block_rows)
        self.scale_columns = self.columns // t.block
        scales = self.scale_rows * self.scale_columns
        if t.layout == 1:
            scales = -(-self.scale_rows // 128) * -(-self.scale_columns // 4) * 512
        self.scale_count = scales
        at = self.rows * self.row_bytes
        self.scales, at = self.part(at, t.scale, scales)
        if t.zero_point:
            self.zeros, at = self.part(at, t.zero, scales)
        if t.outer:
            self.outer, at = self.part(at, 12, 1)
        if t.super_columns:
            self.units = self.rows * (self.columns // t.super_columns)
            self.scale_units, at = self.part(at, 10, self.units)
            if t.zero_point:
                self.zero_units, at = self.part(at, 10, self.units)
        self.size = at

    @staticmethod
    def part(at, dtype, count):
        """Where a part begins and ends: it begins at a multiple of its element's size."""
        size = TYPES[dtype][1]
        begin = -(-at // size) * size
        return begin, begin + count * size

    def elements(self, data, row):
        """The elements of a row."""
        t, begin = self.t, row * self.row_bytes
        if not t.bits:
            return decode(t.dtype, data[begin : begin + self.row_bytes], self.columns)
        low = data[begin : begin + self.columns // 2]
        codes = [byte >> shift & 15 for byte in low for shift in (0, 4)]
        for plane in range(t.bits - 4):
            first = begin + self.columns // 2 + plane * (self.columns // 8)
            for k in range(self.columns):
                codes[k] |= (data[first + k // 8] >> k % 8 & 1) << 4 + plane
        return [c - (c >> t.bits - 1 << t.bits) for c in codes] if t.dtype == 3 else codes

    def scale_index(self, row, column):
        if self.t.layout == 0:
            return row * self.scale_columns + column
        tile = row // 128 * -(-self.scale_columns // 4) + column // 4
        return tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4

    def numbers(self, data):
        """The numbers of the value in float32, each operation rounded."""
        return self.sparse_numbers(data) if self.t.kept else self.scaled_numbers(data)

    def sparse_numbers(self, data):
        kept = decode(self.t.dtype, data, self.rows * self.columns // 2)
        places = decode_places(data[self.places : self.size], len(kept))
        out = rounded([0.0]) * (self.rows * self.columns)
        for i, (number, place) in enumerate(zip(kept, places)):
            out[i // 2 * 4 + place] += number
        return out

    def scaled_numbers(self, data):
        t = self.t
        scales = decode(t.scale, data[self.scales :], self.scale_count)
        zeros = decode(t.zero, data[self.zeros :], len(scales)) if t.zero_point else None
        outer = decode(12, data[self.outer :], 1)[0] if t.outer else 1.0
        units = decode(10, data[self.scale_units :], self.units) if t.super_columns else None
        zero_units = decode(10, data[self.zero_units :], self.units) if t.super_columns and t.zero_point else None
        out = rounded([])
        for row in range(self.rows):
            elements = self.elements(data, row)
            for column in range(self.scale_columns):
                i = self.scale_index(row // t.block_rows, column)
                scale, zero = scales[i] * outer, zeros[i] if zeros else 0.0
                if units:
                    unit = row * (self.columns // t.super_columns) + column * t.block // t.super_columns
                    scale, zero = scale * units[unit], zero * (zero_units[unit] if zero_units else 0.0)
                scale = rounded([scale])[0]
                block = elements[column * t.block : (column + 1) * t.block]
                if t.zero_point == 1:
                    block = rounded(e - zero for e in block)
                products = rounded(e * scale for e in block)
                out.extend(rounded(p + zero for p in products) if t.zero_point == 2 else products)
        return out


def decode_places(data, count):
    return [byte >> shift & 3 for byte in data for shift in (0, 2, 4, 6)][:count]


class State:
    """A named tensor: a view of a storage."""

    def __init__(self, row, texts, types):
        self.name = texts[row.number(0, "I")]
        self.kind = STATE_KINDS[row.number(1, "B")]
        self.type = types[row.number(2, "I")]
        self.storage = row.number(3, "I")
        self.strides = row.numbers(4, "q")
        self.offset = row.number(5, "q")


class Archive:
    """An archive: `states`, `files` (names and storages), `metadata`, `functions` (names of entries)."""

    def __init__(self, data):
        self.data = memoryview(data)
        if len(data) < 64 or self.data[:8] != MAGIC:
            raise FormatError("no Tern archive: the first bytes differ")
        major, minor, reserved, at, size = struct.unpack_from("<HHIQQ", data, 8)
        self.version = major, minor
        if (major, minor) not in VERSIONS:
            known = " and ".join(f"{a}.{b}" for a, b in VERSIONS)
            raise FormatError(f"the archive has version {major}.{minor}; this reader reads {known}")
        if reserved or at + size != len(data):
            raise FormatError("the prologue is damaged, or the file is truncated")
        index = self.index = self.data[at:]
        if index[4:8] != b"TERN":
            raise FormatError("the index is no FlatBuffer of an archive")
        root = Table(index, struct.unpack_from("<I", index)[0])
        texts = root.strings(0)
        unknown = [texts[number] for number in root.numbers(14, "I")]
        if unknown:
            raise FormatError(f"the archive needs {', '.join(unknown)}, which this reader does not have")
        expressions = root.structs(1, "qIIIB3x")

        def size_of(number):
            """A size: twice a constant, or twice an expression's number plus 1. A symbolic size is None."""
            if number % 2 == 0:
                return number // 2
            value, _, _, _, op = expressions[number // 2]
            return value if op == 0 else None

        self.segments = root.tables(3)
        self.storages = [(row.number(0, "Q"), row.number(1, "i", -1)) for row in root.tables(4)]
        types = [Type(row, size_of) for row in root.tables(5)]
        self.states = [State(row, texts, types) for row in root.tables(6)]
        self.functions = [texts[row.number(0, "I")] for row in root.tables(8) if row.number(1, "?")]
        self.metadata = {texts[key]: texts[value] for key, value in root.structs(9, "II")}
        self.files = {texts[row.number(0, "I")]: row.number(1, "I") for row in root.tables(13)}
        self.decoded = {}

    def check(self):
        """Checks all hashes."""
        if xxh3_128(bytes(self.data[:32]) + bytes(self.index)) != self.data[32:48]:
            raise FormatError("the hash of the index differs")
        for i, row in enumerate(self.segments):
            stored = self.stored(row)
            hashes = b"".join(xxh3_128(stored[k : k + (1 << 18)]) for k in range(0, len(stored), 1 << 18))
            if xxh3_128(hashes) != struct.pack("<QQ", row.number(5, "Q"), row.number(6, "Q")):
                raise FormatError(f"the hash of segment {i} differs")

    def stored(self, row):
        at = row.number(0, "Q")
        return self.data[at : at + row.number(1, "Q")]

    def storage(self, number):
        """The bytes of a storage."""
        size, segment = self.storages[number]
        if segment < 0:
            return memoryview(b"")
        if segment not in self.decoded:
            row = self.segments[segment]
            codec, stored = row.number(4, "B"), self.stored(row)
            if codec > 1:
                raise FormatError(f"codec {codec} is not known")
            self.decoded[segment] = memoryview(self.unpack(row, stored) if codec else stored)
        return self.decoded[segment][:size]

    @staticmethod
    def unpack(row, stored):
        left, piece, at, out = row.number(2, "Q"), row.number(7, "I"), 0, []
        for frame in row.numbers(8, "I"):
            out.append(unpack_frame(stored[at : at + frame], min(piece, left)))
            at, left = at + frame, left - len(out[-1])
        return b"".join(out)

    def bytes_of(self, state):
        """The bytes of a tensor: its elements row by row, or all parts of a quantized value."""
        t, data = state.type, self.storage(state.storage)
        per_byte, size = PER_BYTE.get(t.dtype, 1), TYPES[t.dtype][1]
        at = state.offset // per_byte * size
        if t.block:
            return bytes(data[at : at + Blocks(t).size])
        if 0 in t.shape:
            return b""
        contiguous = [math.prod(t.shape[i + 1 :]) for i in range(len(t.shape))]
        if all(n == 1 or a == b for n, a, b in zip(t.shape, state.strides, contiguous)):
            return bytes(data[at : at + -(-t.count() // per_byte) * size])
        offsets = [at]
        for n, stride in zip(t.shape, state.strides):
            offsets = [o + i * stride * size for o in offsets for i in range(n)]
        return b"".join(data[o : o + size] for o in offsets)

    def numbers_of(self, state):
        """The numbers of a tensor, row by row; those of a quantized value in float32."""
        data, t = self.bytes_of(state), state.type
        return Blocks(t).numbers(data) if t.block else decode(t.dtype, data, t.count())

    def state(self, name):
        return next((s for s in self.states if s.name == name), None)


def open_archive(path):
    with open(path, "rb") as file:
        return Archive(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tensor", metavar="NAME")
    parser.add_argument("--file", metavar="NAME")
    a = parser.parse_args()
    archive = open_archive(a.archive)
    if a.check:
        archive.check()
    if a.tensor is not None:
        state = archive.state(a.tensor)
        if state is None:
            sys.exit(f"no tensor has the name '{a.tensor}'")
        print(state.type)
        print(*archive.numbers_of(state))
    elif a.file is not None:
        if a.file not in archive.files:
            sys.exit(f"no attached file has the name '{a.file}'")
        sys.stdout.buffer.write(archive.storage(archive.files[a.file]))
    else:
        print(f"version {archive.version[0]}.{archive.version[1]}, functions: {', '.join(archive.functions) or 'none'}")
        for key, value in archive.metadata.items():
            print(f"{key}: {value[:80]}")
        for state in archive.states:
            print(f"{state.kind:9} {state.name}: {state.type}")
        for name, storage in archive.files.items():
            print(f"file      {name}: {archive.storages[storage][0]} bytes")


if __name__ == "__main__":
    try:
        main()
    except FormatError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
