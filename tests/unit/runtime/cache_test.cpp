// The object cache: round trips, every kind of damage, processes racing, folders that can't be used, pruning.
#include "runtime/cache.h"
#include "../slowdown.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
Hash128 key_of(std::uint64_t n) { return {n * 0x9e3779b97f4a7c15ULL, n}; }

class CacheTest : public testing::Test {
 protected:
  CacheTest() : root_(fs::temp_directory_path() / ("weft_cache_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~CacheTest() override { fs::remove_all(root_); }

  CacheOptions options(const std::string& folder = "cache") {
    CacheOptions o;
    o.folder = (root_ / folder).string();
    o.build_id = "build 1";
    o.warn = [this](const std::string& text) { warnings_.push_back(text); };
    return o;
  }
  std::string file_of(const Cache& cache, const Hash128& key, const char* suffix = ".obj") {
    return cache.folder() + "/" + key.hex() + suffix;
  }
  std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write_file(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  std::size_t count_files(const std::string& folder, const std::string& prefix = "") {
    std::size_t n = 0;
    for (const auto& entry : fs::directory_iterator(folder)) n += entry.path().filename().string().starts_with(prefix);
    return n;
  }

  fs::path root_;
  std::vector<std::string> warnings_;
};

TEST_F(CacheTest, storesAndFinds) {
  Cache cache(options("deep/er/folder"));
  EXPECT_FALSE(cache.get(CacheTable::object, key_of(1)));
  EXPECT_TRUE(cache.put(CacheTable::object, key_of(1), bytes_of("payload"), bytes_of("meta")));
  auto hit = cache.get(CacheTable::object, key_of(1));
  ASSERT_TRUE(hit);
  EXPECT_EQ(text_of(hit->payload()), "payload");
  EXPECT_EQ(text_of(hit->metadata()), "meta");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(hit->payload().data()) % 64, 0u);
  EXPECT_FALSE(cache.get(CacheTable::source, key_of(1)));
  EXPECT_TRUE(cache.put(CacheTable::object, key_of(1), bytes_of("other")));
  EXPECT_EQ(text_of(hit->payload()), "payload");  // a hit owns its bytes
  EXPECT_EQ(text_of(cache.get(CacheTable::object, key_of(1))->payload()), "other");
  EXPECT_TRUE(cache.put(CacheTable::object, key_of(2), {}));
  EXPECT_TRUE(cache.get(CacheTable::object, key_of(2))->payload().empty());
  cache.remove(CacheTable::object, key_of(1));
  EXPECT_FALSE(cache.get(CacheTable::object, key_of(1)));
  EXPECT_EQ(cache.stats().stored, 3u);
  EXPECT_EQ(cache.stats().hits, 3u);
  EXPECT_EQ(cache.stats().misses, 3u);
  EXPECT_EQ(count_files(cache.folder(), "tmp-"), 0u);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CacheTest, sourceKeysLeadToContentKeys) {
  Cache cache(options());
  EXPECT_FALSE(cache.get_content_key(key_of(1)));
  EXPECT_TRUE(cache.put_content_key(key_of(1), key_of(99)));
  EXPECT_EQ(cache.get_content_key(key_of(1)), key_of(99));
  cache.put(CacheTable::source, key_of(2), bytes_of("short"));
  EXPECT_FALSE(cache.get_content_key(key_of(2)));
}

TEST_F(CacheTest, truncationAtEveryLengthIsAMissAndRemoved) {
  Cache cache(options());
  cache.put(CacheTable::object, key_of(1), bytes_of(std::string(300, 'x')), bytes_of("some metadata"));
  const std::string path = file_of(cache, key_of(1)), whole = read_file(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_file(path, whole.substr(0, length));
    ASSERT_FALSE(cache.get(CacheTable::object, key_of(1))) << length;
    ASSERT_FALSE(fs::exists(path)) << length;
  }
  write_file(path, whole + "x");
  EXPECT_FALSE(cache.get(CacheTable::object, key_of(1)));
  EXPECT_EQ(cache.stats().damaged, whole.size() + 1);
  EXPECT_TRUE(cache.put(CacheTable::object, key_of(1), bytes_of("again")));
  EXPECT_TRUE(cache.get(CacheTable::object, key_of(1)));
}

TEST_F(CacheTest, everyBitFlipIsFound) {
  const std::string payload(200, 'p'), metadata = "meta";
  const CacheIdentity identity{CacheTable::object, key_of(5), key_of(6)};
  auto file = cache_entry_header(identity, bytes_of(payload), bytes_of(metadata));
  file.insert(file.end(), bytes_of(payload).begin(), bytes_of(payload).end());
  file.insert(file.end(), bytes_of(metadata).begin(), bytes_of(metadata).end());
  ASSERT_TRUE(parse_cache_entry(file, identity));
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] ^= std::byte(1 << bit % 8);
    ASSERT_FALSE(parse_cache_entry(file, identity)) << bit;
    file[bit / 8] ^= std::byte(1 << bit % 8);
  }
  EXPECT_FALSE(parse_cache_entry(file, {CacheTable::source, key_of(5), key_of(6)}));
  EXPECT_FALSE(parse_cache_entry(file, {CacheTable::object, key_of(4), key_of(6)}));
  EXPECT_FALSE(parse_cache_entry(file, {CacheTable::object, key_of(5), key_of(7)}));
}

