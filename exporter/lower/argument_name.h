// The name of an operator's argument, as a lowering writes it: one that no operator has does not compile.
#pragma once

#include <algorithm>
#include <string_view>

#include "exporter/argument_names.h"  // generated: kArgumentNames, in order

namespace tern {

class ArgumentName {
 public:
  /// None.
  constexpr ArgumentName() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): written as "self" wherever an argument is read
  consteval ArgumentName(const char* name) : name_(name) {
    if (!std::ranges::binary_search(kArgumentNames, name_)) throw "no operator has an argument of this name";
  }
  /// A name that is known when it runs. Reading an argument that the operator lacks fails.
  static constexpr ArgumentName of(std::string_view name) {
    ArgumentName n;
    n.name_ = name;
    return n;
  }
  constexpr std::string_view text() const { return name_; }
  constexpr bool empty() const { return name_.empty(); }

 private:
  std::string_view name_;
};

}  // namespace tern
