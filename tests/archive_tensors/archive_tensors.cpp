// Tensors and attached files of archives as Tern's loader reads them, for tests/scripts/read_archive.py:
//
//   archive_tensors ARCHIVE...   writes for each archive "archive COUNT\n", and for each tensor and file
//                                "NAME\0TYPE\0BYTES NUMBERS\n" with so many bytes of the tensor, and of its numbers as
//                                float32 (floats of at most 32 bits and quantized values only)
//   archive_tensors --sample ARCHIVE   writes an archive with a tensor of each element type, quantized values of each
//                                      kind, and views of each kind
#include <tern/error.h>

#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "dtypes/blocks.h"
#include "dtypes/convert.h"
#include "exporter/archive_writer.h"
#include "loader/archive.h"
#include "tests/loader/sample.h"

namespace tern {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const Program& program, const State& s) {
  std::uint64_t size = 0;
  if (!byte_size(s.type, &size) || size == 0) return {};
  const std::byte* const storage = program.source->bytes(s.storage).data();
  const auto element = static_cast<std::size_t>(element_size(s.type.dtype));
  if (s.type.packed()) {
    const std::byte* const first = storage + static_cast<std::size_t>(s.offset) /
                                                 static_cast<std::size_t>(elements_per_byte(s.type.dtype)) * element;
    return {first, first + size};
  }
  Bytes out(size);
  std::vector<std::int64_t> at(s.strides.size());
  for (std::size_t to = 0; to < size; to += element) {
    std::int64_t from = s.offset;
    for (std::size_t i = 0; i < at.size(); ++i) from += at[i] * s.strides[i];
    std::memcpy(&out[to], storage + static_cast<std::size_t>(from) * element, element);
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < s.type.shape[i].value()) break;
      at[i] = 0;
    }
  }
  return out;
}

std::vector<float> numbers_of(const TensorType& type, const Bytes& bytes) {
  if (bytes.empty()) return {};
  if (!type.quantized()) {
    if (!is_floating(type.dtype) || type.dtype == DType::f64) return {};
    std::int64_t count = 1;
    for (Dim d : type.shape) count *= d.value();
    std::vector<float> out(static_cast<std::size_t>(count));
    convert(bytes.data(), type.dtype, out.data(), DType::f32, count);
    return out;
  }
  const QuantizedMatrix m = quantized_matrix(type);
  std::vector<float> out(static_cast<std::size_t>(m.rows * m.columns));
  for (std::int64_t row = 0; row < m.rows; ++row) {
    dequantize_row(m, bytes.data(), row, 0, m.columns, &out[static_cast<std::size_t>(row * m.columns)]);
  }
  return out;
}

void write(const std::string& name, const std::string& type, std::span<const std::byte> bytes,
           std::span<const float> numbers) {
  std::fwrite(name.c_str(), 1, name.size() + 1, stdout);
  std::fwrite(type.c_str(), 1, type.size() + 1, stdout);
  std::printf("%zu %zu\n", bytes.size(), numbers.size_bytes());
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fwrite(numbers.data(), 1, numbers.size_bytes(), stdout);
}

void write(const char* path) {
  const auto program = open_archive(path, {Access::map, Verify::now});
  std::printf("archive %zu\n", program->states.size() + program->files.size());
  for (const State& s : program->states) {
    const Bytes bytes = bytes_of(*program, s);
    TensorType plain{s.type.dtype, s.type.shape};
    write(s.name, text_of(plain, program->pool), bytes, numbers_of(s.type, bytes));
  }
  for (const AttachedFile& f : program->files) {
    write(f.name, "file", program->source->bytes(f.storage).first(program->storages[f.storage].size), {});
  }
}

/// A program of states alone, with pseudorandom bytes.
class Sample {
 public:
  Sample() { program_.source = source_; }

  void add(const std::string& name, const TensorType& type) {
    std::uint64_t size = 0;
    if (!byte_size(type, &size)) fail(ErrorCode::internal, name + " has no size");
    std::vector<std::int64_t> strides(type.shape.size(), 1);
    for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * type.shape[i].value();
    view(name, type, add_storage(size, type.dtype == DType::boolean ? 1 : 255), strides, 0);
  }
  void view(const std::string& name, const TensorType& type, std::uint32_t storage,
            const std::vector<std::int64_t>& strides, std::int64_t offset) {
    State s;
    s.name = name;
    s.type = type;
    s.storage = storage;
    s.strides = strides;
    s.offset = offset;
    program_.states.push_back(std::move(s));
  }
  std::uint32_t add_storage(std::uint64_t size, unsigned mask) {
    std::vector<std::byte> bytes(size);
    for (std::byte& b : bytes) b = static_cast<std::byte>((random_ = random_ * 1664525 + 1013904223) >> 24 & mask);
    program_.storages.push_back({size});
    source_->storages.push_back(std::move(bytes));
    return static_cast<std::uint32_t>(program_.storages.size() - 1);
  }
  void write(const char* path) { write_archive(program_, path, {WriteOptions::Codec::zstd, 3, {}}); }

