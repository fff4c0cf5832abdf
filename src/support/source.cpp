// Line lookup in source text.
#include "support/source.h"

namespace weft {

SourceFile::SourceFile(std::string name, std::string text, std::uint32_t first_line)
    : name_(std::move(name)), text_(std::move(text)), first_line_(first_line) {
  starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') {
      starts_.push_back(std::uint32_t(i + 1));
    } else if (text_[i] == '\r') {
      if (i + 1 < text_.size() && text_[i + 1] == '\n') ++i;
      starts_.push_back(std::uint32_t(i + 1));
    }
  }
}

std::string_view SourceFile::line(std::uint32_t number) const {
  if (number < first_line_ || number - first_line_ >= starts_.size()) return {};
  std::size_t index = number - first_line_;
  std::size_t begin = starts_[index];
  std::size_t end = index + 1 < starts_.size() ? starts_[index + 1] : text_.size();
  while (end > begin && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::string to_string(const SourceLoc& loc) {
  if (!loc.file) return "<unknown>";
  std::string text = loc.file->name();
  if (loc.line) text += ":" + std::to_string(loc.line);
  if (loc.line && loc.col) text += ":" + std::to_string(loc.col);
  return text;
}

}  // namespace weft
