// Asks NVIDIA's assembler, where there is one, whether it takes PTX.
#pragma once
#include <string>

namespace weft::codegen::test {

/// Fails the test if ptxas refuses the text; skips it if there is no ptxas.
void assemble(const std::string& ptx, int sm);

}  // namespace weft::codegen::test
