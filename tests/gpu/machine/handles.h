// Handles of objects. No value is used twice, so a handle of a destroyed object, or of another kind, is found out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/gpu/machine/status.h"

namespace tern::emulator {

enum class Kind : uint64_t {
  context = 1,
  stream,
  event,
  module,
  function,
  graph,
  node,
  executable,
  physical,
  descriptor,
  conditional,
  partition,
};

const char* name_of(Kind kind);

// The kind of a value in the form of this machine's handles, or 0.
inline uint64_t kind_of(uint64_t handle) {
  return handle >> 56 == 0x7E ? handle >> 48 & 0xFF : 0;
}

template <class T, Kind kind>
class Handles {
 public:
  uint64_t add(std::shared_ptr<T> object) {
    const uint64_t handle = 0x7Eull << 56 | static_cast<uint64_t>(kind) << 48 | ++last_ << 4;
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  std::shared_ptr<T> get(uint64_t handle) const {
    auto at = objects_.find(handle);
    if (at != objects_.end()) return at->second;
    const unsigned long long value = handle;
    if (handle == 0) refuse(Status::invalid_handle, "the handle of a %s is null", name_of(kind));
    const uint64_t other = kind_of(handle);
    if (other == 0) refuse(Status::invalid_handle, "0x%llx is no handle of a %s", value, name_of(kind));
    if (other != static_cast<uint64_t>(kind)) {
      refuse(Status::invalid_handle, "0x%llx is a handle of a %s where one of a %s is expected", value,
             name_of(static_cast<Kind>(other)), name_of(kind));
    }
    refuse(Status::invalid_handle, "the %s 0x%llx was destroyed earlier", name_of(kind), value);
  }

  std::shared_ptr<T> remove(uint64_t handle) {
    std::shared_ptr<T> object = get(handle);
    objects_.erase(handle);
    return object;
  }

  bool live(uint64_t handle) const { return objects_.count(handle) != 0; }
  size_t size() const { return objects_.size(); }

  template <class Condition>
  size_t remove_if(Condition condition) {
    return std::erase_if(objects_, [&](const auto& entry) { return condition(*entry.second); });
  }

  std::vector<std::shared_ptr<T>> objects() const {
    std::vector<std::shared_ptr<T>> result;
    for (const auto& [handle, object] : objects_) result.push_back(object);
    return result;
  }

 private:
  std::map<uint64_t, std::shared_ptr<T>> objects_;
  uint64_t last_ = 0;
};

}  // namespace tern::emulator
