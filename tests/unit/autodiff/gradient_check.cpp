// Lowering, optimising and running behind gradient_check.h.
#include "gradient_check.h"

#include <cmath>
#include <cstring>

#include "analysis/effects.h"
#include "interp/interpreter.h"
#include "ir/clone.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/fold.h"
#include "passes/inline_calls.h"
#include "passes/licm.h"
#include "passes/move_tests.h"
#include "passes/promote_locals.h"
#include "passes/simplify.h"
#include "passes/unroll.h"
#include "sema/file_scope.h"
#include "sema/sema.h"
#include "syntax/parser.h"

namespace weft::autodiff::test {
namespace {

struct Compiled {
  DiagnosticSink sink;
  std::shared_ptr<sema::FileScope> scope;
  std::unique_ptr<ir::Module> module;
};

void tidy(ir::Module& module, bool unroll) {
  analysis::Effects effects;
  for (auto& f : module.functions) passes::fold(*f), passes::simplify(*f), passes::dce(*f, &effects);
  passes::InlineLimits limits;
  limits.memory = true;
  limits.keep_custom = true;
  passes::inline_calls(module, limits);
  for (auto& f : module.functions) {
    analysis::Effects fresh;
    passes::fold(*f), passes::simplify(*f), passes::cse(*f, &fresh);
    if (unroll) passes::unroll(*f, {});
    passes::fold(*f), passes::simplify(*f);
    passes::promote_locals(*f);
    passes::move_tests(*f);
    passes::licm(*f, &fresh);
    passes::cse(*f, &fresh);
    passes::dce(*f, &fresh);
  }
}

std::unique_ptr<Compiled> compile(const Check& check) {
  auto out = std::make_unique<Compiled>();
  auto file = std::make_shared<SourceFile>("test.py", "import warp as wp\nd = wp.float64\n" + check.text);
  auto tree = syntax::parse(file, out->sink);
  out->scope = sema::FileScope::make(tree, out->sink);
  auto decl = out->scope->find_kernel("k");
  sema::Options options;
  options.gradients = check.custom;
  if (decl) out->module = sema::lower_kernel(*decl, {}, options, out->sink);
  if (!out->module) throw std::runtime_error(out->sink.render_all());
  out->module->functions.back()->form.rank = std::uint8_t(check.dims.size());
  out->module->functions.back()->form.no_overlap = !check.overlap;
  return out;
}

/// The memory of one run.
class Memory {
 public:
  Memory(const Check& check, const ir::Function& kernel) : check_(check), layout_(layout_of(kernel)) {
    std::int64_t threads = 1;
    for (std::int64_t n : check.dims) threads *= n;
    for (const ParamLayout::Param& p : layout_.params) {
      const Type* element = p.type->element();
      Array a;
      a.is_float = element->is_composite() || element->is_float();
      a.out = p.name.starts_with("out");
      std::size_t width = element->is_composite() ? element->component_count() : 1;
      std::size_t count = std::size_t(check.elements ? check.elements : threads);
      if (auto it = check.ints.find(p.name); it != check.ints.end()) count = it->second.size();
      if (auto it = check.floats.find(p.name); it != check.floats.end()) count = it->second.size() / width;
      a.count = count;
      a.size = element->size();
      a.rank = int(p.type->rank());
      if (a.is_float) {
        a.data.assign(count * width, 0.0);
        if (!a.out || check.floats.contains(p.name))
          for (std::size_t k = 0; k < a.data.size(); ++k)
            a.data[k] = check.floats.contains(p.name) ? check.floats.at(p.name)[k]
                                                      : 0.3 + 0.37 * std::sin(1.7 * double(k) + double(p.name.back()));
        a.grad.assign(a.data.size(), 0.0);
      } else {
        a.ints.assign(count, 0);
        if (check.ints.contains(p.name)) a.ints = check.ints.at(p.name);
      }
      arrays.push_back(a);
    }
  }

  /// Memory for what a taped launch writes down.
  struct Log {
    std::vector<std::uint32_t> fixed, pages;
    std::vector<std::int64_t> first, next;
  };
  static Log log_for(const LogPlan& plan, std::int64_t threads) {
    Log log;
    log.fixed.resize(plan.fixed_words * std::size_t(threads));
    log.first.resize(std::size_t(threads));
    log.pages.resize(std::size_t(plan.page_words) * 4000);
    log.next = {plan.page_words};
    return log;
  }
  std::int64_t threads() const {
    std::int64_t total = 1;
    for (std::int64_t n : check_.dims) total *= n;
    return total;
  }