TEST_F(CacheTest, bitFlipsOnDiskAreRebuilt) {
  Cache cache(options());
  std::mt19937 random(3);
  const std::string payload(5000, 'y');
  for (int round = 0; round < 50; ++round) {
    cache.put(CacheTable::object, key_of(1), bytes_of(payload));
    const std::string path = file_of(cache, key_of(1));
    std::string whole = read_file(path);
    const std::size_t bit = random() % (whole.size() * 8);
    whole[bit / 8] = char(whole[bit / 8] ^ (1 << bit % 8));
    write_file(path, whole);
    ASSERT_FALSE(cache.get(CacheTable::object, key_of(1))) << bit;
  }
}

TEST_F(CacheTest, entriesOfAnotherBuildOrKeyDoNotCount) {
  Cache cache(options());
  cache.put(CacheTable::object, key_of(1), bytes_of("x"));
  fs::copy(file_of(cache, key_of(1)), file_of(cache, key_of(2)));
  EXPECT_FALSE(cache.get(CacheTable::object, key_of(2)));
  CacheOptions newer = options();
  newer.build_id = "build 2";
  Cache other(newer);
  EXPECT_FALSE(other.get(CacheTable::object, key_of(1)));
  EXPECT_TRUE(other.put(CacheTable::object, key_of(1), bytes_of("y")));
  EXPECT_TRUE(other.get(CacheTable::object, key_of(1)));
}

TEST_F(CacheTest, oddThingsInPlaceOfAnEntry) {
  Cache cache(options());
  cache.put(CacheTable::object, key_of(9), bytes_of("x"));
  fs::create_directory(file_of(cache, key_of(1)));
  EXPECT_FALSE(cache.get(CacheTable::object, key_of(1)));
  EXPECT_FALSE(cache.put(CacheTable::object, key_of(1), bytes_of("x")));
  EXPECT_EQ(warnings_.size(), 1u);
  ASSERT_EQ(mkfifo(file_of(cache, key_of(2)).c_str(), 0600), 0);
  EXPECT_FALSE(cache.get(CacheTable::object, key_of(2)));  // does not hang
  EXPECT_TRUE(cache.put(CacheTable::object, key_of(2), bytes_of("x")));
  fs::create_symlink("nowhere", file_of(cache, key_of(3)));
  EXPECT_FALSE(cache.get(CacheTable::object, key_of(3)));
  EXPECT_TRUE(cache.put(CacheTable::object, key_of(3), bytes_of("x")));
  EXPECT_TRUE(cache.get(CacheTable::object, key_of(3)));
  EXPECT_EQ(count_files(cache.folder(), "tmp-"), 0u);
}

TEST_F(CacheTest, unusableFoldersWarnOnceAndNeverThrow) {
  write_file((root_ / "plain").string(), "a file");
  for (const std::string& folder : {(root_ / "plain/below").string(), std::string("/proc/weft/cache"),
                                    std::string("/proc/self/fd"), (root_ / std::string(5000, 'n')).string()}) {
    CacheOptions o = options();
    o.folder = folder;
    Cache cache(o);
    warnings_.clear();
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(cache.get(CacheTable::object, key_of(1)));
      EXPECT_FALSE(cache.put(CacheTable::object, key_of(1), bytes_of("x")));
    }
    cache.prune();
    cache.clear();
    cache.remove(CacheTable::object, key_of(1));
    ASSERT_EQ(warnings_.size(), 1u) << folder;
    EXPECT_NE(warnings_[0].find("WEFT_CACHE_PATH"), std::string::npos);
    EXPECT_EQ(cache.stats().failed_stores, 3u);
  }
  CacheOptions off = options();
  off.folder.clear();
  Cache none(off);
  EXPECT_FALSE(none.enabled());
  EXPECT_FALSE(none.put(CacheTable::object, key_of(1), bytes_of("x")));
  EXPECT_FALSE(none.get(CacheTable::object, key_of(1)));
}

