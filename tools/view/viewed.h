// A shown model: the output of `tern inspect`, and its weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/findings.h"
#include "loader/read_archive.h"
#include "schema/program.h"

namespace tern::view {

struct Viewed {
  std::string name;       ///< name of the file, without its folder
  bool imported = false;  ///< the file is a .pt2
  ReadArchive archive;
  std::vector<Finding> findings;           ///< findings about unsupported content
  std::shared_ptr<const Program> program;  ///< includes the weights; null if this version cannot run the program
};

/// Opens an archive, or imports a .pt2. Throws the errors of `tern inspect` and `tern run`; invalid archives are not
/// shown.
Viewed open_viewed(const std::string& path);

/// The options --size NAME=NUMBER with names of `program`. The caller reports names missing in all models
/// (check_sizes).
std::vector<std::string> sizes_for(const Program& program, const std::vector<std::string>& sizes);
/// Throws invalid_argument if no model has a size of this name.
void check_sizes(const std::vector<Viewed>& models, const std::vector<std::string>& sizes);

/// The text of `tern inspect --json`, with the file's name without its folder.
std::string inspection_json(const Viewed& model, const std::vector<std::string>& sizes);

}  // namespace tern::view
