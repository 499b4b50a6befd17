#include <fmt/format.h>
#include <tern/error.h>

#include <cstring>

#include "runtime/context.h"
#include "runtime/devices/constants.h"
#include "runtime/devices/stream.h"
#include "runtime/devices/upload.h"

namespace tern {

StateMemory::StateMemory(const PreparedProgram& prepared, DeviceStream* stream)
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
  Buffer& to = memory.data() == nullptr ? fresh : memory;  // what is half filled is not there
  to.reserve(size, prepared_.device);
  if (stream_ != nullptr) {
    Upload upload(*stream_);
    upload.add(*program.source, storage, size, to.data());
    upload.finish();
  } else {
    const auto bytes = program.source->bytes(storage);
    if (bytes.size() < size)
      fail(ErrorCode::bad_file, fmt::format("storage {} has fewer bytes than declared", storage));
    if (size > 0) std::memcpy(to.data(), bytes.data(), size);
  }
  if (&to == &fresh) memory = std::move(fresh);
  program.source->release(storage);
}

std::byte* StateMemory::data(std::uint32_t state) {
  if (pointers_[state] != nullptr) return pointers_[state];
  const Program& program = *prepared_.program;
  const State& s = program.states[state];
  std::byte* base = nullptr;
  if (mutable_[s.storage] != nullptr) {
    if (mutable_[s.storage]->data() == nullptr) load(s.storage);
    base = mutable_[s.storage]->data();
  } else if (stream_ != nullptr) {
    base = prepared_.constants->address(s.storage, *stream_);
  } else {
    base = const_cast<std::byte*>(program.source->bytes(s.storage).data());  // never written: the planner sees to it
  }
  static std::byte empty[64];
  if (base == nullptr) base = empty;  // a storage without bytes
  pointers_[state] = base + s.offset * element_size(s.type.dtype) / elements_per_byte(s.type.dtype);
  return pointers_[state];
}

std::byte* StateMemory::address(std::uint32_t state) const {
  static std::byte empty[64];
  const State& s = prepared_.program->states[state];
  const std::byte* base = stream_ != nullptr ? prepared_.constants->address(s.storage, *stream_)
                                             : prepared_.program->source->address(s.storage);
  if (base == nullptr) return empty;
  return const_cast<std::byte*>(base) + s.offset * element_size(s.type.dtype) / elements_per_byte(s.type.dtype);
}

void StateMemory::bring(const Function& f) const {
  if (stream_ == nullptr) return;
  std::vector<std::uint32_t> storages;
  for (const FunctionInput& in : f.inputs) {
    if (in.kind != FunctionInput::Kind::state || prepared_.program->states[in.state].is_mutable) continue;
    storages.push_back(prepared_.program->states[in.state].storage);
  }
  prepared_.constants->bring(storages, *stream_);
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
