// Checks for two names of the same file, to prevent overwriting inputs.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tern {

/// True for the same regular file, existing or not: devices and pipes can take several outputs.
bool is_same_file(const std::string& a, const std::string& b);

/// Fails if `output`, given by `option`, is a file read by the command. Empty names are no files.
void refuse_to_replace(const char* option, const std::string& output, const std::vector<std::string>& input_files);

/// An option, and the output file given with the option.
struct OutputOption {
  const char* name;
  const std::string& file;
};

/// Fails if two options name the same file. Empty names are no files, and "-" is standard output.
void refuse_same_outputs(std::span<const OutputOption> outputs);

}  // namespace tern
