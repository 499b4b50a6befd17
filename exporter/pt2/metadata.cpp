#include "exporter/pt2/metadata.h"

#include <tern/error.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "exporter/pt2/json.h"

namespace tern::pt2 {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Cuts the text before `separator` off `text`, and drops the separator; cuts all if the separator is absent.
std::string_view split(std::string_view& text, char separator) {
  const auto it = text.find(separator);
  const auto head = text.substr(0, it);
  text.remove_prefix(it == std::string_view::npos ? text.size() : it + 1);
  return head;
}

// "key,path,type" of each module, joined by ';', the innermost last.
void read_module(std::string_view stack, SourceInfo& info) {
  if (const auto last = stack.rfind(';'); last != std::string_view::npos) stack.remove_prefix(last + 1);
  split(stack, ',');
  info.module_path = split(stack, ',');
  info.module_type = stack;
}

// Frames of PyTorch itself and of generated code are not the user's program.
bool is_of_torch(std::string_view file) {
  return file.starts_with("<") || file.find("-packages/torch/") != std::string_view::npos ||
         file.find("/pytorch/torch/") != std::string_view::npos;
}

// A line 'File "model.py", line 12, in forward' of a Python traceback.
bool read_frame(std::string_view line, SourceInfo& info) {
  constexpr std::string_view kFilePrefix = "File \"", kLinePrefix = "\", line ", kFunctionPrefix = ", in ";
  if (!line.starts_with(kFilePrefix)) return false;
  const auto it = line.find(kLinePrefix);
  if (it == std::string_view::npos) return false;
  info.file = line.substr(kFilePrefix.size(), it - kFilePrefix.size());
  line.remove_prefix(it + kLinePrefix.size());
  info.line = 0;
  const auto number = std::from_chars(line.data(), line.data() + line.size(), info.line);
  line.remove_prefix(static_cast<std::size_t>(number.ptr - line.data()));
  info.function = line.starts_with(kFunctionPrefix) ? line.substr(kFunctionPrefix.size()) : std::string_view{};
  return true;
}

// Reads frames, the innermost last, each with its source on the next line.
void read_stack(std::string_view trace, SourceInfo& info) {
  bool wants_source = false;
  while (!trace.empty()) {
    const auto line = trimmed(split(trace, '\n'));
    SourceInfo frame;
    if (read_frame(line, frame)) {
      wants_source = !is_of_torch(frame.file);
      if (!wants_source) continue;
      info.file = frame.file;
      info.line = frame.line;
      info.function = frame.function;
      info.source = {};
    } else if (wants_source) {
      info.source = line;
      wants_source = false;
    }
  }
}

/// TorchDynamo adds its own annotations to the user's.
bool is_of_dynamo(std::string_view key) {
  return key.starts_with("_torchdynamo_");
}

}  // namespace

SourceInfo source_info(const Node& node) {
  SourceInfo info;
  if (const auto* stack = node.find_metadata("nn_module_stack")) read_module(*stack, info);
  if (const auto* trace = node.find_metadata("stack_trace")) read_stack(*trace, info);
  return info;
}

std::vector<std::pair<std::string, std::string>> custom_annotations(const Node& node) {
  std::vector<std::pair<std::string, std::string>> annotations;
  const auto* text = node.find_metadata("custom");
  if (!text) return annotations;
  try {
    const JsonDocument document(*text, "custom");
    if (document.root().kind() != JsonValue::Kind::object) return annotations;
    // The document above preserves the order; its depth limit also bounds dump()'s recursion.
    const auto values = nlohmann::json::parse(*text);
    for (const JsonValue member : document.root()) {
      if (is_of_dynamo(member.key())) continue;
      annotations.emplace_back(member.key(), values[std::string(member.key())].dump());
    }
  } catch (const Error&) {
    // Ignores other contents, the user's own.
    annotations.clear();
  }
  return annotations;
}

}  // namespace tern::pt2