 private:
  std::shared_ptr<test::VectorSource> source_ = std::make_shared<test::VectorSource>();
  Program program_;
  std::uint32_t random_ = 1;
};

void add_quantized(Sample& sample) {
  const DType f16 = DType::f16, f32 = DType::f32, bf16 = DType::bf16, i8 = DType::i8, u8 = DType::u8;
  const struct {
    const char* name;
    DType element;
    Blocks blocks;
  } rows[] = {
      {"int8 of rows", i8, {.columns = 64, .scale = f32}},
      {"int8 of tiles", i8, {.columns = 16, .rows = 2, .scale = bf16}},
      {"float8 of a matrix", DType::f8_e4m3fn, {.columns = 64, .rows = 6, .scale = f32}},
      {"float8_e5m2 in blocks", DType::f8_e5m2, {.columns = 32}},
      {"float6_e2m3", DType::f6_e2m3, {.columns = 32}},
      {"float6_e3m2", DType::f6_e3m2, {.columns = 32, .layout = ScaleLayout::swizzled_32_4_4}},
      {"nvfp4", DType::f4_e2m1, {.columns = 16, .scale = DType::f8_e4m3fn, .outer = true}},
      {"int4, subtracted", DType::i4, {.columns = 32, .scale = f16, .zero_point = ZeroPoint::subtracted, .zero = i8}},
      {"int4, added", DType::i4, {.columns = 32, .scale = bf16, .zero_point = ZeroPoint::added, .zero = bf16}},
      {"int2", DType::i2, {.columns = 8, .scale = f32, .zero_point = ZeroPoint::added, .zero = f16}},
      {"uint8 in blocks", u8, {.columns = 64, .scale = f32, .zero_point = ZeroPoint::subtracted, .zero = f32}},
      {"4 bits", u8, {.columns = 32, .scale = f16, .bits = 4}},
      {"5 bits", u8, {.columns = 32, .scale = f16, .bits = 5}},
      {"5 bits, signed", i8, {.columns = 32, .scale = f16, .bits = 5}},
      {"6 bits, signed, super-blocks", i8, {.columns = 16, .scale = i8, .bits = 6, .super_columns = 64}},
      {"6 bits, super-blocks",
       u8,
       {.columns = 16, .scale = u8, .zero_point = ZeroPoint::added, .zero = u8, .bits = 6, .super_columns = 32}},
      {"sparse float32", f32, two_of_four()},
      {"sparse bfloat16", bf16, two_of_four()},
  };
  for (const auto& row : rows) sample.add(row.name, {row.element, {3, 2, 64}, row.blocks});
}

void write_sample(const char* path) {
  Sample sample;
  for (int t = 1; t < kTensorDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    sample.add(std::string(name_of(dtype)), {dtype, {3, 100}});
  }
  add_quantized(sample);
  sample.add("empty", {DType::f32, {0, 5}});
  sample.add("number", {DType::i64, {}});
  sample.view("several frames", {DType::u8, {5 << 19}}, sample.add_storage(5 << 19, 3), {1}, 0);
  const std::uint32_t shared = sample.add_storage(96, 255);
  sample.view("rows", {DType::f32, {4, 5}}, shared, {6, 1}, 0);
  sample.view("columns", {DType::f32, {5, 4}}, shared, {1, 6}, 1);
  sample.view("same row twice", {DType::i16, {2, 3}}, shared, {0, 1}, 7);
  sample.view("half bytes", {DType::f4_e2m1, {5}}, shared, {1}, 6);
  sample.write(path);
}

}  // namespace
}  // namespace tern

int main(int count, char** paths) {
  try {
    if (count == 3 && std::string_view(paths[1]) == "--sample") {
      tern::write_sample(paths[2]);
    } else {
      for (int i = 1; i < count; ++i) tern::write(paths[i]);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "archive_tensors: %s\n", e.what());
    return 1;
  }
  return 0;
}