TEST_F(CacheTest, fullDiskLeavesNothingBehind) {
  // A limit on file sizes stands for a disk that fills up in the middle of a write.
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    int warned = 0;
    CacheOptions o = options();
    o.warn = [&](const std::string&) { ++warned; };
    Cache cache(o);
    bool good = !cache.put(CacheTable::object, key_of(1), bytes_of(std::string(20000, 'x')));
    good &= !cache.put(CacheTable::object, key_of(1), bytes_of(std::string(20000, 'x')));
    good &= !cache.get(CacheTable::object, key_of(1)).has_value() && warned == 1;
    good &= cache.put(CacheTable::object, key_of(2), bytes_of("small"));
    good &= cache.get(CacheTable::object, key_of(2)).has_value();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(count_files((root_ / "cache").string(), "tmp-"), 0u);
}

TEST_F(CacheTest, folderDeletedInBetweenIsMadeAgain) {
  Cache cache(options());
  cache.put(CacheTable::object, key_of(1), bytes_of("x"));
  fs::remove_all(cache.folder());
  EXPECT_FALSE(cache.get(CacheTable::object, key_of(1)));
  EXPECT_TRUE(cache.put(CacheTable::object, key_of(1), bytes_of("x")));
  EXPECT_TRUE(cache.get(CacheTable::object, key_of(1)));
}

/// What any process stores under a key: longer than one write, different for every key.
std::string content_of(std::uint64_t n) {
  std::string text(3000 + 977 * n % 20000, char('a' + n % 26));
  return text + std::to_string(n);
}

TEST_F(CacheTest, processesAndThreadsRaceOnOneFolder) {
  const auto work = [&](unsigned seed) {
    CacheOptions o = options();
    o.max_bytes = 150000;  // small enough that pruning joins the race
    Cache cache(o);
    std::mt19937 random(seed);
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t n = random() % 20;
      if (random() % 2) {
        cache.put(CacheTable::object, key_of(n), bytes_of(content_of(n)));
      } else if (auto hit = cache.get(CacheTable::object, key_of(n))) {
        if (text_of(hit->payload()) != content_of(n)) return 1;
      }
      if (random() % 50 == 0) cache.remove(CacheTable::object, key_of(n));
    }
    // Whole files only: nobody may ever have seen half of one.
    return cache.stats().damaged == 0 && cache.stats().failed_stores == 0 ? 0 : 2;
  };
  std::vector<pid_t> children;
  for (unsigned p = 0; p < 4; ++p) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(120);
      _exit(work(p));
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  Cache shared(options());
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t n = random() % 10;
        shared.put(CacheTable::object, key_of(n), bytes_of(content_of(n)));
        const auto hit = shared.get(CacheTable::object, key_of(n));
        if (!hit || text_of(hit->payload()) != content_of(n)) ++bad;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(bad.load(), 0);
  EXPECT_EQ(count_files(shared.folder(), "tmp-"), 0u);
}

void set_age(const std::string& path, std::int64_t seconds) {
  timespec times[2] = {};
  times[0].tv_sec = times[1].tv_sec = ::time(nullptr) - seconds;
  utimensat(AT_FDCWD, path.c_str(), times, 0);
}

TEST_F(CacheTest, prunesTheLeastRecentlyUsed) {
  CacheOptions o = options();
  o.max_bytes = 100000;
  Cache cache(o);
  for (std::uint64_t n = 0; n < 8; ++n) {
    cache.put(CacheTable::object, key_of(n), bytes_of(std::string(11000, 'x')));
    set_age(file_of(cache, key_of(n)), std::int64_t(20 - n) * 86400);
  }
  EXPECT_TRUE(cache.get(CacheTable::object, key_of(0)));  // touches it: now the youngest
  cache.put(CacheTable::object, key_of(8), bytes_of(std::string(11000, 'x')));
  cache.put(CacheTable::object, key_of(9), bytes_of(std::string(11000, 'x')));
  cache.prune();
  EXPECT_TRUE(fs::exists(file_of(cache, key_of(0))));
  EXPECT_TRUE(fs::exists(file_of(cache, key_of(9))));
  EXPECT_FALSE(fs::exists(file_of(cache, key_of(1))));
  EXPECT_FALSE(fs::exists(file_of(cache, key_of(2))));
  std::uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(cache.folder())) total += entry.file_size();
  EXPECT_LE(total, 100000u);  // pruned to 80 % when the ninth went in, one since
}

