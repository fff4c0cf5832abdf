// Bundles of the cache: round trips, every byte damaged, processes racing, clearing, ageing.
#include "runtime/cache_bundles.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/cache.h"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
Hash128 key_of(std::uint64_t n) { return {n * 0x9e3779b97f4a7c15ULL, n}; }
std::string payload_of(std::uint64_t n) { return std::string(n * 37 % 900, char('a' + n % 26)); }

class BundlesTest : public testing::Test {
 protected:
  BundlesTest() : root_(fs::temp_directory_path() / ("weft_bundles_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~BundlesTest() override { fs::remove_all(root_); }

  void fill(std::uint64_t from, std::uint64_t to) {
    CacheBundles bundles(folder(), "build 1");
    for (std::uint64_t n = from; n < to; ++n)
      bundles.add(group_, key_of(n), key_of(n + 1000), bytes_of(payload_of(n)), bytes_of("meta" + std::to_string(n)));
  }  // its end writes
  /// Whether the bundle has an entry, which must be the one that was put in.
  bool has(CacheBundles& bundles, std::uint64_t n) {
    const std::optional<BundleHit> hit = bundles.get(group_, key_of(n));
    if (!hit) return false;
    EXPECT_EQ(hit->content, key_of(n + 1000));
    EXPECT_EQ(text_of(hit->payload), payload_of(n));
    EXPECT_EQ(text_of(hit->metadata), "meta" + std::to_string(n));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(hit->payload.data()) % kBundleAlignment, 0u);
    return true;
  }
  std::string folder() const { return (root_ / "cache").string(); }
  std::string path() const { return folder() + "/" + group_.hex() + ".pak"; }
  std::string read_file() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write_file(const std::string& text) const { std::ofstream(path(), std::ios::binary | std::ios::trunc) << text; }

  const Hash128 group_{7, 9};
  fs::path root_;
};

TEST_F(BundlesTest, findsWhatAnEarlierProcessFound) {
  fill(0, 20);
  CacheBundles bundles(folder(), "build 1");
  for (std::uint64_t n = 0; n < 20; ++n) EXPECT_TRUE(has(bundles, n)) << n;
  EXPECT_FALSE(has(bundles, 20));
  EXPECT_FALSE(bundles.get({1, 1}, key_of(0)));
}

TEST_F(BundlesTest, ofAnotherBuildOrWithoutFolderThereIsNone) {
  fill(0, 3);
  CacheBundles other(folder(), "build 2"), none("", "build 1");
  EXPECT_FALSE(has(other, 1));
  EXPECT_FALSE(has(none, 1));
  none.add(group_, key_of(1), key_of(2), {}, {});
  none.flush();
}

TEST_F(BundlesTest, joinsWhatSeveralProcessesFound) {
  fill(0, 5);
  fill(5, 9);
  CacheBundles bundles(folder(), "build 1");
  for (std::uint64_t n = 0; n < 9; ++n) EXPECT_TRUE(has(bundles, n)) << n;
}

TEST_F(BundlesTest, entriesThatNobodyUsesGo) {
  fill(0, 2);
  for (std::uint64_t round = 0; round < 12; ++round) {
    CacheBundles bundles(folder(), "build 1");
    EXPECT_TRUE(has(bundles, 1)) << round;
    bundles.add(group_, key_of(100 + round), key_of(1100 + round), bytes_of(payload_of(100 + round)),
                bytes_of("meta" + std::to_string(100 + round)));
  }
  CacheBundles bundles(folder(), "build 1");
  EXPECT_TRUE(has(bundles, 1));
  EXPECT_FALSE(has(bundles, 0));
  EXPECT_FALSE(has(bundles, 100));
  EXPECT_TRUE(has(bundles, 111));
}

TEST_F(BundlesTest, noByteCanBeWrong) {
  fill(0, 3);
  const std::string whole = read_file();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x41);
    write_file(damaged);
    CacheBundles bundles(folder(), "build 1");
    int found = 0;
    for (std::uint64_t n = 0; n < 3; ++n) found += has(bundles, n);  // has() looks at every byte of a hit
    const bool inside = at >= kBundleHeaderSize + 3 * sizeof(BundleRow);
    if (!inside) {
      EXPECT_EQ(found, 0) << at;
    } else {
      EXPECT_GE(found, 2) << at;
    }
  }
}

