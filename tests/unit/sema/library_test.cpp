// Every struct and constant of the library's table is whole. Runs over the shipped table, and over the one with the
// probes (tests/library).
#include <gtest/gtest.h>

#include "builtins/embedded.h"
#include "builtins/row.h"
#include "sema/symbol.h"
#include "types/library_struct.h"

namespace weft {
namespace {

using builtins::Pattern;

TEST(LibraryTable, StructsAreWhole) {
  for (const builtins::EmbeddedName& entry : builtins::embedded_structs()) {
    const sema::LibraryStruct* known = sema::library_struct(entry.name);
    ASSERT_NE(known, nullptr) << entry.name;
    EXPECT_EQ(known->type->user_name(), entry.name);
    EXPECT_EQ(sema::library_struct(known->type), known);
    EXPECT_TRUE(is_library_struct(known->type));
    bool hidden = entry.name.starts_with('_');
    EXPECT_TRUE(hidden || !known->doc.empty()) << entry.name << " has no documentation";
    EXPECT_EQ(sema::warp_scope()->lookup(entry.name).has_value(), !hidden) << entry.name;
    if (known->next.empty()) continue;
    const auto& rows = builtins::rows(known->next);
    ASSERT_FALSE(rows.empty()) << entry.name << " goes on with " << known->next;
    const auto& params = rows[0].params;
    ASSERT_GE(params.size(), 2u) << rows[0].signature;
    EXPECT_EQ(rows[0].result, "bool") << rows[0].signature;
    EXPECT_TRUE(params[0].pattern.by_reference && params[0].pattern.kind == Pattern::Kind::library_struct &&
                params[0].pattern.variable == entry.name)
        << rows[0].signature;
    EXPECT_TRUE(params[1].pattern.by_reference && params[1].pattern.kind == Pattern::Kind::exact) << rows[0].signature;
    for (std::size_t p = 2; p < params.size(); ++p) EXPECT_NE(params[p].default_text, "") << rows[0].signature;
  }
}

TEST(LibraryTable, ConstantsHaveValues) {
  for (const builtins::EmbeddedName& entry : builtins::embedded_constants()) {
    auto value = sema::library_constant(entry.name);
    ASSERT_TRUE(value) << entry.name;
    EXPECT_TRUE(value->kind == sema::Symbol::Kind::constant || value->kind == sema::Symbol::Kind::tuple) << entry.name;
    EXPECT_FALSE(sema::warp_scope()->lookup(entry.name)) << entry.name << " is a name of wp";
  }
}

}  // namespace
}  // namespace weft
