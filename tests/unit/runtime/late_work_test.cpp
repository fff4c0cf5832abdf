// Late work: order, errors, who waits, what makes it wait no more.
#include "runtime/late_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::runtime {
namespace {

/// A step that is ready when told.
class Step final : public LateStep {
 public:
  Step(std::vector<int>& done, int number, bool ready = false) : done_(done), number_(number), ready_(ready) {}
  void allow() {
    {
      const std::lock_guard lock(mutex_);
      ready_ = true;
    }
    changed_.notify_all();
  }
  bool ready() const noexcept override {
    const std::lock_guard lock(mutex_);
    return ready_;
  }
  void wait() noexcept override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_; });
  }
  void run() override {
    EXPECT_FALSE(LateWork::allowed());  // inside, nothing waits
    LateWork::enter();                  // a device is used, and does not wait for itself
    LateWork::leave();
    done_.push_back(number_);
    if (number_ < 0) throw std::runtime_error("failed");
  }

 private:
  std::vector<int>& done_;
  const int number_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_;
};

TEST(LateWork, KeepsItsOrder) {
  std::vector<int> done;
  auto first = std::make_shared<Step>(done, 1), third = std::make_shared<Step>(done, 3);
  EXPECT_FALSE(LateWork::waiting());
  EXPECT_TRUE(LateWork::add(first));
  EXPECT_TRUE(LateWork::add(std::make_shared<Step>(done, 2, true)));
  EXPECT_TRUE(LateWork::add(third));
  EXPECT_TRUE(LateWork::waiting() && done.empty());
  third->allow();
  LateWork::advance();
  EXPECT_TRUE(done.empty());
  std::thread other([&] { first->allow(); });
  LateWork::settle();
  other.join();
  EXPECT_EQ(done, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(LateWork::waiting());
}

TEST(LateWork, IsDoneByWhoeverUsesADevice) {
  std::vector<int> done;
  auto step = std::make_shared<Step>(done, 1);
  LateWork::enter();
  EXPECT_FALSE(LateWork::allowed());
  LateWork::leave();
  EXPECT_TRUE(LateWork::add(step));
  {
    const LateWork::Apart apart;
    LateWork::enter();
    EXPECT_TRUE(done.empty());
    LateWork::leave();
  }
  step->allow();
  LateWork::enter();
  EXPECT_EQ(done.size(), 1u);
  LateWork::leave();
}

TEST(LateWork, ErrorsAreToldOnce) {
  std::vector<int> done;
  EXPECT_TRUE(LateWork::add(std::make_shared<Step>(done, -1, true)));
  EXPECT_TRUE(LateWork::add(std::make_shared<Step>(done, 2, true)));
  EXPECT_EQ(done, (std::vector<int>{-1, 2}));
  EXPECT_THROW(LateWork::raise(), std::runtime_error);
  LateWork::raise();
}

TEST(LateWork, IsSuspended) {
  EXPECT_FALSE(LateWork::allowed()) << "nobody has asked for it";
  LateWork::enable(true);
  std::vector<int> done;
  auto step = std::make_shared<Step>(done, 1);
  EXPECT_TRUE(LateWork::add(step));
  step->allow();
  LateWork::suspend();
  EXPECT_EQ(done.size(), 1u);
  EXPECT_FALSE(LateWork::allowed());
  EXPECT_FALSE(LateWork::add(std::make_shared<Step>(done, 2, true)));
  LateWork::resume();
  EXPECT_TRUE(LateWork::allowed());
  LateWork::enable(false);
  EXPECT_FALSE(LateWork::allowed());
}

TEST(LateWork, ThreadsShareOneQueue) {
  std::vector<int> done;
  std::vector<std::shared_ptr<Step>> steps;
  for (int k = 0; k < 64; ++k) steps.push_back(std::make_shared<Step>(done, k));
  for (const auto& one : steps) EXPECT_TRUE(LateWork::add(one));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t k = std::size_t(t); k < steps.size(); k += 4) {
        steps[k]->allow();
        LateWork::advance();
      }
      LateWork::settle();
    });
  for (std::thread& one : threads) one.join();
  ASSERT_EQ(done.size(), 64u);
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

}  // namespace
}  // namespace weft::runtime