  void run(const ir::Module& module, bool with_gradients, bool backwards = true, Log* log = nullptr) {
    ParamLayout layout = layout_of(*module.functions.back());
    std::vector<char> block(layout.size + 8);
    if (log) {
      ArrayDesc descs[kLogParams];
      descs[0].data = log->fixed.data();
      descs[0].ndim = 2;
      descs[0].shape[0] = std::int64_t(log->fixed.size()) / threads(), descs[0].shape[1] = threads();
      descs[0].strides[0] = 4 * threads(), descs[0].strides[1] = 4;
      auto flat = [](ArrayDesc& desc, void* data, std::size_t count, std::int64_t size) {
        desc.data = data;
        desc.ndim = 1;
        desc.shape[0] = std::int64_t(count);
        desc.strides[0] = size;
      };
      flat(descs[1], log->first.data(), log->first.size(), 8);
      flat(descs[2], log->pages.data(), log->pages.size(), 4);
      flat(descs[3], log->next.data(), 1, 8);
      for (std::size_t k = 0; k < kLogParams; ++k)
        std::memcpy(block.data() + layout.params[arrays.size() + k].offset, &descs[k], sizeof descs[k]);
    }
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      Array& a = arrays[k];
      ArrayDesc desc;
      desc.data = a.is_float ? static_cast<void*>(a.data.data()) : a.ints.data();
      if (with_gradients && a.is_float) desc.grad = a.grad.data();
      desc.ndim = a.rank;
      desc.shape[0] = std::int64_t(a.count);
      desc.strides[0] = std::int64_t(a.size);
      std::memcpy(block.data() + layout_.params[k].offset, &desc, sizeof desc);
    }
    runtime::LaunchContext context;
    runtime::ErrorRecord error;
    context.error = &error;
    context.serial = 1;
    context.rank = std::int32_t(check_.dims.size());
    std::int64_t total = 1;
    for (std::size_t d = 0; d < check_.dims.size(); ++d) context.dims[d] = check_.dims[d], total *= check_.dims[d];
    // Serial mode: adjoints run the threads in the opposite order.
    for (std::int64_t k = 0; k < total; ++k) {
      std::int64_t thread = with_gradients && backwards ? total - 1 - k : k;
      interp::run_kernel(module, *module.functions.back(), block.data(), context, thread, thread + 1);
    }
  }

  struct Array {
    bool is_float = false, out = false;
    std::vector<double> data, grad;
    std::vector<int> ints;
    std::size_t count = 0, size = 0;
    int rank = 1;
  };
  std::vector<Array> arrays;

