#include "exporter/import/states.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "schema/work.h"

namespace tern::importing {
namespace {

using InputSpecKind = pt2::InputSpec::Kind;

const char* kind_name(InputSpecKind kind) {
  return kind == InputSpecKind::parameter ? "parameter" : kind == InputSpecKind::buffer ? "buffer" : "constant";
}

/// Bytes [first, last) reachable by a state. The reader has checked sizes and strides against the storage.
std::pair<std::int64_t, std::int64_t> extent(const State& s) {
  const std::int64_t size = element_size(s.type.dtype);
  std::int64_t last = s.offset;
  if (std::ranges::find(s.type.shape, Dim(0)) != s.type.shape.end()) return {0, 0};  // its offset is unchecked
  for (std::size_t i = 0; i < s.strides.size(); ++i) {
    last += (s.type.shape[i].value() - 1) * s.strides[i];
  }
  return {s.offset * size, (last + 1) * size};
}

std::int64_t literal(const pt2::SymInt& v, const std::string& name) {
  if (v.is_literal() && v.value >= 0) return v.value;
  fail(ErrorCode::bad_file,
       fmt::format("'{}' in the file's weights has a size, stride or offset that is not a natural number", name));
}

const pt2::Payload* payload_of(const pt2::Program& model, const pt2::InputSpec& spec) {
  const bool in_weights =
      spec.kind == InputSpecKind::parameter || (spec.kind == InputSpecKind::buffer && spec.persistent);
  const auto &first = in_weights ? model.weights : model.constants,
             &second = in_weights ? model.constants : model.weights;
  const pt2::Payload* payload = first.find(spec.target);
  return payload != nullptr ? payload : second.find(spec.target);
}

/// Adds the state's name to errors.
const pt2::PickledTensor& read_pickle(ArchiveSource& source, const pt2::Payload& payload, const pt2::InputSpec& spec) {
  try {
    return source.pickled(payload.entry);
  } catch (const Error& e) {
    fail(e.code(),
         fmt::format("the {} '{}' is stored as a Python pickle: {}", kind_name(spec.kind), spec.target, e.what()));
  }
}

void reserve_storages_of(const pt2::PickledTensor& tensor, const std::string& entry, ArchiveSource& source,
                         Program& program) {
  if (tensor.is_plain()) source.storage_of(entry, tensor.storage, program);
  for (const auto& [name, inner] : tensor.inner) reserve_storages_of(inner, entry, source, program);
}

}  // namespace

void reserve_storages(const pt2::Program& model, ArchiveSource& source, Program& program) {
  for (const pt2::InputSpec& spec : model.signature.inputs) {
    if (spec.kind != InputSpecKind::parameter && spec.kind != InputSpecKind::buffer &&
        spec.kind != InputSpecKind::tensor_constant)
      continue;
    const pt2::Payload* payload = payload_of(model, spec);
    if (payload == nullptr || !payload->has_tensor) continue;
    if (payload->use_pickle) {
      reserve_storages_of(read_pickle(source, *payload, spec), payload->entry, source, program);
    } else {
      source.storage_of(payload->entry, program);
    }
  }
}

const pt2::PickledTensor* ModelStates::subclass_of(const pt2::InputSpec& spec) {
  const pt2::Payload* payload = payload_of(model_, spec);
  if (payload == nullptr || !payload->has_tensor || !payload->use_pickle) return nullptr;
  const pt2::PickledTensor& tensor = read_pickle(source_, *payload, spec);
  return tensor.is_plain() ? nullptr : &tensor;
}

std::uint32_t ModelStates::add(State state) {
  charge_work(sizeof(State) + state.name.size());
  const auto number = static_cast<std::uint32_t>(program_.states.size());
  if (program_.storages[state.storage].size != 0) {
    std::vector<std::int64_t> key = {state.storage, state.offset, static_cast<std::int64_t>(state.type.dtype)};
    for (Dim d : state.type.shape) key.push_back(d.value());
    key.insert(key.end(), state.strides.begin(), state.strides.end());
    const auto [first, added] = known_states_.states_by_view.try_emplace(std::move(key), number);
    if (!added) state.tied = static_cast<std::int32_t>(first->second);
  }
  known_states_.states_by_storage[state.storage].push_back(number);
  program_.states.push_back(std::move(state));
  return number;
}

std::uint32_t ModelStates::state_of(const pt2::InputSpec& spec) {
  const std::string& name = spec.target;
  const auto found = state_indices_.find(name);
  if (found != state_indices_.end()) return found->second;

  const pt2::Payload* payload = payload_of(model_, spec);
  if (payload == nullptr) {
    fail(ErrorCode::bad_file, fmt::format("the file has no data for the {} '{}'", kind_name(spec.kind), name));
  }
  if (!payload->has_tensor) {
    fail(ErrorCode::unsupported,
         fmt::format("the {} '{}' is an object of Python or of a library, not a tensor", kind_name(spec.kind), name));
  }
  if (payload->use_pickle) {
    const pt2::PickledTensor& tensor = read_pickle(source_, *payload, spec);
    if (!tensor.is_plain()) fail(ErrorCode::internal, fmt::format("'{}' is read as one tensor", name));
    return pickled_state(spec, name, tensor);
  }
  const pt2::TensorMeta& meta = payload->tensor;
  if (meta.layout != pt2::Layout::strided) {
    fail(ErrorCode::unsupported, fmt::format("the {} '{}' is not a dense tensor", kind_name(spec.kind), name));
  }
  State state;
  state.type.dtype = meta.dtype;
  for (const pt2::SymInt& s : meta.sizes) state.type.shape.emplace_back(literal(s, name));
  for (const pt2::SymInt& s : meta.strides) state.strides.push_back(literal(s, name));
  state.offset = literal(meta.storage_offset, name);
  state.storage = source_.storage_of(payload->entry, program_);
  return known_or_added(spec, name, std::move(state));
}

std::uint32_t ModelStates::pickled_state(const pt2::InputSpec& spec, const std::string& name,
                                         const pt2::PickledTensor& tensor) {
  const auto found = state_indices_.find(name);
  if (found != state_indices_.end()) return found->second;
  State state;
  state.type.dtype = tensor.dtype;
  state.type.shape.assign(tensor.sizes.begin(), tensor.sizes.end());
  state.strides = tensor.strides;
  state.offset = tensor.offset;
  state.storage = source_.storage_of(payload_of(model_, spec)->entry, tensor.storage, program_);
  return known_or_added(spec, name, std::move(state));
}

std::uint32_t ModelStates::known_or_added(const pt2::InputSpec& spec, const std::string& name, State state) {
  state.name = name;
  state.kind = spec.kind == InputSpecKind::parameter ? State::Kind::parameter
               : spec.kind == InputSpecKind::buffer  ? State::Kind::buffer
                                                     : State::Kind::constant;
  state.persistent = spec.kind == InputSpecKind::parameter || (spec.kind == InputSpecKind::buffer && spec.persistent);
  const bool empty = std::ranges::any_of(state.type.shape, [](Dim d) { return d.is(0); });
  if (state.type.rank() > kMaxRank) {
    fail(ErrorCode::unsupported,
         fmt::format("'{}' has rank {}; at most {} is supported", name, state.type.rank(), kMaxRank));
  }
  if (program_.storages[state.storage].size == 0 && !empty) {
    fail(ErrorCode::bad_file,
         fmt::format("the bytes of the {} '{}' are not in the file: it was exported from fake tensors, without data",
                     kind_name(spec.kind), name));
  }
  require_booleans(state, name);
  const auto known_state = known_states_.states_by_name.find(name);
  if (known_state != known_states_.states_by_name.end() && same_tensor(program_.states[known_state->second], state)) {
    state_indices_.emplace(name, known_state->second);
    return known_state->second;
  }
  if (known_state != known_states_.states_by_name.end()) state.name = prefix_ + name;
  const std::uint32_t number = add(std::move(state));
  known_states_.states_by_name.emplace(name, number);
  state_indices_.emplace(name, number);
  return number;
}

/// Kernels count on bytes of 0 and 1.
void ModelStates::require_booleans(const State& state, const std::string& name) {
  if (state.type.dtype != DType::boolean) return;
  auto [first, last] = extent(state);
  if (first == last) return;
  // Many states may lie in one storage: reads each byte once.
  std::map<std::int64_t, std::int64_t>& checked = known_states_.booleans[state.storage];
  auto next = checked.upper_bound(first);
  if (next != checked.begin() && std::prev(next)->second >= first) --next;
  std::int64_t begin = first, merged_begin = first, merged_end = last;
  for (; next != checked.end() && next->first <= last; next = checked.erase(next)) {
    if (begin < next->first) require_booleans(state.storage, begin, next->first, name);
    begin = std::max(begin, next->second);
    merged_begin = std::min(merged_begin, next->first);
    merged_end = std::max(merged_end, next->second);
  }
  if (begin < last) require_booleans(state.storage, begin, last, name);
  checked.emplace(merged_begin, merged_end);
}

void ModelStates::require_booleans(std::uint32_t storage, std::int64_t first, std::int64_t last,
                                   const std::string& name) {
  const auto bytes =
      source_.bytes(storage).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  const auto bad = std::ranges::find_if(bytes, [](std::byte b) { return b > std::byte{1}; });
  if (bad == bytes.end()) return;
  fail(ErrorCode::bad_file, fmt::format("byte {} of the data of '{}' is {}; a boolean must be 0 or 1",
                                        first + (bad - bytes.begin()), name, std::to_integer<int>(*bad)));
}

bool ModelStates::same_tensor(const State& a, const State& b) {
  if (a.kind != b.kind || !(a.type == b.type) || a.strides != b.strides || a.offset != b.offset) return false;
  return equal_storages(a.storage, b.storage);
}

bool ModelStates::equal_storages(std::uint32_t a, std::uint32_t b) {
  if (a == b) return true;
  const auto [it, added] = known_states_.equal.try_emplace(std::minmax(a, b), false);
  if (!added) return it->second;
  const std::span<const std::byte> x = source_.bytes(a), y = source_.bytes(b);
  it->second = x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
  return it->second;
}

std::uint32_t ModelStates::whole_storage(std::uint32_t number) {
  const State viewed_state = program_.states[number];
  const auto found = wholes_.find(viewed_state.storage);
  if (found != wholes_.end()) return found->second;
  State state;
  state.name = fmt::format("storage of {}", viewed_state.name);
  state.kind = State::Kind::buffer;
  const auto bytes = static_cast<std::int64_t>(program_.storages[viewed_state.storage].size);
  state.type = {viewed_state.type.dtype, {bytes / element_size(viewed_state.type.dtype)}};
  state.strides = {1};
  state.storage = viewed_state.storage;
  state.persistent = false;
  const std::uint32_t result = add(std::move(state));
  wholes_.emplace(viewed_state.storage, result);
  return result;
}

bool ModelStates::overlap(std::uint32_t a, std::uint32_t b) const {
  const State &x = program_.states[a], &y = program_.states[b];
  if (x.storage != y.storage) return false;
  const auto [xf, xl] = extent(x);
  const auto [yf, yl] = extent(y);
  return xf < yl && yf < xl;
}

void ModelStates::set_mutable(std::uint32_t state) {
  const std::vector<std::uint32_t>& others = known_states_.states_by_storage[program_.states[state].storage];
  charge_work(others.size());
  for (std::uint32_t other : others) {
    if (other == state || overlap(other, state)) program_.states[other].is_mutable = true;
  }
}

}  // namespace tern::importing
