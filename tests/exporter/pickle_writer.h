// Writes pickles opcode by opcode, like Python's pickler, and archives like torch.save.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/exporter/pt2_zip_writer.h"

namespace tern::pt2::test {

/// Little-endian.
inline std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

/// Each writes a single value in protocol 2. Strings have less than 2^31 bytes.
inline std::string text(const std::string& s) {
  return "X" + number(s.size(), 4) + s;
}
inline std::string integer(std::int32_t v) {
  return "J" + number(static_cast<std::uint32_t>(v), 4);
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const auto& item : items) all += item;
  return all + "t";
}
inline std::string call(const std::string& callee, const std::vector<std::string>& arguments) {
  return callee + tuple(arguments) + "R";
}
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string all = "}(";
  for (const auto& [key, value] : items) all += text(key) + value;
  return all + "u";
}
inline std::string integers(const std::vector<std::int32_t>& values) {
  std::vector<std::string> items;
  for (const auto v : values) items.push_back(integer(v));
  return tuple(items);
}
inline const std::string kNone = "N", kTrue = "\x88", kFalse = "\x89";
inline std::string pickle(const std::string& value) {
  return "\x80\x02" + value + ".";
}

/// A storage of `count` elements under a key.
inline std::string storage(const std::string& type, const std::string& key, std::int32_t count) {
  const bool untyped = type == "UntypedStorage";
  return tuple({text("storage"), global(untyped ? "torch.storage" : "torch", type), text(key), text("cpu"),
                integer(count)}) +
         "Q";
}
inline std::string no_hooks() {
  return global("collections", "OrderedDict") + ")R";
}
/// A plain tensor; `dtype` for the third version of the function.
inline std::string plain(const std::string& stored, const std::string& sizes, const std::string& strides,
                         std::int32_t offset = 0, const std::string& dtype = {}) {
  std::vector<std::string> arguments = {stored, integer(offset), sizes, strides, kFalse, no_hooks()};
  if (!dtype.empty()) arguments.push_back(global("torch", dtype));
  return call(global("torch._utils", dtype.empty() ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3"), arguments);
}
/// A tensor subclass with the state of its Python object.
inline std::string subclass(const std::string& type, const std::string& dtype, const std::vector<std::int32_t>& sizes,
                            const std::string& state) {
  const std::string arguments = tuple({type, global("torch", dtype), integers(sizes), integers(sizes), integer(0),
                                       call(global("torch.serialization", "_get_layout"), {text("torch.strided")}),
                                       call(global("torch", "device"), {text("cpu")}), kFalse});
  return call(global("torch._tensor", "_rebuild_from_type_v2"),
              {global("torch._utils", "_rebuild_wrapper_subclass"), type, arguments, state});
}

/// The files of torch.save: the pickle, and the storages "0", "1" ...
inline std::vector<ZipItem> saved_items(const std::string& pickle, const std::vector<std::string>& storages) {
  std::vector<ZipItem> items = {
      {"archive/data.pkl", pickle}, {"archive/byteorder", "little"}, {"archive/version", "3\n"}};
  for (std::size_t i = 0; i < storages.size(); ++i) items.push_back({"archive/data/" + std::to_string(i), storages[i]});
  return items;
}
inline std::string saved(const std::string& pickle, const std::vector<std::string>& storages) {
  return write_zip(saved_items(pickle, storages));
}

}  // namespace tern::pt2::test
