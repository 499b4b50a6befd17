#include "kernels/custom/library.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "platform/cancellation.h"
#include "platform/environment.h"
#include "platform/library.h"
#include "platform/path.h"

namespace tern {
namespace {

struct Operator {
  const tern_op* op;
  std::string library;
  const tern_op_kernel* kernel = nullptr;  ///< device kernel; null if the library has none
};

struct Registry {
  std::recursive_mutex mutex;  ///< a library may load another while loading
  std::map<std::string, Operator, std::less<>> ops;
  std::set<const tern_ops*> tables;  ///< registered tables: several paths may lead to one library
  bool path_loaded = false;          ///< the libraries of TERN_OP_PATH are loaded
};

Registry& registry() {
  static Registry r;
  return r;
}

[[noreturn]] void reject_library(const std::string& path, const std::string& reason) {
  fail(ErrorCode::invalid_argument, fmt::format("the operator library {}: {}", path, reason));
}

/// Registers a library's operators, then its kernels for devices. The lock is held.
void load(Registry& r, const std::string& path) {
  // The system searches a bare name in its own folders.
  const std::string file = platform::has_folder(path) ? path : "./" + path;
  const std::filesystem::path found_path = platform::path_of(file);
  std::error_code ignored;
  if (std::filesystem::exists(found_path, ignored) && !std::filesystem::is_regular_file(found_path, ignored))
    reject_library(path, "it is not a regular file");
  std::string problem;
  void* handle = platform::open_library(file, &problem);
  if (handle == nullptr) fail(ErrorCode::io, fmt::format("cannot load an operator library: {}", problem));
  using GetOps = const tern_ops* (*)();
  const auto get_ops = platform::find_function<GetOps>(handle, "tern_op_library");
  if (get_ops == nullptr) reject_library(path, "it does not export tern_op_library");
  const tern_ops* ops = nullptr;
  call_library(fmt::format("the operator library {}", path), [&] { return ops = get_ops(), 0; });
  constexpr std::uint32_t kAbiWithoutKernels = 1;
  if (ops == nullptr || ops->abi < kAbiWithoutKernels || ops->abi > TERN_OP_ABI) {
    reject_library(path,
                   fmt::format("it was built for version {} of tern/custom_op.h, but this Tern has {}: recompile it",
                               ops == nullptr ? 0 : ops->abi, TERN_OP_ABI));
  }
  if (!r.tables.insert(ops).second) return;
  for (std::uint32_t i = 0; i < ops->count; ++i) {
    const tern_op& op = ops->ops[i];
    if (op.name == nullptr || op.infer == nullptr || op.run == nullptr)
      reject_library(path, fmt::format("its operator {} lacks a name or a function", i));
    const auto [found, added] = r.ops.try_emplace(op.name, Operator{&op, path});
    if (!added) reject_library(path, fmt::format("{} has '{}' already", found->second.library, op.name));
  }
  for (std::uint32_t i = 0; ops->abi > kAbiWithoutKernels && i < ops->kernel_count; ++i) {
    const tern_op_kernel& kernel = ops->kernels[i];
    const auto found = kernel.name == nullptr ? r.ops.end() : r.ops.find(kernel.name);
    if (found == r.ops.end() || found->second.library != path || kernel.plan == nullptr)
      reject_library(path, fmt::format("its kernel {} lacks a plan, or names no operator of the library", i));
    found->second.kernel = &kernel;
  }
}

}  // namespace

const tern_op* find_custom_op(std::string_view name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  if (!r.path_loaded) {
    const std::string list = platform::trusted_variable("TERN_OP_PATH").value_or("");
    for (const std::string& path : platform::split_paths(list)) load(r, path);
    r.path_loaded = true;
  }
  const auto found = r.ops.find(name);
  return found == r.ops.end() ? nullptr : found->second.op;
}

const tern_op_kernel* find_custom_kernel(std::string_view name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto found = r.ops.find(name);
  return found == r.ops.end() ? nullptr : found->second.kernel;
}

int call_library(const std::string& what, const std::function<int()>& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const platform::ThreadCancelled&) {
    throw;  // the thread is cancelled
  } catch (const std::exception& e) {
    fail(ErrorCode::runtime, fmt::format("{}: it threw '{}'", what, e.what()));
  } catch (...) {
    fail(ErrorCode::runtime, fmt::format("{}: it threw an exception that is not a std::exception", what));
  }
}

std::uint64_t& custom_nodes_on_host() {
  static thread_local std::uint64_t count = 0;
  return count;
}

std::string custom_op_name(std::string_view target) {
  constexpr std::string_view kDefault = ".default";
  if (target.ends_with(kDefault)) target.remove_suffix(kDefault.size());
  std::string name(target);
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos) name.replace(dot, 1, "::");
  return name;
}

void load_ops(const std::string& path) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  load(r, path);
}

}  // namespace tern
