#include "tools/quantize/samples.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <filesystem>
#include <system_error>

#include "tools/calls.h"
#include "tools/quantize/nan.h"
#include "tools/text.h"

namespace tern {
namespace {

bool is_shared_input(const std::string& text) {
  std::error_code none;
  const std::size_t equals = text.find('=');
  return equals != std::string::npos && equals > 0 && !std::filesystem::exists(text, none);
}

InputChoice choice_of(const std::vector<std::string>& data) {
  InputChoice choice;
  choice.option = "--calibrate";
  choice.pass_over = true;  // labels may accompany inputs; missing inputs are errors anyway
  for (const std::string& text : data) (is_shared_input(text) ? choice.files : choice.sequence).push_back(text);
  // A single file may name its calls.
  std::error_code none;
  if (choice.sequence.size() == 1 && !std::filesystem::is_directory(choice.sequence[0], none)) {
    choice.files.push_back(choice.sequence[0]);
    choice.sequence.clear();
  }
  return choice;
}

}  // namespace

Calls read_samples(const FloatProgram& program, const std::vector<std::string>& data) {
  Calls calls;
  try {
    calls = gather_calls(program.model(), program.f().name, choice_of(data));
  } catch (const Error& e) {
    const std::string message = e.what();
    throw Error(e.code(), message.starts_with("--calibrate") ? message : "--calibrate: " + message);
  }
  std::vector<std::string> names;
  for (const FunctionInput& input : program.f().inputs) {
    if (input.kind == FunctionInput::Kind::user) names.push_back(input.name);
  }
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (std::size_t i = 0; i < calls[c].size(); ++i) {
      if (has_nan(calls[c][i]))
        fail(ErrorCode::invalid_argument,
             fmt::format("--calibrate: input '{}' of sample {} contains NaN, so no error can be measured",
                         escape_name(names[i]), c));
    }
  }
  return calls;
}

}  // namespace tern
