// Blocks of GGUF's types have the values of PyPI's gguf, bit for bit (tests/data/gguf/blocks.py).
#include "exporter/gguf/types.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <vector>

namespace tern::gguf {
namespace {

TEST(GgufTypes, ValuesAreThoseOfTheFormat) {
  std::ifstream file(TERN_SOURCE_DIR "/tests/data/gguf/blocks.bin", std::ios::binary);
  std::uint64_t head[4];
  std::size_t types = 0;
  while (file.read(reinterpret_cast<char*>(head), sizeof head)) {
    const BlockType* type = find_block_type(static_cast<std::uint32_t>(head[0]));
    ASSERT_NE(type, nullptr) << head[0];
    std::vector<std::byte> raw(head[3]);
    std::vector<float> values(head[1] * head[2]);
    file.read(reinterpret_cast<char*>(raw.data()), static_cast<std::streamsize>(raw.size()));
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
    const QuantizedMatrix m{type->dtype, static_cast<std::int64_t>(head[1]), static_cast<std::int64_t>(head[2]),
                            type->blocks};
    check_quantized(m);
    std::vector<std::byte> moved(static_cast<std::size_t>(m.bytes()));
    std::vector<float> numbers(values.size());
    for (std::int64_t r = 0; r < m.rows; ++r) move_row(*type, m, raw, r, r, moved.data());
    for (std::int64_t r = 0; r < m.rows; ++r)
      dequantize_row(m, moved.data(), r, 0, m.columns, numbers.data() + r * m.columns);
    EXPECT_EQ(std::memcmp(numbers.data(), values.data(), values.size() * sizeof(float)), 0) << type->name;
    // The value takes at most a thirty-second more than the file.
    EXPECT_LE(moved.size() * 32, raw.size() * 33) << type->name;
    ++types;
  }
  EXPECT_EQ(types, 9U);
}

TEST(GgufTypes, NamesOthers) {
  EXPECT_EQ(find_block_type(10), nullptr);
  EXPECT_EQ(type_text(10), "Q2_K");
  EXPECT_EQ(type_text(12), "Q4_K");
  EXPECT_EQ(type_text(4000), "4000");
}

}  // namespace
}  // namespace tern::gguf
