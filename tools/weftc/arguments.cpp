// Reading of the command line.
#include "arguments.h"

#include <charconv>
#include <cstring>

namespace weftc {
namespace {

long long to_number(const std::string& text, const std::string& option) {
  long long value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError(option + " takes a number, not '" + text + "'");
  return value;
}

int small_number(const std::string& text, const std::string& option, int low, int high) {
  long long value = to_number(text, option);
  if (value < low || value > high)
    throw UsageError(option + " takes a number from " + std::to_string(low) + " to " + std::to_string(high));
  return int(value);
}

}  // namespace

std::string help_text() {
  return R"(weftc: the kernel compiler of Weft

  weftc FILE.py [options]          compile kernels and print a stage
  weftc FILE.wir [options]         the same from textual IR
  weftc --list FILE.py             kernels and their parameters
  weftc --library-kernels          the library's own kernels for GPUs, as a C++ file of its build
  weftc run FILE.py --dim N[,M…] [name=value …]
                                   run a kernel on arrays described in place

  --kernel NAME       the kernel (default: the only one, or all for ir, ir-opt, ir-lanes, ast, tokens)
  --emit STAGE        tokens ast ir ir-opt adjoint ir-lanes llvm llvm-opt asm obj ptx        (default ir)
                      adjoint: the optimised IR of the kernel's adjoint, as --adjoint --after=dce-3
  --after PASS        print the IR after this stage of the pipeline ('--after help' names them)
  --passes A,B        run these stages alone, in this order, and print the IR
  --target T          cpu (default), or sm_70 … sm_90, sm_90a
  --block-dim N       GPUs: threads of a block that work on tiles together; blocks are the rows of the grid
  --lanes N           SIMD lanes: 0 chosen, 1, 2, 4, 8, 16, 32
  --rank N            launch dimensions, 1 to 4
  --overlap           array arguments may overlap
  --adjoint           the kernel's adjoint instead of the kernel
  --tangent           the kernel's tangent, with a direction for each parameter behind its own; with --adjoint the
                      adjoint of that: second derivatives
  --taped             the form for tapes: the kernel writes down what its adjoint can't compute again, and the
                      adjoint reads it
  --strided           innermost elements of array arguments may lie apart
  --aligned           GPUs: array arguments and their rows begin at multiples of 16 bytes
  --type name=T       type of a generic parameter: float32, vec3, array(dtype=float)…
  -O0 … -O3           LLVM's effort
  --debug             bounds, division and assert checks
  --verify-fp         print values that are not finite; with --debug, stores of them fail
  --no-fuse           no fused multiply-add
  --fast-math         let LLVM reassociate; on a GPU, approximate elementary functions
  --libdevice[=PATH]  GPU: NVIDIA's elementary functions instead of the library's own
  --line-info         GPU: lines of the source in the PTX
  --locations         print source locations in IR
  --time              time and size of every stage, on standard error
  -o FILE             write there instead of standard output
  --version, --help

run:
  name=3.5  name=7  name=true            numbers
  name=[1,2,3]                           a vector parameter, or an array of its element type
  name=zeros(8)  ones(4,4)  iota(10)  full(8, 2.5)  random(100, seed)
                                         arrays; the element type is the parameter's
  --print a,b         arrays to print (default: all)
  --interpret         by the reference interpreter      --serial   threads in order on one core
)";
}

