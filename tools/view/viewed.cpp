#include "tools/view/viewed.h"

#include <tern/error.h>

#include <algorithm>
#include <filesystem>

#include "exporter/importer.h"
#include "loader/archive.h"
#include "tools/files/any.h"
#include "tools/inputs.h"
#include "tools/inspect/inspect.h"
#include "tools/sizes.h"

namespace tern::view {
namespace {

std::string size_name(const std::string& size) {
  return size.substr(0, size.find('='));
}

}  // namespace

Viewed open_viewed(const std::string& path) {
  check_program_file(path);
  Viewed viewed;
  viewed.name = std::filesystem::path(path).filename().string();
  viewed.imported = is_pt2(path);
  if (viewed.imported) {
    viewed.archive.program = std::make_shared<Program>(import_pt2(path));
    viewed.archive.file = FileBytes::open(path, Access::map);
    viewed.archive.stage = ReadStage::program;
    viewed.archive.segment_of.assign(viewed.archive.program->storages.size(), -1);
    viewed.program = viewed.archive.program;
    return viewed;
  }
  Findings findings(Findings::Mode::collect);
  viewed.archive = read_archive(FileBytes::open(path, Access::map), findings);
  viewed.findings = findings.list();
  if (viewed.archive.stage != ReadStage::program)
    fail(viewed.findings.front().code, path + ": " + describe(viewed.findings.front()));
  if (viewed.findings.empty()) viewed.program = open_archive(path, {});
  return viewed;
}

std::vector<std::string> sizes_for(const Program& program, const std::vector<std::string>& sizes) {
  const std::vector<std::string> names = size_names(program);
  std::vector<std::string> known_sizes;
  std::ranges::copy_if(sizes, std::back_inserter(known_sizes),
                       [&](const std::string& s) { return std::ranges::find(names, size_name(s)) != names.end(); });
  return known_sizes;
}

void check_sizes(const std::vector<Viewed>& models, const std::vector<std::string>& sizes) {
  for (const std::string& size : sizes) {
    const auto knows_size = [&](const Viewed& viewed) { return !sizes_for(*viewed.archive.program, {size}).empty(); };
    const Program& first_program = *models.front().archive.program;
    if (std::ranges::none_of(models, knows_size))
      parse_sizes({size}, first_program, size_names(first_program));  // lists the existing names
  }
}

std::string inspection_json(const Viewed& viewed, const std::vector<std::string>& sizes) {
  InspectOptions options;
  options.imported = viewed.imported;
  options.sizes = sizes_for(*viewed.archive.program, sizes);
  return inspect_json(viewed.name, viewed.archive, viewed.findings, options);
}

}  // namespace tern::view
