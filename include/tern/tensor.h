// A tensor: memory of the host or of a device, element type, sizes and strides.
#pragma once

#if __cplusplus < 201709L
#error "tern/tensor.h needs C++20: compile with -std=c++20 (pkg-config --cflags tern has it)"
#endif

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tern {

namespace detail {

constexpr std::uint32_t bits_of(std::initializer_list<DType> list) {
  std::uint32_t bits = 0;
  for (DType t : list) bits |= std::uint32_t{1} << static_cast<int>(t);
  return bits;
}

/// The element types represented by T: bit k is DType number k.
template <class T>
constexpr std::uint32_t element_types() {
  using E = std::remove_cv_t<T>;
  constexpr std::uint32_t codes1 = bits_of({DType::f8_e4m3fn, DType::f8_e5m2, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz,
                                            DType::f8_e8m0, DType::f6_e2m3, DType::f6_e3m2, DType::f4_e2m1});
  constexpr std::uint32_t sized[] = {codes1 | bits_of({DType::boolean, DType::u8, DType::i8}),
                                     bits_of({DType::u16, DType::i16, DType::f16, DType::bf16}),
                                     bits_of({DType::u32, DType::i32, DType::f32, DType::c32}),
                                     bits_of({DType::u64, DType::i64, DType::f64, DType::c64}), bits_of({DType::c128})};
  constexpr int log2 = sizeof(E) == 1 ? 0 : sizeof(E) == 2 ? 1 : sizeof(E) == 4 ? 2 : sizeof(E) == 8 ? 3 : 4;
  constexpr std::uint32_t floats = bits_of({DType::f32, DType::f64});
  constexpr std::uint32_t integers = bits_of({DType::i8, DType::i16, DType::i32, DType::i64});
  if constexpr (std::is_same_v<E, std::byte> || std::is_same_v<E, char>) {
    return ~std::uint32_t{1};  // any bytes
  } else if constexpr (sizeof(E) != std::size_t{1} << log2) {
    return 0;
  } else if constexpr (std::is_same_v<E, bool>) {
    return bits_of({DType::boolean});
  } else if constexpr (std::is_floating_point_v<E>) {
    return sized[log2] & floats;
  } else if constexpr (std::is_integral_v<E> && std::is_signed_v<E>) {
    return sized[log2] & integers;
  } else if constexpr (std::is_integral_v<E>) {
    return sized[log2] & ~integers & ~floats & ~bits_of({DType::c64});
  } else {
    return sized[log2];  // a class of the element's size: std::complex<float>, an application's own half
  }
}

}  // namespace detail

/// Copies of a Tensor share its memory, like copies of a shared_ptr. A tensor must not outlive borrowed memory.
/// Elements are in row-major order without gaps unless the tensor has strides. Memory is the host's, except for tensors
/// of on() and borrow_on().
///
/// Threads may read a Tensor at the same time. All errors are tern::Error.
class TERN_API Tensor {
 public:
  /// A tensor without element type and memory.
  Tensor() = default;
  /// Allocates zeroed memory, aligned to 64 bytes. Throws invalid_argument if a size is negative or the sizes overflow.
  Tensor(DType dtype, std::vector<std::int64_t> sizes);
  /// A tensor over the caller's memory. `strides` counts elements, a stride for each axis; empty means row-major order
  /// without gaps. Strided memory must hold every element reached by sizes and strides, other memory byte_size() bytes.
  /// The tensor and its copies keep `owner` alive. A program updating an input in place writes to this memory.
  static Tensor borrow(void* data, DType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides = {},
                       std::shared_ptr<void> owner = {});
  /// The same, for read-only memory.
  static Tensor borrow(const void* data, DType dtype, std::vector<std::int64_t> sizes,
                       std::vector<std::int64_t> strides = {}, std::shared_ptr<void> owner = {});

  /// Allocates memory of a device: "cuda", "xpu:1"; "cpu" is the host. Aligned to 64 bytes; elements are uninitialised.
  /// Throws invalid_argument, and lists the devices, for an unknown device; out_of_memory.
  static Tensor allocate(const std::string& device, DType dtype, std::vector<std::int64_t> sizes);
  /// A tensor over the caller's memory of a device: `address` is a pointer valid in the device's kernels, for example
  /// from cudaMalloc. Other parameters: see borrow(). A run reads the memory at the time of the run: earlier writes
  /// must have ended, or precede the run on its stream (Stream::wait, Stream::wait_native).
  static Tensor borrow_on(const std::string& device, void* address, DType dtype, std::vector<std::int64_t> sizes,
                          std::vector<std::int64_t> strides = {}, std::shared_ptr<void> owner = {});

  /// Location of the memory: "cpu", "cuda:0".
  const std::string& device() const;
  /// A contiguous copy in memory of this device. Returns after the copy is complete.
  Tensor to(const std::string& device) const;
  /// Copies the elements of a tensor of the same dtype and sizes, between any devices (between two devices through the
  /// host). Returns after the copy is complete. Uses the thread's current stream of the device; throws invalid_argument
  /// while a Graph records this stream.
  void copy_from(const Tensor& from) const;

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  /// Strides of the axes, counted in elements.
  std::vector<std::int64_t> strides() const;
  /// True if the elements lie in row-major order without gaps.
  bool is_contiguous() const { return strides_.empty(); }
  std::int64_t numel() const;
  /// Bytes of all elements without gaps.
  std::size_t byte_size() const { return bytes_; }
  /// The first element: a pointer of the host, or the device's own address.
  void* data() { return data_; }
  const void* data() const { return data_; }
  /// The elements of a contiguous tensor on the host. Throws invalid_argument for strided tensors, tensors on a device,
  /// and a T not matching the element type. T is the C++ type of the same name (float, std::int64_t, bool); an unsigned
  /// integer for the codes of types missing in C++ (std::uint16_t for float16 and bfloat16, std::uint8_t for float8); a
  /// class of the element's size (std::complex<float>); or std::byte or char for the bytes of any type.
  template <class T>
  std::span<T> span() {
    check_span(detail::element_types<T>());
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }
  template <class T>
  std::span<const T> span() const {
    check_span(detail::element_types<T>());
    return {static_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  bool read_only() const { return read_only_; }
  /// A contiguous copy with its own memory, on the same device.
  Tensor clone() const;
  /// This tensor if it is contiguous, else a contiguous copy.
  Tensor contiguous() const { return is_contiguous() ? *this : clone(); }

 private:
  friend class SessionImpl;
  friend struct TensorMemory;
  void check_span(std::uint32_t types) const {
    if ((types >> static_cast<int>(dtype_) & 1) == 0 || !strides_.empty() || device_ != 0) refuse_span(types);
  }
  [[noreturn]] void refuse_span(std::uint32_t types) const;

  DType dtype_ = DType::invalid;
  std::vector<std::int64_t> sizes_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool read_only_ = false;
  std::uint16_t device_ = 0;  ///< Tern's number of the device; 0: the host
  std::shared_ptr<void> owner_;
  std::vector<std::int64_t> strides_;  ///< empty: contiguous
};

}  // namespace tern