TEST_F(CacheTest, staysBelowItsLimitByItself) {
  CacheOptions o = options();
  o.max_bytes = 200000;
  Cache cache(o);
  for (std::uint64_t n = 0; n < 200; ++n) cache.put(CacheTable::object, key_of(n), bytes_of(std::string(5000, 'x')));
  std::uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(cache.folder())) total += entry.file_size();
  EXPECT_LE(total, 220000u);
  EXPECT_GE(total, 100000u);
}

TEST_F(CacheTest, hitsTouchAtMostOnceADay) {
  Cache cache(options());
  cache.put(CacheTable::object, key_of(1), bytes_of("x"));
  const std::string path = file_of(cache, key_of(1));
  const auto age = [&] {
    struct stat info{};
    stat(path.c_str(), &info);
    return ::time(nullptr) - info.st_mtime;
  };
  set_age(path, 3600);
  cache.get(CacheTable::object, key_of(1));
  EXPECT_GE(age(), 3599);
  set_age(path, 2 * 86400);
  cache.get(CacheTable::object, key_of(1));
  EXPECT_LE(age(), 10);
}

TEST_F(CacheTest, pruneAndClearTouchOnlyOurFiles) {
  CacheOptions o = options();
  o.max_bytes = 1;
  Cache cache(o);
  cache.put(CacheTable::object, key_of(1), bytes_of("x"));
  const std::string old_temporary = cache.folder() + "/tmp-" + key_of(7).hex();
  const std::string new_temporary = cache.folder() + "/tmp-" + key_of(8).hex();
  const std::string foreign = cache.folder() + "/notes.obj";
  for (const auto& path : {old_temporary, new_temporary, foreign}) write_file(path, std::string(100, 'x'));
  set_age(old_temporary, 7200);
  set_age(foreign, 7200);
  cache.prune();
  EXPECT_FALSE(fs::exists(old_temporary));
  EXPECT_TRUE(fs::exists(new_temporary));
  EXPECT_TRUE(fs::exists(foreign));
  cache.clear();
  EXPECT_FALSE(fs::exists(new_temporary));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(CacheTest, aHitIsFast) {
  Cache cache(options());
  cache.put(CacheTable::object, key_of(1), bytes_of(std::string(20000, 'x')));
  double best = 1e9;
  for (int i = 0; i < 50; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(cache.get(CacheTable::object, key_of(1)));
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("microseconds", std::to_string(best * 1e6));
  EXPECT_LT(best, 1e-3 * kSlowdown);  // a machine under sanitizers and load still stays below this; usually some 20 µs
}

/// Runs a function in a child with a changed environment and returns what it prints.
template <class F>
std::string in_child(F f) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    const std::string text = f();
    _exit(write(ends[1], text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  char buffer[1024];
  const ssize_t n = read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  return {buffer, std::size_t(std::max<ssize_t>(n, 0))};
}

TEST(CacheFolder, followsTheEnvironment) {
  const auto with = [](const char* weft, const char* xdg, const char* home, const char* warp = nullptr) {
    return in_child([&] {
      const auto set = [](const char* name, const char* value) {
        if (value)
          setenv(name, value, 1);
        else
          unsetenv(name);
      };
      set("WEFT_CACHE_PATH", weft);
      set("WARP_CACHE_PATH", warp);
      set("XDG_CACHE_HOME", xdg);
      set("HOME", home);
      return default_cache_folder("1.2");
    });
  };
  EXPECT_EQ(with("/a/b", "/x", "/h"), "/a/b");
  EXPECT_EQ(with("", "/x", "/h"), "/x/weft/1.2");
  EXPECT_EQ(with("/a/b", "/x", "/h", "/w"), "/a/b");
  EXPECT_EQ(with("", "/x", "/h", "/w"), "/w");
  EXPECT_EQ(with(nullptr, "relative", "/h"), "/h/.cache/weft/1.2");
  EXPECT_EQ(with(nullptr, nullptr, "/h"), "/h/.cache/weft/1.2");
  const std::string without_home = with(nullptr, nullptr, nullptr);
  EXPECT_TRUE(without_home.empty() || without_home.ends_with("/.cache/weft/1.2")) << without_home;
}

}  // namespace
}  // namespace weft::runtime
