#include "exporter/archive/index_tables.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "loader/format.h"
#include "loader/utf8.h"

namespace tern::writing {

IndexTables::IndexTables(const ExprPool& pool) : text_numbers_{{"", 0}}, texts_{""} {
  for (const ExprNode& n : pool.nodes()) {
    expressions_.emplace_back(n.value, n.a, n.b, n.c, static_cast<std::uint8_t>(n.op));
  }
}

std::uint32_t IndexTables::text_number(std::string_view text, Kind kind) {
  const std::size_t limit = kind == kName ? kMaxName : kind == kSymbolName ? kMaxSymbolName : kMaxText;
  if (text.size() > limit) {
    fail(ErrorCode::invalid_argument,
         fmt::format("a {} of {} bytes, '{}...', is too long for an archive (at most {})",
                     kind == kText ? "text" : "name", text.size(), text.substr(0, 80), limit));
  }
  if (!is_valid_text(text)) {
    fail(ErrorCode::invalid_argument, fmt::format("the text '{}' is not UTF-8 without zero bytes", text.substr(0, 80)));
  }
  auto [it, added] = text_numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (added) texts_.emplace_back(text);
  return it->second;
}

std::int64_t IndexTables::size(Dim d) {
  if (!d.is_const()) return 2 * static_cast<std::int64_t>(d.index()) + 1;
  std::int64_t twice = 0;
  if (!__builtin_mul_overflow(d.value(), std::int64_t{2}, &twice)) return twice;
  auto [it, added] = large_constants_.try_emplace(d.value(), 2 * static_cast<std::int64_t>(expressions_.size()) + 1);
  if (added) expressions_.emplace_back(d.value(), 0, 0, 0, static_cast<std::uint8_t>(ExprOp::constant));
  return it->second;
}

std::vector<std::int64_t> IndexTables::sizes(const Dims& dims) {
  std::vector<std::int64_t> result;
  result.reserve(dims.size());
  for (Dim d : dims) result.push_back(size(d));
  return result;
}

std::uint32_t IndexTables::type(const TensorType& t) {
  TypeRow row{t.dtype, t.blocks, sizes(t.shape)};
  auto [it, added] = type_numbers_.try_emplace(row, static_cast<std::uint32_t>(types_.size()));
  if (added) types_.push_back(std::move(row));
  return it->second;
}

std::size_t IndexTables::TypeHash::operator()(const TypeRow& t) const {
  std::uint64_t h = static_cast<std::uint64_t>(t.dtype) | static_cast<std::uint64_t>(t.blocks.columns) << 8 |
                    static_cast<std::uint64_t>(t.blocks.rows) << 40 | static_cast<std::uint64_t>(t.blocks.bits) << 56;
  for (std::int64_t s : t.shape) h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9ull + static_cast<std::uint64_t>(s);
  return h ^ (h >> 32);
}

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> IndexTables::write_texts(
    flatbuffers::FlatBufferBuilder& builder) const {
  return builder.CreateVectorOfStrings(texts_);
}

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<archive::Type>>> IndexTables::write_types(
    flatbuffers::FlatBufferBuilder& builder) const {
  std::vector<flatbuffers::Offset<archive::Type>> rows;
  for (const TypeRow& t : types_) {
    const Blocks& b = t.blocks;
    const auto shape = t.shape.empty() ? 0 : builder.CreateVector(t.shape);
    rows.push_back(archive::CreateType(builder, static_cast<std::uint8_t>(t.dtype), shape, b.columns,
                                       static_cast<std::uint8_t>(b.layout), b.rows, static_cast<std::uint8_t>(b.scale),
                                       static_cast<std::uint8_t>(b.zero_point), static_cast<std::uint8_t>(b.zero),
                                       b.outer, b.kept, b.bits, b.super_columns));
  }
  return builder.CreateVector(rows);
}

}  // namespace tern::writing
