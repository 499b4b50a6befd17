// A table of text with aligned columns, for reports on a terminal.
#pragma once

#include <string>
#include <vector>

namespace tern {

/// Columns are separated by two spaces, without trailing spaces. Cells are printed unchanged: escape untrusted names.
class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string header;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Missing cells are empty; too many cells are an error of the caller (ErrorCode::internal).
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// The header, then the rows, a newline after each. The header is omitted if all its columns are empty.
  std::string str() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tern
