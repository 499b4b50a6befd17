#include "text/jinja/globals.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <ctime>

#include "platform/clock.h"
#include "text/jinja/failure.h"

namespace tern::jinja {
namespace {

Value make_range(Interpreter& interpreter, const Arguments& a) {
  std::int64_t bounds[3] = {0, 0, 1};
  const std::size_t count = a.positional.size();
  if (count < 1 || count > 3) fail_rendering("range takes one to three integers");
  for (std::size_t i = 0; i < count; ++i) {
    if (!a.positional[i].is_integral()) fail_rendering("range takes integers");
    bounds[count == 1 ? 1 : i] = a.positional[i].integer();
  }
  if (bounds[2] == 0) fail_rendering("the step of range must not be 0");
  List items_out;
  for (std::int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1];) {
    interpreter.take_steps(1);
    items_out.emplace_back(i);
    if (__builtin_add_overflow(i, bounds[2], &i)) break;
  }
  return Value::list(std::move(items_out));
}

Dict dict_of(const Arguments& a) {
  Dict merged;
  for (const Value& item : a.positional) {
    if (!item.is_dict()) fail_rendering("dict and namespace take mappings and names");
    for (const auto& [key, value] : item.dict().items()) merged.set(key, value);
  }
  for (const auto& [key, value] : a.keywords) merged.set(key, value);
  return merged;
}

Value raise_exception(Interpreter&, const Arguments& a) {
  const Value* message = a.find(0, "message");
  fail(ErrorCode::invalid_argument, "the chat template refuses the messages: " +
                                        (message != nullptr ? to_text(*message) : std::string("no reason given")));
}

Value format_time(std::time_t seconds, const Arguments& a) {
  const Value* format = a.find(0, "format");
  if (format == nullptr || !format->is_string() || format->string().size() > 256)
    fail_rendering("strftime_now needs a format");
  const std::tm calendar_time = platform::local_time(seconds);
  char buffer[4096];
  const std::size_t size = std::strftime(buffer, sizeof buffer, format->string().c_str(), &calendar_time);
  return Value(std::string(buffer, size));
}

void add_function(Scope& scope, const char* name, std::function<Value(Interpreter&, const Arguments&)> call) {
  scope.variables[name] = Value::callable({name, std::move(call)});
}

}  // namespace

void add_globals(Scope& scope, std::optional<std::int64_t> time) {
  add_function(scope, "range", make_range);
  add_function(scope, "dict", [](Interpreter&, const Arguments& a) { return Value::dict(dict_of(a)); });
  add_function(scope, "namespace", [](Interpreter&, const Arguments& a) { return Value::dict(dict_of(a), true); });
  add_function(scope, "raise_exception", raise_exception);
  add_function(scope, "strftime_now", [time](Interpreter&, const Arguments& a) {
    return format_time(static_cast<std::time_t>(time.value_or(std::time(nullptr))), a);
  });
}

}  // namespace tern::jinja
