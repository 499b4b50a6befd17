#include "exporter/pt2/recognise.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

constexpr const char* kSaveAgain =
    "load it in the PyTorch that wrote it (torch.export.load) or export the model again, then save it with "
    "torch.export.save of "
    "PyTorch 2.9 or newer";

struct RecordNames {
  const std::vector<ZipRecord>& records;
  std::string root;

  bool has_entry(std::string_view name) const {
    return std::any_of(records.begin(), records.end(), [&](const ZipRecord& r) { return r.name == name; });
  }
  bool has_under_root(std::string_view name) const { return has_entry(root + "/" + std::string(name)); }
  // An entry FOLDER...SUFFIX under the root.
  bool any_under_root(std::string_view folder, std::string_view suffix) const {
    const std::string start = root + "/" + std::string(folder);
    return std::any_of(records.begin(), records.end(), [&](const ZipRecord& r) {
      return r.name.starts_with(start) && r.name.ends_with(suffix) && r.name.size() >= start.size() + suffix.size();
    });
  }
};

}  // namespace

std::string recognise_archive(const std::vector<ZipRecord>& records, const std::string& label) {
  auto refuse = [&](ErrorCode code, const std::string& problem) { fail(code, fmt::format("{}: {}", label, problem)); };
  if (records.empty()) refuse(ErrorCode::bad_file, "the archive has no entries");
  const std::string& first = records.front().name;
  const auto slash = first.find('/');
  const RecordNames names{records, first.substr(0, slash)};

  if (names.has_entry("serialized_exported_program.json"))
    refuse(
        ErrorCode::unsupported,
        fmt::format("written by torch.export.save of PyTorch 2.7 or older, which keeps weights as Python pickles; {}",
                    kSaveAgain));
  if (std::ranges::all_of(records, [](const ZipRecord& r) { return r.name.ends_with(".npy"); }))
    refuse(
        ErrorCode::unsupported,
        "arrays of NumPy (.npz), which hold no program; 'tern run MODEL --input FILE.npz' and 'tern verify' take them");
  if (slash == std::string::npos || slash == 0)
    refuse(ErrorCode::bad_file,
           fmt::format("the first entry {} is not in a folder, so this is not a .pt2 archive", quote(first)));
  const bool has_model = names.any_under_root("models/", ".json");
  const bool has_config = names.any_under_root("data/weights/", "_weights_config.json");
  if (has_model && has_config) {
    for (const auto& record : records)
      if (!record.name.starts_with(names.root + "/"))
        refuse(ErrorCode::bad_file,
               fmt::format("entry {} is not under the root folder {}", quote(record.name), quote(names.root)));
    return names.root;
  }
  if (has_model && names.any_under_root("data/weights/", ".pt"))
    refuse(ErrorCode::unsupported,
           fmt::format("written by torch.export.save of PyTorch 2.8, which keeps weights as Python pickles; {}",
                       kSaveAgain));
  if (has_model)
    refuse(ErrorCode::bad_file,
           fmt::format("the archive has a program but no table of its weights (data/weights/*_weights_config.json); {}",
                       kSaveAgain));
  if (names.any_under_root("data/aotinductor/", ""))
    refuse(ErrorCode::unsupported,
           "the archive has native code of AOTInductor, but no program; save the exported program itself with "
           "torch.export.save");
  if (names.has_under_root("data.pkl") && names.any_under_root("code/", ""))
    refuse(ErrorCode::unsupported,
           "a TorchScript archive (torch.jit.save); export the model with torch.export and save it with "
           "torch.export.save");
  if (names.has_under_root("data.pkl"))
    refuse(ErrorCode::unsupported,
           "a Python pickle (torch.save), which holds no program; export the model with torch.export and save it with "
           "torch.export.save");
  refuse(ErrorCode::bad_file, "a zip archive, but not one of torch.export.save: models/*.json is missing");
  return {};
}

}  // namespace tern::pt2
