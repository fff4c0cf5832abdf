// Totals by kind of instruction, made block by block.
#include "ptx_counts.h"

#include <algorithm>
#include <set>

namespace weft::cuda::fake {
namespace {

/// The kind of an instruction: its name without what stands in front and behind.
std::string kind_of(const std::string& statement) {
  std::size_t first = 0;
  if (statement.starts_with('@')) first = statement.find_first_not_of(" \t", statement.find_first_of(" \t"));
  return statement.substr(first, statement.find_first_of(" \t;", first) - first);
}

}  // namespace

std::uint64_t PtxCounts::passes(const Access& access) {
  if (!access.shared) {
    std::set<std::uint64_t> sectors;
    for (const Place& place : access.places)
      for (std::uint64_t s = place.address / 32; s <= (place.address + place.bytes - 1) / 32; ++s) sectors.insert(s);
    return sectors.size();
  }
  // Accesses of 8 and 16 bytes go by halves and quarters of the warp.
  std::uint32_t widest = 4;
  for (const Place& place : access.places) widest = std::max(widest, place.bytes);
  const std::uint32_t lanes = std::max(32 * 4 / widest, 1u);
  std::uint64_t all = 0;
  for (std::uint32_t first = 0; first < 32; first += lanes) {
    std::set<std::uint64_t> words[32];
    for (const Place& place : access.places) {
      if (place.lane < first || place.lane >= first + lanes) continue;
      for (std::uint64_t w = place.address / 4; w <= (place.address + place.bytes - 1) / 4; ++w)
        words[w % 32].insert(w);
    }
    std::size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    all += most;
  }
  return all;
}

void PtxCounts::end_block() {
  for (const auto& [instruction, seen] : seen_) {
    Total& total = totals_[kind_of((*seen.statements)[std::size_t(instruction->statement)].text)];
    for (std::size_t first = 0; first < seen.times.size(); first += 32) {
      std::uint64_t most = 0;
      for (std::size_t k = first; k < std::min(first + 32, seen.times.size()); ++k) {
        total.times += seen.times[k];
        most = std::max(most, seen.times[k]);
      }
      total.warps += most;
    }
  }
  for (const auto& [key, access] : accesses_) {
    const Seen& seen = seen_.at(key.instruction);
    totals_[kind_of((*seen.statements)[std::size_t(key.instruction->statement)].text)].passes += passes(access);
  }
  seen_.clear();
  accesses_.clear();
}

std::string PtxCounts::line(const std::string& kernel, const PtxLaunch& launch) const {
  std::string out = "{\"kernel\": \"" + kernel + "\", \"blocks\": " + std::to_string(launch.blocks) +
                    ", \"threads\": " + std::to_string(launch.threads) +
                    ", \"shared\": " + std::to_string(launch.shared_bytes) + ", \"kinds\": {";
  bool first = true;
  for (const auto& [kind, total] : totals_) {
    out += std::string(first ? "" : ", ") + "\"" + kind + "\": [" + std::to_string(total.times) + ", " +
           std::to_string(total.warps) + ", " + std::to_string(total.passes) + "]";
    first = false;
  }
  return out + "}}\n";
}

}  // namespace weft::cuda::fake
