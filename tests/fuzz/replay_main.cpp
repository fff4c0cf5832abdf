// Runs a libFuzzer target without libFuzzer: every file of the given corpus folders, then mutations of each. The
// mutations come from a generator seeded by the file's name and the mutation's number, so a run is the same everywhere.
//   fuzz_x FOLDER|FILE… [-mutations=N]
// Before each file its name is printed; on a signal, the number of the input that was running.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

volatile std::sig_atomic_t running_input = 0;  // 0: the file itself; n: its n-th mutation

struct Sample {
  std::string name;
  std::string data;
};

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t bound) { return bound ? std::size_t(next() % bound) : 0; }

 private:
  std::uint64_t state_;
};

std::uint64_t seed_of(std::string_view name, std::uint64_t number) {
  std::uint64_t hash = 0xcbf29ce484222325u + number;
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

// A piece of some sample: inserted elsewhere it makes texts that are almost right.
std::string_view piece_of(const std::vector<Sample>& samples, Random& random) {
  std::string_view data = samples[random.below(samples.size())].data;
  std::size_t begin = random.below(data.size() + 1);
  return data.substr(begin, random.below(24));
}

std::string mutate(const Sample& sample, const std::vector<Sample>& samples, std::uint64_t number) {
  constexpr std::string_view kBytes = "\n\r\t \\'\"()[]{}:;,.#@=*-_0x\x7f\x80\xff";
  Random random(seed_of(sample.name, number));
  std::string data = sample.data;
  for (std::size_t rounds = 1 + random.below(6); rounds > 0; --rounds) {
    std::size_t at = random.below(data.size() + 1);
    std::size_t length = std::min(random.below(16), data.size() - at);
    switch (random.below(8)) {
      case 0: data.erase(at, length); break;
      case 1: data.insert(at, data.substr(at, length)); break;
      case 2: data.insert(at, piece_of(samples, random)); break;
      case 3: data.replace(at, length, piece_of(samples, random)); break;
      case 4: data.insert(at, 1, kBytes[random.below(kBytes.size())]); break;
      case 5:
        if (at < data.size()) data[at] = char(data[at] ^ (1 << random.below(8)));
        break;
      case 6:
        if (at < data.size()) data[at] = char(random.next());
        break;
      default: data.resize(at); break;
    }
  }
  return data;
}

void run(const std::string& data) {
  // A heap copy of exact size lets the address sanitizer see a read past the end.
  std::vector<std::uint8_t> copy(data.begin(), data.end());
  copy.shrink_to_fit();
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

extern "C" void report_signal(int signal) {
  char text[64];
  int length = std::snprintf(text, sizeof text, "signal %d in input %d\n", signal, int(running_input));
  if (length > 0 && write(2, text, std::size_t(length)) < 0) _exit(2);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void load(const std::filesystem::path& path, std::vector<Sample>& samples) {
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) load(entry.path(), samples);
    return;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "can't read %s\n", path.c_str());
    std::exit(2);
  }
  samples.push_back({path.filename().string(), std::string(std::istreambuf_iterator<char>(file), {})});
}

}  // namespace

int main(int count, char** arguments) {
  int mutations = 400;
  std::vector<Sample> samples;
  for (int i = 1; i < count; ++i) {
    if (std::strncmp(arguments[i], "-mutations=", 11) == 0) {
      mutations = std::atoi(arguments[i] + 11);
    } else {
      load(arguments[i], samples);
    }
  }
  if (samples.empty()) {
    std::fprintf(stderr, "usage: %s FOLDER|FILE... [-mutations=N]\n", arguments[0]);
    return 2;
  }
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.name < b.name; });
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS}) std::signal(signal, report_signal);
  for (const Sample& sample : samples) {
    std::printf("%s\n", sample.name.c_str());
    std::fflush(stdout);
    running_input = 0;
    run(sample.data);
    for (int i = 1; i <= mutations; ++i) {
      running_input = i;
      run(mutate(sample, samples, std::uint64_t(i)));
    }
  }
  std::printf("%zu files, %d mutations each\n", samples.size(), mutations);
  return 0;
}
