#include <fmt/format.h>

#include <string_view>
#include <unordered_set>

#include "loader/rules.h"

namespace tern {
namespace {

/// Bytes from the start of the storage to the end of the view; false on overflow.
bool end_of_view(const State& s, std::uint64_t* end) {
  std::uint64_t bytes = 0;
  if (!byte_size(s.type, &bytes)) return false;
  const auto per_byte = static_cast<std::uint64_t>(elements_per_byte(s.type.dtype));
  const auto element = static_cast<std::uint64_t>(element_size(s.type.dtype));
  if (bytes == 0) {
    *end = 0;
    return true;
  }
  std::uint64_t last = static_cast<std::uint64_t>(s.offset);
  if (s.type.quantized() || per_byte > 1) {  // requires contiguous elements starting at a whole byte
    return last % per_byte == 0 && !__builtin_mul_overflow(last / per_byte, element, end) &&
           !__builtin_add_overflow(*end, bytes, end);
  }
  for (std::size_t i = 0; i < s.strides.size(); ++i) {
    std::uint64_t span = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(s.type.shape[i].value() - 1),
                               static_cast<std::uint64_t>(s.strides[i]), &span) ||
        __builtin_add_overflow(last, span, &last)) {
      return false;
    }
  }
  return !__builtin_add_overflow(last, std::uint64_t{1}, &last) && !__builtin_mul_overflow(last, element, end);
}

bool contiguous(const State& s) {
  std::int64_t expected = 1;
  for (std::size_t i = s.strides.size(); i-- > 0;) {
    const std::int64_t size = s.type.shape[i].value();
    if (size != 1 && s.strides[i] != expected) return false;
    if (size > 0 && __builtin_mul_overflow(expected, size, &expected)) return false;
  }
  return true;
}

void check_state(const Checked& c, std::size_t i) {
  const State& s = c.program.states[i];
  const std::string problem = check_type(s.type);
  if (!problem.empty()) return c.state("states.type", i, problem);
  if (s.type.dtype == DType::invalid) return;  // reported already
  for (Dim d : s.type.shape) {
    if (!d.is_const()) return c.state("states.type", i, "its size is symbolic");
  }
  if (s.storage >= c.program.storages.size()) {
    return c.state("states.storage", i,
                   fmt::format("storage {} does not exist; there are {}", s.storage, c.program.storages.size()));
  }
  if (s.strides.size() != s.type.shape.size()) {
    return c.state("states.strides", i,
                   fmt::format("it has {} strides for {} dimensions", s.strides.size(), s.type.shape.size()));
  }
  for (std::int64_t stride : s.strides) {
    if (stride < 0) return c.state("states.strides", i, fmt::format("a stride is {}", stride));
  }
  if (s.offset < 0) return c.state("states.inside", i, fmt::format("its offset is {}", s.offset));
  if (s.type.packed() && !contiguous(s)) {
    return c.state("states.strides", i, "a tensor of packed elements must be contiguous");
  }
  const std::uint64_t size = c.program.storages[s.storage].size;
  std::uint64_t end = 0;
  if (!end_of_view(s, &end) || end > size) {
    return c.state("states.inside", i,
                   fmt::format("{} with its strides and offset {} does not fit storage {} of {} bytes",
                               text_of(s.type, c.program.pool), s.offset, s.storage, size));
  }
  if (s.tied < -1 || s.tied >= static_cast<std::int64_t>(i)) {
    return c.state("states.tied", i, fmt::format("it is tied to state {}, which is not an earlier one", s.tied));
  }
  if (s.tied < 0) return;
  const State& tied_state = c.program.states[static_cast<std::size_t>(s.tied)];
  if (!(tied_state.type == s.type) || tied_state.storage != s.storage || tied_state.strides != s.strides ||
      tied_state.offset != s.offset) {
    c.state("states.tied", i, fmt::format("it is tied to state '{}', but is a different tensor", tied_state.name));
  }
}

}  // namespace

std::string check_type(const TensorType& t) {
  for (Dim d : t.shape) {
    if (d.is_const() && d.value() < 0) return fmt::format("a size is {}", d.value());
  }
  if (t.quantized()) {
    if (const char* problem = wrong_blocks(t.dtype, t.blocks)) return problem;
    if (t.shape.empty()) return "a quantized value has no dimensions";
    const Dim last = t.shape.back();
    if (last.is_const() && last.value() % t.blocks.divisor() != 0)
      return fmt::format("blocks of {} columns do not divide its last size, {}", t.blocks.divisor(), last.value());
  } else if (t.blocks != Blocks{}) {
    return "there are scales or zero points without blocks";
  } else if (t.dtype == DType::i4 || t.dtype == DType::i2) {
    return fmt::format("{} is only allowed in a quantized value", name_of(t.dtype));
  }
  // Detects overflowing sizes; symbolic sizes are checked once known.
  TensorType constant = t;
  for (Dim& d : constant.shape) d = d.is_const() ? d : Dim(t.quantized() ? t.blocks.divisor() : 1);
  std::uint64_t bytes = 0;
  if (t.dtype != DType::invalid && !byte_size(constant, &bytes)) return "its size in bytes does not fit 62 bits";
  return {};
}

void check_states(const Checked& c) {
  std::unordered_set<std::string_view> names;
  names.reserve(c.program.states.size());
  for (std::size_t i = 0; i < c.program.states.size(); ++i) {
    check_state(c, i);
    if (!names.insert(c.program.states[i].name).second) c.state("states.name", i, "an earlier state has the same name");
  }
}

}  // namespace tern