 private:
  static ParamLayout layout_of(const ir::Function& kernel) {
    ParamLayout layout;
    for (const ir::Value* p : kernel.params()) layout.add(std::string(p->name), p->type);
    return layout;
  }
  const Check& check_;
  ParamLayout layout_;
};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

double weight(std::size_t array, std::size_t k) { return 0.5 + std::cos(2.3 * double(k) + double(array)); }

double loss(const Memory& memory) {
  double total = 0;
  for (std::size_t a = 0; a < memory.arrays.size(); ++a)
    if (memory.arrays[a].out)
      for (std::size_t k = 0; k < memory.arrays[a].data.size(); ++k) total += weight(a, k) * memory.arrays[a].data[k];
  return total;
}

void verified(const ir::Module& module, const char* when) {
  std::string problems = ir::verify(module);
  ASSERT_EQ(problems, "") << when << "\n" << ir::print(module);
}

std::unique_ptr<ir::Module> adjoint_of(const Compiled& compiled, const Check& check, DiagnosticSink& sink,
                                       const LogPlan* log = nullptr) {
  auto module = ir::clone(*compiled.module);
  AdjointOptions options;
  options.slot_bytes = check.slot_bytes;
  options.slots_are_far = check.slots_are_far;
  options.log = log;
  DiagnosticSink unheard;
  if (check.ordered) options.ordered = &unheard;
  make_adjoint(*module, options, sink);
  return module;
}

void drop_dead(ir::Module& module) {
  analysis::Effects effects;
  for (auto& f : module.functions) passes::dce(*f, &effects);
}

/// The adjoint with a log of all that it can't compute again.
std::unique_ptr<ir::Module> recording_adjoint_of(const Compiled& compiled, const Check& check, DiagnosticSink& sink,
                                                 LogPlan& log) {
  for (;;) {
    auto adjoint = adjoint_of(compiled, check, sink, &log);
    if (sink.has_errors()) return adjoint;
    verified(*adjoint, "adjoint");
    drop_dead(*adjoint);
    std::vector<std::uint32_t> sites = missing_sites(*adjoint);
    if (sites.empty() || ::testing::Test::HasFatalFailure()) return adjoint;
    sites.insert(sites.end(), log.sites.begin(), log.sites.end());
    log = plan_log(*compiled.module->functions.back(), sites, sink);
    if (sink.has_errors()) return adjoint;
  }
}

/// A direction in which everything moves.
double direction(std::size_t array, std::size_t k) { return std::sin(3.1 * double(k) + 0.7 * double(array)); }

/// The forms of a kernel that a tape needs.
struct Derived {
  std::unique_ptr<ir::Module> taped, adjoint;
  LogPlan log;
};

Derived derive(const Check& check, const ir::Module& plain, bool unroll) {
  Derived out;
  auto prepared = std::make_unique<Compiled>();
  prepared->module = ir::clone(plain);
  tidy(*prepared->module, unroll);
  DiagnosticSink sink;
  out.adjoint = recording_adjoint_of(*prepared, check, sink, out.log);
  EXPECT_FALSE(sink.has_errors()) << sink.render_all();
  if (check.records >= 0) {
    EXPECT_EQ(int(out.log.sites.size()), check.records) << ir::print(*out.adjoint);
  }
  out.taped = ir::clone(*prepared->module);
  make_taped(*out.taped, out.log);
  verified(*out.taped, "taped");
  EXPECT_TRUE(check_recalls(*out.adjoint, sink)) << sink.render_all() << ir::print(*out.adjoint);
  if (::testing::Test::HasFailure()) [] { FAIL(); }();
  return out;
}

/// Runs the taped form and then the adjoint: the gradients of all arrays. Neither may change what it must not.
std::vector<std::vector<double>> gradients(const Check& check, const ir::Module& plain, const Derived& derived) {
  std::vector<std::vector<double>> out;
  [&] {
    Memory memory(check, *plain.functions.back());
    Memory untaped = memory;
    untaped.run(plain, false);
    Memory::Log log = Memory::log_for(derived.log, memory.threads());
    Memory::Log* logged = derived.log.empty() ? nullptr : &log;
    memory.run(*derived.taped, false, true, logged);  // arrays as the launch left them
    for (std::size_t a = 0; a < memory.arrays.size(); ++a)
      ASSERT_TRUE(same_bits(memory.arrays[a].data, untaped.arrays[a].data)) << ir::print(*derived.taped);
    if (logged) {
      ASSERT_LE(log.next[0], std::int64_t(log.pages.size()));
    }
    for (std::size_t a = 0; a < memory.arrays.size(); ++a)
      if (memory.arrays[a].out)
        for (std::size_t k = 0; k < memory.arrays[a].grad.size(); ++k) memory.arrays[a].grad[k] = weight(a, k);
    std::vector<Memory::Array> before = memory.arrays;
    memory.run(*derived.adjoint, true, true, logged);
    for (std::size_t a = 0; a < memory.arrays.size(); ++a)
      ASSERT_TRUE(same_bits(memory.arrays[a].data, before[a].data)) << "an adjoint wrote to array " << a;
    for (const Memory::Array& a : memory.arrays) out.push_back(a.grad);
  }();
  return out;
}

/// Along a direction, what the tangent says of the results and what the adjoint says of the inputs are the same number.
void expect_tangent(const Check& check, const ir::Module& plain, const std::vector<std::vector<double>>& gradients,
                    bool optimised) {
  DiagnosticSink sink;
  auto tangent = ir::clone(plain);
  if (optimised) tidy(*tangent, true);
  make_tangent(*tangent, Directions::in_gradients, sink);
  ASSERT_FALSE(sink.has_errors()) << sink.render_all();
  verified(*tangent, "tangent");
  if (::testing::Test::HasFatalFailure()) return;
  if (optimised) tidy(*tangent, true);
  Memory memory(check, *plain.functions.back());
  double by_adjoint = 0, by_tangent = 0, size = 1e-12;
  for (std::size_t a = 0; a < memory.arrays.size(); ++a)
    for (std::size_t k = 0; k < memory.arrays[a].grad.size(); ++k) {
      double along = direction(a, k);
      memory.arrays[a].grad[k] = along;
      by_adjoint += along * gradients[a][k];
      size += std::abs(along * gradients[a][k]);
    }
  memory.run(*tangent, true, false);
  for (std::size_t a = 0; a < memory.arrays.size(); ++a)
    if (memory.arrays[a].out)
      for (std::size_t k = 0; k < memory.arrays[a].grad.size(); ++k)
        by_tangent += weight(a, k) * memory.arrays[a].grad[k];
  ASSERT_NEAR(by_adjoint, by_tangent, 1e-8 * std::max(1.0, size)) << ir::print(*tangent);
}

}  // namespace

