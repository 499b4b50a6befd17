#include "exporter/training/states.h"

#include <tern/error.h>

#include <algorithm>
#include <cstring>

#include "dtypes/convert.h"
#include "exporter/constants.h"
#include "exporter/rewrite.h"
#include "exporter/training/methods.h"

namespace tern {

std::uint32_t add_training_state(Program& program, std::string name, const TensorType& type, double initial) {
  std::uint64_t size = 0;
  if (!byte_size(type, &size)) fail(ErrorCode::internal, "a state of training has a symbolic size");
  std::vector<std::byte> bytes(size);
  if (initial != 0 && !bytes.empty()) {
    const auto step = static_cast<std::size_t>(element_size(type.dtype));
    convert(&initial, DType::f64, bytes.data(), type.dtype, 1);
    for (std::size_t index = step; index < bytes.size(); index += step)
      std::memcpy(bytes.data() + index, bytes.data(), step);
  }
  return add_training_state(program, std::move(name), type, std::move(bytes));
}

std::uint32_t add_training_state(Program& program, std::string name, const TensorType& type,
                                 std::vector<std::byte> bytes) {
  State s;
  s.name = std::move(name);
  s.kind = State::Kind::buffer;
  s.type = type;
  s.strides = row_major(type.shape);
  s.storage = add_storage(program, std::move(bytes));
  s.is_mutable = true;
  s.persistent = false;
  program.states.push_back(std::move(s));
  return static_cast<std::uint32_t>(program.states.size() - 1);
}

int find_state(const Program& program, const std::string& name) {
  const auto found = std::ranges::find(program.states, name, &State::name);
  return found == program.states.end() ? -1 : static_cast<int>(found - program.states.begin());
}

std::vector<std::byte> values_of_state(const Program& program, const State& s, DType dtype) {
  const auto size = static_cast<std::size_t>(element_size(s.type.dtype));
  const auto target_size = static_cast<std::size_t>(element_size(dtype));
  std::uint64_t bytes = 0;
  if (!byte_size(s.type, &bytes)) fail(ErrorCode::internal, "a parameter has a symbolic size");
  const std::span<const std::byte> storage_bytes = program.source->bytes(s.storage);
  std::vector<std::byte> values(bytes / size * target_size);
  std::vector<std::int64_t> index(s.strides.size(), 0);
  for (std::size_t i = 0; i < bytes / size; ++i) {
    std::int64_t element_offset = s.offset;
    for (std::size_t d = 0; d < index.size(); ++d) element_offset += index[d] * s.strides[d];
    convert(storage_bytes.data() + static_cast<std::size_t>(element_offset) * size, s.type.dtype,
            values.data() + i * target_size, dtype, 1);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < s.type.shape[d].value()) break;
      index[d] = 0;
    }
  }
  return values;
}

std::string optimizer_prefix(const std::string& step) {
  return std::string(training::kOptimizerState) + (step.empty() ? "" : step + ".");
}

void write_state(Builder& b, std::uint32_t state, ValueId value) {
  b.function().writebacks.push_back({WriteBack::Target::state, state, value});
}

}  // namespace tern
