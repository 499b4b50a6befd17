#include "kernels/portable/source.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/portable/axes.h"
#include "kernels/portable/failure.h"
#include "kernels/portable/text_file.h"

namespace tern::portable {
namespace {

std::string failure_numbers() {
  std::string text;
#define TERN_FAILURE_DEFINE(number, name, message) text += "#define TERN_FAIL_" #name " " #number "\n";
  TERN_KERNEL_FAILURES(TERN_FAILURE_DEFINE)
#undef TERN_FAILURE_DEFINE
  return text;
}

/// A library text; "floats:f64" is text/floats.inc for f64, "matrix_units:bf16" text/matrix_units.inc.
std::string library(const std::string& file) {
  const std::size_t colon = file.find(':');
  if (colon == std::string::npos) return std::string(text_file(file));
  const std::string type = file.substr(colon + 1);
  if (type == "f16" || type == "bf16")
    return fmt::format("#define UNIT_BF16 {}\n{}", type == "bf16" ? 1 : 0, text_file(file.substr(0, colon)));
  const bool wide = type == "f64" || type == "c128";
  std::string text = fmt::format(
      "#define T {}\n#define C tern_{}\n#define NAME(x) tern_##x##_{}\n#define REAL(x) tern_##x##_{}\n"
      "#define MAKE(a, b) tern_make_{}(a, b)\n",
      wide ? "double" : "float", type, type, wide ? "f64" : "f32", type);
  text += text_file(file.substr(0, colon));
  return text + "#undef T\n#undef C\n#undef NAME\n#undef REAL\n#undef MAKE\n";
}

/// Checks a kernel's own text on a device without double; library texts check for double themselves.
void refuse_double(std::string_view said) {
  for (const char* word : {"f64", "c128", "double"}) {
    if (said.find(word) != std::string_view::npos)
      fail(ErrorCode::unsupported, "it computes in float64, which this device does not have");
  }
}

}  // namespace

void KernelSource::add_library(std::string_view file) {
  static constexpr std::string_view kMath[] = {"double_math", "float_math", "wide_math"};
  static constexpr std::string_view kWithout[] = {"integers",       "local_memory", "matrix_groups",    "matrix_units",
                                                  "order",          "parts",        "product_elements", "product_table",
                                                  "product_window", "row_groups",   "row_parts",        "row_vectors",
                                                  "sort_rank",      "sparse_units", "word_elements"};
  static constexpr std::string_view kOfLocalMemory[] = {"matrix_units", "product_table", "sparse_units"};
  const std::string_view name = file.substr(0, file.find(':'));
  const auto add = [&](std::string_view one) {
    if (std::ranges::find(files_, one) == files_.end()) files_.emplace_back(one);
  };
  if (std::ranges::find(kWithout, name) == std::end(kWithout)) {
    for (const std::string_view one : kMath) add(one);
  }
  if (std::ranges::find(kOfLocalMemory, name) != std::end(kOfLocalMemory)) add("local_memory");
  if (file != "math") add(file);
}

void KernelSource::define(std::string_view name, std::string_view value) {
  body_ += fmt::format("#define {} {}\n", name, value);
}

void KernelSource::define(std::string_view name, std::int64_t value) {
  define(name, std::to_string(value));
}

void KernelSource::type(std::string_view name, DType t) {
  define(name, c_type(t));
}

void KernelSource::choice(std::string_view name, std::int64_t value) {
  parameter(name, value);
  define(name, fmt::format("p.{}", name));
}

void KernelSource::parameter(std::string_view name, std::int64_t value) {
  parameter(name, std::span(&value, 1));
}

void KernelSource::math(std::string_view macro, DType t) {
  add_library("math");
  define(std::string(macro) + "(name)", "tern_##name##_" + type_name(t));
}

void KernelSource::load(std::string_view name, DType from, DType by, DType to) {
  const std::string element =
      from == DType::f4_e2m1 ? "(tern_u8)((p)[(i) >> 1] >> (4 * ((i)&1)) & 15)" : std::string("(p)[i]");
  define(std::string(name) + "(p, i)", converted(by, to, converted(from, by, element)));
}

void KernelSource::load(std::string_view name, DType from, DType to) {
  load(name, from, from, to);
}

void KernelSource::store(std::string_view name, DType from, DType to) {
  if (to == DType::f4_e2m1) fail(ErrorCode::unsupported, "this kernel does not support float4_e2m1 results");
  define(std::string(name) + "(p, i, v)", "(p)[i] = " + converted(from, to, "(v)"));
}

void KernelSource::arithmetic(std::string_view name, DType t) {
  const std::string prefix(name);
  type(prefix + "_T", t);
  define(prefix + "_ZERO", literal(t, std::int64_t{0}));
  define(prefix + "_ONE", literal(t, std::int64_t{1}));
  if (is_complex(t)) {
    add_library("complex:" + type_name(t));
    for (const char* op : {"add", "sub", "mul", "div"}) {
      std::string upper(op);
      std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      define(fmt::format("{}_{}(a, b)", prefix, upper), fmt::format("tern_{}_{}(a, b)", op, type_name(t)));
    }
    define(prefix + "_FMA(a, b, c)", fmt::format("tern_fma_{}(a, b, c)", type_name(t)));
    return;
  }
  define(prefix + "_FMA(a, b, c)", is_floating(t) ? "fma(a, b, c)" : "((a) * (b) + (c))");
  define(prefix + "_ADD(a, b)", "((a) + (b))");
  define(prefix + "_SUB(a, b)", "((a) - (b))");
  define(prefix + "_MUL(a, b)", "((a) * (b))");
  define(prefix + "_DIV(a, b)", "((a) / (b))");
}

void KernelSource::buffer(std::string_view name, DType t, bool writes) {
  buffers_.push_back({std::string(name), c_type(t), writes});
}

void KernelSource::append(std::uint64_t slot) {
  const auto bytes = std::bit_cast<std::array<std::byte, 8>>(slot);
  values_.insert(values_.end(), bytes.begin(), bytes.end());
}

void KernelSource::parameter(std::string_view name, std::span<const std::int64_t> values) {
  struct_ += values.size() == 1 ? fmt::format("  tern_i64 {};\n", name)
                                : fmt::format("  tern_i64 {}[{}];\n", name, std::max<std::size_t>(values.size(), 1));
  for (std::int64_t v : values) append(static_cast<std::uint64_t>(v));
  if (values.empty()) append(0);
}

void KernelSource::parameter(std::string_view name, DType t, double value) {
  if (t == DType::f64) {
    struct_ += fmt::format("  double {};\n", name);
    append(std::bit_cast<std::uint64_t>(value));
  } else {
    struct_ += fmt::format("  float {0};\n  float {0}_unused;\n", name);
    append(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  }
}

void KernelSource::view(std::string_view name, const TensorView& v) {
  const std::span strides(v.strides.data(), static_cast<std::size_t>(v.rank));
  view(name, v.shape(), strides);
  pending_.back().contiguous = v.contiguous();
}

void KernelSource::view(std::string_view name, std::span<const std::int64_t> sizes,
                        std::span<const std::int64_t> strides) {
  pending_.push_back({std::string(name), {sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}, false});
}

void KernelSource::complete(const Target& target) {
  for (std::size_t k = 0; k < pending_.size(); ++k) {
    const View& v = pending_[k];
    if (target.any_strides && !v.contiguous) {
      declare_any(v);
      continue;
    }
    // Equal views share a function: compilers then see equal results.
    const auto last = pending_.begin() + static_cast<std::ptrdiff_t>(k);
    const auto same = std::find_if(pending_.begin(), last, [&](const View& earlier) {
      return !v.contiguous && !earlier.contiguous && earlier.sizes == v.sizes && earlier.strides == v.strides;
    });
    if (same == last) {
      declare(v);
    } else {
      views_ += fmt::format("#define at_{} at_{}\n", v.name, same->name);
    }
  }
  pending_.clear();
}

void KernelSource::declare(const View& v) {
  const std::string& name = v.name;
  const std::vector<Axis> axes = collapse(v.sizes, v.strides);
  std::string body;
  if (v.contiguous || (axes.size() == 1 && axes[0].stride == 1)) {
    body = "  return i;\n";
  } else if (axes.empty()) {
    body = "  return 0;\n";
  } else {
    std::int64_t total = 1;
    std::vector<std::int64_t> size_values, stride_values;
    for (const Axis& a : axes) {
      total *= a.size;
      size_values.push_back(a.size);
      stride_values.push_back(a.stride);
    }
    // Below 2^31 elements, multiplication by inverses replaces division; the choice is part of the text.
    const bool narrow = total < (std::int64_t{1} << 31), one = axes.size() == 1;
    const char* type = narrow ? "tern_u32" : "tern_u64";
    parameter(name + "_sizes", size_values);
    parameter(name + "_strides", stride_values);
    if (narrow && !one) {
      std::vector<std::int64_t> inverses;
      for (std::int64_t size : size_values) inverses.push_back(inverse_of(size));
      parameter(name + "_inverses", inverses);
    }
    body = fmt::format("  {} rest = ({})i;\n  tern_i64 at = 0;\n", type, type);
    for (std::size_t k = axes.size(); k-- > 1;) {
      const std::string divided = narrow ? fmt::format(
                                               "(tern_u32)((tern_u64)rest * (tern_u32)p->{0}_inverses[{1}] >> "
                                               "(int)(p->{0}_inverses[{1}] >> 32))",
                                               name, k)
                                         : "rest / size";
      body += fmt::format(
          "  {{\n    const {0} size = ({0})p->{1}_sizes[{2}];\n    const {0} quotient = {3};\n"
          "    at += (tern_i64)(rest - quotient * size) * p->{1}_strides[{2}];\n    rest = quotient;\n  }}\n",
          type, name, k, divided);
    }
    body += fmt::format("  return at + (tern_i64)rest * p->{}_strides{};\n", name, one ? "" : "[0]");
  }
  add_view(name, body);
}

/// Like `declare`, with the number of axes as a parameter.
void KernelSource::declare_any(const View& v) {
  const std::string& name = v.name;
  std::vector<std::int64_t> sizes(kMaxRank, 1), strides(kMaxRank, 0);
  const std::vector<Axis> axes = collapse(v.sizes, v.strides);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    sizes.at(k) = axes[k].size;
    strides.at(k) = axes[k].stride;
  }
  parameter(name + "_rank", static_cast<std::int64_t>(axes.size()));
  parameter(name + "_sizes", sizes);
  parameter(name + "_strides", strides);
  add_view(name, fmt::format("  tern_i64 at = 0;\n"
                             "  for (tern_i64 k = p->{0}_rank - 1; k > 0; --k) {{\n"
                             "    at += i % p->{0}_sizes[k] * p->{0}_strides[k];\n    i /= p->{0}_sizes[k];\n  }}\n"
                             "  return at + i * p->{0}_strides[0];\n",
                             name));
}

void KernelSource::add_view(const std::string& name, const std::string& body) {
  views_ += fmt::format("TERN_FN tern_i64 at_{}(tern_i64 i, TERN_PARAM const struct tern_parameters* p) {{\n{}}}\n",
                        name, body);
}

std::string KernelSource::key() const {
  std::string key = name_ + (group_ == 0 ? "\n" : fmt::format(" {}\n", group_));
  for (const std::string& f : files_) key += f + "\n";
  key += body_ + struct_ + views_;
  for (const Buffer& b : buffers_) key += b.type + " " + b.name + (b.is_written ? " writes\n" : "\n");
  return key;
}

std::string KernelSource::text(const Target& target) const {
  if (!target.has_double) {
    std::string said = body_ + struct_;
    for (const Buffer& b : buffers_) said += b.type + " ";
    for (const std::string& f : files_) said += f == "double_math" ? "" : f + " ";  // empty without double
    refuse_double(said);
  }
  const std::string kernel = "tern_" + name_;
  std::string arguments, unpacked;
  int position = 0;
  for (const Buffer& b : buffers_) {
    const std::string type = fmt::format("TERN_GLOBAL {}{}*", b.is_written ? "" : "const ", b.type);
    arguments += fmt::format("{} {}{}, ", type, b.name,
                             target.dialect == Dialect::metal ? fmt::format(" [[buffer({})]]", position) : "");
    unpacked += fmt::format("*({}{}* const*)args[{}], ", b.is_written ? "" : "const ", b.type, position);
    ++position;
  }
  std::string declaration;
  switch (target.dialect) {
    case Dialect::cpp:
      declaration =
          fmt::format("static void {}_items({}const struct tern_parameters p, tern_i64 tern_begin, tern_i64 tern_end)",
                      kernel, arguments);
      break;
    case Dialect::opencl:
      declaration =
          fmt::format("__kernel {}void {}({}const struct tern_parameters p)",
                      group_ == 0 ? "" : fmt::format("__attribute__((reqd_work_group_size({}, 1, 1))) ", group_),
                      kernel, arguments);
      break;
    case Dialect::cuda:
    case Dialect::hip:
      // AMD's compiler assumes groups of 1024 without this attribute, with few registers per item.
      declaration =
          fmt::format("extern \"C\" __global__ {}void {}({}const struct tern_parameters p{})",
                      std::ranges::find(files_, "row_groups") != files_.end() ? "TERN_ROW_BOUNDS "
                      : group_ == 0 || target.dialect == Dialect::cuda
                          ? ""
                          : fmt::format("__attribute__((amdgpu_flat_work_group_size(1, {}))) ", group_),
                      kernel, arguments, target.dialect == Dialect::hip ? ", const tern_i64 tern_first_block" : "");
      break;
    case Dialect::metal:
      declaration = fmt::format(
          "kernel void {}({}constant struct tern_parameters& p [[buffer({})]], uint tern_position "
          "[[thread_position_in_grid]])",
          kernel, arguments, position);
      break;
  }
  std::string text = fmt::format("#define TERN_DOUBLE {}\n", target.has_double ? 1 : 0);
  text += text_file("dialect");
  text += failure_numbers();
  text += text_file("convert");
  for (const std::string& f : files_) text += library(f);
  text += "struct tern_parameters {\n" + (struct_.empty() ? std::string("  tern_i64 unused;\n") : struct_) + "};\n";
  text += views_ + body_;
  text += "#define TERN_KERNEL " + declaration + "\n";
  text += text_file(name_);
  if (target.dialect == Dialect::cpp) {
    text += fmt::format(
        "TERN_ENTRY void {0}(const void* const* args, long long begin, long long end) "
        "{{\n"
        "  {0}_items({1}*(const struct tern_parameters*)args[{2}], begin, end);\n}}\n",
        kernel, unpacked, position);
  }
  return text;
}

}  // namespace tern::portable
