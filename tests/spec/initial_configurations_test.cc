#include "spec/initial_configurations.h"

#include <set>

#include "scheduler/space/space.h"
#include "spec/job_file.h"
#include "spec/search_spec.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {
namespace {

SearchSpec CheckedSearch(const std::string& job_file) {
  const ParsedJobFile parsed = ParseJobFile(job_file);
  CAPTURE(Listed(Violations(job_file)));
  REQUIRE(Violations(job_file).empty());
  return ToSearchSpec(parsed.spec);
}

TEST_CASE("Initial configurations: texts become values, and what does not exist is inactive", "[spec]") {
  const SearchSpec search = CheckedSearch(ExternalJob(R"("initial_configurations": [
    {"hyperparameters": {"kind": "adam", "layers": 2, "width": "1.28e2"}},
    {"hyperparameters": {"kind": "sgd", "momentum": 0.5, "layers": "4", "width": 16}}])"));
  REQUIRE(search.initial.size() == 2);
  CHECK(search.initial[0] == Configuration{std::string("adam"), Inactive{}, int64_t{2}, 128.0});
  CHECK(search.initial[1] == Configuration{std::string("sgd"), 0.5, int64_t{4}, 16.0});
}

TEST_CASE("Portfolio: off by default, and behind the user's own", "[spec]") {
  CHECK(CheckedSearch(BuiltinJob()).initial.empty());
  const SearchSpec search =
      CheckedSearch(BuiltinJob("\"seed\": 1729", R"("use_portfolio": true, "initial_configurations": [
    {"hyperparameters": {"num_round": 150, "eta": 0.3, "tree_method": "exact"}}])"));
  REQUIRE(search.initial.size() > 3);
  CHECK(search.initial[0] == Configuration{int64_t{150}, 0.3, std::string("exact")});
  CHECK(search.initial[1] == Configuration{int64_t{200}, 0.3, std::string("hist")});
}

TEST_CASE("Portfolio: only configurations of the space, each once", "[spec]") {
  const SearchSpec search =
      CheckedSearch(BuiltinJob(R"({"name": "eta", "continuous": {"min": 0, "max": 1}})",
                               R"({"name": "learning_rate", "continuous": {"min": 0.1, "max": 0.2}},
         {"name": "max_depth", "discrete": {"values": [2, 4, 8]}},
         {"name": "subsample", "continuous": {"min": 0.5, "max": 1}, "condition": {"parameter": "max_depth", "values": [8]}})"));
  SearchSpec with = search;
  v1::TuningJobSpec spec = ParseJobFile(BuiltinJob()).spec;
  spec.set_use_portfolio(true);
  with.initial = InitialConfigurations(spec, search);
  const SearchSpace space(with.parameters, with.constraints);
  CHECK(with.initial.size() >= 4);
  for (const Configuration& configuration : with.initial) CHECK(space.Holds(configuration));
  CHECK(std::set<Configuration>(with.initial.begin(), with.initial.end()).size() == with.initial.size());
}

TEST_CASE("Portfolio: one whose category is not offered, or that breaks a constraint, is left out",
          "[spec]") {
  const std::string depths = R"({"name": "max_depth", "categorical": {"values": ["6", "3"]}})";
  const SearchSpec search = CheckedSearch(
      BuiltinJob(R"({"name": "tree_method", "categorical": {"values": ["hist", "exact"]}})", depths));
  v1::TuningJobSpec spec = ParseJobFile(BuiltinJob()).spec;
  spec.set_use_portfolio(true);
  const size_t offered = InitialConfigurations(spec, search).size();
  CHECK(offered == 3);  // depth 6 twice, 3 once
  SearchSpec slow = search;
  slow.constraints = {{{{1, 1.0}}, -1, 0.1}};
  CHECK(InitialConfigurations(spec, slow).size() == 1);
}

}  // namespace
}  // namespace winnow
