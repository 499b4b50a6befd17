// gpu_model [OPTION...] [MODEL...]: counts the work of programs on the emulated CUDA device, and prints JSON. Run by
// tests/scripts/gpu_model.py.
#include <fmt/format.h>
#include <tern/error.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "tests/gpu/model/json.h"
#include "tests/gpu/model/single_nodes.h"
#include "tools/calls.h"
#include "tools/inputs.h"

namespace {

using namespace tern;
using namespace tern::gpu_model;

struct Arguments {
  std::vector<std::string> models, nodes, sizes;
  Assembler assembler;
  double work = 6e7;
  bool list = false;
};

nlohmann::json of_node(const std::string& name, const Emulator& emulator, const Assembler& assembler) {
  const SingleNode node = make_single_node(name);
  nlohmann::json result = to_json(measure(node.program, "forward", node.inputs, emulator), *node.program, assembler);
  result["name"] = node.name;
  result["group"] = node.group;
  return result;
}

nlohmann::json of_model(const std::string& path, const Arguments& a, const Emulator& emulator) {
  const Model model = open_model(path);
  const std::string function = choose_function(model.functions(), "").name;
  InputChoice choice;
  choice.random = true;
  choice.size_texts = a.sizes;
  const std::vector<Tensor> inputs = one_call(model, function, choice);
  nlohmann::json result = to_json(measure(model.program(), function, inputs, emulator), *model.program(), a.assembler);
  const std::filesystem::path file(path);
  result["name"] = (file.stem() == "model" ? file.parent_path().filename() : file.stem()).string();
  result["group"] = "model";
  return result;
}

int run(const Arguments& a) {
  if (a.list) {
    for (const std::string& name : single_node_names()) fmt::print("{}\n", name);
    return 0;
  }
  const Emulator emulator;
  emulator.count(a.work);
  nlohmann::json programs = nlohmann::json::array();
  const auto add = [&](const std::string& name, const auto& make) {
    fmt::print(stderr, "{}\n", name);
    try {
      programs.push_back(make());
    } catch (const Error& error) {
      programs.push_back({{"name", name}, {"error", error.what()}});
    }
  };
  for (const std::string& name : a.nodes) add(name, [&] { return of_node(name, emulator, a.assembler); });
  for (const std::string& path : a.models) add(path, [&] { return of_model(path, a, emulator); });
  std::cout << programs.dump(1) << "\n";
  return 0;
}

}  // namespace

int main(int count, char** values) {
  CLI::App app("Counts what programs do on the emulated CUDA device");
  Arguments a;
  app.add_option("models", a.models, "Archives or .pt2 files");
  app.add_option("--node", a.nodes, "A node of --list, repeatable");
  app.add_flag("--list", a.list, "List the nodes");
  app.add_option("--size", a.sizes, "NAME=NUMBER: a symbolic size of models, repeatable");
  app.add_option("--work", a.work, "Accesses and operations of a launch, beyond which only some blocks run");
  app.add_option("--ptxas", a.assembler.ptxas, "NVIDIA's assembler, for registers and occupancy");
  app.add_option("--cache", a.assembler.cache, "Folder for texts and what it says");
  CLI11_PARSE(app, count, values);
  try {
    return run(a);
  } catch (const tern::Error& error) {
    fmt::print(stderr, "gpu_model: {}\n", error.what());
    return 1;
  }
}
