#include "tests/gpu/libraries/lt_objects.h"

#include <cstring>

#include "tests/gpu/libraries/driver.h"

namespace tern::stand_in {
namespace {

namespace names = gpu::names;

struct Attribute {
  int number;
  std::size_t offset, bytes;
};
#define TERN_ATTRIBUTE(number, Type, member) \
  { number, offsetof(Type, member), sizeof(Type::member) }

constexpr Attribute kLayout[] = {
    TERN_ATTRIBUTE(names::kLtBatchCount, Layout, batch),
    TERN_ATTRIBUTE(names::kLtBatchOffset, Layout, batch_offset),
};
constexpr Attribute kDescription[] = {
    TERN_ATTRIBUTE(names::kLtTransA, Description, trans_a),
    TERN_ATTRIBUTE(names::kLtTransB, Description, trans_b),
    TERN_ATTRIBUTE(names::kLtEpilogue, Description, epilogue),
    TERN_ATTRIBUTE(names::kLtBiasPointer, Description, bias),
    TERN_ATTRIBUTE(names::kLtBiasType, Description, bias_type),
    TERN_ATTRIBUTE(names::kLtScaleA, Description, scale_a),
    TERN_ATTRIBUTE(names::kLtScaleB, Description, scale_b),
    TERN_ATTRIBUTE(names::kLtScaleModeA, Description, scale_mode_a),
    TERN_ATTRIBUTE(names::kLtScaleModeB, Description, scale_mode_b),
};
constexpr Attribute kWorkspace = TERN_ATTRIBUTE(names::kLtWorkspace, Preference, workspace);

void write(void* object, const Attribute& a, const void* value, std::size_t bytes) {
  if (value == nullptr) misuse("attribute %d is set from null", a.number);
  if (bytes != a.bytes) misuse("attribute %d has %zu bytes, and is set from %zu", a.number, a.bytes, bytes);
  std::memcpy(static_cast<char*>(object) + a.offset, value, bytes);
}

template <class T, std::size_t N>
void find(const Attribute (&table)[N], T& object, const char* kind, int attribute, const void* value,
          std::size_t bytes) {
  for (const Attribute& a : table)
    if (a.number == attribute) return write(&object, a, value, bytes);
  misuse("attribute %d of a %s, which the stand-in does not know", attribute, kind);
}

}  // namespace

template <class T>
T& object(void* handle, const char* function) {
  if (handle == nullptr) misuse("%s: null instead of a descriptor", function);
  T& found = *static_cast<T*>(handle);
  if (found.magic != T::kMagic) misuse("%s: a descriptor of another kind, or one that was destroyed", function);
  return found;
}
template Layout& object(void*, const char*);
template Description& object(void*, const char*);
template Preference& object(void*, const char*);

void set(Layout& layout, int attribute, const void* value, std::size_t bytes) {
  find(kLayout, layout, "layout", attribute, value, bytes);
  if (layout.batch < 1) misuse("a batch of %d matrices", layout.batch);
}

void set(Description& description, int attribute, const void* value, std::size_t bytes) {
  find(kDescription, description, "product", attribute, value, bytes);
}

void set(Preference& preference, int attribute, const void* value, std::size_t bytes) {
  int operand = 0;
  for (const int number : names::kLtAlignments) {
    if (number == attribute)
      return write(&preference, {number, offsetof(Preference, alignments) + 4u * operand, 4}, value, bytes);
    ++operand;
  }
  if (names::kLtReductions >= 0 && attribute == names::kLtReductions)
    return write(&preference, TERN_ATTRIBUTE(names::kLtReductions, Preference, reductions), value, bytes);
  if (attribute != names::kLtWorkspace) misuse("attribute %d of a preference", attribute);
  write(&preference, kWorkspace, value, bytes);
}

}  // namespace tern::stand_in
