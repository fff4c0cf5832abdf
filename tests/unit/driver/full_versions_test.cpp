// Full versions on their way: made once whoever asks, by a thread or by who waits; forgotten with their kernels.
#include "driver/full_versions.h"

#include <gtest/gtest.h>

#include <chrono>
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

TEST(FullVersions, ThoseThatCostMostForTheirSizeComeFirst) {
  std::atomic<bool> go{false};
  std::atomic<int> waiting{0};
  auto wait = [&](BuildReport&, std::string&) {
    ++waiting;
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::make_shared<const KernelBinary>();
  };
  auto sleep = [](BuildReport&, std::string&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return std::make_shared<const KernelBinary>();
  };
  constexpr int kMostThreads = 4;
  std::vector<std::shared_ptr<FullVersion>> busy, all;
  for (int k = 0; k < kMostThreads; ++k) busy.push_back(FullVersion::create(wait));
  for (const auto& one : busy) one->want();
  // Until all threads that there are have begun one: who comes later would take what is wanted by then.
  for (int before = 0, still = 0; still < 100; std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (const int now = waiting; now > 0 && now == before)
      ++still;
    else
      before = now, still = 0;
  for (int k = 0; k < 2 * kMostThreads; ++k) all.push_back(FullVersion::create(sleep, k == 0 ? 1000 : 10));
  for (std::size_t k = 0; k < all.size(); ++k) all[k]->note_launch(k == 0 ? 9e-3 : 1e-3 * double(k));
  for (const auto& one : all) one->want();  // the worst first
  go = true;
  for (const auto& one : all)  // not by finish(), which would make them here
    while (!one->is_settled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto begun = [&](std::size_t k) { return all[k]->times().begun; };
  EXPECT_LT(begun(all.size() - 1), begun(1));
  EXPECT_LT(begun(all.size() - 1), begun(0));  // it has cost most, but takes long to make
}

}  // namespace
}  // namespace weft::driver
