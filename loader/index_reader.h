// Reads the FlatBuffer of an index into a Program. Internal to the loader: it brings in FlatBuffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/container.h"
#include "loader/findings.h"
#include "schema/archive_generated.h"
#include "schema/program.h"

namespace tern {

/// The input of every read_* function. Their results are safe to inspect: numbers of types, texts and expressions are
/// in range. validate.h checks everything else.
class IndexReader {
 public:
  /// Runs FlatBuffers' verifier; root() is null when it finds something.
  IndexReader(std::span<const std::byte> index, std::uint64_t index_offset, Findings& findings);

  /// Thrown after a finding that ends the reading.
  struct Stop {};

  const archive::Index* root() const { return root_; }
  Findings& findings() { return findings_; }
  /// Where a part of the index lies in the file.
  std::uint64_t place(const void* part) const {
    return index_offset_ + static_cast<std::uint64_t>(static_cast<const std::byte*>(part) - index_.data());
  }

  /// Length of a vector, 0 for an absent one. Stops when vectors and tables together are larger than the
  /// index: then some are referred to twice, and reading them could take any time and memory.
  template <class Vector>
  std::size_t count(const Vector* v) {
    if (v == nullptr) return 0;
    using Element = typename Vector::return_type;
    const std::size_t bytes = std::is_pointer_v<Element> && !is_struct<Element>() ? 8 : element_bytes<Vector>();
    using Pointed = std::remove_const_t<std::remove_pointer_t<Element>>;
    if constexpr (is_struct<Element>()) require_aligned(v->Data(), alignof(Pointed));
    take(static_cast<std::uint64_t>(v->size()) * bytes);
    return v->size();
  }

  std::string name(std::uint32_t number, const void* place);
  std::string text(std::uint32_t number, const void* place);
  Dim size(std::int64_t code, const void* place);
  Dims sizes(const flatbuffers::Vector<std::int64_t>* codes);
  TensorType type(std::uint32_t number, const void* place);
  /// Checks every text once, and notes its length.
  void read_texts();
  void read_types();
  /// The number of expressions, once they are known.
  void set_expressions(const std::vector<ExprNode>* nodes) { expressions_ = nodes; }
  /// Memory that reading needs beyond what the file takes is limited.
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
  void take(std::uint64_t bytes);
  /// The verifier looks at the alignment of a vector's length alone.
  void require_aligned(const void* elements, std::size_t alignment);
  std::string text_of(std::uint32_t number, std::size_t limit, const void* place);

  std::span<const std::byte> index_;
  std::uint64_t index_offset_;
  Findings& findings_;
  const archive::Index* root_ = nullptr;
  std::uint64_t taken_ = 0, expanded_ = 0;
  const std::vector<ExprNode>* expressions_ = nullptr;
  std::vector<TensorType> types_;
};

void read_expressions(IndexReader& in, ExprPool& pool);
std::vector<SegmentInfo> read_segments(IndexReader& in);
/// Segment numbers by storage, -1 for none.
std::vector<std::int32_t> read_storages(IndexReader& in, Program& program);
void read_states(IndexReader& in, Program& program);
void read_functions(IndexReader& in, Program& program);
void read_packings(IndexReader& in, Program& program);
void read_kernels(IndexReader& in, Program& program);
/// After read_functions.
void read_tunings(IndexReader& in, Program& program);
void read_origins(IndexReader& in, Program& program);

}  // namespace tern
