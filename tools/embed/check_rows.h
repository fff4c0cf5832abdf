// Rows of builtins must say over which values their tests run: a row that does not fails the build.
#pragma once
#include <string>
#include <string_view>

/// What is wrong with the `sample` line of the row that begins here; empty if nothing. src/builtins/row.h has the words.
std::string complaint_about_sample(std::string_view row);
