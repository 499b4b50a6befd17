#include "exporter/constants.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>

#include "exporter/builder.h"
#include "schema/kinds.h"
#include "schema/work.h"

namespace tern {

std::span<const std::byte> ExtendableSource::bytes(std::uint32_t storage) {
  if (const auto found = replacements_.find(storage); found != replacements_.end()) {
    const std::lock_guard lock(mutex_);
    Replacement& r = found->second;
    if (r.bytes.empty()) {
      r.bytes = r.updates.front()(original_bytes(storage));
      for (std::size_t i = 1; i < r.updates.size(); ++i) r.bytes = r.updates[i](r.bytes);
    }
    return r.bytes;
  }
  return original_bytes(storage);
}

std::span<const std::byte> ExtendableSource::original_bytes(std::uint32_t storage) {
  if (storage < base_count_) return base_->bytes(storage);
  return added_storages_.at(storage - base_count_).bytes;
}

void ExtendableSource::release(std::uint32_t storage) {
  if (storage < base_count_) base_->release(storage);
}

std::uint32_t ExtendableSource::add(std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  added_storages_.push_back({owner, *owner});
  return base_count_ + static_cast<std::uint32_t>(added_storages_.size()) - 1;
}

std::uint32_t ExtendableSource::add(RawBytes bytes) {
  const auto owner = std::make_shared<const RawBytes>(std::move(bytes));
  added_storages_.push_back({owner, owner->span()});
  return base_count_ + static_cast<std::uint32_t>(added_storages_.size()) - 1;
}

void ExtendableSource::replace(std::uint32_t storage, ByteUpdate update) {
  Replacement& r = replacements_[storage];
  r.updates.push_back(std::move(update));
  r.bytes = std::vector<std::byte>();
}

void ExtendableSource::discard(std::uint32_t storage) {
  const auto found = replacements_.find(storage);
  if (found == replacements_.end()) return;
  const std::lock_guard lock(mutex_);
  found->second.bytes = std::vector<std::byte>();  // = {} would not free its memory
}

ExtendableSource& extendable_source(Program& program) {
  auto source = std::dynamic_pointer_cast<ExtendableSource>(program.source);
  if (source == nullptr) {
    source = std::make_shared<ExtendableSource>(program.source, static_cast<std::uint32_t>(program.storages.size()));
    program.source = source;
  }
  return *source;
}

std::uint32_t add_storage(Program& program, std::vector<std::byte> bytes) {
  ExtendableSource& source = extendable_source(program);
  program.storages.push_back({bytes.size()});
  return source.add(std::move(bytes));
}

std::uint32_t add_storage(Program& program, RawBytes bytes) {
  ExtendableSource& source = extendable_source(program);
  program.storages.push_back({bytes.size()});
  return source.add(std::move(bytes));
}

bool is_own_float_storage(const Program& program, const State& state) {
  return state.type.dtype == DType::f32 && is_own_storage(program, state);
}

bool is_own_storage(const Program& program, const State& state) {
  std::uint64_t size = 0;
  if (state.is_mutable || state.type.quantized() || state.offset != 0 || !byte_size(state.type, &size) ||
      program.storages[state.storage].size != size)
    return false;
  std::int64_t expected = 1;
  for (std::size_t i = state.strides.size(); i-- > 0;) {
    if (!state.type.shape[i].is(1) && state.strides[i] != expected) return false;
    expected *= state.type.shape[i].value();
  }
  return std::ranges::count(program.states, state.storage, &State::storage) == 1;
}

ValueId add_constant(Builder& b, DType dtype, const std::vector<std::int64_t>& sizes, const void* bytes) {
  Program& program = b.program();
  TensorType type{dtype, Dims(sizes.begin(), sizes.end())};
  std::uint64_t size = 0;
  if (!byte_size(type, &size)) fail(ErrorCode::internal, "a constant made at export has an invalid size");
  Function& f = b.function();
  // An equal constant may exist already, in this function or another.
  charge_work(program.states.size() + size);
  for (std::uint32_t s = 0; s < program.states.size(); ++s) {
    const State& state = program.states[s];
    if (!state.name.starts_with("export.constant") || !(state.type == type)) continue;
    charge_work(size / 8);
    const auto existing_bytes = program.source->bytes(state.storage);
    if (size != 0 && std::memcmp(existing_bytes.data(), bytes, size) != 0) continue;
    for (const FunctionInput& input : f.inputs) {
      if (input.kind == FunctionInput::Kind::state && input.state == s) return input.value;
    }
    f.inputs.push_back({FunctionInput::Kind::state, b.add_value(type, state.name), s, state.name, {}});
    return f.inputs.back().value;
  }
  std::vector<std::byte> copy(size);
  if (size != 0) std::memcpy(copy.data(), bytes, size);
  State state;
  state.storage = add_storage(program, std::move(copy));
  for (std::size_t number = program.states.size(); state.name.empty(); ++number) {
    std::string name = fmt::format("export.constant{}", number);  // removed states may have left a higher number
    if (std::ranges::find(program.states, name, &State::name) == program.states.end()) state.name = std::move(name);
  }
  state.kind = State::Kind::constant;
  state.type = type;
  state.strides.assign(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;)
    state.strides[i - 1] = state.strides[i] * std::max<std::int64_t>(sizes[i], 1);
  state.persistent = false;
  program.states.push_back(state);
  f.inputs.push_back({FunctionInput::Kind::state,
                      b.add_value(type, state.name),
                      static_cast<std::uint32_t>(program.states.size() - 1),
                      state.name,
                      {}});
  return f.inputs.back().value;
}

std::int64_t reduce_kind_number(std::string_view name) {
  const int kind = reduce_kind_from_name(name);
  if (kind < 0) fail(ErrorCode::internal, fmt::format("unknown reduction '{}'", name));
  return kind;
}

}  // namespace tern