void expect_gradient(const Check& check) {
  std::unique_ptr<Compiled> compiled;
  ASSERT_NO_THROW(compiled = compile(check));
  const ir::Module& plain = *compiled->module;
  // The differences.
  Memory at(check, *plain.functions.back());
  std::vector<std::vector<double>> want(at.arrays.size());
  for (std::size_t a = 0; a < at.arrays.size(); ++a) {
    if (!at.arrays[a].is_float) continue;
    want[a].resize(at.arrays[a].data.size());
    for (std::size_t k = 0; k < want[a].size(); ++k) {
      const double h = 4e-6 * std::max(1.0, std::abs(at.arrays[a].data[k]));
      auto slope = [&](double step) {
        double values[2];
        for (int side = 0; side < 2; ++side) {
          Memory moved(check, *plain.functions.back());
          moved.arrays[a].data[k] += side ? -step : step;
          moved.run(plain, false);
          values[side] = loss(moved);
        }
        return (values[0] - values[1]) / (2 * step);
      };
      want[a][k] = (4 * slope(h / 2) - slope(h)) / 3;  // long loops bend strongly
    }
  }
  std::vector<std::vector<double>> exact;
  for (bool unroll : {false, true}) {
    Derived derived = derive(check, plain, unroll);
    if (::testing::Test::HasFatalFailure()) return;
    for (bool optimised : {false, true}) {
      if (optimised) tidy(*derived.adjoint, unroll);
      verified(*derived.adjoint, "optimised adjoint");
      if (::testing::Test::HasFatalFailure()) return;
      exact = gradients(check, plain, derived);
      if (::testing::Test::HasFatalFailure()) return;
      for (std::size_t a = 0; a < exact.size(); ++a)
        for (std::size_t k = 0; k < exact[a].size(); ++k) {
          if (std::abs(exact[a][k]) >= check.steepest) continue;
          ASSERT_NEAR(exact[a][k], want[a][k], check.tolerance * std::max(1.0, std::abs(want[a][k])))
              << "array " << a << " element " << k << (optimised ? ", optimised" : "") << (unroll ? ", unrolled" : "")
              << "\n"
              << ir::print(*derived.adjoint);
        }
    }
  }
  if (!check.tangent) return;
  for (bool optimised : {false, true}) expect_tangent(check, plain, exact, optimised);
}

bool expect_slope(const Check& check, bool unroll, bool optimised) {
  std::unique_ptr<Compiled> compiled = compile(check);
  const ir::Module& plain = *compiled->module;
  auto slope = [&](double step) {
    double values[2];
    for (int side = 0; side < 2; ++side) {
      Memory moved(check, *plain.functions.back());
      for (std::size_t a = 0; a < moved.arrays.size(); ++a)
        for (std::size_t k = 0; k < moved.arrays[a].data.size(); ++k)
          moved.arrays[a].data[k] += (side ? -step : step) * direction(a, k);
      moved.run(plain, false);
      values[side] = loss(moved);
    }
    return std::abs(values[0]) < 1e6 ? (values[0] - values[1]) / (2 * step) : std::nan("");
  };
  constexpr double kStep = 4e-6;
  const double want = (4 * slope(kStep / 2) - slope(kStep)) / 3;
  if (!std::isfinite(want)) return false;
  [&] {
    Derived derived = derive(check, plain, unroll);
    if (::testing::Test::HasFatalFailure()) return;
    if (optimised) tidy(*derived.adjoint, unroll);
    verified(*derived.adjoint, "optimised adjoint");
    const std::vector<std::vector<double>> exact = gradients(check, plain, derived);
    if (::testing::Test::HasFatalFailure()) return;
    double got = 0, size = 0;
    for (std::size_t a = 0; a < exact.size(); ++a)
      for (std::size_t k = 0; k < exact[a].size(); ++k) {
        got += direction(a, k) * exact[a][k];
        size += std::abs(direction(a, k) * exact[a][k]);
      }
    if (size < check.steepest) {
      ASSERT_NEAR(got, want, check.tolerance * std::max(1.0, size)) << ir::print(*derived.adjoint);
    }
    if (check.tangent) expect_tangent(check, plain, exact, optimised);
  }();
  return true;
}

std::string refused(const Check& check) {
  auto compiled = compile(check);
  tidy(*compiled->module, true);
  DiagnosticSink sink;
  auto adjoint = adjoint_of(*compiled, check, sink);
  drop_dead(*adjoint);
  check_recalls(*adjoint, sink);
  return sink.has_errors() ? sink.render_all() : "";
}

std::string adjoint_text(const Check& check) {
  auto compiled = compile(check);
  tidy(*compiled->module, true);
  DiagnosticSink sink;
  auto adjoint = adjoint_of(*compiled, check, sink);
  tidy(*adjoint, true);
  return ir::print(*adjoint);
}

}  // namespace weft::autodiff::test
