// Reads the goldens under tests/data/dtypes: .safetensors files, only the bytes of each tensor.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace tern::test {

/// Tensors by name. Supports only the goldens' contents.
class Golden {
 public:
  explicit Golden(const std::string& name) {
    const std::string path = std::string(TERN_SOURCE_DIR) + "/tests/data/dtypes/" + name;
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() < 8) throw std::runtime_error("cannot read " + path);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    const std::string json = bytes.substr(8, header);
    // "NAME":{"dtype":...,"data_offsets":[FROM,TO]}
    const std::string entry = "\":{\"dtype\"";
    const std::string offsets = "\"data_offsets\":[";
    for (std::size_t at = json.find(entry); at != std::string::npos; at = json.find(entry, at + 1)) {
      const std::size_t name = json.rfind('"', at - 1) + 1;
      const std::size_t from_at = json.find(offsets, at) + offsets.size();
      const std::size_t from = std::stoull(json.substr(from_at));
      const std::size_t to = std::stoull(json.substr(json.find(',', from_at) + 1));
      tensors_[json.substr(name, at - name)] = bytes.substr(8 + header + from, to - from);
    }
  }

  template <class T>
  std::vector<T> get(const std::string& name) const {
    const std::string& bytes = tensors_.at(name);
    std::vector<T> v(bytes.size() / sizeof(T));
    std::memcpy(v.data(), bytes.data(), v.size() * sizeof(T));
    return v;
  }

  const std::map<std::string, std::string>& tensors() const { return tensors_; }

 private:
  std::map<std::string, std::string> tensors_;
};

}  // namespace tern::test