TEST_F(BundlesTest, noLengthCanBeWrong) {
  fill(0, 3);
  const std::string whole = read_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(whole.substr(0, size));
    CacheBundles bundles(folder(), "build 1");
    for (std::uint64_t n = 0; n < 3; ++n) EXPECT_FALSE(has(bundles, n)) << size;
  }
  write_file(whole + "x");
  CacheBundles bundles(folder(), "build 1");
  EXPECT_FALSE(has(bundles, 0));
  EXPECT_FALSE(fs::exists(path()));  // a file that nobody can read is in the way
}

TEST_F(BundlesTest, rowsThatLeadOutOfTheFileAreRefused) {
  // With a checksum that fits, as somebody could make it.
  const std::string payload = "payload";
  const BundleEntry entry{key_of(1), key_of(2), 0, bytes_of(payload), {}};
  const std::vector<std::byte> good = bundle_bytes({group_, {}}, {&entry, 1});
  ASSERT_TRUE(parse_bundle(good, {group_, {}}));
  for (std::size_t field = 48; field < 72; field += 8)
    for (const std::uint64_t value : {std::uint64_t(0), std::uint64_t(1), ~std::uint64_t(0), std::uint64_t(1) << 40}) {
      std::vector<std::byte> bad = good;
      std::memcpy(bad.data() + kBundleHeaderSize + field, &value, 8);
      std::memset(bad.data() + 64, 0, 16);  // the header's checksum
      const Hash128 sum = hash_bytes(bad.data(), kBundleHeaderSize + sizeof(BundleRow));
      std::memcpy(bad.data() + 64, &sum, 16);
      if (const auto rows = parse_bundle(bad, {group_, {}}))
        for (const BundleRow& row : *rows) bundle_entry(bad, row);  // must stay inside
    }
}

TEST_F(BundlesTest, aCacheThatIsClearedTakesThemAlong) {
  fill(0, 3);
  CacheOptions options;
  options.folder = folder();
  options.build_id = "build 1";
  Cache cache(options);
  CacheBundles bundles(folder(), "build 1");
  EXPECT_TRUE(has(bundles, 1));
  cache.clear();
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_FALSE(has(bundles, 1));
}

TEST_F(BundlesTest, whatIsOfNoUseIsNotAskedForAgain) {
  fill(0, 3);
  CacheBundles bundles(folder(), "build 1");
  EXPECT_TRUE(has(bundles, 1));
  bundles.drop(group_, key_of(1));
  EXPECT_FALSE(has(bundles, 1));
  EXPECT_TRUE(has(bundles, 2));
}

TEST_F(BundlesTest, hitsOutliveTheirBundle) {
  fill(0, 3);
  std::optional<BundleHit> hit;
  {
    CacheBundles bundles(folder(), "build 1");
    hit = bundles.get(group_, key_of(2));
  }
  fs::remove_all(folder());
  ASSERT_TRUE(hit);
  EXPECT_EQ(text_of(hit->payload), payload_of(2));
}

TEST_F(BundlesTest, processesMayWriteAtOnce) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (std::uint64_t round = 0; round < 20; ++round) {
        CacheBundles bundles(folder(), "build 1");
        for (std::uint64_t n = 0; n < 8; ++n) {
          const std::optional<BundleHit> hit = bundles.get(group_, key_of(n));
          if (hit && text_of(hit->payload) != payload_of(n)) _exit(1);
        }
        const std::uint64_t n = (round + std::uint64_t(child)) % 8;
        bundles.add(group_, key_of(n), key_of(n + 1000), bytes_of(payload_of(n)), bytes_of("meta" + std::to_string(n)));
        bundles.flush();
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  CacheBundles bundles(folder(), "build 1");
  int found = 0;
  for (std::uint64_t n = 0; n < 8; ++n) found += has(bundles, n);
  EXPECT_GE(found, 1);
  for (const auto& entry : fs::directory_iterator(folder()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("tmp-"));
}

TEST_F(BundlesTest, threadsMayAskAtOnce) {
  fill(0, 20);
  CacheBundles bundles(folder(), "build 1");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t n = 0; n < 20; ++n) EXPECT_TRUE(has(bundles, n));
      bundles.add(group_, key_of(50 + std::uint64_t(t)), key_of(1), {}, {});
      bundles.flush();
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft::runtime
