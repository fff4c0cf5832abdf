// Running a kernel from the command line.
#include "run.h"

#include <cmath>
#include <cstring>
#include <iostream>
#include <random>

#include "driver/program_impl.h"
#include "ir/ir.h"
#include "ir/scalar_eval.h"
#include "runtime/print_format.h"
#include "weft/weft.h"

namespace weftc {
namespace {

using namespace weft;

/// A description such as "zeros(8, 4)", "[1, 2.5]" or "3": a word (maybe empty) and numbers.
struct Description {
  std::string word;
  std::vector<double> numbers;
  bool is_list = false;
};

Description parse_description(const std::string& name, const std::string& text) {
  Description d;
  std::string inside = text;
  if (!text.empty() && text.front() == '[') {
    if (text.back() != ']') throw UsageError(name + ": a list ends with ']'");
    d.is_list = true;
    inside = text.substr(1, text.size() - 2);
  } else if (std::size_t open = text.find('('); open != std::string::npos) {
    if (text.back() != ')') throw UsageError(name + ": '" + text + "' lacks a ')'");
    d.word = text.substr(0, open);
    inside = text.substr(open + 1, text.size() - open - 2);
  }
  for (std::size_t at = 0; at < inside.size();) {
    std::size_t comma = std::min(inside.find(',', at), inside.size());
    std::string part = inside.substr(at, comma - at);
    part.erase(0, part.find_first_not_of(' ') == std::string::npos ? part.size() : part.find_first_not_of(' '));
    while (!part.empty() && part.back() == ' ') part.pop_back();
    if (part == "true" || part == "True")
      d.numbers.push_back(1);
    else if (part == "false" || part == "False")
      d.numbers.push_back(0);
    else {
      char* end = nullptr;
      d.numbers.push_back(std::strtod(part.c_str(), &end));
      if (part.empty() || *end) throw UsageError(name + ": '" + part + "' is not a number");
    }
    at = comma + 1;
  }
  return d;
}

void write_scalar(const Type* scalar, char* to, double value) {
  std::uint64_t bits = ir::eval_cast(ScalarKind::f64, scalar->scalar_kind(), ir::float_to_bits(ScalarKind::f64, value));
  std::memcpy(to, &bits, scalar->size());
}

const Type* scalar_of(const std::string& name, const Type* type) {
  if (type->is_scalar()) return type;
  if (type->is_composite()) return type->element();
  throw UsageError(name + ": values of type " + type->user_name() + " can't be described on the command line");
}

Array make_array(const std::string& name, const Type* type, const Description& d) {
  const Type* element = type->element();
  const Type* scalar = scalar_of(name, element);
  std::size_t per = element->component_count();
  std::vector<std::int64_t> shape;
  std::size_t used = 0;
  if (d.is_list) {
    if (type->rank() != 1) throw UsageError(name + ": a list describes a one-dimensional array");
    if (d.numbers.size() % per)
      throw UsageError(name + ": the list's length is not a multiple of " + std::to_string(per));
    shape = {std::int64_t(d.numbers.size() / per)};
  } else {
    if (d.numbers.size() < type->rank())
      throw UsageError(name + ": " + d.word + "() needs " + std::to_string(type->rank()) + " extents");
    for (; used < type->rank(); ++used) shape.push_back(std::int64_t(d.numbers[used]));
  }
  Array array = Array::zeros(DataType(element), shape);
  char* at = static_cast<char*>(array.data());
  std::size_t count = std::size_t(array.size()) * per;
  std::size_t step = scalar->size();
  double extra = used < d.numbers.size() ? d.numbers[used] : 0;
  if (d.is_list) {
    for (std::size_t i = 0; i < count; ++i) write_scalar(scalar, at + i * step, d.numbers[i]);
  } else if (d.word == "ones" || d.word == "full") {
    for (std::size_t i = 0; i < count; ++i) write_scalar(scalar, at + i * step, d.word == "ones" ? 1 : extra);
  } else if (d.word == "iota") {
    for (std::size_t i = 0; i < count; ++i) write_scalar(scalar, at + i * step, double(i));
  } else if (d.word == "random") {
    std::mt19937_64 generator{static_cast<std::uint64_t>(extra)};
    std::uniform_real_distribution<double> uniform(0, 1);
    for (std::size_t i = 0; i < count; ++i)
      write_scalar(scalar, at + i * step,
                   scalar->is_float() ? uniform(generator) : std::floor(uniform(generator) * 100));
  } else if (d.word != "zeros") {
    throw UsageError(name + ": unknown description '" + d.word +
                     "'; there are zeros, ones, full, iota, random and lists");
  }
  return array;
}

void print_array(const std::string& name, const Array& array) {
  const Type* element = array.type().internal();
  std::cout << name << " = ";
  std::vector<const Type*> types = {element};
  std::string format = runtime::compile_print_format("", types);
  constexpr std::int64_t kMost = 64;
  std::int64_t n = std::min<std::int64_t>(array.size(), kMost);
  const char* at = static_cast<const char*>(array.data());
  std::cout << "[";
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<std::uint64_t> bytes((element->size() + 7) / 8);
    std::memcpy(bytes.data(), at + std::size_t(i) * element->size(), element->size());
    std::string text = runtime::format_values(format, bytes.data());
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    std::cout << (i ? ", " : "") << (element->is_composite() ? "(" + text + ")" : text);
  }
  std::cout << (array.size() > kMost ? ", … " + std::to_string(array.size()) + " in all]\n" : "]\n");
}

}  // namespace

