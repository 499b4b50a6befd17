// tern::ChatTemplate.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/text.h>

#include <filesystem>

#include "platform/path.h"
#include "text/configuration.h"
#include "text/files.h"
#include "text/jinja/globals.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/syntax.h"
#include "text/unicode.h"

namespace tern {

class ChatTemplateImpl {
 public:
  ChatTemplateImpl(std::string_view source, text::Configuration configuration)
      : source_(source), body_(jinja::parse_template(source)), configuration_(std::move(configuration)) {}

  std::string render(std::string_view messages, const ChatOptions& options) const {
    for (const std::string_view text :
         {messages, std::string_view(options.tools), std::string_view(options.variables)}) {
      if (const std::size_t valid = text::valid_size(text); valid != text.size())
        fail(ErrorCode::invalid_argument,
             fmt::format("the messages, tools or variables are not UTF-8 at byte {}", valid));
    }
    const auto globals = std::make_shared<jinja::Scope>(nullptr);
    auto& variables = globals->variables;
    jinja::add_globals(*globals, options.time);
    for (const auto& [name, token] : configuration_.special_tokens) variables[name] = jinja::Value(token);
    variables["messages"] = jinja::parse_json_value(messages, "the messages");
    if (!variables["messages"].is_list())
      fail(ErrorCode::invalid_argument,
           "the messages must be a JSON array such as [{\"role\": \"user\", \"content\": \"Hello\"}]");
    variables["add_generation_prompt"] = jinja::Value(options.add_generation_prompt);
    variables["tools"] = options.tools.empty() ? jinja::Value() : jinja::parse_json_value(options.tools, "the tools");
    variables["documents"] = jinja::Value();
    if (!options.variables.empty()) {
      const jinja::Value extra_variables = jinja::parse_json_value(options.variables, "the variables");
      if (!extra_variables.is_dict())
        fail(ErrorCode::invalid_argument, "the variables of a chat template must be a JSON object");
      for (const auto& [name, value] : extra_variables.dict().items()) variables[name] = value;
    }
    return jinja::Interpreter(globals).render(body_);
  }

  const std::string& source() const { return source_; }

 private:
  std::string source_;
  jinja::Body body_;
  text::Configuration configuration_;
};

namespace {

ChatTemplate compile(std::string_view source, text::Configuration configuration) {
  return ChatTemplate(std::make_shared<const ChatTemplateImpl>(source, std::move(configuration)));
}

/// The template of that name in a configuration.
ChatTemplate from_configuration(text::Configuration configuration, const std::string& name) {
  const auto found = configuration.chat_templates.find(name.empty() ? "default" : name);
  if (found == configuration.chat_templates.end()) {
    std::string names;
    for (const auto& named_template : configuration.chat_templates)
      names += (names.empty() ? "" : ", ") + named_template.first;
    fail(ErrorCode::invalid_argument, fmt::format("there is no chat template '{}'; templates: {}",
                                                  name.empty() ? "default" : name, names.empty() ? "none" : names));
  }
  const std::string source = found->second;
  return compile(source, std::move(configuration));
}

}  // namespace

ChatTemplate ChatTemplate::open(const std::string& path, const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path file = platform::path_of(path);
  const bool is_folder = fs::is_directory(file, error);
  const fs::path folder = is_folder ? file : file.parent_path();
  const std::string configuration_path =
      path.ends_with(".json") ? path : platform::text_of(folder / TextFiles::configuration);
  text::Configuration configuration;
  if (text::is_file(configuration_path))
    configuration = text::add_path_to_errors(
        configuration_path, [&] { return text::read_configuration(text::read_file(configuration_path)); });
  std::string jinja = path;
  if (is_folder) {
    const bool is_default = name.empty() || name == "default";
    jinja = platform::text_of(is_default ? folder / TextFiles::chat_template
                                         : folder / "additional_chat_templates" / (name + ".jinja"));
    if (!text::is_file(jinja)) jinja.clear();
  }
  if (!jinja.empty() && !jinja.ends_with(".json"))
    return text::add_path_to_errors(jinja, [&] { return compile(text::read_file(jinja), std::move(configuration)); });
  if (!text::is_file(configuration_path))
    fail(ErrorCode::io, fmt::format("{} has neither chat_template.jinja nor tokenizer_config.json", path));
  return text::add_path_to_errors(configuration_path,
                                  [&] { return from_configuration(std::move(configuration), name); });
}

ChatTemplate ChatTemplate::from_text(std::string_view text, std::string_view configuration) {
  return compile(text, text::read_configuration(configuration));
}

ChatTemplate ChatTemplate::from_model(const Model& model, const std::string& name) {
  text::Configuration configuration = text::read_configuration(text::file_or_empty(model, TextFiles::configuration));
  const bool is_default = name.empty() || name == "default";
  if (is_default && text::has_file(model, TextFiles::chat_template))
    return compile(model.file(TextFiles::chat_template), std::move(configuration));
  if (configuration.chat_templates.empty())
    fail(ErrorCode::invalid_argument,
         "the archive carries no chat template: export the model with --tokenizer FOLDER, or open the template's own "
         "file");
  return from_configuration(std::move(configuration), name);
}

bool has_chat_template(const Model& model) {
  if (text::has_file(model, TextFiles::chat_template)) return true;
  return !text::read_configuration(text::file_or_empty(model, TextFiles::configuration)).chat_templates.empty();
}

std::string ChatTemplate::render(std::string_view messages, const ChatOptions& options) const {
  return impl_->render(messages, options);
}

const std::string& ChatTemplate::text() const {
  return impl_->source();
}

}  // namespace tern
