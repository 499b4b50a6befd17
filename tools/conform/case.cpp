#include "tools/conform/case.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "exporter/gguf/import.h"
#include "loader/archive.h"
#include "tools/files/any.h"

namespace tern {
namespace {

namespace fs = std::filesystem;

/// Removes `prefix` and the number after it from the start of `text`, and returns the number; -1 if absent.
int take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return -1;
  int value = -1;
  const char* begin = text.data() + prefix.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > 100000) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// Stores a tensor of the file in the call, list and position that its key names: [rankR.][callC.]{in,out,mut,grad}K.
void add_tensor(ConformCase& c, const std::string& key, const HostTensor& tensor) {
  std::string_view remaining = key;
  const auto reject_key = [&] {
    fail(ErrorCode::bad_file,
         fmt::format("tensor '{}' is not named inK, outK, callC.inK, callC.outK, callC.mutK, or rankR. before these",
                     key));
  };
  const int rank = std::max(take_number(remaining, "rank"), 0);
  if (remaining.size() != key.size()) {
    if (!remaining.starts_with('.')) reject_key();
    remaining.remove_prefix(1);
  }
  if (static_cast<std::size_t>(rank) >= c.ranks.size()) reject_key();
  std::vector<CaseCall>& calls = c.ranks[static_cast<std::size_t>(rank)];
  int call = take_number(remaining, "call");
  if (call >= 0) {
    if (!remaining.starts_with('.')) call = -2;
    remaining.remove_prefix(remaining.empty() ? 0 : 1);
  } else {
    call = 0;
  }
  struct Role {
    std::string_view prefix;
    std::map<int, const HostTensor*> CaseCall::*tensors;
  };
  for (const Role& role : {Role{"in", &CaseCall::inputs}, Role{"out", &CaseCall::outputs},
                           Role{"mut", &CaseCall::mutated}, Role{"grad", &CaseCall::gradients}}) {
    std::string_view text = remaining;
    const int position = take_number(text, role.prefix);
    if (position < 0 || !text.empty() || call < 0) continue;
    if (calls.size() <= static_cast<std::size_t>(call)) calls.resize(static_cast<std::size_t>(call) + 1);
    (calls[static_cast<std::size_t>(call)].*role.tensors)[position] = &tensor;
    return;
  }
  reject_key();
}

}  // namespace

std::vector<std::string> find_cases(const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    if (fs::is_regular_file(path)) {
      found.push_back(path);
      continue;
    }
    if (!fs::is_directory(path)) fail(ErrorCode::io, fmt::format("'{}' is neither a file nor a folder", path));
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      const std::string extension = entry.path().extension().string();
      const bool is_program = extension == ".pt2" || extension == ".gguf" || extension == ".tern";
      if (entry.is_regular_file() && is_program) found.push_back(entry.path().string());
    }
  }
  std::ranges::sort(found);
  return found;
}

Program import_case(const std::string& path, const ImportOptions& options) {
  if (is_archive_case(path)) return *open_archive(path, {Access::map, Verify::now});
  if (path.ends_with(".gguf")) return gguf::import_gguf(gguf::File::open(path), 0, options).program;
  return import_pt2(path, options);
}

ConformCase read_case(const std::string& pt2_path, const std::string& name) {
  ConformCase c;
  c.path = pt2_path;
  c.name = name;
  const fs::path expected_path = fs::path(pt2_path).replace_extension(".safetensors");
  if (!fs::exists(expected_path))
    fail(ErrorCode::io, fmt::format("'{}' with the expected results is missing", expected_path.string()));
  c.tensors = read_tensors(expected_path.string());
  const auto& meta = c.tensors.metadata;
  constexpr int kMaxRanks = 64;
  const int ranks = meta.contains("ranks") ? std::stoi(meta.at("ranks")) : 1;
  if (ranks < 1 || ranks > kMaxRanks)
    fail(ErrorCode::bad_file, fmt::format("a case has 1 to {} ranks, not {}", kMaxRanks, ranks));
  c.ranks.assign(static_cast<std::size_t>(ranks), std::vector<CaseCall>(1));
  for (const auto& [key, tensor] : c.tensors.tensors) add_tensor(c, key, tensor);
  for (auto& calls : c.ranks) {
    for (std::size_t call = 0; call < calls.size(); ++call) {
      if (const auto error = meta.find(fmt::format("call{}.error", call)); error != meta.end())
        calls[call].error = error->second;
    }
  }
  c.op = meta.contains("op") ? meta.at("op") : fs::path(pt2_path).stem().string();
  if (meta.contains("groups")) {
    std::istringstream texts(meta.at("groups"));
    for (std::string text; texts >> text;) c.groups.push_back(text);
  }
  if (meta.contains("dtype")) c.dtype = meta.at("dtype");
  if (meta.contains("rtol") && meta.contains("atol"))
    c.tolerance = Tolerance{std::stod(meta.at("rtol")), std::stod(meta.at("atol"))};
  return c;
}

}  // namespace tern
