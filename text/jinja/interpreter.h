// Runs templates: evaluates expressions, executes statements, within budgets.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/syntax.h"
#include "text/jinja/value.h"

namespace tern::jinja {

/// Variables of a block, with those of the blocks around it.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}
  std::map<std::string, Value, std::less<>> variables;
  std::shared_ptr<Scope> parent;
};
using ScopePtr = std::shared_ptr<Scope>;

/// A single rendering; belongs to one thread.
class Interpreter {
 public:
  explicit Interpreter(ScopePtr globals) : globals_(std::move(globals)) {}

  std::string render(const Body& body);

  /// Counts work. Fails beyond kMaxSteps.
  void take_steps(std::size_t count);
  /// Counts the work of making a text.
  void take_text(std::size_t size);

  Value call(const Value& function, const Arguments& arguments);
  Value apply_filter(const std::string& name, const Value& v, const Arguments& arguments);
  bool apply_test(const std::string& name, const Value& v, const Arguments& arguments);
  /// Python's iteration: elements, keys, characters.
  List elements(const Value& v);
  Value attribute(const Value& v, const std::string& name);
  Value item(const Value& v, const Value& key);

 private:
  enum class Flow { normal, end_loop, next_loop };
  struct Nested {
    explicit Nested(Interpreter& i);
    ~Nested() { --interpreter.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Interpreter& interpreter;
  };

  Value evaluate(const Expression& e, const ScopePtr& scope);
  Value evaluate_binary(const std::string& op, const Value& a, const Value& b);
  bool compare(const std::string& op, const Value& a, const Value& b);
  Value evaluate_slice(const Expression& e, const ScopePtr& scope);
  Arguments evaluate_arguments(const std::vector<Argument>& arguments, const ScopePtr& scope);
  const Value* find(std::string_view name, const Scope& scope) const;

  Flow execute(const Body& body, const ScopePtr& scope, std::string& text_out);
  Flow execute(const Statement& s, const ScopePtr& scope, std::string& text_out);
  Flow execute_loop(const Statement& s, const ScopePtr& scope, std::string& text_out);
  void assign(const Target& target, Value v, const ScopePtr& scope);
  Value make_macro(const Statement& s, const ScopePtr& scope, std::string name);
  std::string text_of_body(const Body& body, const ScopePtr& scope);
  void append(std::string& text_out, std::string_view text);

  ScopePtr globals_;
  std::size_t steps_ = 0;
  int depth_ = 0;
};

/// Calls a method of a string, list or dictionary; returns false if there is no such method.
bool find_method(const Value& object, const std::string& name, Value& method);

}  // namespace tern::jinja
