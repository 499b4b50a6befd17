#include "exporter/llm/slots/give_slots.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "dtypes/checked.h"
#include "exporter/constants.h"
#include "exporter/rewrite.h"

namespace tern {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;  ///< size of one state

void refuse_shared(const Program& program, const State& s) {
  std::uint64_t size = 0;
  const bool owns_storage = byte_size(s.type, &size) && program.storages[s.storage].size == size && s.offset == 0 &&
                            s.strides == row_major(s.type.shape) &&
                            std::ranges::count(program.states, s.storage, &State::storage) == 1;
  if (s.type.packed() || !owns_storage)
    fail(ErrorCode::invalid_argument,
         fmt::format("--batch: the buffer '{}' shares its memory with another one; make it a copy", s.name));
}

void refuse_readers(const Program& program, std::span<const std::uint32_t> functions,
                    const std::vector<bool>& slotted) {
  for (std::uint32_t i = 0; i < program.functions.size(); ++i) {
    if (std::ranges::find(functions, i) != functions.end()) continue;
    for (const FunctionInput& input : program.functions[i].inputs) {
      if (input.kind == FunctionInput::Kind::state && slotted[input.state])
        fail(ErrorCode::invalid_argument,
             fmt::format("--batch: a branch or a loop of the program reads the buffer '{}'; pass it as an operand",
                         program.states[input.state].name));
    }
  }
}

void repeat(Program& program, State& s, std::int64_t slots) {
  std::int64_t bytes = 0;
  if (!checked_mul(static_cast<std::int64_t>(program.storages[s.storage].size), slots, &bytes) || bytes > kMostBytes)
    fail(ErrorCode::invalid_argument,
         fmt::format("--batch: the buffer '{}' of {} texts is larger than a terabyte", s.name, slots));
  // Generated at writing, never stored: the caches of many texts exceed the weights.
  extendable_source(program).replace(s.storage, [slots](std::span<const std::byte> old_bytes) {
    std::vector<std::byte> repeated_bytes;
    repeated_bytes.reserve(old_bytes.size() * static_cast<std::size_t>(slots));
    for (std::int64_t i = 0; i < slots; ++i)
      repeated_bytes.insert(repeated_bytes.end(), old_bytes.begin(), old_bytes.end());
    return repeated_bytes;
  });
  program.storages[s.storage].size = static_cast<std::uint64_t>(bytes);
  s.type.shape.insert(s.type.shape.begin(), Dim(slots));
  s.strides = row_major(s.type.shape);
}

}  // namespace

std::vector<bool> give_slots(Program& program, std::span<const std::uint32_t> functions, std::int64_t slots) {
  std::vector<bool> slotted(program.states.size());
  for (const std::uint32_t f : functions) {
    for (const WriteBack& w : program.functions[f].writebacks) {
      if (w.target == WriteBack::Target::state) slotted[w.index] = true;
    }
  }
  for (std::size_t i = 0; i < slotted.size(); ++i) {
    if (slotted[i]) refuse_shared(program, program.states[i]);
  }
  refuse_readers(program, functions, slotted);
  for (std::size_t i = 0; i < slotted.size(); ++i) {
    if (slotted[i]) repeat(program, program.states[i], slots);
  }
  return slotted;
}

}  // namespace tern
