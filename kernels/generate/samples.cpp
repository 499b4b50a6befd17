#include "kernels/generate/samples.h"

#include <fmt/format.h>
#include <tern/dtype.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>

#include "kernels/portable/definitions.h"
#include "schema/op_record.h"

namespace tern::generate {
namespace {

[[noreturn]] void refuse(std::string_view part, const char* what) {
  fail(ErrorCode::internal, fmt::format("a sample's '{}' is not {}", part, what));
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

/// Splits at `mark`s outside of brackets; an empty text has no parts.
std::vector<std::string_view> split(std::string_view s, char mark) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size() && s[i] == '[') ++depth;
    if (i < s.size() && s[i] == ']') --depth;
    if (i < s.size() && (s[i] != mark || depth != 0)) continue;
    parts.push_back(trimmed(s.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

template <class T>
T number(std::string_view s) {
  T value{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) refuse(s, "a number");
  return value;
}

/// "[3,4]": 3, 4.
std::vector<std::string_view> elements(std::string_view s) {
  if (s.size() < 2 || s.front() != '[' || s.back() != ']') refuse(s, "a list in brackets");
  return split(s.substr(1, s.size() - 2), ',');
}

DType dtype(std::string_view s, DType t) {
  if (s == "T") return t;
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"f32", DType::f32}, {"f64", DType::f64},      {"f16", DType::f16}, {"bf16", DType::bf16},
      {"c64", DType::c64}, {"i32", DType::i32},      {"i64", DType::i64}, {"c128", DType::c128},
      {"u64", DType::u64}, {"bool", DType::boolean}, {"u8", DType::u8}};
  for (const auto& [name, type] : kTypes) {
    if (s == name) return type;
  }
  refuse(s, "a type");
}

/// "T[3,2|4]": an operand for each alternative size.
std::vector<SampleOperand> operands(std::string_view s, DType t) {
  std::vector<SampleOperand> all;
  for (std::string_view alternative : split(s, '|')) {
    if (alternative == "-") {
      all.emplace_back();
      continue;
    }
    const std::size_t bracket = std::min(alternative.find('['), alternative.size());
    std::vector<SampleOperand> some{{dtype(alternative.substr(0, bracket), t), {}}};
    for (std::string_view size : elements(alternative.substr(bracket))) {
      std::vector<SampleOperand> longer;
      for (std::string_view one : split(size, '|')) {
        for (SampleOperand o : some) {
          o.sizes.push_back(number<std::int64_t>(one));
          longer.push_back(std::move(o));
        }
      }
      some = std::move(longer);
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::int64_t integer_value(const AttrRecord& r, std::string_view s, DType t) {
  if (r.type == AttrType::dtype) return static_cast<std::int64_t>(dtype(s, t));
  const auto named = std::ranges::find(r.names, s);
  return named != r.names.end() ? named - r.names.begin() : number<std::int64_t>(s);
}

/// "kind=sum|mean": an attribute for each alternative.
std::vector<Attr> attributes(Op op, std::string_view s, DType t) {
  const std::size_t equals = std::min(s.find('='), s.size() - 1);
  std::vector<Attr> all;
  for (const AttrRecord& r : op_record(op).attributes) {
    if (attr_name(r.key) != s.substr(0, equals)) continue;
    for (std::string_view value : split(s.substr(equals + 1), '|')) {
      const auto parts = value.starts_with('[') ? elements(value) : std::vector{value};
      if (r.type == AttrType::text) {
        all.push_back({r.key, std::string(value)});
      } else if (r.type == AttrType::number || r.type == AttrType::numbers) {
        std::vector<double> numbers;
        for (std::string_view p : parts) numbers.push_back(number<double>(p));
        all.push_back({r.key, std::move(numbers)});
      } else {
        Dims dims;
        for (std::string_view p : parts) dims.push_back(Dim(integer_value(r, p, t)));
        all.push_back({r.key, std::move(dims)});
      }
    }
  }
  if (all.empty()) refuse(s, "an attribute of the op");
  return all;
}

/// Combines each of `samples` with each of `values`, inserted by `put`.
template <class T, class Put>
void combine(std::vector<Sample>& samples, const std::vector<T>& values, const Put& put) {
  std::vector<Sample> more;
  for (const Sample& s : samples) {
    for (const T& value : values) put(more.emplace_back(s), value);
  }
  samples = std::move(more);
}

}  // namespace

std::vector<Sample> read_samples(Op op, std::string_view line) {
  std::vector<std::string_view> types{"f32"};
  if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    types = split(line.substr(2, colon - 2), '|');
    line.remove_prefix(colon + 1);
  }
  const std::size_t semicolon = std::min(line.find(';'), line.size());
  const auto inputs = split(line.substr(0, semicolon), ',');
  const auto attrs = split(line.substr(std::min(semicolon + 1, line.size())), ',');
  std::vector<Sample> all;
  for (std::string_view type : types) {
    const DType t = dtype(type, DType::invalid);
    std::vector<Sample> some{{op, {}, {}}};
    for (std::string_view in : inputs)
      combine(some, operands(in, t), [](Sample& s, const SampleOperand& o) { s.inputs.push_back(o); });
    for (std::string_view a : attrs)
      combine(some, attributes(op, a, t), [](Sample& s, const Attr& value) { s.attrs.push_back(value); });
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (std::size_t op = 0; op <= kMaxOp; ++op) {
    for (std::string_view line : portable::definitions().compiled[op].samples) {
      const auto some = read_samples(static_cast<Op>(op), line);
      all.insert(all.end(), some.begin(), some.end());
    }
  }
  return all;
}

}  // namespace tern::generate
