// Edit distance with swaps of neighbours, over all names: only ever run for an error message.
#include "builtins/near_name.h"

#include <algorithm>
#include <vector>

#include "builtins/row.h"

namespace weft::builtins {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view near_name(std::string_view written) {
  constexpr std::size_t kLongest = 64;  // no builtin comes near this; input may be anything
  if (written.size() > kLongest) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, written.size() / 4 + 1);
  for (std::string_view name : builtin_names()) {
    if (name.empty() || name[0] == '_') continue;
    if (std::size_t d = distance(written, name); d < least) least = d, best = name;
  }
  return best;
}

}  // namespace weft::builtins
