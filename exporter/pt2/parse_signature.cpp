#include <fmt/format.h>

#include "exporter/pt2/parse_parts.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

// Notation of a spec's value.
enum class SpecNotation {
  argument,    // "arg": an Argument
  tensor,      // "arg": {"name": ...}
  custom_obj,  // "arg": {"name": ..., "class_fqn": ...}
};

template <class Kind>
struct SpecTag {
  const char* tag;
  Kind kind;
  SpecNotation notation;
  const char* target;  // key of the target's name, or null
};

using InputKind = InputSpec::Kind;
constexpr SpecTag<InputKind> kInputTags[] = {
    {"user_input", InputKind::user_input, SpecNotation::argument, nullptr},
    {"parameter", InputKind::parameter, SpecNotation::tensor, "parameter_name"},
    {"buffer", InputKind::buffer, SpecNotation::tensor, "buffer_name"},
    {"tensor_constant", InputKind::tensor_constant, SpecNotation::tensor, "tensor_constant_name"},
    {"custom_obj", InputKind::custom_obj, SpecNotation::custom_obj, "custom_obj_name"},
    {"token", InputKind::token, SpecNotation::tensor, nullptr},
};

using OutputKind = OutputSpec::Kind;
constexpr SpecTag<OutputKind> kOutputTags[] = {
    {"user_output", OutputKind::user_output, SpecNotation::argument, nullptr},
    {"loss_output", OutputKind::loss_output, SpecNotation::tensor, nullptr},
    {"buffer_mutation", OutputKind::buffer_mutation, SpecNotation::tensor, "buffer_name"},
    {"parameter_mutation", OutputKind::parameter_mutation, SpecNotation::tensor, "parameter_name"},
    {"user_input_mutation", OutputKind::user_input_mutation, SpecNotation::tensor, "user_input_name"},
    {"gradient_to_parameter", OutputKind::gradient_to_parameter, SpecNotation::tensor, "parameter_name"},
    {"gradient_to_user_input", OutputKind::gradient_to_user_input, SpecNotation::tensor, "user_input_name"},
    {"token", OutputKind::token, SpecNotation::tensor, nullptr},
};

Argument parse_spec_argument(JsonValue value, SpecNotation notation) {
  if (notation == SpecNotation::argument) return parse_argument(value);
  Argument argument;
  argument.kind = notation == SpecNotation::tensor ? Argument::Kind::tensor : Argument::Kind::custom_obj;
  argument.name = parse_name(value);
  if (notation == SpecNotation::custom_obj) argument.text = value["class_fqn"].as_string();
  return argument;
}

template <class Spec, class Tags>
bool parse_tagged(JsonValue content, const Tags& tags, Spec& spec) {
  for (const auto& tag : tags) {
    if (content.key() != tag.tag) continue;
    spec.kind = tag.kind;
    spec.arg = parse_spec_argument(content["arg"], tag.notation);
    if (tag.target) spec.target = content[tag.target].as_string();
    return true;
  }
  return false;
}

InputSpec parse_input_spec(JsonValue value) {
  const JsonValue content = value.require_single_element();
  InputSpec spec;
  if (content.key() == "constant_input") {
    spec.kind = InputKind::constant_input;
    spec.target = content["name"].as_string();
    spec.arg = parse_argument(content["value"]);
    return spec;
  }
  if (!parse_tagged(content, kInputTags, spec)) value.bad(fmt::format("unknown tag {}", quote(content.key())));
  if (spec.kind == InputKind::buffer)
    if (const auto persistent = content.find("persistent")) spec.persistent = persistent->as_bool();
  return spec;
}

OutputSpec parse_output_spec(JsonValue value) {
  const JsonValue content = value.require_single_element();
  OutputSpec spec;
  if (!parse_tagged(content, kOutputTags, spec)) value.bad(fmt::format("unknown tag {}", quote(content.key())));
  return spec;
}

}  // namespace

Signature parse_signature(JsonValue value) {
  Signature signature;
  for (const JsonValue spec : value["input_specs"].array()) signature.inputs.push_back(parse_input_spec(spec));
  for (const JsonValue spec : value["output_specs"].array()) signature.outputs.push_back(parse_output_spec(spec));
  return signature;
}

std::vector<ModuleCall> parse_module_calls(JsonValue value) {
  std::vector<ModuleCall> calls;
  for (const JsonValue entry : value.array()) {
    ModuleCall& call = calls.emplace_back();
    call.fqn = entry["fqn"].as_string();
    const auto signature = entry.find("signature");
    if (!signature) continue;
    auto& convention = call.signature.emplace();
    convention.inputs = parse_arguments((*signature)["inputs"]);
    convention.outputs = parse_arguments((*signature)["outputs"]);
    convention.in_spec = (*signature)["in_spec"].as_string();
    convention.out_spec = (*signature)["out_spec"].as_string();
    if (const auto names = signature->find("forward_arg_names")) convention.forward_arg_names = parse_strings(*names);
  }
  return calls;
}

}  // namespace tern::pt2
