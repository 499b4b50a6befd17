// Properties of a loaded model: the archive, its preparation, and its functions.
#pragma once

#include <nanobind/nanobind.h>
#include <tern/tern.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tern::python {

class MemoryFile;
class OneSession;

/// A function of the program.
struct FunctionEntry {
  struct Input {
    std::string name;
    DType dtype = DType::invalid;
  };
  std::shared_ptr<const FunctionInfo> info;  ///< a copy: outlives the model
  std::vector<Input> inputs;                 ///< inputs not fixed by export
  /// Python callables for functions with nested or fixed arguments or results (python/tern/_pytree.py); else None:
  /// flatten(args, kwargs) returns a list of arrays, unflatten(list of results) a call's return value.
  nanobind::object flatten, unflatten;
};

/// All functions need the GIL.
class Facts {
 public:
  Facts(std::string path, std::shared_ptr<const MemoryFile> file, Model model, PrepareOptions options);
  const FunctionEntry& entry(std::string_view name) const;  ///< throws Error and lists the names
  const FunctionEntry& main() const;                        ///< "forward", or the only function

  /// Throw once the model is closed.
  void check_open() const;
  const Model& model() const;
  const PreparedModel& prepared() const;
  bool is_closed() const { return !model_; }
  /// Closes all sessions, waits for their runs, and frees the model.
  void close();
  void add(const std::shared_ptr<OneSession>& session);
  std::vector<std::shared_ptr<OneSession>> sessions() const;

  std::string path;                        ///< for messages
  std::shared_ptr<const MemoryFile> file;  ///< copy of an archive given as bytes, else null
  PrepareOptions options;
  std::vector<FunctionEntry> entries;
  /// Runs depend on earlier runs: mutable states, random numbers.
  bool remembers = false;

 private:
  std::optional<Model> model_;
  std::optional<PreparedModel> prepared_;
  std::vector<std::weak_ptr<OneSession>> sessions_;
};

}  // namespace tern::python
