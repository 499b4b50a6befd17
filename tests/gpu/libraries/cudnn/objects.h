// The descriptors of the stand-in for cuDNN: attributes of each kind, with type and count.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "devices/gpu/cuda/cudnn_api.h"

namespace tern::stand_in {

struct Object;
using ObjectPointer = std::shared_ptr<Object>;

/// The value of an attribute: numbers, or descriptors that outlive their owner's destruction.
struct Value {
  std::vector<char> bytes;
  std::vector<ObjectPointer> objects;

  template <class T>
  [[nodiscard]] std::vector<T> elements() const {
    const auto* first = reinterpret_cast<const T*>(bytes.data());
    return {first, first + bytes.size() / sizeof(T)};
  }
};

struct Object {
  int kind = 0;
  bool is_final = false;
  std::map<int, Value> values;
  std::int64_t engine = 0;  ///< engines and their configurations: 0 rounds to TF32, 1 is exact, 2 compiles

  [[nodiscard]] bool has_value(int name) const { return values.contains(name); }
  template <class T>
  [[nodiscard]] std::vector<T> elements(int name) const {
    const auto at = values.find(name);
    return at == values.end() ? std::vector<T>() : at->second.elements<T>();
  }
  template <class T>
  [[nodiscard]] T element(int name) const {
    return elements<T>(name).at(0);
  }
  [[nodiscard]] const Object& object(int name, std::size_t i = 0) const { return *values.at(name).objects.at(i); }
};

ObjectPointer create_object(int kind);
/// The object behind a handle; ends the process for an invalid handle.
ObjectPointer& find(gpu::CudnnDescriptor handle);
void set(Object& object, int name, int type, std::int64_t count, const void* values);
/// Ends the process if a required attribute of the kind is missing.
void finalize(Object& object);

}  // namespace tern::stand_in
