#include "tools/train/checks.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <vector>

#include "dtypes/convert.h"
#include "loader/atomic_file.h"
#include "tools/same_file.h"
#include "tools/text.h"

namespace tern::train {
namespace {

/// False for pipes: opening and closing a pipe would end its reader.
bool can_try(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status s = std::filesystem::status(path, error);
  return !std::filesystem::exists(s) || std::filesystem::is_regular_file(s) || std::filesystem::is_directory(s);
}

std::string taken_text(const SizeInfo& size) {
  if (size.constant) return fmt::format("{}", size.value);
  return size.max ? fmt::format("{} to {}", size.min, *size.max) : fmt::format("{} or more", size.min);
}

bool accepts_size(const SizeInfo& size, std::uint64_t samples) {
  const auto n = static_cast<std::int64_t>(samples);
  return size.constant ? n == size.value : n >= size.min && (!size.max || n <= *size.max);
}

/// Shares of ranks differ by at most a single sample.
bool takes_shares(const SizeInfo& size, std::uint64_t samples, int ranks) {
  const auto r = static_cast<std::uint64_t>(ranks);
  return accepts_size(size, samples / r) && accepts_size(size, (samples + r - 1) / r);
}

std::string ranks_text(int ranks) {
  return ranks == 1 ? "" : fmt::format(", shared by {} ranks", ranks);
}

bool is_data(const ValueInfo& input, std::string_view excluded_input) {
  return input.fixed.empty() && input.name != excluded_input;
}

std::vector<OutputOption> outputs_of(const TrainOptions& o) {
  return {{"--output", o.output}, {"--forward", o.forward}, {"--adapters", o.adapters}, {"--plot", o.plot}};
}

}  // namespace

void check_names(const TrainOptions& o, const std::string& trace) {
  refuse_to_replace("--trace", trace, {o.model, o.data, o.held_out_data});
  std::vector<OutputOption> outputs = outputs_of(o);
  outputs.push_back({"--trace", trace});
  refuse_same_outputs(outputs);
}

void check_outputs(const TrainOptions& o) {
  for (const auto& [option, path] : outputs_of(o)) {
    if (path.empty()) continue;
    refuse_to_replace(option, path, {o.data, o.held_out_data});
    if (can_try(path)) {
      const AtomicFile probe(path);  // removed at once: never committed
    }
  }
}

void check_array_names(const FunctionInfo& f, std::string_view excluded_input, const ArrayNames& names) {
  for (const auto& [input, array] : names) {
    std::string inputs;
    bool found = false;
    for (const ValueInfo& i : f.inputs) {
      if (!is_data(i, excluded_input)) continue;
      found = found || i.name == input;
      inputs += (inputs.empty() ? "" : ", ") + escape_name(i.name);
    }
    if (!found) {
      fail(ErrorCode::invalid_argument,
           fmt::format("--array {}={}: '{}' has no such input (it has: {})", escape_name(input), escape_name(array),
                       escape_name(f.name), inputs));
    }
  }
}

void check_batches(const FunctionInfo& f, std::string_view excluded_input, const Batches& b, const std::string& file) {
  const std::uint64_t full = b.samples / b.batch, last_batch = b.drop_last ? 0 : b.samples % b.batch;
  if (full == 0 && last_batch == 0)
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: {} {}, but a batch has {}", file, b.samples, b.description, b.batch));
  for (const ValueInfo& input : f.inputs) {
    if (!is_data(input, excluded_input) || input.sizes.empty()) continue;
    const SizeInfo& size = input.sizes[0];
    if (full > 0 && !takes_shares(size, b.batch, b.ranks)) {
      fail(ErrorCode::invalid_argument, fmt::format("--batch {}{}: the input '{}' takes batches of {}", b.batch,
                                                    ranks_text(b.ranks), escape_name(input.name), taken_text(size)));
    }
    if (last_batch > 0 && !takes_shares(size, last_batch, b.ranks)) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: of {} {}, {} are left after the last batch of {}{}, but the input '{}' takes batches of "
                       "{}; give another --batch, or leave them out with --drop-last",
                       file, b.samples, b.description, last_batch, b.batch, ranks_text(b.ranks),
                       escape_name(input.name), taken_text(size)));
    }
  }
}

void check_parameters(const Model& model, const Session& session, std::uint64_t step) {
  for (const StateInfo& s : model.states()) {
    if (!s.is_mutable || !s.is_parameter || !is_floating(s.dtype)) continue;
    const Tensor t = session.read_state(s.name);
    std::vector<double> values(static_cast<std::size_t>(t.numel()));
    convert(t.data(), t.dtype(), values.data(), DType::f64, t.numel());
    if (std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) continue;
    fail(ErrorCode::runtime,
         fmt::format("after step {} the parameter '{}' is not finite: training diverged. A smaller --lr, --warmup, or "
                     "'tern export --train --clip-norm' may help",
                     step, escape_name(s.name)));
  }
}

}  // namespace tern::train
