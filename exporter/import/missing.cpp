#include "exporter/import/missing.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "dtypes/printable.h"
#include "exporter/import/origins.h"
#include "schema/work.h"

namespace tern::importing {

namespace {

/// Neither PyTorch's own nor a higher-order operator.
bool is_foreign(std::string_view target) {
  for (const std::string_view own : {"aten.", "prims.", "higher_order.", "quantized_decomposed.", "_operator."}) {
    if (target.starts_with(own)) return false;
  }
  return target.find('.') != std::string_view::npos;
}

}  // namespace

void Missing::add(const pt2::Node& node, const std::string& reason) {
  const std::string target(short_target(node.target));
  charge_work(ops_.size());
  for (MissingOp& op : ops_) {
    if (op.target == target && op.reason == reason) {
      ++op.count;
      return;
    }
  }
  ops_.push_back({target, 1, position_text(node), reason});
}

void Missing::check() const {
  if (ops_.empty()) return;
  std::size_t use_count = 0;
  std::string lines;
  bool unknown = false, foreign = false;
  constexpr std::size_t kMaxShown = 100;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const MissingOp& op = ops_[i];
    use_count += op.count;
    unknown = unknown || op.reason.empty();
    foreign = foreign || is_foreign(op.target);
    if (i >= kMaxShown) continue;
    lines += fmt::format("\n  {}: {} use{}, first at {}", printable(op.target), op.count, op.count == 1 ? "" : "s",
                         printable(op.where));
    if (!op.reason.empty()) lines += "\n    " + indented(op.reason);
  }
  if (ops_.size() > kMaxShown) lines += fmt::format("\n  and {} more", ops_.size() - kMaxShown);
  std::string message = fmt::format("{} operator{} of the program cannot be imported ({} use{}):{}", ops_.size(),
                                    ops_.size() == 1 ? "" : "s", use_count, use_count == 1 ? "" : "s", lines);
  if (unknown) {
    message +=
        "\n  Calling exported = exported.run_decompositions() before torch.export.save may replace them by simpler "
        "ones.";
  }
  if (foreign) {
    message +=
        "\n  Your own library can provide operators of other libraries: give it with --ops LIBRARY, or keep their "
        "names with --custom-ops and give it when the archive runs (tern/custom_op.h, examples/custom_op).";
  }
  fail(ErrorCode::unsupported, message);
}

void Missing::check_guards(bool accept, std::vector<std::string>* warnings) const {
  constexpr std::size_t kMaxShown = 20;
  constexpr std::size_t kShownBytes = 300;
  std::string lines;
  for (std::size_t i = 0; i < guards_.size() && i < kMaxShown; ++i) {
    const std::string text = printable(guards_[i].text.substr(0, kShownBytes));
    if (accept) {
      warnings->push_back(fmt::format("{}: the program assumes this, but Tern does not check it: {}", text,
                                      printable(guards_[i].reason)));
    } else {
      lines += fmt::format("\n  {}\n    {}", text, printable(guards_[i].reason));
    }
  }
  if (accept || guards_.empty()) return;
  if (guards_.size() > kMaxShown) lines += fmt::format("\n  and {} more", guards_.size() - kMaxShown);
  throw Error(ErrorCode::unsupported,
              fmt::format("{} relation{} that the program assumes of its inputs cannot be checked:{}\n"
                          "Export with --unchecked-guards to leave {} unchecked: other inputs then give wrong results "
                          "without an error.",
                          guards_.size(), guards_.size() == 1 ? "" : "s", lines, guards_.size() == 1 ? "it" : "them"));
}

}  // namespace tern::importing
