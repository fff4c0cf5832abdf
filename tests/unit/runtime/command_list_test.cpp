// Recorded work: copies, fills, new memory, conditions, loops, lists in lists, what is kept, who records.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/command_list.h"
#include "runtime/errors.h"
#include "runtime/versions.h"

namespace weft::runtime {
namespace {

/// Records while it lives, unless it was ended.
struct Scope {
  Scope() { begin_recording(); }
  ~Scope() {
    if (active) end_recording();
  }
  std::shared_ptr<CommandList> end() {
    active = false;
    return end_recording();
  }
  bool active = true;
};

Array ints(std::initializer_list<std::int32_t> values) {
  Array made = Array::empty(types::i32(), {std::int64_t(values.size())});
  std::copy(values.begin(), values.end(), made.span<std::int32_t>().begin());
  return made;
}

/// Adds a number to an element when it runs.
class Add final : public Command {
 public:
  Add(Array to, std::int32_t amount) : to_(std::move(to)), amount_(amount) {}
  void run(const LaunchOptions&) const override { to_.span<std::int32_t>()[0] += amount_; }
  std::string text() const override { return "add \"" + std::to_string(amount_) + "\""; }

 private:
  Array to_;
  std::int32_t amount_;
};

TEST(CommandList, CopiesAndFillsWaitForTheRun) {
  const Array a = ints({1, 2, 3}), b = ints({0, 0, 0});
  const std::int32_t seven = 7;
  Scope scope;
  b.assign(a);
  a.slice(0, 1, 2).fill(&seven);
  EXPECT_EQ(b.at<std::int32_t>(0), 0);
  EXPECT_EQ(a.at<std::int32_t>(1), 2);
  auto list = scope.end();
  EXPECT_EQ(list->size(), 2u);
  EXPECT_TRUE(list->run({}));
  EXPECT_EQ(b.at<std::int32_t>(1), 2);
  EXPECT_EQ(a.at<std::int32_t>(1), 7);
  EXPECT_TRUE(list->run({}));
  EXPECT_EQ(b.at<std::int32_t>(1), 7);
}

TEST(CommandList, NewZerosAreZeroInEachRun) {
  Scope scope;
  Array made = Array::zeros(types::f32(), {4}, true);
  auto list = scope.end();
  made.at<float>(0) = 5;
  made.grad().at<float>(1) = 6;
  list->run({});
  EXPECT_EQ(made.at<float>(0), 0);
  EXPECT_EQ(made.grad().at<float>(1), 0);
}

TEST(CommandList, KeepsTheMemoryItWorksOn) {
  bool released = false;
  std::int32_t memory[2] = {1, 2};
  Array::External external;
  external.data = memory;
  external.release = [&] { released = true; };
  Array a = Array::wrap(types::i32(), {2}, std::move(external)), b = ints({0, 0});
  Scope scope;
  b.assign(a);
  auto list = scope.end();
  a = Array();
  EXPECT_FALSE(released);
  list->run({});
  EXPECT_EQ(b.at<std::int32_t>(1), 2);
  list.reset();
  EXPECT_TRUE(released);
}

TEST(CommandList, KnowsWhatItWrites) {
  CommandList list;
  list.touch({100, 200});
  list.touch({300, 400});
  EXPECT_TRUE(list.touches({150, 151}));
  EXPECT_TRUE(list.touches({50, 101}));
  EXPECT_FALSE(list.touches({200, 300}));
  EXPECT_FALSE(list.touches({0, 100}));
  EXPECT_FALSE(list.touches({400, 500}));
  list.touch({150, 350});
  EXPECT_TRUE(list.touches({250, 251}));
  EXPECT_FALSE(list.touches({250, 250}));
  list.touch({10, 20});
  EXPECT_TRUE(list.touches({0, 1000}));
}

TEST(CommandList, ValuesOfTheFutureAreKnownAsSuch) {
  const Array a = ints({1}), b = ints({2});
  EXPECT_FALSE(awaits_recorded_work(a.range()));
  Scope scope;
  a.assign(b);
  EXPECT_TRUE(awaits_recorded_work(a.range()));
  EXPECT_FALSE(awaits_recorded_work(b.range()));
  begin_branch();
  EXPECT_TRUE(awaits_recorded_work(a.range()));
  b.fill_zero();
  auto branch = end_branch();
  EXPECT_FALSE(awaits_recorded_work(b.range()));
  recording()->add_list(branch);
  EXPECT_TRUE(awaits_recorded_work(b.range()));
  EXPECT_THROW(refuse_while_recording("wait"), ArgumentError);
  scope.end();
  EXPECT_NO_THROW(refuse_while_recording("wait"));
}

TEST(CommandList, ConditionsAreReadWhenTheyComeUp) {
  const Array condition = ints({1}), out = ints({0});
  auto then = std::make_shared<CommandList>(), otherwise = std::make_shared<CommandList>();
  then->add(std::make_unique<Add>(out, 1));
  otherwise->add(std::make_unique<Add>(out, 100));
  CommandList list;
  list.add_if(condition, then, otherwise);
  list.add_if(condition, nullptr, nullptr);
  list.run({});
  EXPECT_EQ(out.at<std::int32_t>(0), 1);
  condition.at<std::int32_t>(0) = 0;
  list.run({});
  EXPECT_EQ(out.at<std::int32_t>(0), 101);
  EXPECT_THROW(list.add_if(ints({1, 2}), then, nullptr), ArgumentError);
  EXPECT_THROW(list.add_while(Array::zeros(types::f32(), {1}), then), ArgumentError);
  EXPECT_THROW(list.add_while(Array(), then), ArgumentError);
}

TEST(CommandList, LoopsRunWhileTheConditionHolds) {
  const Array outer = ints({3}), inner = ints({0}), count = ints({0});
  const std::int32_t two = 2;
  auto once = std::make_shared<CommandList>(), body = std::make_shared<CommandList>();
  once->add(std::make_unique<Add>(count, 1));
  once->add(std::make_unique<Add>(inner, -1));
  body->add_fill(inner, &two);
  body->add_while(inner, once);
  body->add(std::make_unique<Add>(outer, -1));
  CommandList list;
  list.add_while(outer, body);
  list.run({});
  EXPECT_EQ(count.at<std::int32_t>(0), 6);
  EXPECT_EQ(outer.at<std::int32_t>(0), 0);
}

TEST(CommandList, EndlessLoopsCanBeInterrupted) {
  const Array one = ints({1}), count = ints({0});
  auto body = std::make_shared<CommandList>();
  body->add(std::make_unique<Add>(count, 1));
  CommandList list;
  list.add_while(one, body);
  list.add(std::make_unique<Add>(one, 41));
  int asked = 0;
  LaunchOptions options;
  options.interrupted = [](void* state) noexcept { return ++*static_cast<int*>(state) == 2; };
  options.interrupted_state = &asked;
  EXPECT_FALSE(list.run(options));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(one.at<std::int32_t>(0), 1);
}

TEST(CommandList, NestingIsLimited) {
  auto list = std::make_shared<CommandList>();
  bool refused = false;
  for (int k = 0; k < 1000 && !refused; ++k) {
    auto outer = std::make_shared<CommandList>();
    try {
      outer->add_list(list);
    } catch (const ArgumentError&) {
      refused = true;
    }
    list = std::move(outer);
  }
  EXPECT_TRUE(refused);
}

TEST(CommandList, ErrorsEndARunAndLeaveTheListUsable) {
  class Fail final : public Command {
   public:
    void run(const LaunchOptions&) const override { throw LaunchError("no"); }
    std::string text() const override { return "fail"; }
  };
  const Array a = ints({0});
  CommandList list;
  list.add(std::make_unique<Add>(a, 1));
  list.add(std::make_unique<Fail>());
  list.add(std::make_unique<Add>(a, 10));
  EXPECT_THROW(list.run({}), LaunchError);
  EXPECT_EQ(a.at<std::int32_t>(0), 1);
}

TEST(CommandList, CanBeShown) {
  const Array a = ints({1, 2});
  auto body = std::make_shared<CommandList>(), empty = std::make_shared<CommandList>();
  body->add(std::make_unique<Add>(a.slice(0, 0, 1), 3));
  CommandList list;
  list.add_copy(a, ints({3, 4}));
  list.add_if(ints({1}), body, empty);
  EXPECT_EQ(list.dot(),
            "digraph graph_on_cpu {\n"
            "  node [shape=box];\n"
            "  n0 [label=\"copy 8 bytes\"];\n"
            "  n1 [label=\"if\"];\n"
            "  n0 -> n1;\n"
            "  subgraph cluster_2 {\n"
            "  n2 [label=\"add \\\"3\\\"\"];\n"
            "  }\n"
            "  n1 -> n2 [style=dashed, label=\"then\"];\n"
            "  subgraph cluster_3 {\n"
            "  }\n"
            "}\n");
}

TEST(CommandList, OneThreadRecordsAndOthersWork) {
  const Array a = ints({0}), b = ints({5});
  Scope scope;
  EXPECT_THROW(begin_recording(), ArgumentError);
  std::thread other([&] {
    EXPECT_EQ(recording(), nullptr);
    EXPECT_THROW(end_recording(), ArgumentError);
    a.assign(b);
    begin_recording();  // dropped with the thread
  });
  other.join();
  EXPECT_EQ(a.at<std::int32_t>(0), 5);
  EXPECT_EQ(scope.end()->size(), 0u);
  EXPECT_EQ(recording(), nullptr);
  EXPECT_THROW(end_recording(), ArgumentError);
  EXPECT_THROW(begin_branch(), ArgumentError);
  EXPECT_THROW(end_branch(), ArgumentError);
}

TEST(CommandList, RecordingCanPause) {
  const Array a = ints({0}), b = ints({5});
  Scope scope;
  {
    const RecordingPaused paused;
    a.assign(b);
  }
  EXPECT_EQ(a.at<std::int32_t>(0), 5);
  EXPECT_EQ(scope.end()->size(), 0u);
}

TEST(CommandList, ACaptureCanNotEndInsideABranch) {
  begin_recording();
  begin_branch();
  EXPECT_THROW(end_recording(), ArgumentError);
  EXPECT_EQ(recording(), nullptr);
}

TEST(CommandList, OverwrittenVersionsAreThoseOfTheRun) {
  VersionKeeper keeper;
  const Array before = ints({1}), inside = ints({2}), source = ints({9});
  auto old = keeper.need(before, "a test");
  Scope scope;
  inside.assign(source);
  auto fresh = keeper.need(inside, "a test");
  announce_write(before.range(), &keeper, "a test");
  before.fill_zero();
  announce_write(inside.range(), &keeper, "a test");
  inside.fill_zero();
  auto list = scope.end();
  EXPECT_EQ(*static_cast<std::int32_t*>(old->data()), 1);
  for (int run = 0; run < 2; ++run) {
    list->run({});
    EXPECT_EQ(*static_cast<std::int32_t*>(old->data()), 1);
    EXPECT_EQ(*static_cast<std::int32_t*>(fresh->data()), 9);
    EXPECT_EQ(inside.at<std::int32_t>(0), 0);
  }
}

}  // namespace
}  // namespace weft::runtime
