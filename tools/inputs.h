// Common options of commands running a program: the program, its function and its inputs.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/options.h"

namespace tern {

/// Options choosing the sources of inputs.
struct InputChoice {
  std::vector<std::string> files;       ///< FILE with named tensors, or NAME=FILE with a single tensor
  std::vector<std::string> sequence;    ///< files with the inputs of a call each, or folders of files
  bool random = false;                  ///< draws inputs missing in the files
  bool cast = false;                    ///< convert tensors of another element type
  std::vector<std::string> size_texts;  ///< NAME=NUMBER: symbolic sizes of random inputs
  std::uint64_t seed = 0;
  /// Option name of a command with a single option for inputs; such commands have neither --random nor --cast.
  std::string option = "--input";
  bool pass_over = false;  ///< skips tensors without an input, for example labels
};

/// Adds --input, --cast, --random, --size and --seed.
void add_input_options(Command command, InputChoice& choice);
/// Adds --sequence.
void add_sequence_option(Command command, InputChoice& choice);

/// True for a .pt2 file: by extension, or for a zip archive.
bool is_pt2(const std::string& path);

/// Opens a .tern archive, or imports a .pt2 file.
Model open_model(const std::string& path);

/// The function of this name; the only function, or "forward", for an empty name.
const FunctionInfo& choose_function(const std::vector<FunctionInfo>& functions, const std::string& name);

}  // namespace tern
