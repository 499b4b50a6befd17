#include "tools/inputs.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "exporter/importer.h"
#include "tools/bounds.h"
#include "tools/files/any.h"
#include "tools/names.h"
#include "tools/text.h"

namespace tern {

void add_input_options(Command command, InputChoice& choice) {
  command
      .add_option("-i,--input,--inputs", choice.files,
                  "A file of tensors named as the inputs (or in0, in1, ...): .safetensors, .npz, .npy, or - for "
                  "standard input; NAME=FILE for a file of one tensor. May be repeated")
      .type_name("[NAME=]FILE");
  command.add_flag("--cast", choice.cast, "Convert inputs to the element types that the program takes");
  command.add_flag("--random", choice.random, "Fill inputs that are not given with random values");
  command.add_option("--size", choice.size_texts, "The value of a symbolic size, for --random. May be repeated")
      .type_name("NAME=NUMBER");
  require_range(command.add_option("--seed", choice.seed, "Seed of random inputs and of the program's random numbers")
                    .capture_default_str(),
                bounds::kSeed);
}

void add_sequence_option(Command command, InputChoice& choice) {
  command
      .add_option(
          "--sequence", choice.sequence,
          "Call the function once for each file, in one session: mutable state carries over. A folder means the tensor "
          "files in it, by name. --input then gives the inputs that all calls share. May be repeated")
      .type_name("FILE|FOLDER");
}

bool is_pt2(const std::string& path) {
  if (path.ends_with(".pt2")) return true;
  std::error_code none;
  if (path.ends_with(".tern") || !std::filesystem::is_regular_file(path, none)) return false;
  std::array<char, 4> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  return std::string_view(start.data(), start.size()) == std::string_view("PK\3\4", 4);
}

Model open_model(const std::string& path) {
  check_program_file(path);
  if (is_pt2(path)) return Model(std::make_shared<const Program>(import_pt2(path)));
  return Model::open(path);
}

const FunctionInfo& choose_function(const std::vector<FunctionInfo>& functions, const std::string& name) {
  std::vector<std::string> names;
  for (const FunctionInfo& f : functions) {
    if (f.name == name || (name.empty() && (functions.size() == 1 || f.name == "forward"))) return f;
    names.push_back(f.name);
  }
  if (!name.empty()) fail_unknown_name("function", name, names);
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + escape_name(n);
  fail(ErrorCode::invalid_argument, fmt::format("choose a function with --function: {}", list));
}

}  // namespace tern
