// How commands that run a program find it, its function and its inputs.
#pragma once

#include <tern/tern.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tern {

/// Where inputs come from, as the options say.
struct InputChoice {
  std::vector<std::string> files;       ///< FILE of tensors by name, or NAME=FILE of one
  bool random = false;                  ///< for inputs that no file gives
  std::vector<std::string> size_texts;  ///< NAME=NUMBER: symbolic sizes of random inputs
  std::uint64_t seed = 0;
};

/// Adds --input, --random, --size and --seed.
void add_input_options(CLI::App* command, InputChoice& choice);

/// A .tern archive, or a .pt2 file, which is imported.
Model open_model(const std::string& path);

/// The function of this name; the only one, or "forward", when the name is empty.
const FunctionInfo& choose_function(const std::vector<FunctionInfo>& functions, const std::string& name);

/// A tensor for each input that the caller gives, in order. Inputs are found in the files by name, by position ("in0"),
/// or because there is one of each.
std::vector<Tensor> gather_inputs(const FunctionInfo& function, const InputChoice& choice);

}  // namespace tern
