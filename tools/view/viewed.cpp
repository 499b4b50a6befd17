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

std::string name_in(const std::string& size) {
  return size.substr(0, size.find('='));
}

}  // namespace

Viewed open_viewed(const std::string& path) {
  check_program_file(path);
  Viewed m;
  m.name = std::filesystem::path(path).filename().string();
  m.imported = is_pt2(path);
  if (m.imported) {
    m.archive.program = std::make_shared<Program>(import_pt2(path));
    m.archive.file = FileBytes::open(path, Access::map);
    m.archive.stage = ReadStage::program;
    m.archive.segment_of.assign(m.archive.program->storages.size(), -1);
    m.program = m.archive.program;
    return m;
  }
  Findings findings(Findings::Mode::collect);
  m.archive = read_archive(FileBytes::open(path, Access::map), findings);
  m.findings = findings.list();
  if (m.archive.stage != ReadStage::program) fail(m.findings.front().code, path + ": " + describe(m.findings.front()));
  if (m.findings.empty()) m.program = open_archive(path, {});
  return m;
}

std::vector<std::string> sizes_for(const Program& program, const std::vector<std::string>& sizes) {
  const std::vector<std::string> names = size_names(program);
  std::vector<std::string> own;
  std::ranges::copy_if(sizes, std::back_inserter(own),
                       [&](const std::string& s) { return std::ranges::find(names, name_in(s)) != names.end(); });
  return own;
}

void check_sizes(const std::vector<Viewed>& models, const std::vector<std::string>& sizes) {
  for (const std::string& size : sizes) {
    const auto has = [&](const Viewed& m) { return !sizes_for(*m.archive.program, {size}).empty(); };
    const Program& first = *models.front().archive.program;
    if (std::ranges::none_of(models, has)) parse_sizes({size}, first, size_names(first));  // lists the existing names
  }
}

std::string inspected(const Viewed& m, const std::vector<std::string>& sizes) {
  InspectOptions options;
  options.imported = m.imported;
  options.sizes = sizes_for(*m.archive.program, sizes);
  return inspect_json(m.name, m.archive, m.findings, options);
}

}  // namespace tern::view
