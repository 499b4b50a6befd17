#include "npy.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

void write_npy(const std::string& path, const tern::Tensor& tensor) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (const std::int64_t size : tensor.sizes()) header += std::to_string(size) + ", ";
  header += "), }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');  // the elements are aligned to 64 bytes
  header.back() = '\n';
  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8)
      .put(static_cast<char>(header.size() & 255))
      .put(static_cast<char>(header.size() >> 8));
  file << header;
  file.write(static_cast<const char*>(tensor.data()), static_cast<std::streamsize>(tensor.byte_size()));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(part, path, error);
  if (!file || error) {
    std::filesystem::remove(part, error);
    throw std::runtime_error("cannot write " + path);
  }
}
