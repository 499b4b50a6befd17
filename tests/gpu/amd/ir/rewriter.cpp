#include "tests/gpu/amd/ir/rewriter.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "tests/gpu/amd/error.h"
#include "tests/gpu/amd/ir/intrinsics.h"

namespace tern::gpu::amd {
namespace {

constexpr std::string_view kAmd = "llvm.amdgcn.";
// Kernels read a single register by name: "exec", the active lanes.
constexpr std::string_view kRegister = "llvm.read_register.i64";
// LLVM functions with other bits on a CPU, or handled by the machine: fma of 16 bits would be rounded twice, minnum and
// maxnum leave the sign of zero open.
constexpr std::string_view kRuntime[] = {
    "llvm.trap",       "llvm.debugtrap",  "llvm.ubsantrap",  "llvm.fma.f16",    "llvm.fma.v2f16",  "llvm.minnum.f16",
    "llvm.minnum.f32", "llvm.minnum.f64", "llvm.maxnum.f16", "llvm.maxnum.f32", "llvm.maxnum.f64",
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

bool word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// Removes a trailing space, or comma and space.
void drop_separator(std::string& out) {
  if (out.ends_with(' ')) out.pop_back();
  if (out.ends_with(',')) out.pop_back();
}

// Removes the quoted string at the front and returns its contents.
std::string take_quoted(std::string_view& text) {
  const std::size_t end = text.find('"', 1);
  std::string quoted(text.substr(1, end - 1));
  text.remove_prefix(end + 1);
  return quoted;
}

}  // namespace

std::string portable_intrinsic(std::string_view name) {
  std::string result(name);
  for (char space = '1'; space <= '9'; ++space) {
    replace_all(result, std::string(".p") + space + ".", ".p0.");
    if (result.ends_with(std::string(".p") + space)) result.back() = '0';
  }
  // gfx9 has fused multiply-adds at full speed, and uses them for llvm.fmuladd.
  if (result.starts_with("llvm.fmuladd.")) result.replace(0, 13, "llvm.fma.");
  return result;
}

bool is_runtime_call(std::string_view name) {
  return name.starts_with(kAmd) || std::find(std::begin(kRuntime), std::end(kRuntime), name) != std::end(kRuntime);
}

std::string wrapper_name(std::string_view name) {
  return "tern." + std::string(name.substr(5));
}

std::string Rewriter::line(std::string_view text, References& references) {
  out_.clear();
  if (text.find(" asm ") != std::string_view::npos) {
    assembly(text);
    const std::string plain = std::move(out_);
    return plain.empty() ? plain : line(plain, references);
  }
  while (!text.empty()) {
    const char c = text.front();
    if (c == '"') {
      out_ += '"' + take_quoted(text) + '"';
    } else if (c == '@') {
      name(text, references);
    } else if (c == '%') {
      out_ += '%';
      out_ += take_name(text);
    } else if (word_letter(c)) {
      if (!word(text)) {
        const auto end = std::find_if_not(text.begin(), text.end(), word_letter);
        out_.append(text.begin(), end);
        text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
      }
    } else {
      out_ += c;
      text.remove_prefix(1);
    }
  }
  return std::move(out_);
}

// A function or a variable.
void Rewriter::name(std::string_view& text, References& references) {
  const std::string original = take_name(text);
  if (const auto local = module_.locals.find(original); local != module_.locals.end()) {
    references.names.insert(original);
    out_ += "getelementptr (i8, ptr @tern.locals, i64 " + std::to_string(local->second.offset) + ")";
    return;
  }
  if (!original.starts_with("llvm.")) {
    references.names.insert(original);
    out_ += '@' + original;
    return;
  }
  const std::string intrinsic = portable_intrinsic(original);
  if (intrinsic == kRegister && text.starts_with('(')) {
    references.groups = true;
    text.remove_prefix(text.find(')') + 1);
    out_ += "@tern_exec(i32 " + std::to_string(site_++) + ')';
    return;
  }
  if (!is_runtime_call(intrinsic)) {
    out_ += '@' + intrinsic;
    return;
  }
  out_ += '@' + wrapper_name(intrinsic);
  if (!intrinsic.starts_with(kAmd)) return;
  const Intrinsic kind = find_intrinsic(std::string_view(intrinsic).substr(kAmd.size()));
  if (kind == Intrinsic::unknown) {
    throw Error("the emulated GPU lacks " + intrinsic +
                ": add it to the table of tests/gpu/amd/ir/intrinsics.cpp and to runtime/");
  }
  if (kind != Intrinsic::wave && kind != Intrinsic::barrier) return;
  references.groups = true;
  take_prefix(text, "(");
  out_ += "(i32 " + std::to_string(site_++);
  if (!text.starts_with(')')) out_ += ", ";
}

// Replaces a GPU-only word of the IR.
bool Rewriter::word(std::string_view& text) {
  if (take_prefix(text, "addrspacecast ")) {
    out_ += "bitcast ";
    return true;
  }
  if (text.starts_with("addrspace(")) {
    drop_separator(out_);
    text.remove_prefix(text.find(')') + 1);
    return true;
  }
  if (take_prefix(text, "syncscope(")) {
    take_quoted(text);
    text.remove_prefix(1);
    drop_separator(out_);
    return true;
  }
  return text.starts_with("inttoptr i32 ") && near_pointer(text);
}

// Pointers to local and private memory have 32 bits: here the lower half of an address near the block's local memory,
// or near the thread's stack.
bool Rewriter::near_pointer(std::string_view& text) {
  std::string_view rest = text;
  take_prefix(rest, "inttoptr i32 ");
  const std::size_t to = rest.find(" to ptr addrspace(");
  if (to == std::string_view::npos) return false;
  const std::string_view value = rest.substr(0, to);
  rest.remove_prefix(to + 18);
  out_ += "call ptr @";
  out_ += rest.front() == '5' ? "tern_private_pointer(i32 " : "tern_local_pointer(ptr @tern.locals, i32 ";
  out_ += value;
  out_ += ')';
  text = rest.substr(2);
  return true;
}

// The device library hides values from the optimizer by inline assembly with only a comment.
void Rewriter::assembly(std::string_view text) {
  const std::size_t at = text.find(" asm ");
  const std::size_t call = text.rfind("call ", at);
  std::string_view rest = text.substr(text.find('"', at));
  const std::string code = take_quoted(rest);
  rest.remove_prefix(rest.find('"'));
  const std::string constraints = take_quoted(rest);
  const bool comment = code.empty() || code[0] == ';';
  if (comment && (constraints == "=v,0" || constraints == "=s,0" || constraints == "=r,0")) {
    std::string_view type = text.substr(call + 5, at - call - 5);
    const std::string_view operand = rest.substr(1, rest.find(')') - 1);
    out_ = std::string(text.substr(0, text.find('=') + 1)) + " bitcast " + std::string(operand) + " to " +
           std::string(type);
  } else if (!comment || !text.substr(call).starts_with("call void")) {
    throw Error("inline assembly cannot be emulated: " + code);
  }
}

}  // namespace tern::gpu::amd
