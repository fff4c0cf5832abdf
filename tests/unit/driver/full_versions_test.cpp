// Full versions on their way: made once whoever asks, by a thread or by who waits; forgotten with their kernels.
#include "driver/full_versions.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weft::driver {
namespace {

using State = FullVersion::State;

TEST(FullVersions, AreMadeOnceWhoeverWaits) {
  std::atomic<int> made{0};
  const auto binary = std::make_shared<const KernelBinary>();
  auto full = FullVersion::create([&](BuildReport& report, std::string&) {
    ++made;
    report.lanes = 7;
    return binary;
  });
  EXPECT_EQ(full->state(), State::idle);
  EXPECT_EQ(full->binary(), nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      full->want();
      full->finish();
      EXPECT_EQ(full->binary(), binary);
    });
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(full->state(), State::done);
  EXPECT_EQ(full->report().lanes, 7);
}

TEST(FullVersions, AreCountedUntilTheyAreMade) {
  const std::size_t before = count_first_versions();
  auto make = [](BuildReport&, std::string&) { return std::make_shared<const KernelBinary>(); };
  auto one = FullVersion::create(make), other = FullVersion::create(make);
  EXPECT_EQ(count_first_versions(), before + 2);
  one.reset();
  EXPECT_EQ(count_first_versions(), before + 1);
  finish_full_versions();
  EXPECT_EQ(count_first_versions(), 0u);
  EXPECT_EQ(other->state(), State::done);
}

TEST(FullVersions, ThatCantBeMadeAreSettledAllTheSame) {
  auto none = FullVersion::create([](BuildReport&, std::string&) { return std::shared_ptr<const KernelBinary>(); });
  auto thrown = FullVersion::create(
      [](BuildReport&, std::string&) -> std::shared_ptr<const KernelBinary> { throw std::bad_alloc(); });
  for (const auto& one : {none, thrown}) {
    one->want();
    one->finish();
    EXPECT_EQ(one->state(), State::failed);
    EXPECT_EQ(one->binary(), nullptr);
  }
}

}  // namespace
}  // namespace weft::driver
