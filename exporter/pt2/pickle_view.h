// Typed access to a pickle's values: errors name the position, and limits apply.
#pragma once

#include <tern/error.h>

#include <string>
#include <string_view>
#include <vector>

#include "exporter/pt2/pickle_values.h"
#include "exporter/pt2/pickled_tensor.h"
#include "exporter/pt2/saved_object.h"

namespace tern::pt2 {

/// `role` names the value in messages: "the storage offset".
class PickleView {
 public:
  PickleView(const PickleValues& values, const SavedObject& object, const std::string& label)
      : values_(values), object_(object), label_(label) {}

  const PickleValue& operator[](PickleId id) const { return values_[id]; }
  const SavedObject& object() const { return object_; }
  [[noreturn]] void bad(const PickleValue& value, const std::string& problem,
                        ErrorCode code = ErrorCode::bad_file) const;

  const PickleValue& value(PickleId id, PickleValue::Kind kind, const char* role) const;
  std::string_view text(PickleId id, const char* role) const;
  std::int64_t natural(PickleId id, const char* role) const;
  std::vector<std::int64_t> naturals(PickleId id, const char* role) const;
  /// Accepts a tuple, a list, or a torch.Size.
  const PickleValue& sequence(PickleId id, const char* role) const;
  /// Name without "torch ".
  std::string_view dtype_name(PickleId id) const;
  /// Called name of a call or an object.
  PickleGlobal callee(const PickleValue& v) const { return values_[v.items[0]].global; }
  const PickleValue& arguments(const PickleValue& v, std::size_t lower, std::size_t upper) const;

  /// Lives during the visit of a value. Shared values count at each visit: a few values referring to each other cannot
  /// become many.
  class Visit {
   public:
    Visit(PickleView& view, const PickleValue& value);
    ~Visit() { --view_.depth_; }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    PickleView& view_;
  };

 private:
  const PickleValues& values_;
  const SavedObject& object_;
  const std::string& label_;
  int depth_ = 0;
  std::size_t visits_ = 0;
};

/// Reads a non-tensor attribute of a tensor: pickled_attribute.cpp.
PickledAttribute read_pickled_attribute(PickleView& view, PickleId id);

}  // namespace tern::pt2
