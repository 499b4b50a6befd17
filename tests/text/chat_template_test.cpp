// Chat templates: prompts of jinja2 (tests/data/text/make_prompts.py), limits, wrong templates.
#include <gtest/gtest.h>
#include <tern/text.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "platform/environment.h"

namespace tern::test {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string text_of_file(const std::string& name) {
  std::ifstream in(std::string(TERN_SOURCE_DIR "/tests/data/text/") + name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

std::string rendered(const std::string& source, const ChatOptions& options = {}) {
  return ChatTemplate::from_text(source).render(R"([{"role": "user", "content": "Hello"}])", options);
}

ErrorCode code_of(const std::string& source) {
  try {
    rendered(source);
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::internal;
}

TEST(ChatTemplates, RenderAsJinja2Does) {
  platform::set_variable("TZ", "UTC");
  const OrderedJson facts = OrderedJson::parse(text_of_file("prompts.json"));
  ASSERT_GT(facts["cases"].size(), 300u);
  for (const auto& each : facts["cases"]) {
    const std::string name = each["template"], conversation = each["conversation"];
    SCOPED_TRACE(name + ", " + conversation + ", option " + each["option"].dump());
    const OrderedJson& option = facts["options"][each["option"].get<std::size_t>()];
    const ChatTemplate chat = ChatTemplate::from_text(text_of_file("templates/" + name), facts["tokens"].dump());
    ChatOptions options;
    options.add_generation_prompt = option["add_generation_prompt"];
    options.time = facts["time"].get<std::int64_t>();
    if (option.contains("tools")) options.tools = option["tools"].dump();
    if (option.contains("variables")) options.variables = option["variables"].dump();
    const std::string messages = facts["conversations"][conversation].dump();
    if (each.contains("error")) {
      EXPECT_THROW(chat.render(messages, options), Error);
    } else {
      EXPECT_EQ(chat.render(messages, options), each["prompt"].get<std::string>());
    }
  }
}

TEST(ChatTemplates, RefusalsCarryTheMessageOfTheTemplate) {
  try {
    rendered("{{ raise_exception('no birds') }}");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("no birds"), std::string::npos);
  }
}

TEST(ChatTemplates, WrongTemplatesAreRefused) {
  for (const char* source : {"{{ x", "{% if %}", "{% for x in y %}", "{% endfor %}", "{{ 'a }}", "{{ 1 + }}",
                             "{% if x %}{% endfor %}", "{{ ) }}", "{# a", "{% raw %}", "{{ \"\\ud800\" }}",
                             "{% set = 1 %}", "{{ a b }}", "{% break %}", "{{ 99999999999999999999 }}", "\xff"}) {
    EXPECT_EQ(code_of(source), ErrorCode::bad_file) << source;
  }
  EXPECT_EQ(code_of("{% include 'a' %}"), ErrorCode::unsupported);
  EXPECT_EQ(code_of("{{ 1 | nothing }}"), ErrorCode::unsupported);
  EXPECT_EQ(code_of("{{ 1 is nothing }}"), ErrorCode::unsupported);
}

TEST(ChatTemplates, BudgetsEndHostileTemplates) {
  const std::string deep(5000, '(');
  for (const std::string& source :
       {std::string("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"),
        std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
        std::string("{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"),
        std::string("{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"),
        std::string("{% set ns = namespace(s=[1]) %}{% for i in range(9999) %}{% set ns.s = [ns.s, ns.s] %}{% endfor "
                    "%}{{ ns.s }}"),
        std::string("{{ 'x' * 9999999999 }}"), std::string("{{ range(9999999999) }}"),
        std::string("{{ 9 ** 9999999 }}"), std::string("{{ 'a' | replace('', 'xxxxxxxx' * 999999999) }}"),
        std::string("{{ 1 // 0 }}"), std::string("{{ messages.append(1) }}")}) {
    EXPECT_EQ(code_of(source), ErrorCode::invalid_argument) << source;
  }
  EXPECT_EQ(code_of("{{ " + deep + " }}"), ErrorCode::bad_file);
  EXPECT_EQ(code_of("{{ " + std::string(5000, '-') + "1 }}"), ErrorCode::bad_file);
}

TEST(ChatTemplates, MessagesMustBeAnArray) {
  const ChatTemplate chat = ChatTemplate::from_text("{{ messages }}");
  for (const char* messages : {"", "{", "{}", "1", "[\"\xff\"]"})
    EXPECT_THROW(chat.render(messages), Error) << messages;
  EXPECT_THROW(chat.render(std::string(1000, '[') + std::string(1000, ']')), Error);
  EXPECT_EQ(chat.render("[]"), "[]");
}

TEST(ChatTemplates, ConfigurationsNameSeveral) {
  const std::string folder = testing::TempDir() + "/tern_chat_templates";
  std::system(("rm -rf " + folder + " && mkdir -p " + folder).c_str());
  std::ofstream(folder + "/tokenizer_config.json")
      << R"({"bos_token": {"content": "<b>"}, "chat_template": [{"name": "default", "template": "{{ bos_token }}D"}, {"name": "tool_use", "template": "T"}]})";
  EXPECT_EQ(ChatTemplate::open(folder).render("[]"), "<b>D");
  EXPECT_EQ(ChatTemplate::open(folder, "tool_use").render("[]"), "T");
  EXPECT_THROW(ChatTemplate::open(folder, "other"), Error);
  std::ofstream(folder + "/chat_template.jinja") << "{{ bos_token }}J";
  EXPECT_EQ(ChatTemplate::open(folder).render("[]"), "<b>J");
  EXPECT_EQ(ChatTemplate::open(folder + "/chat_template.jinja").render("[]"), "<b>J");
}

}  // namespace
}  // namespace tern::test
