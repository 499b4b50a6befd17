// What a loaded model is: the archive, how it was prepared, and its functions as calls see them.
#pragma once

#include <nanobind/nanobind.h>
#include <tern/tern.h>

#include <memory>
#include <string>
#include <vector>

namespace tern::python {

/// A function of the program.
struct Entry {
  struct Input {
    std::string name;
    DType dtype = DType::invalid;
  };
  const FunctionInfo* info = nullptr;
  std::vector<Input> inputs;  ///< those that a run takes
  /// Python callables where arguments or results are nested, or some are fixed (python/tern/_pytree.py); else None:
  /// flatten(args, kwargs) gives a list of arrays, unflatten(list of results) what a call gives.
  nanobind::object flatten, unflatten;
};

struct Facts {
  Facts(std::string path, Model model, PrepareOptions options);
  const Entry& entry(std::string_view name) const;  ///< throws Error and lists the names
  const Entry& main() const;                        ///< "forward", or the only one

  std::string path;
  Model model;
  PrepareOptions options;
  Prepared prepared;
  std::vector<Entry> entries;
  /// Runs of it depend on earlier runs: mutable states, random numbers.
  bool remembers = false;
};

}  // namespace tern::python
