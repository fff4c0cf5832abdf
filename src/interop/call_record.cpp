// Records as bytes, and the table of their targets.
#include "interop/call_record.h"

#include <algorithm>
#include <cstring>

#include "support/hot.h"

namespace weft::interop {
namespace {

constexpr std::uint32_t kRecordVersion = 3;
constexpr std::size_t kMost = 1 << 16;  // of anything that a record counts

class Writer {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    number(std::uint32_t(text.size()));
    bytes_.append(text);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what Writer wrote; whatever is missing is zero, and `good` says so.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value{};
    if (bytes_.size() < sizeof value) {
      good_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view text() {
    const auto size = number<std::uint32_t>();
    if (bytes_.size() < size) {
      good_ = false;
      return {};
    }
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  std::size_t count() {
    const auto n = number<std::uint32_t>();
    if (n > kMost) good_ = false;
    return good_ ? n : 0;
  }
  bool good() const { return good_; }
  bool done() const { return good_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

void write(Writer& w, const PortableKernel& kernel) {
  const driver::CompileOptions& o = kernel.options;
  w.text(kernel.ir);
  for (bool one : {o.debug, o.verify_fp, o.fuse_fp, o.fast_math, o.deterministic, o.gpu.line_info})
    w.number(std::uint8_t(one));
  w.number(std::int32_t(o.opt_level));
  w.number(std::int32_t(o.max_unroll));
  w.number(std::int32_t(o.tangent));
  w.text(kernel.block_ir);
  w.number(kernel.block);
  w.number(std::uint8_t(kernel.rows));
}

PortableKernel read_portable(Reader& r) {
  PortableKernel out;
  driver::CompileOptions& o = out.options;
  out.ir = r.text();
  for (bool* one : {&o.debug, &o.verify_fp, &o.fuse_fp, &o.fast_math, &o.deterministic, &o.gpu.line_info})
    *one = r.number<std::uint8_t>() != 0;
  o.opt_level = std::clamp(r.number<std::int32_t>(), 0, 3);
  o.max_unroll = r.number<std::int32_t>();
  o.tangent = std::clamp(r.number<std::int32_t>(), 0, 2);
  out.block_ir = r.text();
  out.block = std::clamp(r.number<std::int32_t>(), 0, std::int32_t(ir::kMaxBlock));
  out.rows = r.number<std::uint8_t>() != 0;
  return out;
}

}  // namespace

std::string CallRecord::encode() const {
  Writer w;
  w.number(kRecordVersion);
  w.number(direction);
  w.number(source.lo);
  w.number(source.hi);
  w.text(kernel);
  w.number(block_dim);
  w.number(batch_rank);
  w.number(std::uint8_t(replays));
  w.number(std::uint32_t(dims.size()));
  for (std::int64_t extent : dims) w.number(extent);
  w.number(std::uint32_t(params.size()));
  for (const CallParam& p : params) {
    w.number(p.role);
    w.number(std::uint8_t(p.zeroed));
    for (std::int16_t buffer : {p.arg, p.ret, p.arg_dot, p.ret_dot}) w.number(buffer);
    w.text(p.type);
    w.text({p.value.data(), p.value.size()});
  }
  w.number(std::uint8_t(portable.has_value()));
  if (portable) write(w, *portable);
  const std::string body = w.take();
  const Hash128 digest = hash_bytes(body.data(), body.size());
  return std::string(reinterpret_cast<const char*>(&digest), sizeof digest) + body;
}

WEFT_HOT std::optional<Hash128> digest_of(std::string_view bytes) {
  if (bytes.size() < CallRecord::kDigestBytes) return std::nullopt;
  Hash128 digest;
  std::memcpy(&digest, bytes.data(), sizeof digest);
  return digest;
}

std::optional<CallRecord> CallRecord::decode(std::string_view bytes) {
  const std::optional<Hash128> digest = digest_of(bytes);
  if (!digest) return std::nullopt;
  bytes.remove_prefix(kDigestBytes);
  if (hash_bytes(bytes.data(), bytes.size()) != *digest) return std::nullopt;
  Reader r(bytes);
  if (r.number<std::uint32_t>() != kRecordVersion) return std::nullopt;
  CallRecord out;
  out.direction = r.number<Direction>();
  if (out.direction > Direction::adjoint) return std::nullopt;
  out.source.lo = r.number<std::uint64_t>();
  out.source.hi = r.number<std::uint64_t>();
  out.kernel = r.text();
  out.block_dim = r.number<std::int32_t>();
  out.batch_rank = r.number<std::uint8_t>();
  out.replays = r.number<std::uint8_t>() != 0;
  out.dims.resize(r.count());
  for (std::int64_t& extent : out.dims) extent = r.number<std::int64_t>();
  out.params.resize(r.count());
  for (CallParam& p : out.params) {
    p.role = r.number<Role>();
    if (p.role > Role::in_out) return std::nullopt;
    p.zeroed = r.number<std::uint8_t>() != 0;
    for (std::int16_t* buffer : {&p.arg, &p.ret, &p.arg_dot, &p.ret_dot}) *buffer = r.number<std::int16_t>();
    p.type = r.text();
    const std::string_view value = r.text();
    p.value.assign(value.begin(), value.end());
  }
  if (r.number<std::uint8_t>() != 0) out.portable = read_portable(r);
  if (out.block_dim < 0 || std::any_of(out.dims.begin(), out.dims.end(), [](std::int64_t n) { return n < 0; }))
    return std::nullopt;
  if (!r.done() || out.dims.empty() || out.dims.size() > std::size_t(kMaxRank)) return std::nullopt;
  return out;
}

WEFT_HOT CallTable& CallTable::shared() {
  static auto* table = new CallTable;  // programs of XLA may call while the process ends
  return *table;
}

WEFT_HOT const CallTarget* CallTable::find(const Hash128& digest) const {
  for (const Node* at = buckets_[digest.lo % kBuckets].load(std::memory_order_acquire); at; at = at->next)
    if (at->target->digest == digest) return at->target.get();
  return nullptr;
}

const CallTarget& CallTable::add(std::unique_ptr<CallTarget> target) {
  std::lock_guard lock(adding_);
  if (const CallTarget* known = find(target->digest)) return *known;
  std::atomic<Node*>& bucket = buckets_[target->digest.lo % kBuckets];
  auto* node = new Node{std::move(target), bucket.load(std::memory_order_relaxed)};
  bucket.store(node, std::memory_order_release);
  size_.fetch_add(1, std::memory_order_relaxed);
  return *node->target;
}

}  // namespace weft::interop
