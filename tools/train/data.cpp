#include "tools/train/data.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "dtypes/convert.h"
#include "tools/files/host_tensor.h"
#include "tools/text.h"

namespace tern::train {
namespace {

int significant_bits(DType t) {
  switch (t) {
    case DType::f64: return 53;
    case DType::f32: return 24;
    case DType::f16: return 11;
    case DType::bf16: return 8;
    default: return 0;
  }
}

bool is_whole(DType t) {
  return !is_floating(t) && !is_complex(t);
}
bool has_sign(DType t) {
  return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64;
}

/// True if every value of `source` is a value of `target`.
bool widens(DType source, DType target) {
  if (source == target) return true;
  if (is_complex(source) || is_complex(target) || target == DType::boolean) return false;
  const int bits = source == DType::boolean ? 1 : element_size(source) * 8 - (has_sign(source) ? 1 : 0);
  if (is_whole(source) && is_whole(target))
    return has_sign(target) ? bits <= element_size(target) * 8 - 1
                            : !has_sign(source) && bits <= element_size(target) * 8;
  if (is_whole(source)) return significant_bits(target) >= bits && target != DType::f16;
  if (is_whole(target)) return false;
  return (target == DType::f64 && significant_bits(source) > 0) ||
         (target == DType::f32 && (source == DType::f16 || source == DType::bf16));
}

std::string wanted_text(const ValueInfo& input) {
  std::string sizes;
  for (const SizeInfo& s : input.sizes) sizes += (sizes.empty() ? "" : ", ") + s.text;
  return fmt::format("{}[{}]", name_of(input.dtype), sizes);
}

[[noreturn]] void fail_missing(const MappedTensors& file, const ValueInfo& input, const std::string& array) {
  std::string names;
  for (const MappedTensor& t : file.tensors()) names += (names.empty() ? "" : ", ") + escape_name(t.name);
  fail(ErrorCode::invalid_argument,
       fmt::format(
           "{}: there is no array '{}' for the input '{}', {} (the file has: {}); --array {}=NAME selects another one",
           file.file(), escape_name(array), escape_name(input.name), wanted_text(input),
           names.empty() ? "nothing" : names, escape_name(input.name)));
}

void check_sizes(const MappedTensors& file, const MappedTensor& t, const ValueInfo& input) {
  bool shapes_match = t.sizes.size() == input.sizes.size() && !t.sizes.empty();
  for (std::size_t a = 1; shapes_match && a < t.sizes.size(); ++a)
    shapes_match = !input.sizes[a].constant || input.sizes[a].value == t.sizes[a];
  if (!shapes_match) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: array '{}' is {}{}, but the input '{}' takes {}; the first size of an array counts samples",
                     file.file(), escape_name(t.name), name_of(t.dtype), sizes_text(t.sizes), escape_name(input.name),
                     wanted_text(input)));
  }
}

void check_type(const MappedTensors& file, const MappedTensor& t, const ValueInfo& input, bool cast) {
  if (widens(t.dtype, input.dtype) || (cast && (!is_complex(t.dtype) || is_complex(input.dtype)))) return;
  fail(ErrorCode::invalid_argument,
       fmt::format(
           "{}: array '{}' is {}, but the input '{}' is {}, which cannot hold all of its values; --cast converts it",
           file.file(), escape_name(t.name), name_of(t.dtype), escape_name(input.name), name_of(input.dtype)));
}

}  // namespace

TrainingData::TrainingData(const FunctionInfo& f, std::string_view excluded_input, const std::string& path, bool cast,
                           const ArrayNames& names)
    : TrainingData(f, excluded_input, MappedTensors::open(path), cast, names) {}

