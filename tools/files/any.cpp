#include "tools/files/any.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "tools/files/npy.h"
#include "tools/files/npz.h"
#include "tools/files/safetensors.h"
#include "tools/text.h"

namespace tern {
namespace {

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

[[noreturn]] void fail_unknown(const std::string& path) {
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: not a file of tensors by its name; .safetensors, .npy and .npz are known", escape_name(path)));
}

}  // namespace

NamedTensors read_tensors(const std::string& path) {
  const std::string ending = ending_of(path);
  if (ending == ".safetensors") return read_safetensors(path);
  if (ending == ".npz") return read_npz(path);
  if (ending != ".npy") fail_unknown(path);
  NamedTensors result;
  result.tensors.emplace_back(std::filesystem::path(path).stem().string(), read_npy(path));
  return result;
}

void write_tensors(const std::string& path, const NamedTensors& tensors) {
  const std::string ending = ending_of(path);
  if (ending == ".safetensors") return write_safetensors(path, tensors);
  if (ending == ".npz") return write_npz(path, tensors);
  if (ending != ".npy") fail_unknown(path);
  if (tensors.tensors.size() != 1) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: an .npy file holds one tensor, not {}; write .npz or .safetensors", escape_name(path),
                     tensors.tensors.size()));
  }
  write_npy(path, tensors.tensors[0].second);
}

}  // namespace tern
