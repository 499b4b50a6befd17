// Name of an operator's argument, as a lowering writes it. A name unknown to every operator does not compile.
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
  /// Name computed at run time. Reading an argument fails if the operator lacks it.
  static constexpr ArgumentName from_text(std::string_view name) {
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
