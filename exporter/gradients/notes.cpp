#include "exporter/gradients/notes.h"

namespace tern {

void set_gradient_note(Node& node, std::string_view key, std::int64_t value) {
  node.annotations.push_back({std::string(key), value});
}

std::optional<std::int64_t> gradient_note(const Node& node, std::string_view key) {
  for (const Annotation& a : node.annotations) {
    if (a.key == key && std::holds_alternative<std::int64_t>(a.value)) return std::get<std::int64_t>(a.value);
  }
  return std::nullopt;
}

std::vector<Annotation> annotations_of_gradient(const Node& node) {
  std::vector<Annotation> result = node.annotations;
  std::erase_if(result, [](const Annotation& a) { return is_reserved_annotation(a.key); });
  return result;
}

bool is_reserved_annotation(std::string_view key) {
  return key.starts_with("gradient.") || key == kDetachedNote;
}

void remove_gradient_notes(Program& program) {
  for (Function& f : program.functions) {
    for (Node& n : f.nodes) {
      std::erase_if(n.annotations,
                    [](const Annotation& a) { return a.key == kPaddingNote || a.key == kFrequencyNote; });
    }
  }
}

}  // namespace tern
