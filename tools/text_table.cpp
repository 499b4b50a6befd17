#include "tools/text_table.h"

#include <tern/error.h>

#include <algorithm>

#include "tools/text.h"

namespace tern {

void TextTable::add_row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) fail(ErrorCode::internal, "a row of a text table has more cells than columns");
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::str() const {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> header;
  for (const Column& column : columns_) header.push_back(column.header);
  if (std::any_of(header.begin(), header.end(), [](const std::string& h) { return !h.empty(); })) {
    lines.push_back(std::move(header));
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], display_width(line[c]));
  }

  std::string table_text;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string padding(widths[c] - display_width(line[c]), ' ');
      if (c > 0) text += "  ";
      text += columns_[c].align == Align::right ? padding + line[c] : line[c] + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    table_text += text + "\n";
  }
  return table_text;
}

}  // namespace tern
