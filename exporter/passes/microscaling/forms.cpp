#include "exporter/passes/microscaling/forms.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dtypes/blocks.h"
#include "dtypes/convert.h"

namespace tern::microscaling {
namespace {

/// Layout of elements in a state.
struct ElementStorage {
  DType scale_dtype;
  DType element;
  int per_item;  ///< elements per item of the state, side by side in the last axis
};

// Known patterns, each with one float8_e8m0fnu per block along the last axis:
//   written by hand            data.to(f) .view(n, -1, 32) * scale.to(f).unsqueeze(-1)           float8 data
//                              lut[stack(data & 15, data >> 4)] in place of data.to(f)           float4 in uint8
//                              lut[data] in place of data.to(f)                                  float6 in uint8
//                              data.view(float8_...) before it                                   float8 in uint8
//   torchao's MXTensor, after  data.to(f) .view(-1, 32) * where(scale == 255, nan, 2 ** (int16(scale) - 127)).view(-1,
//   1) run_decompositions()       with the scales brought from cuBLAS's tiles into rows by views, permutes and slices;
//                              float4 unpacked to the bits of float32 by shifts and masks
// The table lists the possible meanings of states; the values decide the actual one, if any.
constexpr ElementStorage kElementStorages[] = {
    {DType::f8_e4m3fn, DType::f8_e4m3fn, 1}, {DType::f8_e5m2, DType::f8_e5m2, 1}, {DType::u8, DType::f4_e2m1, 2},
    {DType::u8, DType::f6_e2m3, 1},          {DType::u8, DType::f6_e3m2, 1},      {DType::u8, DType::f8_e4m3fn, 1},
    {DType::u8, DType::f8_e5m2, 1},
};
constexpr std::int64_t kSwizzledBlock = 32;
/// Element limit of tables, and of numbers lifted out of the program.
constexpr std::int64_t kSmall = 256;

/// Element count; -1 if uncountable.
std::int64_t count(const State& s) {
  std::uint64_t bytes = 0;
  if (!byte_size({s.type.dtype, s.type.shape}, &bytes)) return -1;
  return static_cast<std::int64_t>(bytes) / element_size(s.type.dtype) * elements_per_byte(s.type.dtype);
}

/// True for states in row-major order. The elements can be counted.
bool row_major(const State& s) {
  std::int64_t step = 1;
  for (std::size_t i = s.strides.size(); i-- > 0;) {
    if (s.type.shape[i].value() != 1 && s.strides[i] != step) return false;
    step *= s.type.shape[i].value();
  }
  return true;
}

std::span<const std::byte> bytes_of(const Program& p, std::uint32_t state) {
  const State& s = p.states[state];
  const auto size = static_cast<std::size_t>(element_size(s.type.dtype));
  return p.source->bytes(s.storage).subspan(static_cast<std::size_t>(s.offset) * size,
                                            static_cast<std::size_t>(count(s)) * size);
}

/// Candidate states for elements and scales; -1 if missing or ambiguous.
struct Roles {
  std::int64_t elements = -1, scales = -1;
};
Roles roles_of(const Program& program, const std::vector<std::uint32_t>& states) {
  std::vector<std::uint32_t> scales, bits;
  for (std::uint32_t number : states) {
    const State& s = program.states[number];
    const DType t = s.type.dtype;
    if (s.type.quantized()) return {};
    if (t == DType::f8_e8m0) {
      scales.push_back(number);
    } else if (!s.type.shape.empty() && (t == DType::u8 || t == DType::f8_e4m3fn || t == DType::f8_e5m2)) {
      bits.push_back(number);
    } else if (count(s) < 0 || count(s) > kSmall) {
      return {};
    }
  }
  // Before PyTorch could save float8_e8m0fnu, scales were kept as uint8.
  if (scales.empty() && bits.size() == 2) {
    if (count(program.states[bits[0]]) < count(program.states[bits[1]])) std::swap(bits[0], bits[1]);
    if (program.states[bits[1]].type.dtype != DType::u8) return {};
    scales.push_back(bits.back());
    bits.pop_back();
  }
  if (scales.size() != 1 || bits.size() != 1) return {};
  return {bits[0], scales[0]};
}

QuantizedMatrix matrix_of(const TensorType& t) {
  QuantizedMatrix m{t.dtype, 1, t.shape.back().value(), t.blocks};
  for (std::size_t i = 0; i + 1 < t.shape.size(); ++i) m.rows *= t.shape[i].value();
  return m;
}

bool same_numbers(const std::byte* a, const std::byte* b, DType t, std::int64_t n) {
  const auto bytes = static_cast<std::size_t>(n * element_size(t));
  if (std::memcmp(a, b, bytes) == 0) return true;
  std::vector<double> x(static_cast<std::size_t>(n)), y(x.size());
  convert(a, t, x.data(), DType::f64, n);
  convert(b, t, y.data(), DType::f64, n);
  const auto size = static_cast<std::size_t>(element_size(t));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::memcmp(a + i * size, b + i * size, size) != 0 && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  }
  return true;
}

}  // namespace

