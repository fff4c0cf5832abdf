// Versions of arrays: kept when the tape itself overwrites them, lost when others do; writes between recorded ones.
#include "runtime/versions.h"

#include <gtest/gtest.h>

#include "runtime/errors.h"

namespace weft::runtime {
namespace {

Array numbers(std::initializer_list<float> values) {
  Array made = Array::zeros(types::f32(), {std::int64_t(values.size())});
  std::copy(values.begin(), values.end(), made.span<float>().begin());
  return made;
}

void overwrite(const Array& array, VersionKeeper* recording, const char* by) {
  announce_write(array.range(), recording, by);
  array.fill_zero();
}

std::string lost(const Version& version) {
  try {
    version.data();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Versions, NobodyWatchesUntilSomebodyNeeds) {
  EXPECT_FALSE(writes_are_watched());
  {
    VersionKeeper keeper;
    EXPECT_FALSE(writes_are_watched());
    const auto version = keeper.need(numbers({1, 2}), "a test");
    EXPECT_TRUE(writes_are_watched());
    keeper.clear();
    EXPECT_FALSE(writes_are_watched());
    keeper.note_use({16, 32});
    EXPECT_TRUE(writes_are_watched());
  }
  EXPECT_FALSE(writes_are_watched());
}

TEST(Versions, TheTapesOwnWritesMakeCopies) {
  VersionKeeper keeper;
  const Array array = numbers({1, 2, 3, 4});
  const auto whole = keeper.need(array, "a test"), again = keeper.need(array, "another");
  const auto part = keeper.need(array.slice(0, 2, 4, 1), "a test");
  const auto backwards = keeper.need(array.slice(0, INT64_MAX, INT64_MIN, -2), "a test");
  EXPECT_EQ(whole, again);
  EXPECT_EQ(whole->data(), array.data());
  overwrite(array.slice(0, 0, 1, 1), &keeper, "a fill");
  EXPECT_EQ(keeper.copies(), 1u);  // of the whole: the others don't reach the first element
  EXPECT_EQ(keeper.kept_bytes(), 16u);
  EXPECT_EQ(static_cast<float*>(whole->data())[0], 1.0f);
  EXPECT_EQ(part->data(), array.slice(0, 2, 4, 1).data());
  overwrite(array, &keeper, "a fill");
  EXPECT_EQ(keeper.copies(), 3u);
  EXPECT_EQ(static_cast<float*>(part->data())[1], 4.0f);
  const Array values = backwards->values(array.slice(0, INT64_MAX, INT64_MIN, -2));
  EXPECT_EQ(values.at<float>(0), 4.0f);
  EXPECT_EQ(values.at<float>(1), 2.0f);
  overwrite(array, &keeper, "a fill");
  EXPECT_EQ(keeper.copies(), 3u);  // once is enough
}

TEST(Versions, OthersLoseThem) {
  VersionKeeper keeper, other;
  const Array array = numbers({1, 2});
  const auto version = keeper.need(array, "kernel 'reader'");
  overwrite(array, &other, "kernel 'writer'");
  const std::string text = lost(*version);
  EXPECT_NE(text.find("kernel 'reader'"), std::string::npos);
  EXPECT_NE(text.find("kernel 'writer'"), std::string::npos);
  EXPECT_NE(text.find("(2,)"), std::string::npos);
  EXPECT_FALSE(writes_are_watched());
}

TEST(Versions, CopiesCanBeRefusedAndUnannouncedWritesFound) {
  VersionKeeper keeper;
  keeper.set_policy(VersionKeeper::OnOverwrite::refuse);
  keeper.set_verify(true);
  const Array array = numbers({1, 2});
  const auto version = keeper.need(array, "a test");
  EXPECT_THROW(announce_write(array.range(), &keeper, "a fill"), Error);
  EXPECT_EQ(lost(*version), "");
  array.at<float>(1) = 5.0f;
  EXPECT_NE(lost(*version).find("somebody"), std::string::npos);
}

TEST(Versions, WritesBetweenRecordedOnesAreRemembered) {
  VersionKeeper keeper;
  const Array array = numbers({1, 2, 3, 4}), elsewhere = numbers({1});
  keeper.note_use(array.range());
  keeper.set_moment(5);
  announce_write(elsewhere.range(), nullptr, "a fill");
  announce_write(array.range(), &keeper, "a recorded fill");
  EXPECT_TRUE(keeper.strays().empty());
  for (int k = 0; k < 3; ++k) announce_write(array.slice(0, 1, 2, 1).range(), nullptr, "a fill");
  ASSERT_EQ(keeper.strays().size(), 1u);
  EXPECT_EQ(keeper.strays()[0].moment, 5u);
  EXPECT_EQ(keeper.strays()[0].by, "a fill");
  announce_write(array.range(), nullptr, "a sum", Passage::unchanged);
  EXPECT_EQ(keeper.strays().size(), 1u);
  announce_write(array.range(), &keeper, "a kernel", Passage::disabled, {&array.desc(), sizeof(float)});
  ASSERT_EQ(keeper.strays().size(), 2u);
  EXPECT_EQ(keeper.strays()[1].passage, Passage::disabled);
  EXPECT_EQ(keeper.strays()[1].layout.size(), 4u);
  keeper.clear();
  EXPECT_TRUE(keeper.strays().empty());
}

TEST(Versions, LostOnesCanBeGivenBack) {
  VersionKeeper keeper, other;
  const Array array = numbers({1, 2});
  keeper.set_verify(true);
  const auto version = keeper.need(array, "a test");
  EXPECT_FALSE(keeper.is_disturbed());
  overwrite(array, &other, "somebody");
  EXPECT_TRUE(version->is_stale() && keeper.is_disturbed());
  keeper.renew(version);
  EXPECT_FALSE(version->is_stale());
  EXPECT_EQ(lost(*version), "");
  array.span<float>()[0] = 3;  // unannounced
  EXPECT_TRUE(version->is_stale());
  keeper.renew(version);
  EXPECT_FALSE(version->is_stale());
  overwrite(array, nullptr, "somebody");
  EXPECT_TRUE(version->is_stale()) << "it is watched again";
  EXPECT_FALSE(version->is_kept());
}

TEST(Versions, SeveralRecordOneWrite) {
  VersionKeeper first, second, third;
  const Array array = numbers({1, 2});
  const auto a = first.need(array, "a test"), b = second.need(array, "a test"), c = third.need(array, "a test");
  const Recorder recorders[] = {{&first, Passage::recorded}, {&second, Passage::recorded}};
  announce_write(array.range(), recorders, "a launch", true);
  array.fill_zero();
  EXPECT_TRUE(a->is_kept() && b->is_kept() && !c->is_kept() && c->is_stale());
  EXPECT_EQ(static_cast<float*>(b->data())[1], 2.0f);
}

TEST(Versions, CapturedWritesHappenWhenTheGraphRuns) {
  VersionKeeper keeper;
  const Array array = numbers({1, 2});
  const auto before = keeper.need(array, "a test");
  set_capture(7);
  announce_write(array.range(), nullptr, "a fill");
  EXPECT_TRUE(before->is_stale()) << "for what the graph does next";
  const Array made = numbers({0});
  const auto inside = keeper.need(made, "a test");
  set_capture(0);
  EXPECT_FALSE(before->is_stale());
  announce_graph_write(array.range(), 7, "a graph");
  EXPECT_TRUE(before->is_stale());
  announce_write(made.range(), nullptr, "a fill");
  EXPECT_TRUE(inside->is_stale());
  announce_graph_write(made.range(), 7, "a graph");
  keeper.renew_made_by(7);
  EXPECT_FALSE(inside->is_stale()) << "the graph has made it again";
  EXPECT_TRUE(before->is_stale());
}

TEST(Versions, ManyVersionsAreFoundByPlace) {
  VersionKeeper keeper;
  std::vector<Array> arrays;
  std::vector<std::shared_ptr<Version>> versions;
  for (int k = 0; k < 1000; ++k) {
    arrays.push_back(numbers({float(k), 0}));
    versions.push_back(keeper.need(arrays.back(), "a test"));
  }
  overwrite(arrays[500], &keeper, "a fill");
  EXPECT_EQ(keeper.copies(), 1u);
  EXPECT_EQ(static_cast<float*>(versions[500]->data())[0], 500.0f);
  announce_write(kAnywhere, &keeper, "a kernel");
  EXPECT_EQ(keeper.copies(), 1000u);
}

TEST(Versions, PrivateCopiesKeepStrides) {
  const Array array = numbers({1, 2, 3, 4});
  const Array view = array.slice(0, INT64_MAX, INT64_MIN, -2);
  const Array copy = copy_of_memory(view);
  array.fill_zero();
  EXPECT_EQ(copy.strides()[0], view.strides()[0]);
  EXPECT_EQ(copy.at<float>(0), 4.0f);
  EXPECT_EQ(copy.at<float>(1), 2.0f);
}

}  // namespace
}  // namespace weft::runtime
