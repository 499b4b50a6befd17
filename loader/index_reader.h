// Reads an index's FlatBuffer into a Program. Internal to the loader, because this header includes FlatBuffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/container.h"
#include "loader/findings.h"
#include "schema/archive_generated.h"
#include "schema/program.h"

namespace tern {

/// Input of every read_* function. Their results are safe to inspect: type numbers, texts and expressions are in range.
/// validate.h checks all other rules.
class IndexReader {
 public:
  /// Runs FlatBuffers' verifier; root() is null after an error.
  IndexReader(std::span<const std::byte> index, std::uint64_t index_offset, Findings& findings);

  /// Thrown if a finding prevents further reading.
  struct Stop {};

  const archive::Index* root() const { return root_; }
  Findings& findings() { return findings_; }
  /// Offset of a part of the index in the file.
  std::uint64_t offset_of(const void* field) const {
    return index_offset_ + static_cast<std::uint64_t>(static_cast<const std::byte*>(field) - index_.data());
  }

  /// Length of a vector, 0 if absent. Stops if vectors and tables together exceed the index: then some are referenced
  /// twice, and reading could take unlimited time and memory.
  template <class Vector>
  std::size_t count(const Vector* v) {
    if (v == nullptr) return 0;
    using Element = typename Vector::return_type;
    const std::size_t bytes = std::is_pointer_v<Element> && !is_struct<Element>() ? 8 : element_bytes<Vector>();
    using Pointed = std::remove_const_t<std::remove_pointer_t<Element>>;
    if constexpr (is_struct<Element>()) require_aligned(v->Data(), alignof(Pointed));
    charge_bytes(static_cast<std::uint64_t>(v->size()) * bytes);
    return v->size();
  }

  std::string name(std::uint32_t number, const void* field);
  std::string text(std::uint32_t number, const void* field);
  Dim size(std::int64_t code, const void* field);
  Dims sizes(const flatbuffers::Vector<std::int64_t>* codes);
  TensorType type(std::uint32_t number, const void* field);
  /// Checks every text once, and records its length.
  void read_texts();
  void read_types();
  /// Sets the expressions, once read.
  void set_expressions(const std::vector<ExprNode>* nodes) { expressions_ = nodes; }
  /// Charges memory needed beyond the file's size against a limit.
  void expand(std::uint64_t bytes);

 private:
  template <class Element>
  static constexpr bool is_struct() {
    using T = std::remove_const_t<std::remove_pointer_t<Element>>;
    return !std::is_base_of_v<flatbuffers::Table, T> && !std::is_base_of_v<flatbuffers::String, T>;
  }
  template <class Vector>
  static constexpr std::size_t element_bytes() {
    return sizeof(std::remove_const_t<std::remove_pointer_t<typename Vector::return_type>>);
  }
  void charge_bytes(std::uint64_t bytes);
  /// FlatBuffers' verifier checks only the alignment of a vector's length.
  void require_aligned(const void* elements, std::size_t alignment);
  std::string text_of(std::uint32_t number, std::size_t limit, const void* field);

  std::span<const std::byte> index_;
  std::uint64_t index_offset_;
  Findings& findings_;
  const archive::Index* root_ = nullptr;
  std::uint64_t charged_bytes_ = 0, expanded_ = 0;
  const std::vector<ExprNode>* expressions_ = nullptr;
  std::vector<TensorType> types_;
};

void read_expressions(IndexReader& reader, ExprPool& pool);
std::vector<SegmentInfo> read_segments(IndexReader& reader);
/// Returns segment numbers by storage, -1 for none.
std::vector<std::int32_t> read_storages(IndexReader& reader, Program& program);
void read_states(IndexReader& reader, Program& program);
void read_functions(IndexReader& reader, Program& program);
void read_packings(IndexReader& reader, Program& program);
void read_kernels(IndexReader& reader, Program& program);
void read_files(IndexReader& reader, Program& program);
/// Requires read_functions.
void read_tunings(IndexReader& reader, Program& program);
void read_origins(IndexReader& reader, Program& program);

}  // namespace tern
