#include "tools/option_text.h"

#include <algorithm>

#include "tools/text.h"

namespace tern {
namespace {

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

OptionText describe(const CLI::Option& o) {
  OptionText t;
  t.positional = o.get_positional();
  if (t.positional) {
    t.names = {o.get_name(true, false)};
  } else {
    for (const std::string& name : o.get_snames()) t.names.push_back("-" + name);
    for (const std::string& name : o.get_lnames()) t.names.push_back("--" + name);
  }
  if (o.get_type_size() != 0) t.value = t.positional ? upper(t.names[0]) : o.get_type_name();
  t.description = o.get_description();
  t.preset = o.get_default_str();
  t.required = o.get_required();
  t.repeats = o.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (t.preset == "\"\"" || t.preset == "[]") t.preset.clear();
  return t;
}

std::string one_line(std::string_view text, std::size_t indent, std::size_t width) {
  if (text.starts_with(' ')) return std::string(text);
  std::string wrapped_text;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t columns = display_width(word);
    if (column > indent && column + 1 + columns > width) {
      wrapped_text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      wrapped_text += " ";
      ++column;
    }
    wrapped_text += word;
    column += columns;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped_text;
}

}  // namespace

std::string OptionText::synopsis() const {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  if (positional) return upper(text) + (repeats ? "..." : "");
  return value.empty() ? text : text + " " + value;
}

std::vector<OptionText> options_of(const CLI::App& app) {
  std::vector<OptionText> options;
  for (const bool positional : {true, false}) {
    for (const CLI::Option* o : app.get_options()) {
      if (o->get_positional() == positional && !o->get_group().empty()) options.push_back(describe(*o));
    }
  }
  return options;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); });
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* c : app.get_subcommands({})) {
    if (c->get_name() == name) return c;
  }
  return nullptr;
}

std::string usage_of(const CLI::App& app) {
  std::string text = "[OPTIONS]";
  for (const OptionText& o : options_of(app)) {
    if (o.positional) text += o.required ? " " + o.synopsis() : " [" + o.synopsis() + "]";
  }
  return commands_of(app).empty() ? text : text + " COMMAND";
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string wrapped_text;
  while (true) {
    const std::size_t end = text.find('\n');
    wrapped_text += one_line(text.substr(0, end), indent, width);
    if (end == std::string_view::npos) return wrapped_text;
    wrapped_text += "\n" + std::string(end + 1 < text.size() && text[end + 1] != '\n' ? indent : 0, ' ');
    text.remove_prefix(end + 1);
  }
}

}  // namespace tern
