#include "exporter/gguf/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tern::gguf {
namespace {

constexpr std::int64_t kBlock = 32, kSuper = 256,
                       kHalf = 2;  // elements of a block, of a super-block; bytes of a float16

// Elements of one block as codes of one byte each, in their order.

/// Low four bits of `bytes` bytes, then high four bits.
void nibbles(const std::uint8_t* source, std::int64_t bytes, std::uint8_t* codes) {
  for (std::int64_t i = 0; i < bytes; ++i) {
    codes[i] = source[i] & 15;
    codes[bytes + i] = source[i] >> 4;
  }
}

/// Bit i of the word is the fifth bit of code i.
void fifth_bits(const std::uint8_t* source, std::uint8_t* codes) {
  for (std::int64_t i = 0; i < kBlock; ++i) codes[i] |= static_cast<std::uint8_t>((source[i / 8] >> (i % 8) & 1) << 4);
}

/// Four groups of 64 codes: low four bits of 32 bytes, then high ones.
void super_nibbles(const std::uint8_t* source, std::uint8_t* codes) {
  for (std::int64_t group = 0; group < 4; ++group) nibbles(source + group * 32, 32, codes + group * 64);
}

/// Writes codes of `bits` bits, which stand at `begin` of the row, in the order of dtypes/blocks.h.
void pack(const std::uint8_t* codes, std::int64_t count, int bits, std::int64_t begin, const RowPlaces& destination) {
  std::uint8_t* const low = destination.elements + begin / 2;
  for (std::int64_t i = 0; i < count / 2; ++i)
    low[i] = static_cast<std::uint8_t>((codes[2 * i] & 15) | (codes[2 * i + 1] & 15) << 4);
  for (int p = 0; p < bits - 4; ++p) {
    std::uint8_t* const plane =
        destination.elements + destination.columns / 2 + p * (destination.columns / 8) + begin / 8;
    for (std::int64_t i = 0; i < count / 8; ++i) {
      int byte = 0;
      for (int j = 0; j < 8; ++j) byte |= (codes[8 * i + j] >> (4 + p) & 1) << j;
      plane[i] = static_cast<std::uint8_t>(byte);
    }
  }
}

const std::uint8_t* bytes_of(const std::byte* source) {
  return reinterpret_cast<const std::uint8_t*>(source);
}

void copy_half(const std::byte* source, std::byte* destination, std::int64_t offset) {
  std::memcpy(destination + offset * kHalf, source, kHalf);
}

/// A unit of minima is subtracted in the file and added in Tern.
void copy_negated_half(const std::byte* source, std::byte* destination, std::int64_t offset) {
  copy_half(source, destination, offset);
  destination[offset * kHalf + 1] ^= std::byte{0x80};
}

// Blocks of 32 elements.

void move_q4_0(const std::byte* source, const RowPlaces& destination) {
  std::uint8_t codes[kBlock];
  nibbles(bytes_of(source) + 2, 16, codes);
  for (std::uint8_t& c : codes) c ^= 8;  // less 8, in two's complement
  copy_half(source, destination.scales, destination.block);
  pack(codes, kBlock, 4, destination.block * kBlock, destination);
}

void move_q4_1(const std::byte* source, const RowPlaces& destination) {
  std::uint8_t codes[kBlock];
  nibbles(bytes_of(source) + 4, 16, codes);
  copy_half(source, destination.scales, destination.block);
  copy_half(source + 2, destination.zeros, destination.block);
  pack(codes, kBlock, 4, destination.block * kBlock, destination);
}

void move_q5_0(const std::byte* source, const RowPlaces& destination) {
  std::uint8_t codes[kBlock];
  nibbles(bytes_of(source) + 6, 16, codes);
  fifth_bits(bytes_of(source) + 2, codes);
  for (std::uint8_t& c : codes) c ^= 16;
  copy_half(source, destination.scales, destination.block);
  pack(codes, kBlock, 5, destination.block * kBlock, destination);
}

void move_q5_1(const std::byte* source, const RowPlaces& destination) {
  std::uint8_t codes[kBlock];
  nibbles(bytes_of(source) + 8, 16, codes);
  fifth_bits(bytes_of(source) + 4, codes);
  copy_half(source, destination.scales, destination.block);
  copy_half(source + 2, destination.zeros, destination.block);
  pack(codes, kBlock, 5, destination.block * kBlock, destination);
}

void move_q8_0(const std::byte* source, const RowPlaces& destination) {
  copy_half(source, destination.scales, destination.block);
  std::memcpy(destination.elements + destination.block * kBlock, source + 2, kBlock);
}

void move_mxfp4(const std::byte* source, const RowPlaces& destination) {
  std::uint8_t codes[kBlock];
  nibbles(bytes_of(source) + 1, 16, codes);
  for (std::uint8_t& c : codes) c = c == 8 ? 0 : c;  // GGML's negative zero is zero
  destination.scales[destination.block] = source[0];
  pack(codes, kBlock, 4, destination.block * kBlock, destination);
}

// Super-blocks of 256 elements.

/// Six bits each of eight scales and eight minima, in twelve bytes.
void scales_and_minima(const std::uint8_t* source, const RowPlaces& destination) {
  for (std::int64_t j = 0; j < 8; ++j) {
    const bool first = j < 4;
    const int scale = first ? source[j] & 63 : (source[j + 4] & 15) | (source[j - 4] >> 6) << 4,
              minimum = first ? source[j + 4] & 63 : source[j + 4] >> 4 | (source[j] >> 6) << 4;
    destination.scales[destination.block * 8 + j] = static_cast<std::byte>(scale);
    destination.zeros[destination.block * 8 + j] = static_cast<std::byte>(minimum);
  }
}

void move_q4_k(const std::byte* source, const RowPlaces& destination) {
  std::uint8_t codes[kSuper];
  super_nibbles(bytes_of(source) + 16, codes);
  copy_half(source, destination.scale_units, destination.block);
  copy_negated_half(source + 2, destination.zero_units, destination.block);
  scales_and_minima(bytes_of(source) + 4, destination);
  pack(codes, kSuper, 4, destination.block * kSuper, destination);
}

void move_q5_k(const std::byte* source, const RowPlaces& destination) {
  std::uint8_t codes[kSuper];
  super_nibbles(bytes_of(source) + 48, codes);
  const std::uint8_t* const high = bytes_of(source) + 16;
  for (std::int64_t i = 0; i < kSuper; ++i) codes[i] |= static_cast<std::uint8_t>((high[i % 32] >> (i / 32) & 1) << 4);
  copy_half(source, destination.scale_units, destination.block);
  copy_negated_half(source + 2, destination.zero_units, destination.block);
  scales_and_minima(bytes_of(source) + 4, destination);
  pack(codes, kSuper, 5, destination.block * kSuper, destination);
}

void move_q6_k(const std::byte* source, const RowPlaces& destination) {
  std::uint8_t codes[kSuper];
  const std::uint8_t *const low = bytes_of(source), *const high = low + 128;
  for (std::int64_t half = 0; half < 2; ++half) {
    std::uint8_t* const of_half = codes + half * 128;
    nibbles(low + half * 64, 64, of_half);
    for (std::int64_t i = 0; i < 128; ++i)
      of_half[i] = static_cast<std::uint8_t>(of_half[i] | (high[half * 32 + i % 32] >> (2 * (i / 32)) & 3) << 4) ^ 32;
  }
  std::memcpy(destination.scales + destination.block * 16, source + 192, 16);
  copy_half(source + 208, destination.scale_units, destination.block);
  pack(codes, kSuper, 6, destination.block * kSuper, destination);
}

constexpr Blocks half_scales(std::uint8_t bits) {
  return {.columns = kBlock, .scale = DType::f16, .bits = bits};
}
constexpr Blocks half_minima(std::uint8_t bits) {
  return {.columns = kBlock, .scale = DType::f16, .zero_point = ZeroPoint::added, .zero = DType::f16, .bits = bits};
}
constexpr Blocks super_minima(std::uint8_t bits) {
  return {.columns = kBlock,
          .scale = DType::u8,
          .zero_point = ZeroPoint::added,
          .zero = DType::u8,
          .bits = bits,
          .super_columns = kSuper};
}

constexpr BlockType kTypes[] = {
    // number, name, elements and bytes of a block, type and blocks in Tern
    {0, "F32", 1, 4, DType::f32, {}},
    {1, "F16", 1, 2, DType::f16, {}},
    {30, "BF16", 1, 2, DType::bf16, {}},
    {2, "Q4_0", kBlock, 18, DType::i4, half_scales(0), move_q4_0},
    {3, "Q4_1", kBlock, 20, DType::u8, half_minima(4), move_q4_1},
    {6, "Q5_0", kBlock, 22, DType::i8, half_scales(5), move_q5_0},
    {7, "Q5_1", kBlock, 24, DType::u8, half_minima(5), move_q5_1},
    {8, "Q8_0", kBlock, 34, DType::i8, half_scales(0), move_q8_0},
    {12, "Q4_K", kSuper, 144, DType::u8, super_minima(4), move_q4_k},
    {13, "Q5_K", kSuper, 176, DType::u8, super_minima(5), move_q5_k},
    {14,
     "Q6_K",
     kSuper,
     210,
     DType::i8,
     {.columns = 16, .scale = DType::i8, .bits = 6, .super_columns = kSuper},
     move_q6_k},
    {39, "MXFP4", kBlock, 17, DType::f4_e2m1, {.columns = kBlock}, move_mxfp4},
};

struct OtherType {
  std::uint32_t number;
  const char* name;
};
constexpr OtherType kOtherTypes[] = {
    {9, "Q8_1"},   {10, "Q2_K"},   {11, "Q3_K"},  {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},
    {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"}, {23, "IQ4_XS"},  {24, "I8"},     {25, "I16"},
    {26, "I32"},   {27, "I64"},    {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {40, "NVFP4"},
};

}  // namespace

const BlockType* find_block_type(std::uint32_t number) {
  const auto found = std::ranges::find(kTypes, number, &BlockType::number);
  return found == std::end(kTypes) ? nullptr : found;
}

std::string type_text(std::uint32_t number) {
  if (const BlockType* type = find_block_type(number)) return type->name;
  const auto found = std::ranges::find(kOtherTypes, number, &OtherType::number);
  return found == std::end(kOtherTypes) ? std::to_string(number) : found->name;
}

std::string supported_types_text() {
  std::string text = "supported are ";
  for (const BlockType& t : kTypes) text += fmt::format("{}{}", &t == kTypes ? "" : ", ", t.name);
  return text;
}

void move_row(const BlockType& type, const QuantizedMatrix& m, std::span<const std::byte> rows, std::int64_t row,
              std::int64_t to_row, std::byte* destination) {
  const std::int64_t blocks = m.columns / type.elements, scales = m.scales().columns, units = m.row_units() * kHalf;
  RowPlaces positions{.elements = reinterpret_cast<std::uint8_t*>(destination) + to_row * m.row_bytes(),
                      .scales = destination + m.scale_offset() + to_row * scales * element_size(m.blocks.scale),
                      .zeros = destination + m.zero_offset(),
                      .scale_units = destination + m.scale_unit_offset() + to_row * units,
                      .zero_units = destination + m.zero_unit_offset() + to_row * units,
                      .columns = m.columns,
                      .block = 0};
  if (m.blocks.zero_point != ZeroPoint::none) positions.zeros += to_row * scales * element_size(m.blocks.zero);
  const std::byte* source = rows.data() + row * blocks * type.bytes;
  for (; positions.block < blocks; ++positions.block, source += type.bytes) type.repack(source, positions);
}

}  // namespace tern::gguf
