// Reads a trusted .safetensors file: [u64 length of the header][header: JSON][data].
#pragma once

#include <tern/error.h>
#include <tern/tensor.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

inline tern::DType dtype_of(const std::string& name) {
  if (name == "F32") return tern::DType::f32;
  if (name == "I64") return tern::DType::i64;
  tern::fail(tern::ErrorCode::unsupported, "this example reads F32 and I64 tensors, not " + name);
}

inline std::map<std::string, tern::Tensor> read_safetensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) tern::fail(tern::ErrorCode::io, "cannot read " + path);
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length) tern::fail(tern::ErrorCode::bad_file, path + " is cut short");
  const char* data = bytes.data() + sizeof length + length;
  const std::size_t data_size = bytes.size() - sizeof length - length;

  std::map<std::string, tern::Tensor> tensors;
  const auto header = nlohmann::json::parse(bytes.substr(sizeof length, length));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    tern::Tensor tensor(dtype_of(entry.at("dtype")), entry.at("shape").get<std::vector<std::int64_t>>());
    const auto range = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
    if (range.size() != 2 || range[1] > data_size || range[0] > range[1] || range[1] - range[0] != tensor.byte_size()) {
      tern::fail(tern::ErrorCode::bad_file, path + ": the range of " + name + " is wrong");
    }
    std::memcpy(tensor.data(), data + range[0], tensor.byte_size());
    tensors.emplace(name, std::move(tensor));
  }
  return tensors;
}
