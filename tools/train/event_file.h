// Event files of TensorBoard: scalars by step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/file.h"

namespace tern::train {

/// Writes events.out.tfevents.TIME.HOST.PID into a folder: records of TensorFlow's TFRecord format (length, masked
/// CRC-32C, bytes, masked CRC-32C) with a protocol buffer Event each (tensorflow/core/util/event.proto). A reader may
/// follow the file during the run: a record is complete or at the file's end.
class EventFile {
 public:
  /// Creates the folder if missing, and the file. A resumed run has a file of its own, whose first event tells readers
  /// to drop later steps of earlier files. Throws Error (io).
  EventFile(const std::string& folder, std::uint64_t first_step);

  using Scalar = std::pair<std::string_view, double>;
  /// Adds an event; values that are not finite stay so.
  void add(std::uint64_t step, std::span<const Scalar> scalars);
  void flush();

 private:
  void record(const std::string& event);

  platform::File file_;
  std::string path_, buffer_;
};

/// CRC-32C (Castagnoli; RFC 3720) of bytes, and its masked form in records.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace tern::train
