// Rows of builtins must say over which values their tests run, and may name structs of the library only: others fail the
// build.
#pragma once
#include <string>
#include <string_view>
#include <vector>

/// What is wrong with the `sample` line of the row that begins here; empty if nothing. src/builtins/row.h has the words.
std::string complaint_about_sample(std::string_view row);
/// The structs that the row's parameters and result are of, as far as their names tell.
std::vector<std::string> struct_names_in(std::string_view row);
