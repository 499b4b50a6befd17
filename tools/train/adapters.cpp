#include "tools/train/adapters.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "dtypes/convert.h"
#include "exporter/training/methods.h"
#include "tools/files/safetensors.h"

namespace tern::train {
namespace {

constexpr std::string_view kPeft = "base_model.model.";

std::vector<double> doubles(const Tensor& t) {
  std::vector<double> values(static_cast<std::size_t>(t.numel()));
  convert(t.data(), t.dtype(), values.data(), DType::f64, t.numel());
  return values;
}

HostTensor product_tensor(const Tensor& t, double factor) {
  HostTensor result{t.dtype(), {t.sizes().begin(), t.sizes().end()}, std::vector<std::byte>(t.byte_size())};
  std::vector<double> values = doubles(t);
  for (double& v : values) v *= factor;
  convert(values.data(), DType::f64, result.data.data(), t.dtype(), t.numel());
  return result;
}

void add_product(const State& w, const std::vector<double>& a, const std::vector<double>& b, const Adapter& adapter,
                 std::vector<std::byte>& storage) {
  const std::size_t row_axis = adapter.output_axis(), column_axis = adapter.input_axis();
  const std::int64_t rows = w.type.shape[row_axis].value(), columns = w.type.shape[column_axis].value();
  const std::int64_t row = w.strides[row_axis], column = w.strides[column_axis];
  const std::int64_t size = element_size(w.type.dtype);
  std::vector<double> sum(static_cast<std::size_t>(columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    std::ranges::fill(sum, 0.0);
    for (std::int64_t k = 0; k < adapter.rank; ++k) {
      const double factor = b[static_cast<std::size_t>(r * adapter.rank + k)];
      const double* const right = a.data() + k * columns;
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += factor * right[c];
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      std::byte* const element = storage.data() + (w.offset + r * row + c * column) * size;
      double value = 0;
      convert(element, w.type.dtype, &value, DType::f64, 1);
      value += adapter.scale() * sum[static_cast<std::size_t>(c)];
      convert(&value, DType::f64, element, w.type.dtype, 1);
    }
  }
}

/// Value of an adapter's matrix: its average, if training keeps averages.
Tensor matrix_value(const Program& program, const Session& session, std::uint32_t state) {
  const std::string& name = program.states[state].name;
  const std::string average = std::string(training::kAverageState) + name;
  const bool has_average = std::ranges::find(program.states, average, &State::name) != program.states.end();
  return session.read_state(has_average ? average : name);
}

}  // namespace

void write_adapters(const Model& model, const Session& session, const std::string& path) {
  const std::vector<Adapter> adapters = adapters_of(*model.program());
  if (adapters.empty()) fail(ErrorCode::invalid_argument, "the archive has no low-rank adapters");
  const bool one_scale =
      std::ranges::all_of(adapters, [&](const Adapter& a) { return a.scale() == adapters[0].scale(); });
  NamedTensors file;
  for (const Adapter& a : adapters) {
    const std::string module = std::string(kPeft) + a.module;
    const Tensor down = matrix_value(*model.program(), session, a.a);
    const Tensor up = matrix_value(*model.program(), session, a.b);
    file.tensors.emplace_back(module + std::string(training::kLoraA), product_tensor(down, 1));
    file.tensors.emplace_back(module + std::string(training::kLoraB), product_tensor(up, one_scale ? 1 : a.scale()));
  }
  const Adapter& first = adapters[0];
  file.metadata = {{"r", fmt::format("{}", first.rank)},
                   {"lora_alpha", fmt::format("{}", one_scale ? first.alpha : static_cast<double>(first.rank))}};
  if (std::ranges::any_of(adapters, &Adapter::fan_in_fan_out)) file.metadata["fan_in_fan_out"] = "true";
  write_safetensors(path, file, true);
}

void merge_adapters(const Program& program, const Session& session, const std::vector<Adapter>& adapters,
                    std::map<std::uint32_t, std::vector<std::byte>>& changed_storages) {
  for (const Adapter& adapter : adapters) {
    const State& w = program.states[adapter.weight];
    auto [entry, is_new] = changed_storages.try_emplace(w.storage);
    if (is_new) {
      const auto old_bytes = program.source->bytes(w.storage);
      entry->second.assign(old_bytes.begin(), old_bytes.end());
    }
    add_product(w, doubles(matrix_value(program, session, adapter.a)),
                doubles(matrix_value(program, session, adapter.b)), adapter, entry->second);
  }
}

}  // namespace tern::train
