#pragma once

#include <string>
#include <vector>

#include "scheduler/validate.h"

namespace winnow {

// A valid job of the built-in trainer, and one of a command, as job files. `from` is replaced by `to` in the
// text; REQUIRES that it is there.
std::string BuiltinJob(const std::string& from = "", const std::string& to = "");
std::string CommandJob(const std::string& from = "", const std::string& to = "");

// A valid job of an external trainer with a conditional space:
// kind in {sgd, adam}; momentum 0..0.9 where kind is sgd; layers 1..4; width among 16, 32, 64, 128, 256, 512.
// The members in `more` ("\"seed\": 1") are added.
std::string ExternalJob(const std::string& more = "", const std::string& from = "",
                        const std::string& to = "");

// Everything that reading and checking find wrong.
std::vector<Violation> Violations(const std::string& job_file);

// "field: description" lines.
std::string Listed(const std::vector<Violation>& violations);

}  // namespace winnow
