// The `sample` line of a row: there is one, with a domain for each parameter, in words that the tests know. And the
// structs among its type words.
#include "check_rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::array<std::string_view, 11> kDomains = {
    "any", "bool", "unit_vec", "unit_quat", "transform", "rotation", "scaled", "state", "symmetric", "regular", "out",
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// The parts between commas that stand in no brackets; none of an empty text.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' || text[i] == '(';
    depth -= text[i] == ']' || text[i] == ')';
    if (text[i] == ',' && depth == 0) {
      out.push_back(trimmed(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (!trimmed(text).empty()) out.push_back(trimmed(text.substr(start)));
  return out;
}

/// The parameters of `name(a: T, b: T = 1) -> T`.
std::vector<std::string_view> parameters_of(std::string_view signature) {
  std::size_t open = signature.find('(');
  std::size_t close = std::min(signature.find(") ->"), signature.rfind(')'));
  if (open == signature.npos || close == signature.npos || close < open) return {};
  return parts_of(signature.substr(open + 1, close - open - 1));
}

/// `[low, high]` with low <= high.
bool is_range(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  std::vector<std::string_view> ends = parts_of(text.substr(1, text.size() - 2));
  if (ends.size() != 2) return false;
  double values[2];
  for (int i = 0; i < 2; ++i) {
    std::string number(ends[std::size_t(i)]);
    char* stop = nullptr;
    values[i] = std::strtod(number.c_str(), &stop);
    if (number.empty() || *stop != '\0') return false;
  }
  return values[0] <= values[1];
}

bool is_domain(std::string_view text) {
  constexpr std::string_view kSorted = "sorted ";
  if (text.starts_with(kSorted)) return is_range(trimmed(text.substr(kSorted.size())));
  return is_range(text) || std::find(kDomains.begin(), kDomains.end(), text) != kDomains.end();
}

/// The text after `sample` in one of the lines that belong to the row.
bool find_sample(std::string_view row, std::string_view& sample) {
  row.remove_prefix(std::min(row.find('\n'), row.size()));
  while (row.starts_with("\n ")) {
    row.remove_prefix(1);
    std::size_t end = std::min(row.find('\n'), row.size());
    std::string_view line = trimmed(row.substr(0, end));
    row.remove_prefix(end);
    if (line == "sample" || line.starts_with("sample ")) {
      sample = trimmed(line.substr(6));
      return true;
    }
  }
  return false;
}

}  // namespace

std::string complaint_about_sample(std::string_view row) {
  std::string_view signature = row.substr(0, std::min(row.find('\n'), row.size()));
  std::string about = std::string(signature) + ": ";
  std::string_view sample;
  if (!find_sample(row, sample))
    return about + "no sample domain; add a line 'sample DOMAIN, …', one for each parameter, or 'sample none TEST'";
  if (sample == "none" || sample.starts_with("none ")) {
    std::string_view test = trimmed(sample.substr(4));
    if (test.empty() || test.find(' ') != test.npos)
      return about + "'sample none' names the hand-written test, such as 'sample none test_atomics'";
    return "";
  }
  std::vector<std::string_view> domains = parts_of(sample);
  std::size_t wanted = parameters_of(signature).size();
  if (domains.size() != wanted)
    return about + std::to_string(domains.size()) + " sample domains for " + std::to_string(wanted) + " parameters";
  for (std::string_view domain : domains)
    if (!is_domain(domain)) return about + "unknown sample domain '" + std::string(domain) + "'";
  return "";
}

std::vector<std::string> struct_names_in(std::string_view row) {
  std::string_view signature = row.substr(0, std::min(row.find('\n'), row.size()));
  std::string types;
  for (std::string_view param : parameters_of(signature)) {
    param.remove_prefix(std::min(param.find(':'), param.size()));
    types += std::string(param.substr(0, param.find('='))) + " ";
  }
  if (std::size_t arrow = signature.find("->"); arrow != signature.npos) types += signature.substr(arrow);
  std::vector<std::string> out;
  auto in_name = [&](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
  for (std::size_t at = 0; at < types.size();) {
    std::size_t end = at;
    while (end < types.size() && in_name(types[end])) ++end;
    std::string word = types.substr(at, end - at);
    // Type variables and extents are a letter and perhaps a number (S2); scalars and containers begin small.
    std::size_t first = std::min(word.find_first_not_of('_'), word.size());
    bool capital = first < word.size() && std::isupper(static_cast<unsigned char>(word[first]));
    bool variable = word.find_first_not_of("0123456789", 1) == word.npos;
    if (capital && !variable && word != "None") out.push_back(word);
    at = std::max(end, at + 1);
  }
  return out;
}