std::vector<MicroscaledForm> possible_forms(const Program& program, const std::vector<std::uint32_t>& states) {
  const auto [elements, scales] = roles_of(program, states);
  if (elements < 0 || scales < 0) return {};
  const State& e = program.states[static_cast<std::size_t>(elements)];
  const State& s = program.states[static_cast<std::size_t>(scales)];
  const std::int64_t blocks = count(s);
  if (count(e) <= 0 || blocks <= 0 || !row_major(e) || !row_major(s)) return {};
  std::vector<MicroscaledForm> forms;
  for (const ElementStorage& k : kElementStorages) {
    if (k.scale_dtype != e.type.dtype) continue;
    MicroscaledForm form{
        static_cast<std::uint32_t>(elements), static_cast<std::uint32_t>(scales), {k.element, e.type.shape}};
    const std::int64_t columns = e.type.shape.back().value() * k.per_item, n = count(e) * k.per_item;
    form.type.shape.back() = columns;
    const auto add = [&](std::int64_t block, ScaleLayout layout) {
      if (block < 2 || columns % block != 0 || block % elements_per_byte(k.element) != 0 || block > columns) return;
      const ScaleGrid grid{n / columns, columns / block, layout};
      if (grid.size() != blocks) return;
      form.type.blocks.columns = static_cast<std::int32_t>(block);
      form.type.blocks.layout = layout;
      forms.push_back(form);
    };
    if (n % blocks == 0) add(n / blocks, ScaleLayout::plain);
    add(kSwizzledBlock, ScaleLayout::swizzled_32_4_4);
  }
  return forms;
}

std::vector<std::byte> packed_bytes(const Program& program, const MicroscaledForm& form) {
  const auto elements = bytes_of(program, form.elements), scales = bytes_of(program, form.scales);
  std::vector<std::byte> bytes(elements.begin(), elements.end());
  bytes.insert(bytes.end(), scales.begin(), scales.end());
  return bytes;
}

bool valid_elements(const Program& program, const MicroscaledForm& form) {
  if (form.type.dtype != DType::f6_e2m3 && form.type.dtype != DType::f6_e3m2) return true;
  return std::ranges::none_of(bytes_of(program, form.elements), [](std::byte b) { return b >= std::byte{64}; });
}

bool dequantizes_to(const Program& program, const MicroscaledForm& form, const Tensor& value) {
  const QuantizedMatrix m = matrix_of(form.type);
  const DType t = value.dtype();
  if (!is_floating(t) || element_size(t) < 2 || value.numel() != m.rows * m.columns) return false;
  if (!valid_elements(program, form)) return false;
  const std::vector<std::byte> bytes = packed_bytes(program, form);
  std::vector<float> row(static_cast<std::size_t>(m.columns));
  std::vector<std::byte> rounded(row.size() * static_cast<std::size_t>(element_size(t)));
  const auto* actual = static_cast<const std::byte*>(value.data());
  for (std::int64_t r = 0; r < m.rows; ++r) {
    dequantize_row(m, bytes.data(), r, 0, m.columns, row.data());
    convert(row.data(), DType::f32, rounded.data(), t, m.columns);
    if (!same_numbers(actual + static_cast<std::size_t>(r) * rounded.size(), rounded.data(), t, m.columns))
      return false;
  }
  return true;
}

}  // namespace tern::microscaling
