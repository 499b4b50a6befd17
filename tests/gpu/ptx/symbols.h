// A PTX module's variables in C, and its functions.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/gpu/ptx/module.h"

namespace tern::emulated {

// A name of PTX as a name of C; names of PTX may have '$' and '%'.
std::string c_name(std::string_view prefix, std::string_view name);

// Bytes of a variable or parameter.
std::uint64_t size_of(const Variable& variable);
int alignment_of(const Variable& variable);

// A variable and the C expression of its address, a u64.
struct Symbol {
  std::string space;
  std::string address;
};

// Assigns consecutive offsets to variables.
class Layout {
 public:
  explicit Layout(std::uint64_t start = 0) : end_(start) {}
  std::uint64_t allocate(const Variable& variable);
  std::uint64_t end() const { return end_; }

 private:
  std::uint64_t end_;
};

struct Symbols {
  std::map<std::string, Symbol, std::less<>> variables;
  std::map<std::string, const Function*, std::less<>> functions;
  // Bytes of the module and its device functions; kernels' variables follow.
  std::uint64_t shared_bytes = 0;
  int dynamic_align = 16;
};

}  // namespace tern::emulated
