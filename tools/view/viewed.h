// A model that is shown: what `tern inspect` says of it, and its weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/findings.h"
#include "loader/read_archive.h"
#include "schema/program.h"

namespace tern::view {

struct Viewed {
  std::string name;       ///< of the file, without its folder
  bool imported = false;  ///< the file is a .pt2
  ReadArchive archive;
  std::vector<Finding> findings;           ///< of what this version does not support
  std::shared_ptr<const Program> program;  ///< with its weights; null where this version cannot run it
};

/// Opens an archive, or imports a .pt2. Throws what `tern inspect` and `tern run` throw; an archive that breaks a rule
/// of the format is not shown.
Viewed open_viewed(const std::string& path);

/// Of the options --size NAME=NUMBER those whose names `program` has. A name that none of the models has is an error
/// of the caller, check_sizes.
std::vector<std::string> sizes_for(const Program& program, const std::vector<std::string>& sizes);
/// Throws invalid_argument where no model has a size of that name.
void check_sizes(const std::vector<Viewed>& models, const std::vector<std::string>& sizes);

/// The text of `tern inspect --json`, with the file's name without its folder.
std::string inspected(const Viewed& model, const std::vector<std::string>& sizes);

}  // namespace tern::view
