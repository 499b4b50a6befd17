#include "loader/index_reader.h"

#include <fmt/format.h>

#include "loader/utf8.h"

namespace tern {
namespace {

constexpr int kMaxDepth = 16;  // the schema nests five levels
constexpr std::uint64_t kFreeMemory = std::uint64_t{16} << 20;
constexpr std::uint64_t kMemoryPerByte = 16;

}  // namespace

IndexReader::IndexReader(std::span<const std::byte> index, std::uint64_t index_offset, Findings& findings)
    : index_(index), index_offset_(index_offset), findings_(findings) {
  // Every table takes 4 bytes, plus 4 bytes for its reference.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(index.size() / 8 + 1);
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(index.data()), index.size(), kMaxDepth,
                                 max_tables);
  if (index.size() < 12 || !archive::VerifyIndexBuffer(verifier)) {
    findings.add(
        "index.flatbuffer", index_offset, "index",
        "it is not a valid FlatBuffer of schema/archive.fbs: offsets point outside it, or it is misaligned or cut off");
    return;
  }
  root_ = archive::GetIndex(index.data());
}

void IndexReader::charge_bytes(std::uint64_t bytes) {
  charged_bytes_ += bytes;
  if (charged_bytes_ <= index_.size()) return;
  findings_.add("index.sharing", index_offset_, "index", "parts of it are referenced more than once");
  throw Stop{};
}

void IndexReader::require_aligned(const void* elements, std::size_t alignment) {
  if (reinterpret_cast<std::uintptr_t>(elements) % alignment == 0) return;
  findings_.add("index.flatbuffer", offset_of(elements), "index",
                fmt::format("a vector of elements of {} bytes is not aligned", alignment));
  throw Stop{};
}

void IndexReader::expand(std::uint64_t bytes) {
  expanded_ += bytes;
  const std::uint64_t limit = kFreeMemory + kMemoryPerByte * index_.size();
  if (expanded_ <= limit) return;
  findings_.add("index.memory", index_offset_, "index",
                fmt::format("reading its {} bytes would need more than {} bytes of memory", index_.size(), limit));
  throw Stop{};
}

void IndexReader::read_texts() {
  const auto* texts = root_->texts();
  const std::size_t n = count(texts);
  for (std::size_t i = 0; i < n; ++i) {
    const auto* t = texts->Get(static_cast<flatbuffers::uoffset_t>(i));
    charge_bytes(t->size() + 1);
    if (!is_valid_text(t->string_view())) {
      findings_.add("texts.utf8", offset_of(t), fmt::format("text {}", i), "it is not UTF-8 without zero bytes");
    }
  }
}

std::string IndexReader::text_of(std::uint32_t number, std::size_t limit, const void* field) {
  if (number == 0) return {};
  const auto* texts = root_->texts();
  if (texts == nullptr || number >= texts->size()) {
    findings_.add("texts.number", offset_of(field), "",
                  fmt::format("text {} does not exist; there are {}", number, texts == nullptr ? 0 : texts->size()));
    return {};
  }
  const auto* t = texts->Get(number);
  if (t->size() > limit) {
    findings_.add("texts.length", offset_of(t), fmt::format("text {}", number),
                  fmt::format("it has {} bytes; at most {} are allowed", t->size(), limit));
    return {};
  }
  expand(t->size());
  return t->str();
}

std::string IndexReader::name(std::uint32_t number, const void* field) {
  return text_of(number, kMaxName, field);
}
std::string IndexReader::text(std::uint32_t number, const void* field) {
  return text_of(number, kMaxText, field);
}

Dim IndexReader::size(std::int64_t code, const void* field) {
  if ((code & 1) == 0) return code / 2;
  const std::int64_t number = code >> 1;
  if (number < 0 || static_cast<std::uint64_t>(number) >= expressions_->size()) {
    findings_.add("sizes.expression", offset_of(field), "",
                  fmt::format("expression {} does not exist; there are {}", number, expressions_->size()));
    return 0;
  }
  const ExprNode& n = (*expressions_)[static_cast<std::size_t>(number)];
  return n.op == ExprOp::constant ? Dim(n.value) : Dim::node(static_cast<std::uint32_t>(number));
}

Dims IndexReader::sizes(const flatbuffers::Vector<std::int64_t>* codes) {
  Dims result;
  const std::size_t n = count(codes);
  result.reserve(n);
  for (std::size_t i = 0; i < n; ++i) result.push_back(size(codes->Get(static_cast<flatbuffers::uoffset_t>(i)), codes));
  return result;
}

namespace {

/// check_type reports unknown values.
Blocks read_blocks(const archive::Type& row) {
  Blocks b;
  b.columns = row.block_columns();
  b.rows = row.block_rows();
  b.scale = static_cast<DType>(row.scale_dtype());
  b.zero_point = static_cast<ZeroPoint>(row.zero_point_rule());
  b.zero = static_cast<DType>(row.zero_point_dtype());
  b.layout = static_cast<ScaleLayout>(row.scale_layout());
  b.outer = row.outer_scale();
  b.kept = row.nonzeros();
  b.bits = row.element_bits();
  b.super_columns = row.super_columns();
  return b;
}

}  // namespace

void IndexReader::read_types() {
  const auto* rows = root_->types();
  const std::size_t n = count(rows);
  types_.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto* row = rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    TensorType t;
    t.dtype = static_cast<DType>(row->dtype());
    t.blocks = read_blocks(*row);
    const std::string type_name = fmt::format("type {}", i);
    if (row->dtype() == 0 || row->dtype() >= kDTypeCount) {
      findings_.add(
          "types.dtype", offset_of(row), type_name,
          fmt::format("element type {} is not known to this version (it knows 1 to {})", row->dtype(), kDTypeCount - 1),
          row->dtype() == 0 ? ErrorCode::bad_file : ErrorCode::unsupported);
      t.dtype = DType::invalid;
    }
    if (row->scale_layout() > static_cast<int>(ScaleLayout::swizzled_32_4_4)) {
      findings_.add("types.layout", offset_of(row), type_name,
                    fmt::format("scale layout {} is not known to this version", row->scale_layout()),
                    ErrorCode::unsupported);
      t.blocks.layout = ScaleLayout::plain;
    }
    if (row->shape() != nullptr && row->shape()->size() > kMaxRank) {
      findings_.add("types.rank", offset_of(row), type_name,
                    fmt::format("it has {} dimensions; at most {} are allowed", row->shape()->size(), kMaxRank));
    } else {
      t.shape = sizes(row->shape());
    }
    types_.push_back(std::move(t));
  }
}

TensorType IndexReader::type(std::uint32_t number, const void* field) {
  if (number >= types_.size()) {
    findings_.add("types.number", offset_of(field), "",
                  fmt::format("type {} does not exist; there are {}", number, types_.size()));
    return {};
  }
  expand(types_[number].shape.size() * sizeof(Dim));
  return types_[number];
}

}  // namespace tern
