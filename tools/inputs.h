// How commands that run a program find it, its function and its inputs.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tern {

/// Where inputs come from, as the options say.
struct InputChoice {
  std::vector<std::string> files;       ///< FILE of tensors by name, or NAME=FILE of one
  std::vector<std::string> sequence;    ///< files with the inputs of one call each, or folders of them
  bool random = false;                  ///< for inputs that no file gives
  bool cast = false;                    ///< convert tensors of another element type
  std::vector<std::string> size_texts;  ///< NAME=NUMBER: symbolic sizes of random inputs
  std::uint64_t seed = 0;
  /// Of a command with one option for all of it: then there is no --random and no --cast.
  std::string option = "--input";
  bool pass_over = false;  ///< tensors that are no input's, such as labels
};

/// Adds --input, --cast, --random, --size and --seed.
void add_input_options(CLI::App* command, InputChoice& choice);
/// Adds --sequence.
void add_sequence_option(CLI::App* command, InputChoice& choice);

/// True for a .pt2 file: by its name, or because it is a zip archive.
bool is_pt2(const std::string& path);

/// A .tern archive, or a .pt2 file, which is imported.
Model open_model(const std::string& path);

/// The function of this name; the only one, or "forward", when the name is empty.
const FunctionInfo& choose_function(const std::vector<FunctionInfo>& functions, const std::string& name);

}  // namespace tern
