// Answers held to schemas and grammars: texts that jsonschema accepts (tests/data/json_schemas/make.py), random answers
// of a byte-level vocabulary, limits.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "generation/constraint.h"
#include "generation/grammar/gbnf.h"
#include "generation/grammar/json_schema.h"
#include "generation/sampler.h"

namespace tern::testing {
namespace {

using grammar::Automaton;
using Json = nlohmann::ordered_json;

bool follows(Automaton& automaton, std::string_view text) {
  const Automaton::State state = automaton.advance(automaton.start(), text);
  return state != Automaton::kDead && automaton.accepts(state);
}

std::string error_of_schema(const std::string& schema) {
  try {
    grammar::json_schema_grammar(schema);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST(JsonSchema, TakesTheTextsThatValidatorsAccept) {
  std::ifstream in(TERN_SOURCE_DIR "/tests/data/json_schemas/cases.json");
  const Json cases = Json::parse(in);
  ASSERT_GT(cases.size(), 25U);
  for (const Json& one : cases) {
    Automaton automaton(grammar::json_schema_grammar(one["schema"].dump()));
    for (const auto& [text, is_valid] : one["texts"].items())
      EXPECT_EQ(follows(automaton, text), is_valid.get<bool>()) << one["schema"].dump() << " " << text;
  }
}

TEST(JsonSchema, RefusesUnsupportedSchemas) {
  EXPECT_NE(error_of_schema("{").find("not JSON"), std::string::npos);
  EXPECT_NE(error_of_schema("[]").find("must be an object"), std::string::npos);
  EXPECT_NE(error_of_schema(R"({"not": {}})").find("'not' is not supported"), std::string::npos);
  EXPECT_NE(error_of_schema(R"({"type": "array", "uniqueItems": true})").find("uniqueItems"), std::string::npos);
  EXPECT_NE(error_of_schema(R"({"type": "bird"})").find("unknown type"), std::string::npos);
  EXPECT_NE(error_of_schema(R"({"$ref": "#/$defs/none"})").find("which the schema lacks"), std::string::npos);
  EXPECT_NE(error_of_schema(R"({"$ref": "#"})"), "");
  EXPECT_NE(error_of_schema(R"({"anyOf": [{"$ref": "#"}]})"), "");
  EXPECT_NE(error_of_schema(R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})")
                .find("no finite text"),
            std::string::npos);
  EXPECT_NE(error_of_schema(R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})").find("anyOf"),
            std::string::npos);
  EXPECT_NE(error_of_schema(R"({"type": "integer", "minimum": 5, "maximum": 4})").find("no finite text"),
            std::string::npos);
  EXPECT_NE(error_of_schema(R"x({"type": "string", "pattern": "(?=a)"})x").find("look-around"), std::string::npos);
  EXPECT_NE(error_of_schema(R"({"type": "string", "pattern": "(a"})").find("position 2"), std::string::npos);
  EXPECT_NE(error_of_schema(R"({"type": "string", "maxLength": 1000000})").find("maxLength"), std::string::npos);
  EXPECT_NE(error_of_schema(R"({"type": "string", "pattern": "a{70000}"})"), "");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += R"({"items": )";
  EXPECT_NE(error_of_schema(deep + "{}" + std::string(100, '}')).find("levels"), std::string::npos);
}

TEST(Gbnf, ReadsTheNotationOfLlamaCpp) {
  Automaton automaton(
      grammar::gbnf_grammar("root ::= greeting (\", \" name){1,2} [!?]? # the end\n"
                            "greeting ::= \"Hello\" |\n  \"Good \" (\"day\" | \"night\")\n"
                            "name ::= [A-Z] [^A-Z0-9,!?\\n]*\n"));
  EXPECT_TRUE(follows(automaton, "Hello, Ada"));
  EXPECT_TRUE(follows(automaton, "Good night, Ada, Bé!"));
  EXPECT_FALSE(follows(automaton, "Hello"));
  EXPECT_FALSE(follows(automaton, "Good , Ada"));
  EXPECT_FALSE(follows(automaton, "Hello, Ada, Bob, Cid"));
  EXPECT_FALSE(follows(automaton, "Hello, ada"));
  const auto error = [](const char* text) -> std::string {
    try {
      grammar::gbnf_grammar(text);
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_NE(error("root ::= other").find("no rule 'other'"), std::string::npos);
  EXPECT_NE(error("main ::= \"a\"").find("no rule 'root'"), std::string::npos);
  EXPECT_NE(error("root ::= root \"a\" | \"b\"").find("left recursion"), std::string::npos);
  EXPECT_NE(error("root ::= \"a\"\nroot ::= \"b\"").find("line 2"), std::string::npos);
  EXPECT_NE(error("root ::= [a"), "");
  EXPECT_NE(error("root ::= (\"a\""), "");
  EXPECT_NE(error("root ::= \"a"), "");
}

const std::string kTokenizers = TERN_SOURCE_DIR "/tests/data/text/tokenizers/";

/// An answer of random logits, as the engine makes it.
std::string random_answer(Constraint& constraint, const Tokenizer& tokenizer, std::int64_t vocabulary, unsigned seed,
                          std::int64_t most) {
  std::mt19937 numbers(seed);
  Sampler sampler({.temperature = 1}, seed, {});
  std::normal_distribution<float> logit(0, 3);
  std::vector<std::int64_t> tokens;
  std::vector<float> logits(static_cast<std::size_t>(vocabulary));
  while (!constraint.is_complete() && static_cast<std::int64_t>(tokens.size()) < most) {
    const grammar::TokenMask& allowed = constraint.mask(most - static_cast<std::int64_t>(tokens.size()));
    if (allowed.count == 0) break;
    if (constraint.can_end() && numbers() % 4 == 0) break;
    for (float& x : logits) x = logit(numbers);
    const std::int64_t token = sampler.choose(logits, &allowed);
    EXPECT_TRUE(allowed.contains(token));
    constraint.add(token);
    tokens.push_back(token);
  }
  EXPECT_TRUE(constraint.can_end());
  return tokenizer.decode(tokens);
}

TEST(Constraints, RandomAnswersFollowTheirSchemas) {
  std::ifstream in(TERN_SOURCE_DIR "/tests/data/json_schemas/cases.json");
  const Json cases = Json::parse(in);
  for (const char* name : {"qwen2", "gpt2", "gemma", "llama2"}) {
    const Tokenizer tokenizer = Tokenizer::open(kTokenizers + name + ".json");
    const std::int64_t vocabulary = tokenizer.vocabulary_size() + 3;  // models pad
    ConstraintMaker maker;
    for (const Json& one : cases) {
      TextRequest request;
      request.json_schema = one["schema"].dump();
      Automaton automaton(grammar::json_schema_grammar(request.json_schema));
      for (unsigned seed = 0; seed < 5; ++seed) {
        const auto constraint = maker.create(request, &tokenizer, vocabulary);
        const std::string text = random_answer(*constraint, tokenizer, vocabulary, seed, 60 + 40 * (seed % 4));
        EXPECT_TRUE(Json::accept(text)) << name << " " << request.json_schema << " " << text;
        EXPECT_TRUE(follows(automaton, text)) << name << " " << request.json_schema << " " << text;
      }
    }
  }
}

}  // namespace
}  // namespace tern::testing