int run_kernel(const Arguments& args) {
  Options options;
  options.debug = args.options.debug;
  options.verify_fp = args.options.verify_fp;
  options.fuse_fp = args.options.fuse_fp;
  options.fast_math = args.options.fast_math;
  options.opt_level = args.options.opt_level;
  options.lanes = args.options.lanes;
  options.cache = args.options.use_cache;
  options.interpret = args.interpret;
  options.serial = args.serial;
  Program program = Program::load(args.file, options);
  std::vector<std::string> names = program.kernel_names();
  if (names.empty()) throw Error("there is no kernel in " + args.file);
  if (args.kernel.empty() && names.size() > 1) throw UsageError("the file has several kernels: name one with --kernel");
  if (args.dims.empty()) throw UsageError("give the launch dimensions with --dim");
  Kernel kernel = program.kernel(args.kernel.empty() ? names[0] : args.kernel);
  auto decl_params = kernel.params();
  auto typed = kernel.param_types();
  std::vector<Argument> arguments;
  std::vector<std::pair<std::string, Array>> arrays;
  std::vector<std::vector<std::uint64_t>> storage(decl_params.size());
  for (std::size_t i = 0; i < decl_params.size(); ++i) {
    const std::string& name = decl_params[i].name;
    const Type* type = typed[i];
    if (!type) throw UsageError(name + " is generic; weftc run needs a kernel with plain types");
    const std::string* text = nullptr;
    std::string value;
    for (const std::string& given : args.values)
      if (given.substr(0, given.find('=')) == name) value = given.substr(given.find('=') + 1), text = &value;
    if (!text) {
      if (arguments.size() == i && kernel.has_default(i)) break;
      throw UsageError("no value for '" + name + "' (" + decl_params[i].type + "): add " + name + "=…");
    }
    Description d = parse_description(name, *text);
    if (type->is_array() || type->is_indexed_array()) {  // an indexed one is seen through no index array
      arrays.emplace_back(name, make_array(name, type, d));
      arguments.push_back(arrays.back().second);
    } else {
      const Type* scalar = scalar_of(name, type);
      std::size_t n = type->component_count();
      if (d.numbers.size() != n)
        throw UsageError(name + ": " + type->user_name() + " takes " + std::to_string(n) + " number(s)");
      storage[i].resize((type->size() + 7) / 8);
      for (std::size_t k = 0; k < n; ++k)
        write_scalar(scalar, reinterpret_cast<char*>(storage[i].data()) + k * scalar->size(), d.numbers[k]);
      arguments.emplace_back(DataType(type), storage[i].data());
    }
  }
  for (const std::string& given : args.values) {
    bool known = false;
    for (const auto& p : decl_params) known = known || given.substr(0, given.find('=')) == p.name;
    if (!known)
      throw UsageError("kernel '" + kernel.name() + "' has no parameter '" + given.substr(0, given.find('=')) + "'");
  }
  kernel.launch_with(Kernel::Dims(args.dims.begin(), args.dims.end()), arguments);
  for (const Message& m : program.messages())
    if (m.kind == Message::Kind::warning) std::cerr << m.rendered;
  for (const auto& [name, array] : arrays) {
    bool wanted = args.prints.empty();
    for (const std::string& p : args.prints) wanted = wanted || p == name;
    if (wanted) print_array(name, array);
  }
  return 0;
}

}  // namespace weftc
