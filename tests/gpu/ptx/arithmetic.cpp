// Instructions that compute a result from values: a table of rules, each for a function of device/ named
// opcode_choices_type.
#include <string>

#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {
namespace {

constexpr std::string_view kIntegers = "u16 s16 u32 s32 u64 s64";
constexpr std::string_view kWords = "u32 s32 u64 s64";
constexpr std::string_view kBits = "b16 b32 b64";
constexpr std::string_view kFloats = "f16 f16x2 bf16 bf16x2 f32 f64 f32x2";
constexpr std::string_view kSigns = "s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64";
constexpr std::string_view kExtremes = "f16 f16x2 bf16 bf16x2 f32 f64";

struct Rule {
  std::string_view opcode;
  // Words between spaces. "a|b" requires one word of several, part of the function's name; "?a" is optional, part of
  // the name; "~a" is optional and ignored; "+round", "+ftz", "+sat", "+relu" are optional and modify every operation
  // in the same way.
  std::string_view qualifiers;
  std::string_view types;
  // The result and the operands: t of the type, w twice as wide, u of u32, s of s32, p a predicate.
  std::string_view signature;
};

constexpr Rule kRules[] = {
    {"add", "?sat", "s32", "ttt"},
    {"add", "", kIntegers, "ttt"},
    {"add", "+round +ftz +sat", kFloats, "ttt"},
    {"sub", "?sat", "s32", "ttt"},
    {"sub", "", kIntegers, "ttt"},
    {"sub", "+round +ftz +sat", kFloats, "ttt"},
    {"mul", "lo|hi", kIntegers, "ttt"},
    {"mul", "wide", "u16 s16 u32 s32", "wtt"},
    {"mul", "+round +ftz +sat", kFloats, "ttt"},
    {"mul24", "lo|hi", "u32 s32", "ttt"},
    {"mad", "hi ?sat", "s32", "tttt"},
    {"mad", "lo|hi", kIntegers, "tttt"},
    {"mad", "wide", "u16 s16 u32 s32", "wttw"},
    {"mad", "+round +ftz +sat", "f32 f64", "tttt"},
    {"mad24", "lo|hi", "u32 s32", "tttt"},
    {"fma", "+round +ftz +sat +relu", kFloats, "tttt"},
    {"sad", "", kIntegers, "tttt"},
    {"div", "", kIntegers, "ttt"},
    {"div", "+round +ftz ~approx ~full", "f32 f64", "ttt"},
    {"rem", "", kIntegers, "ttt"},
    {"abs", "+ftz", kSigns, "tt"},
    {"neg", "+ftz", kSigns, "tt"},
    {"min", "", kIntegers, "ttt"},
    {"max", "", kIntegers, "ttt"},
    {"min", "+ftz ?NaN ?xorsign ?abs", kExtremes, "ttt"},
    {"max", "+ftz ?NaN ?xorsign ?abs", kExtremes, "ttt"},
    {"and", "", "pred b16 b32 b64", "ttt"},
    {"or", "", "pred b16 b32 b64", "ttt"},
    {"xor", "", "pred b16 b32 b64", "ttt"},
    {"not", "", "pred b16 b32 b64", "tt"},
    {"cnot", "", kBits, "tt"},
    {"shl", "", kBits, "ttu"},
    {"shr", "", "b16 b32 b64 u16 s16 u32 s32 u64 s64", "ttu"},
    {"shf", "l|r wrap|clamp", "b32", "tttu"},
    {"lop3", "", "b32", "ttttu"},
    {"prmt", "", "b32", "tttu"},
    {"popc", "", "b32 b64", "ut"},
    {"clz", "", "b32 b64", "ut"},
    {"bfind", "?shiftamt", kWords, "ut"},
    {"fns", "", "b32", "ttus"},
    {"brev", "", "b32 b64", "tt"},
    {"bfe", "", kWords, "ttuu"},
    {"bfi", "", "b32 b64", "tttuu"},
    {"bmsk", "clamp|wrap", "b32", "ttt"},
    {"szext", "clamp|wrap", "u32 s32", "ttu"},
    {"copysign", "", "f32 f64", "ttt"},
    {"testp", "finite|infinite|number|notanumber|normal|subnormal", "f32 f64", "pt"},
    {"rcp", "+round +ftz ~approx", "f32 f64", "tt"},
    {"sqrt", "+round +ftz ~approx", "f32 f64", "tt"},
    {"rsqrt", "+ftz ~approx", "f32 f64", "tt"},
    {"sin", "+ftz ~approx", "f32", "tt"},
    {"cos", "+ftz ~approx", "f32", "tt"},
    {"lg2", "+ftz ~approx", "f32", "tt"},
    {"ex2", "+ftz ~approx", "f32 f16 f16x2 bf16 bf16x2", "tt"},
    {"tanh", "~approx", "f32 f16 f16x2 bf16 bf16x2", "tt"},
};

// Calls `call` with each word.
template <class Call>
void each_word(std::string_view text, char separator, Call call) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end) call(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool lists(std::string_view words, std::string_view word) {
  bool found = false;
  each_word(words, ' ', [&](std::string_view one) { found |= one == word; });
  return found;
}

struct Wraps {
  std::string rounding;  // "_rz" and the like; none to the nearest
  bool ftz = false, sat = false, relu = false;
};

// Takes the rule's qualifiers; false if a required qualifier is missing.
bool match_qualifiers(const Rule& rule, Decoder& instruction, std::string& name, Wraps& wraps) {
  bool fits = true;
  each_word(rule.qualifiers, ' ', [&](std::string_view word) {
    if (!fits) return;
    if (word == "+round") {
      const std::string_view mode = instruction.one_of({"rn", "rz", "rm", "rp"});
      if (!mode.empty() && mode != "rn") wraps.rounding = "_" + std::string(mode);
    } else if (word == "+ftz") {
      wraps.ftz = instruction.consume("ftz");
    } else if (word == "+sat") {
      wraps.sat = instruction.consume("sat");
    } else if (word == "+relu") {
      wraps.relu = instruction.consume("relu");
    } else if (word[0] == '~') {
      instruction.consume(word.substr(1));
    } else if (word[0] == '?') {
      if (instruction.consume(word.substr(1))) name += "_" + std::string(word.substr(1));
    } else {
      bool found = false;
      each_word(word, '|', [&](std::string_view one) {
        if (found || !instruction.consume(one)) return;
        found = true;
        name += "_" + std::string(one);
      });
      fits = found;
    }
  });
  return fits;
}

const Type& type_of(char letter, const Type& type) {
  switch (letter) {
    case 't': return type;
    case 'u': return type_named("u32");
    case 's': return type_named("s32");
    case 'p': return type_named("pred");
    default: {  // w
      const std::string wide = std::string(type.name.substr(0, 1)) + std::to_string(type.bits * 2);
      return type_named(wide);
    }
  }
}

std::string wrapped(const std::string& wrap, const Type& type, const std::string& value) {
  return wrap + "_" + std::string(type.name) + "(" + value + ")";
}

void write(const Rule& rule, const Type& type, const std::string& name, const Wraps& wraps, Decoder& instruction,
           FunctionWriter& writer) {
  if (!wraps.rounding.empty() && type.kind != TypeKind::kFloat) writer.fail("no rounding mode but .rn is known");
  const bool flushes = wraps.ftz && type.bits != 64;
  std::string function = name;
  if (rule.opcode == "mad" && !wraps.rounding.empty()) function = "fma";
  function += wraps.rounding + "_" + std::string(type.name);
  // "min.f32 d, a, b, c" of three values applies the function of two values twice.
  const bool extreme = rule.opcode == "min" || rule.opcode == "max";
  const bool of_three = extreme && type.kind != TypeKind::kSigned && instruction.operands() == 4;
  std::vector<std::string> values;
  for (std::size_t i = 1; i < rule.signature.size() + of_three; ++i) {
    const Type& of = type_of(rule.signature[std::min(i, rule.signature.size() - 1)], type);
    std::string value = writer.value(instruction.operand(i), of);
    values.push_back(flushes && &of == &type ? wrapped("ftz", type, value) : value);
  }
  std::string result = function + "(";
  if (of_three) {
    result += function + "(" + values[0] + ", " + values[1] + "), " + values[2];
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) result += (i ? ", " : "") + values[i];
  }
  result += ")";
  const Type& to = type_of(rule.signature[0], type);
  if (flushes) result = wrapped("ftz", to, result);
  if (wraps.sat) result = wrapped("sat", to, result);
  if (wraps.relu) result = wrapped("relu", to, result);
  writer.assign(instruction.operand(0), to, result);
}

}  // namespace

bool handle_arithmetic(Decoder& instruction, FunctionWriter& writer) {
  bool known = false;
  Decoder start = instruction;
  for (const Rule& rule : kRules) {
    if (rule.opcode != start.opcode()) continue;
    known = true;
    Decoder attempt = start;
    const Type* type = attempt.type_if();
    std::string name(rule.opcode);
    Wraps wraps;
    if (!type || !lists(rule.types, type->name) || !match_qualifiers(rule, attempt, name, wraps)) continue;
    write(rule, *type, name, wraps, attempt, writer);
    instruction = attempt;
    return true;
  }
  if (known) writer.fail("no rule for these qualifiers and this type");
  return false;
}

}  // namespace tern::emulated