Arguments parse_arguments(int argc, char** argv) {
  Arguments args;
  std::vector<std::string> words(argv + 1, argv + argc);
  std::size_t at = 0;
  auto value = [&](const std::string& option, const std::string& inline_value, bool has_inline) {
    if (has_inline) return inline_value;
    if (at >= words.size()) throw UsageError(option + " needs a value");
    return words[at++];
  };
  if (!words.empty() && words[0] == "run") {
    args.command = Arguments::Command::run;
    ++at;
  }
  while (at < words.size()) {
    std::string word = words[at++];
    std::size_t equals = word.find('=');
    bool is_option = word.size() > 1 && word[0] == '-';
    std::string name = is_option ? word.substr(0, equals) : word;
    bool has_inline = is_option && equals != std::string::npos;
    std::string inline_value = has_inline ? word.substr(equals + 1) : "";
    auto next = [&] { return value(name, inline_value, has_inline); };
    if (!is_option) {
      if (args.file.empty())
        args.file = word;
      else if (args.command == Arguments::Command::run && equals != std::string::npos)
        args.values.push_back(word);
      else
        throw UsageError("unexpected '" + word + "'");
    } else if (name == "--kernel")
      args.kernel = next();
    else if (name == "--emit")
      args.emit = next();
    else if (name == "--after")
      args.after = next();
    else if (name == "--target")
      args.target = next();
    else if (name == "--block-dim")
      args.options.gpu.block = small_number(next(), name, 0, 1024), args.options.gpu.rows = true;
    else if (name == "--lanes")
      args.options.lanes = small_number(next(), name, 0, 32);
    else if (name == "--rank")
      args.rank = small_number(next(), name, 1, 4);
    else if (name == "--type")
      args.types.push_back(next());
    else if (name == "--overlap")
      args.no_overlap = false;
    else if (name == "--strided")
      args.strided = true;
    else if (name == "--aligned")
      args.aligned = true;
    else if (name == "--tangent")
      args.options.tangent = 1;
    else if (name == "--adjoint")
      args.adjoint = true;
    else if (name == "--taped")
      args.taped = true;
    else if (name == "--debug")
      args.options.debug = true;
    else if (name == "--verify-fp")
      args.options.verify_fp = true;
    else if (name == "--no-fuse")
      args.options.fuse_fp = false;
    else if (name == "--fast-math")
      args.options.fast_math = true;
    else if (name == "--libdevice") {
      args.options.gpu.libdevice = weft::codegen::find_libdevice(inline_value);
      if (args.options.gpu.libdevice.empty())
        throw UsageError(has_inline ? "there is no libdevice.10.bc at " + inline_value
                                    : "no libdevice was found: install a CUDA toolkit or the package nvidia-cuda-nvcc, "
                                      "or name the file with --libdevice=PATH");
    } else if (name == "--line-info")
      args.options.gpu.line_info = true;
    else if (name == "--no-cache")
      args.options.use_cache = false;
    else if (name == "--locations")
      args.locations = true;
    else if (name == "--time")
      args.time = true;
    else if (name == "--list")
      args.command = Arguments::Command::list;
    else if (name == "--library-kernels")
      args.command = Arguments::Command::library_kernels;
    else if (name == "--interpret")
      args.interpret = true;
    else if (name == "--serial")
      args.serial = true;
    else if (name == "-o")
      args.output = next();
    else if (name == "--help" || name == "-h")
      args.command = Arguments::Command::help;
    else if (name == "--version")
      args.command = Arguments::Command::version;
    else if (name.size() == 3 && name.starts_with("-O") && name[2] >= '0' && name[2] <= '3')
      args.options.opt_level = name[2] - '0';
    else if (name == "--dim" || name == "--print" || name == "--passes") {
      std::string list = next();
      std::size_t start = 0;
      while (start <= list.size()) {
        std::size_t comma = std::min(list.find(',', start), list.size());
        std::string part = list.substr(start, comma - start);
        if (name == "--dim")
          args.dims.push_back(to_number(part, name));
        else if (name == "--passes")
          args.passes.push_back(part);
        else
          args.prints.push_back(part);
        start = comma + 1;
      }
    } else
      throw UsageError("unknown option '" + name + "'");
  }
  using Command = Arguments::Command;
  const bool needs_file =
      args.command == Command::emit || args.command == Command::list || args.command == Command::run;
  if (needs_file && args.after != "help" && args.file.empty()) throw UsageError("no input file");
  return args;
}

}  // namespace weftc
