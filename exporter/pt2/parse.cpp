#include "exporter/pt2/parse.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/pt2/parse_parts.h"
#include "exporter/pt2/parse_payloads.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

constexpr int kSchemaMajor = 8;
constexpr int kOldestMinor = 14;  // PyTorch 2.9

SchemaVersion parse_version(JsonValue root) {
  const auto value = root["schema_version"];
  const std::int64_t major = value["major"].as_int();
  const std::int64_t minor = value["minor"].as_int();
  const auto refuse = [&](const char* advice) {
    value.fail_here(ErrorCode::unsupported,
                    fmt::format("schema {}.{} is not supported, only {}.{} and later ones of {}; {}", major, minor,
                                kSchemaMajor, kOldestMinor, kSchemaMajor, advice));
  };
  if (major > kSchemaMajor) refuse("it is newer than this version of Tern");
  if (major != kSchemaMajor || minor < kOldestMinor)
    refuse("save the program with torch.export.save of PyTorch 2.9 or newer");
  if (minor > 1'000'000) value["minor"].bad("not a version number");
  return {static_cast<int>(major), static_cast<int>(minor)};
}

// Python's integers are unbounded, and its infinities are null: unrepresentable values mean no bound.
std::optional<std::int64_t> parse_bound(JsonValue constraint, std::string_view key) {
  const auto value = constraint.find(key);
  if (!value) return std::nullopt;
  if (value->kind() != JsonValue::Kind::integer || value->as_double() >= 9223372036854775808.0) {
    value->as_double();
    return std::nullopt;
  }
  return value->as_int();
}

void check_signature(JsonValue root, const Program& program) {
  const auto check = [&](const char* list_name, std::size_t specs, std::size_t values) {
    if (specs != values)
      root["graph_module"]["signature"].bad(fmt::format("{} {} specs for {} of the graph", specs, list_name, values));
  };
  check("input", program.signature.inputs.size(), program.graph.inputs.size());
  check("output", program.signature.outputs.size(), program.graph.outputs.size());
}

Program parse_document(JsonValue root) {
  Program program;
  program.schema_version = parse_version(root);
  const JsonValue module = root["graph_module"];
  program.graph = parse_graph(module["graph"]);
  program.signature = parse_signature(module["signature"]);
  program.module_calls = parse_module_calls(module["module_call_graph"]);
  check_signature(root, program);
  if (const auto metadata = module.find("metadata")) program.metadata = parse_string_pairs(*metadata);
  if (const auto fields = module.find("treespec_namedtuple_fields"))
    for (const JsonValue type : fields->object())
      program.namedtuple_fields.emplace_back(type.key(), parse_strings(type["field_names"]));
  for (const JsonValue constraint : root["range_constraints"].object())
    program.range_constraints.push_back(
        {std::string(constraint.key()), parse_bound(constraint, "min_val"), parse_bound(constraint, "max_val")});
  for (const JsonValue opset : root["opset_version"].object())
    program.opset_version.emplace_back(opset.key(), opset.as_int());
  if (const auto guards = root.find("guards_code")) program.guards_code = parse_strings(*guards);
  if (const auto verifiers = root.find("verifiers")) program.verifiers = parse_strings(*verifiers);
  if (const auto version = root.find("torch_version")) program.torch_version = version->as_string();
  return program;
}

std::string choose_model(const Container& container, std::string_view requested) {
  const auto& models = container.models();
  if (requested.empty() && models.size() == 1) return models.front();
  std::string names;
  for (std::size_t i = 0; i < models.size() && i < 20; ++i) names += (i ? ", " : "") + quote(models[i]);
  if (requested.empty())
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: the file has {} programs; choose one of {}", container.label(), models.size(), names));
  if (std::find(models.begin(), models.end(), requested) == models.end())
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: the file has no program {}, only {}", container.label(), quote(requested), names));
  return std::string(requested);
}

NameMap<Payload> load_payloads(const Container& container, const std::string& model, const std::string& payload_kind) {
  const std::string folder = "data/" + payload_kind;
  const std::string name = fmt::format("{}/{}_{}_config.json", folder, model, payload_kind);
  const ContainerEntry* config = container.find_under_root(name);
  if (!config) fail(ErrorCode::bad_file, fmt::format("{}: entry {} is missing", container.label(), quote(name)));
  return parse_payloads(container, *config, folder);
}

}  // namespace

Program parse_program_json(std::string_view json, std::string_view entry) {
  const JsonDocument document(json, std::string(entry));
  return parse_document(document.root());
}

Program parse_program(const Container& container, std::string_view model) {
  const std::string name = choose_model(container, model);
  const ContainerEntry* entry = container.find_under_root(fmt::format("models/{}.json", name));
  container.verify_crc(*entry);
  const auto bytes = container.data(*entry);
  Program program = parse_program_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                       fmt::format("{}: {}", container.label(), entry->name));
  program.model = name;
  program.weights = load_payloads(container, name, "weights");
  program.constants = load_payloads(container, name, "constants");
  return program;
}

}  // namespace tern::pt2
