// Bytes of a program's weights from a GGUF file: plain numbers stay mapped, quantized rows move to Tern's order when
// they are requested.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "exporter/gguf/file.h"
#include "exporter/gguf/types.h"
#include "schema/program.h"

namespace tern::gguf {

/// Rows of a tensor that a state takes. Leading axes are rows, as in quantized values.
struct RowRange {
  std::int64_t first = 0, count = 0;
  /// Rows of one head whose halves alternate in the file: row 2 i + h of a head becomes row i of half h. 0: none.
  std::int64_t head = 0;
};

class GgufSource : public StorageSource {
 public:
  explicit GgufSource(File file) : file_(std::move(file)) {}

  /// Adds a storage with these rows of the tensor, in the type of `type_of`.
  std::uint32_t add(const TensorRecord& tensor, const RowRange& rows, Program& program);
  /// Adds a storage with some of the tensor's plain numbers as float32: `elements` counts numbers instead of rows.
  std::uint32_t add_floats(const TensorRecord& tensor, const RowRange& elements, Program& program);
  /// Adds a storage with numbers that the importer computes.
  std::uint32_t add_numbers(std::vector<float> numbers, Program& program);
  /// Adds a storage of zeros, without memory for them.
  std::uint32_t add_zeros(std::uint64_t size, Program& program);

  std::span<const std::byte> bytes(std::uint32_t storage) override;
  /// Returns the memory of moved rows; the next request moves them again to the same address.
  void release(std::uint32_t storage) override;

 private:
  /// Memory of pages without content until they are written.
  class Pages {
   public:
    explicit Pages(std::size_t size);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    std::byte* data() const { return data_; }
    void forget();

   private:
    std::byte* data_;
    std::size_t size_;
  };
  struct Region {
    const TensorRecord* tensor = nullptr;  ///< null: zeros
    RowRange rows;
    bool widens = false;                ///< numbers to float32
    std::span<const std::byte> mapped;  ///< bytes of the file as they are, or of `numbers`, or empty
    std::vector<float> numbers;
    std::uint64_t size = 0;
    std::unique_ptr<Pages> pages;
    bool is_moved = false;
  };

  std::uint32_t add(Region region, Program& program);
  static void convert_region(const Region& region);

  File file_;
  std::deque<Region> regions_;
  std::mutex mutex_;
};

/// The type of a state that takes `rows` rows of the tensor: [rows, columns].
TensorType type_of(const TensorRecord& tensor, std::int64_t rows);
/// The type of a state that takes the whole tensor.
TensorType type_of(const TensorRecord& tensor);
/// Rows of a tensor: the product of all axes but the last.
std::int64_t row_count(const TensorRecord& tensor);

}  // namespace tern::gguf
