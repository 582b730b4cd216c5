#pragma once

// Catch2, version 2 (Debian 12) or 3, under one include.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace winnow {

// For what this machine does not permit, or lacks: ctest reports a test that calls it as skipped, unless it
// fails. Return after it.
void Skip(const std::string& why);

}  // namespace winnow
