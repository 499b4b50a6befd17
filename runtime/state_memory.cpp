#include "runtime/context.h"
#include "runtime/devices/device.h"

namespace tern {

StateMemory::StateMemory(const PreparedProgram& prepared, DeviceStream& stream)
    : prepared_(prepared),
      stream_(stream),
      pointers_(prepared.program->states.size()),
      mutable_(prepared.program->storages.size()) {
  for (const State& s : prepared.program->states) {
    if (s.is_mutable && mutable_[s.storage] == nullptr) mutable_[s.storage] = std::make_unique<Buffer>();
  }
}

void StateMemory::load(std::uint32_t storage) {
  const Program& program = *prepared_.program;
  const std::uint64_t size = program.storages[storage].size;
  Buffer& memory = *mutable_[storage];
  Buffer fresh;
  Buffer& to = memory.data() == nullptr ? fresh : memory;  // exposes the memory only after complete initialization
  to.reserve(size, *prepared_.device);
  const StorageLoad whole{storage, size, to.data()};
  stream_.load(*program.source, {&whole, 1});
  if (&to == &fresh) memory = std::move(fresh);
  program.source->release(storage);
}

namespace {

/// Start of the state in its storage.
std::byte* state_in(std::byte* storage, const State& s) {
  static std::byte empty[64];
  if (storage == nullptr) return empty;  // a storage without bytes
  return storage + s.offset * element_size(s.type.dtype) / elements_per_byte(s.type.dtype);
}

}  // namespace

std::byte* StateMemory::data(std::uint32_t state) {
  if (pointers_[state] != nullptr) return pointers_[state];
  const State& s = prepared_.program->states[state];
  std::byte* storage = nullptr;
  if (mutable_[s.storage] != nullptr) {
    if (mutable_[s.storage]->data() == nullptr) load(s.storage);
    storage = mutable_[s.storage]->data();
  } else {
    storage = prepared_.constants->checked(s.storage, stream_);
  }
  pointers_[state] = state_in(storage, s);
  return pointers_[state];
}

std::byte* StateMemory::address(std::uint32_t state) const {
  const State& s = prepared_.program->states[state];
  return state_in(prepared_.constants->address(s.storage, stream_), s);
}

void StateMemory::bring(const Function& f) const {
  std::vector<std::uint32_t> storages;
  for (const FunctionInput& in : f.inputs) {
    if (in.kind != FunctionInput::Kind::state || prepared_.program->states[in.state].is_mutable) continue;
    storages.push_back(prepared_.program->states[in.state].storage);
  }
  prepared_.constants->bring(storages, stream_);
}

void StateMemory::reset() {
  for (std::uint32_t i = 0; i < mutable_.size(); ++i) {
    if (mutable_[i] != nullptr && mutable_[i]->data() != nullptr) load(i);
  }
}

std::uint64_t StateMemory::bytes() const {
  std::uint64_t n = 0;
  for (const auto& b : mutable_) n += b == nullptr ? 0 : b->size();
  return n;
}

}  // namespace tern
