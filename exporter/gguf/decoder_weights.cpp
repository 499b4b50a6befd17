#include "exporter/gguf/decoder_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tern/error.h>

#include <algorithm>
#include <utility>

#include "dtypes/printable.h"
#include "exporter/rewrite.h"

namespace tern::gguf {

DecoderWeights::DecoderWeights(const File& file, Builder& b)
    : file_(file), b_(b), source_(std::make_shared<GgufSource>(file)) {
  b.program().source = source_;
}

const TensorRecord* DecoderWeights::find(const std::string& name) {
  const TensorRecord* tensor = file_.tensor(name);
  if (tensor != nullptr) read_names_.insert(tensor->name);
  return tensor;
}

const TensorRecord& DecoderWeights::require(const std::string& name, std::initializer_list<std::int64_t> sizes) {
  const TensorRecord* tensor = find(name);
  if (tensor == nullptr) fail(ErrorCode::bad_file, fmt::format("{}: tensor {} is missing", file_.label(), name));
  const bool same_sizes = std::ranges::equal(tensor->sizes, sizes, [](std::int64_t actual, std::int64_t expected) {
    return expected < 0 || actual == expected;
  });
  if (!same_sizes)
    fail(ErrorCode::bad_file,
         fmt::format("{}: at byte {}: tensor {} has the sizes {}; the metadata ask for {} (-1: any)", file_.label(),
                     tensor->record_offset, name, tensor->sizes, std::vector<std::int64_t>(sizes)));
  return *tensor;
}

ValueId DecoderWeights::add(const std::string& name, TensorType type, std::uint32_t storage, State::Kind kind,
                            bool is_mutable) {
  Program& program = b_.program();
  State state;
  state.name = name;
  state.kind = kind;
  state.type = type;
  state.storage = storage;
  state.strides = row_major(type.shape);
  state.is_mutable = is_mutable;
  state.persistent = kind == State::Kind::parameter;
  program.states.push_back(std::move(state));
  const auto number = static_cast<std::uint32_t>(program.states.size() - 1);
  const ValueId v = b_.add_value(std::move(type), name);
  b_.function().inputs.push_back({FunctionInput::Kind::state, v, number, name, {}});
  return v;
}

ValueId DecoderWeights::matrix(const TensorRecord& tensor, const std::string& state, const RowRange& rows) {
  return add(state, type_of(tensor, rows.count), source_->add(tensor, rows, b_.program()), State::Kind::parameter,
             false);
}

ValueId DecoderWeights::full_tensor(const TensorRecord& tensor, const std::string& state) {
  return add(state, type_of(tensor), source_->add(tensor, {0, row_count(tensor)}, b_.program()), State::Kind::parameter,
             false);
}

ValueId DecoderWeights::floats(const TensorRecord& tensor, const std::string& state, Dims sizes,
                               const RowRange& elements) {
  return add(state, {DType::f32, std::move(sizes)}, source_->add_floats(tensor, elements, b_.program()),
             State::Kind::parameter, false);
}

ValueId DecoderWeights::numbers(std::vector<float> numbers, const std::string& state) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return add(state, {DType::f32, {count}}, source_->add_numbers(std::move(numbers), b_.program()),
             State::Kind::constant, false);
}

ValueId DecoderWeights::cache(const std::string& state, Dims sizes, std::uint32_t* index) {
  TensorType type{DType::f32, std::move(sizes)};
  std::uint64_t bytes = 0;
  if (!byte_size(type, &bytes)) fail(ErrorCode::invalid_argument, "the cache is too large; give a smaller --context");
  *index = static_cast<std::uint32_t>(b_.program().states.size());
  return add(state, std::move(type), source_->add_zeros(bytes, b_.program()), State::Kind::buffer, true);
}

void DecoderWeights::require_all_read(const std::string& architecture) const {
  for (const TensorRecord& t : file_.tensors()) {
    if (read_names_.contains(t.name)) continue;
    fail(
        ErrorCode::unsupported,
        fmt::format("{}: at byte {}: tensor {} is not part of the architecture {} as this version knows it; export the "
                    "model's own PyTorch program instead (docs/generate.md)",
                    file_.label(), t.record_offset, printable(t.name), architecture));
  }
}

}  // namespace tern::gguf
