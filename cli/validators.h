#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace winnow::cli {

// Validators of flags. Each error names the value and what was expected.

CLI::Validator Whole(int64_t least, int64_t most);  // most = INT64_MAX: no upper bound
CLI::Validator Seconds(double least, double most);  // a plain number
CLI::Validator WithoutUnit();                       // "10s" becomes "10"
CLI::Validator WordOf(std::vector<std::string> words);
CLI::Validator JobName();
CLI::Validator NotEmpty(size_t longest);  // characters

}  // namespace winnow::cli
