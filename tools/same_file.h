// Whether two names are of one file, so that an output does not replace what it is made of.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tern {

/// Of regular files, those that exist or not: devices and pipes can take several outputs.
bool is_same_file(const std::string& a, const std::string& b);

/// Fails where `output`, which `option` gives, is one of the files that the command reads. Empty names are no files.
void refuse_to_replace(const char* option, const std::string& output, const std::vector<std::string>& read);

/// An option, and the file that the command writes for it.
struct OutputOption {
  const char* name;
  const std::string& file;
};

/// Fails where two options name one file. Empty names are no files, and "-" is standard output.
void refuse_same_outputs(std::span<const OutputOption> outputs);

}  // namespace tern
