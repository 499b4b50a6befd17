// Tables shared by number across an index: texts, sizes, types. Internal to the writer: includes FlatBuffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/archive_generated.h"
#include "schema/program.h"

namespace tern::writing {

class IndexTables {
 public:
  explicit IndexTables(const ExprPool& pool);

  /// Number of a text; fails (invalid_argument) on text outside the format's limits.
  std::uint32_t name(std::string_view text) { return text_number(text, kName); }
  std::uint32_t symbol_name(std::string_view text) { return text_number(text, kSymbolName); }
  std::uint32_t text(std::string_view text) { return text_number(text, kText); }
  std::int64_t size(Dim d);
  std::vector<std::int64_t> sizes(const Dims& dims);
  std::uint32_t type(const TensorType& type);

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> write_texts(
      flatbuffers::FlatBufferBuilder& builder) const;
  const std::vector<archive::Expression>& expressions() const { return expressions_; }
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<archive::Type>>> write_types(
      flatbuffers::FlatBufferBuilder& builder) const;

 private:
  enum Kind { kName, kSymbolName, kText };
  struct TypeRow {
    DType dtype;
    Blocks blocks;
    std::vector<std::int64_t> shape;
    friend bool operator==(const TypeRow&, const TypeRow&) = default;
  };
  struct TypeHash {
    std::size_t operator()(const TypeRow& t) const;
  };
  std::uint32_t text_number(std::string_view text, Kind kind);

  std::unordered_map<std::string, std::uint32_t> text_numbers_;
  std::vector<std::string> texts_;
  std::vector<archive::Expression> expressions_;
  std::unordered_map<std::int64_t, std::int64_t> large_constants_;
  std::unordered_map<TypeRow, std::uint32_t, TypeHash> type_numbers_;
  std::vector<TypeRow> types_;
};

}  // namespace tern::writing
