#include "tests/gpu/amd/ir/translate.h"

#include <algorithm>
#include <map>
#include <set>

#include "tests/gpu/amd/error.h"
#include "tests/gpu/amd/ir/block_order.h"
#include "tests/gpu/amd/ir/entries.h"
#include "tests/gpu/amd/ir/read_module.h"
#include "tests/gpu/amd/ir/rewriter.h"
#include "tests/gpu/amd/ir/wrappers.h"

namespace tern::gpu::amd {
namespace {

constexpr std::string_view kHeader =
    "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
    "target triple = \"x86_64-pc-linux-gnu\"\n"
    "declare void @tern_failed_assertion()\ndeclare void @tern_print_without_host()\n"
    "declare ptr @tern_private_pointer(i32)\ndeclare ptr @tern_local_pointer(ptr, i32)\ndeclare i64 @tern_exec(i32)\n";

// Functions of HIP's headers and of the device libraries that need the host, and their replacements.
struct Replaced {
  std::string_view name, replacement;
};
constexpr Replaced kReplaced[] = {
    {"__assert_fail", "tern_failed_assertion"},
    {"__assertfail", "tern_failed_assertion"},
    {"__ockl_hostcall_internal", "tern_print_without_host"},
};

// Attributes valid for the rewritten function, too. All others are dropped: a function that reads no memory may call a
// function of runtime/ that does.
constexpr std::string_view kPreservedAttributes[] = {" convergent ", " noinline ", " alwaysinline ", " noreturn ",
                                                     " cold "};

std::string attributes(std::string_view line) {
  std::string text = std::string(line.substr(0, line.find('{') + 1)) + " nounwind ";
  for (const std::string_view word : kPreservedAttributes) {
    if (line.find(word) != std::string_view::npos) text += word;
  }
  return text + " }";
}

// `define ... void @kernel(...) ... {` without GPU-only parts.
std::string kernel_head(std::string_view line) {
  std::string_view text = line.substr(line.find('@'));
  std::string head = "define internal void @" + take_name(text);
  std::string list(bracketed(text));
  for (std::size_t at = list.find("byref("); at != std::string::npos; at = list.find("byref(")) {
    list.erase(at, bracketed(std::string_view(list).substr(at + 5)).size() + 6);
  }
  return head + list + " {";
}

class Translation {
 public:
  explicit Translation(std::string_view ir)
      : lines_(lines_of(ir)), module_(read_module(lines_)), local_bytes_(place_locals(module_)), rewriter_(module_) {}

  std::string text() {
    std::string body;
    for (line_ = 0; line_ < lines_.size(); ++line_) add(body, lines_[line_]);
    // 64 KiB, plus space to detect writes past the end (runtime/run.h).
    const std::string locals = "@tern.locals = internal thread_local global [65792 x i8] zeroinitializer, align 128\n";
    return std::string(kHeader) + locals + body + wrappers(module_) + entries(module_, local_bytes_);
  }

 private:
  void add(std::string& body, std::string_view line) {
    if (skipping_) {
      skipping_ = line != "}";
      return;
    }
    if (line.empty() || line[0] == ';' || line.starts_with("target ") || line.starts_with("source_filename ") ||
        line.starts_with("module asm") || defines_local(line) || line.starts_with("@llvm.compiler.used ") ||
        line.starts_with("@llvm.used ") || line.starts_with("@__hip_cuid_")) {
      return;
    }
    if (line.starts_with("declare ")) {
      declare(body, line);
    } else if (line.starts_with("define ")) {
      define(body, line);
    } else if (line.starts_with("attributes ")) {
      body += attributes(line) + '\n';
    } else {
      if (const std::string label = block_label(line); !label.empty() && !order_.empty()) begin_block(label);
      body += rewriter_.line(line, *references_) + '\n';
    }
  }

  void declare(std::string& body, std::string_view line) {
    std::string_view text = line.substr(line.find('@'));
    const std::string name = portable_intrinsic(take_name(text));
    // Declares overloads for several address spaces only once.
    if (!is_runtime_call(name) && !name.starts_with("llvm.read_register.") && declared_.insert(name).second)
      body += rewriter_.line(line, nothing_) + '\n';
  }

  void define(std::string& body, std::string_view line) {
    std::string_view text = line.substr(line.find('@'));
    const std::string name = take_name(text);
    references_ = &module_.functions[name];
    const auto first = lines_.begin() + static_cast<std::ptrdiff_t>(line_) + 1;
    first_block_ += static_cast<unsigned>(order_.size());
    order_ = block_order({first, std::find(first, lines_.end(), "}")});
    begin_block("");
    body += rewriter_.line(defines_kernel(line) ? kernel_head(line) : std::string(line), nothing_) + '\n';
    for (const Replaced& replaced : kReplaced) {
      if (name != replaced.name) continue;
      body += "  call void @" + std::string(replaced.replacement) + "()\n  unreachable\n}\n";
      skipping_ = true;
    }
  }

  void begin_block(const std::string& label) {
    // A function is called from blocks of other functions: its numbers need no order relative to theirs.
    rewriter_.begin_block(first_block_ + order_.at(label));
  }

  std::vector<std::string_view> lines_;
  std::size_t line_ = 0;
  std::map<std::string, unsigned> order_;  // order of the function's blocks
  unsigned first_block_ = 0;
  Module module_;
  std::uint64_t local_bytes_;
  Rewriter rewriter_;
  std::set<std::string> declared_;
  References nothing_;
  References* references_ = &nothing_;
  bool skipping_ = false;
};

}  // namespace

std::string translate(std::string_view ir) {
  return Translation(ir).text();
}

}  // namespace tern::gpu::amd
