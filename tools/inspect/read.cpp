#include "exporter/importer.h"
#include "tools/inputs.h"
#include "tools/inspect/inspect.h"

namespace tern {

ReadArchive read_for_inspection(const std::string& path, bool* imported, Findings& findings) {
  *imported = is_pt2(path);
  if (!*imported) return read_archive(FileBytes::open(path, Access::map), findings);
  ReadArchive archive;
  archive.program = std::make_shared<Program>(import_pt2(path));
  archive.file = FileBytes::open(path, Access::map);
  archive.stage = ReadStage::program;
  archive.segment_of.assign(archive.program->storages.size(), -1);
  return archive;
}

}  // namespace tern