TrainingData::TrainingData(const FunctionInfo& f, std::string_view excluded_input, MappedTensors file, bool cast,
                           const ArrayNames& names)
    : file_(std::move(file)) {
  std::size_t position = 0;
  for (const ValueInfo& input : f.inputs) {
    if (!input.fixed.empty() || input.name == excluded_input) continue;
    const auto renamed = names.find(input.name);
    const MappedTensor* t = file_.find(renamed == names.end() ? input.name : renamed->second);
    if (t == nullptr && renamed == names.end()) t = file_.find(fmt::format("in{}", position));
    ++position;
    if (t == nullptr) fail_missing(file_, input, renamed == names.end() ? input.name : renamed->second);
    check_sizes(file_, *t, input);
    check_type(file_, *t, input, cast);
    const auto count = static_cast<std::uint64_t>(t->sizes[0]);
    if (!columns_.empty() && count != samples_) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: array '{}' has {} samples, and '{}' has {}", file_.file(), escape_name(t->name), count,
                       escape_name(columns_.front().source->name), samples_));
    }
    samples_ = count;
    if (input.sizes[0].constant) fixed_batch_ = input.sizes[0].value;
    Column c{t, input.dtype, count > 0 ? t->bytes.size() / count : 0, 1, {}};
    for (std::size_t a = 1; a < t->sizes.size(); ++a) c.elements *= t->sizes[a];
    if (c.target_dtype != t->dtype) c.sample.resize(c.row);
    columns_.push_back(std::move(c));
  }
  if (columns_.empty()) fail(ErrorCode::invalid_argument, fmt::format("'{}' has no inputs that take data", f.name));
  tensors_.resize(columns_.size());
}

void TrainingData::copy(Column& column, std::span<const std::uint64_t> numbers, Tensor& destination) {
  auto* row_destination = static_cast<std::byte*>(destination.data());
  const std::size_t step = numbers.empty() ? 0 : destination.byte_size() / numbers.size();
  for (std::uint64_t n : numbers) {
    const std::byte* row_source = column.source->bytes.data() + n * column.row;
    if (column.sample.empty()) {
      if (column.row > 0) std::memcpy(row_destination, row_source, column.row);
    } else {
      std::memcpy(column.sample.data(), row_source, column.row);
      convert(column.sample.data(), column.source->dtype, row_destination, column.target_dtype, column.elements);
    }
    row_destination += step;
  }
  const auto bad = first_invalid_byte(destination.dtype(),
                                      {static_cast<const std::byte*>(destination.data()), destination.byte_size()});
  if (bad) {
    fail(ErrorCode::bad_file, fmt::format("{}: array '{}' has a boolean that is neither 0 nor 1", file_.file(),
                                          escape_name(column.source->name)));
  }
}

const std::vector<Tensor>& TrainingData::batch(std::span<const std::uint64_t> numbers) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const MappedTensor& source_tensor = *columns_[i].source;
    std::vector<std::int64_t> sizes = source_tensor.sizes;
    sizes[0] = static_cast<std::int64_t>(numbers.size());
    if (tensors_[i].dtype() == DType::invalid || tensors_[i].sizes() != sizes)
      tensors_[i] = Tensor(columns_[i].target_dtype, std::move(sizes));
    copy(columns_[i], numbers, tensors_[i]);
  }
  return tensors_;
}

std::string TrainingData::samples_text(std::span<const std::uint64_t> numbers) const {
  constexpr std::size_t kMaxNamedSamples = 8;
  return fmt::format("samples {}{} of {}", fmt::join(numbers.first(std::min(numbers.size(), kMaxNamedSamples)), ", "),
                     numbers.size() > kMaxNamedSamples ? " ..." : "", file());
}

std::string TrainingData::description() const {
  std::string text;
  for (const Column& c : columns_)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", c.source->name, name_of(c.source->dtype),
                        sizes_text(c.source->sizes));
  return text;
}

std::string TrainingData::contents() const {
  constexpr std::size_t kPage = 4096, kPages = 256;
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  std::size_t size = 0;
  for (const Column& c : columns_) {
    const std::span<const std::byte> bytes = c.source->bytes;
    size += bytes.size();
    if (bytes.size() <= kPages * kPage) {
      XXH3_64bits_update(state, bytes.data(), bytes.size());
      continue;
    }
    // Pages spread evenly, including the first and the last.
    for (std::size_t i = 0; i < kPages; ++i) {
      const std::size_t pages = (bytes.size() - kPage) / kPage;
      const std::size_t byte_offset = i + 1 == kPages ? bytes.size() - kPage : pages * i / (kPages - 1) * kPage;
      XXH3_64bits_update(state, bytes.data() + byte_offset, kPage);
    }
  }
  const std::uint64_t hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{} bytes, {:016x}", size, hash);
}

}  // namespace tern::train
