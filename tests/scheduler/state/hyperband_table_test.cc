#include "scheduler/state/hyperband_table.h"

#include <cmath>

#include "scheduler/plan.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

std::vector<std::string> Table(const std::vector<BracketPlan>& brackets) {
  std::vector<std::string> table;
  for (const BracketPlan& bracket : brackets) table.push_back(Rungs(bracket));
  return table;
}

using Rows = std::vector<std::string>;

TEST_CASE("Hyperband table: R = 81, eta = 3 is the paper's table", "[scheduler]") {
  CHECK(Table(HyperbandBrackets({1, 81, 3})) == Rows{"81@1 27@3 9@9 3@27 1@81",  //
                                                     "34@3 11@9 3@27 1@81",      //
                                                     "15@9 5@27 1@81",           //
                                                     "8@27 2@81",                //
                                                     "5@81"});
}

TEST_CASE("Hyperband plan: R = 81 costs 1581 units with resume and 1902 without", "[scheduler]") {
  const Plan plan = MakePlan(HyperbandJob(81, 3));
  CHECK(plan.trials == 143);
  CHECK(plan.evaluations == 206);
  CHECK(plan.resource_with_resume == 1581);
  CHECK(plan.resource_without_resume == 1902);
  CHECK(plan.resource == 1581);
  CHECK(plan.full_resource == 143 * 81);
  CHECK(plan.note.empty());

  SearchSpec restarts = HyperbandJob(81, 3);
  restarts.resumes = false;
  CHECK(MakePlan(restarts).resource == 1902);
}

TEST_CASE("Hyperband table: exact powers lose no bracket", "[scheduler]") {
  CHECK(Table(HyperbandBrackets({1, 243, 3})) == Rows{"243@1 81@3 27@9 9@27 3@81 1@243",  //
                                                      "98@3 32@9 10@27 3@81 1@243",       //
                                                      "41@9 13@27 4@81 1@243",            //
                                                      "18@27 6@81 2@243",                 //
                                                      "9@81 3@243",                       //
                                                      "6@243"});
  CHECK(Table(HyperbandBrackets({1, 1000, 10})) == Rows{"1000@1 100@10 10@100 1@1000",  //
                                                        "134@10 13@100 1@1000",         //
                                                        "20@100 2@1000",                //
                                                        "4@1000"});
  for (int64_t eta = 2; eta <= 10; ++eta) {
    int64_t power = 1;
    for (size_t s = 0; power <= 1'000'000'000; ++s, power *= eta) {
      CAPTURE(eta, s);
      CHECK(HyperbandBrackets({1, power, eta}).size() == s + 1);
      if (power > 2) CHECK(HyperbandBrackets({1, power - 1, eta}).size() == (s == 0 ? 1 : s));
    }
  }
}

TEST_CASE("Hyperband table: R = 64, eta = 2 and R = 27, eta = 3 with a lowest level of 3", "[scheduler]") {
  CHECK(Table(HyperbandBrackets({1, 64, 2})) == Rows{"64@1 32@2 16@4 8@8 4@16 2@32 1@64",  //
                                                     "38@2 19@4 9@8 4@16 2@32 1@64",       //
                                                     "23@4 11@8 5@16 2@32 1@64",           //
                                                     "14@8 7@16 3@32 1@64",                //
                                                     "10@16 5@32 2@64",                    //
                                                     "7@32 3@64",                          //
                                                     "7@64"});
  CHECK(Table(HyperbandBrackets({3, 27, 3})) == Rows{"9@3 3@9 1@27", "5@9 1@27", "3@27"});
}

TEST_CASE("Hyperband plan: what resuming saves", "[scheduler]") {
  const auto saved_percent = [](int64_t R, int64_t eta) {
    const Plan plan = MakePlan(HyperbandJob(R, eta));
    return std::lround(100 - 100.0 * static_cast<double>(plan.resource_with_resume) /
                                 static_cast<double>(plan.resource_without_resume));
  };
  CHECK(saved_percent(81, 3) == 17);
  CHECK(saved_percent(27, 3) == 16);
  CHECK(saved_percent(243, 3) == 19);
  CHECK(saved_percent(64, 2) == 30);
  CHECK(saved_percent(256, 4) == 13);
}

TEST_CASE("Hyperband table: R that is no power of eta is rounded down, never below min_resource",
          "[scheduler]") {
  CHECK(Table(HyperbandBrackets({1, 30, 3})) ==
        Rows{"27@1 9@3 3@10 1@30", "12@3 4@10 1@30", "6@10 2@30", "4@30"});
  CHECK(Table(HyperbandBrackets({4, 30, 3})) == Rows{"3@10 1@30", "2@30"});
  CHECK(Table(HyperbandBrackets({5, 5, 3})) == Rows{"1@5"});
}

TEST_CASE("Hyperband table: 30 trials of R = 30 leave out the bracket that begins lowest", "[scheduler]") {
  const HyperbandTable table(HyperbandJob(30, 3), 30);
  REQUIRE(table.bracket_count() == 3);
  CHECK(Rungs(table.bracket(0)) == "16@3 5@10 1@30");
  CHECK(Rungs(table.bracket(1)) == "8@10 2@30");
  CHECK(Rungs(table.bracket(2)) == "6@30");
  CHECK(table.trial_count() == 30);
  CHECK(
      table.note() ==
      "max_trials = 30 is less than the 49 trials of a cycle: instead of 27/12/6/4 it opens 16/8/6, without "
      "the brackets that begin lowest.");
}

TEST_CASE("Hyperband table: very few trials still make two brackets", "[scheduler]") {
  CHECK(Table(NarrowBrackets(HyperbandBrackets({1, 81, 3}), 3, 10)) == Rows{"6@27 2@81", "4@81"});
  CHECK(Table(NarrowBrackets(HyperbandBrackets({1, 81, 3}), 3, 2)) == Rows{"1@27 1@81", "1@81"});
  CHECK(Table(NarrowBrackets(HyperbandBrackets({1, 81, 3}), 3, 1)) == Rows{"1@81"});
}

TEST_CASE("Hyperband table: more trials than a cycle open another one", "[scheduler]") {
  const HyperbandTable table(HyperbandJob(9, 3), 50);  // a cycle: 9/5/3
  CHECK(table.trial_count() == 50);
  CHECK(table.bracket_count() == 3 + 3 + 2);
  CHECK(Rungs(table.bracket(3)) == Rungs(table.bracket(0)));
  CHECK(table.note().find("makes 2 cycles of 17 trials, and one of fewer trials") != std::string::npos);
}

TEST_CASE("Hyperband table: without max_trials another limit makes cycles go on", "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.limits.max_total_resource = 1000;
  const HyperbandTable table(spec, 0);
  CHECK(table.bracket_count() == -1);
  CHECK(table.trial_count() == 0);
  CHECK(table.bracket(302) == table.bracket(2));
  CHECK(table.note().find("repeated until another limit") != std::string::npos);
}

TEST_CASE("Hyperband table: a narrowed cycle keeps every property", "[scheduler]") {
  for (const RungSettings& settings :
       {RungSettings{1, 81, 3}, {1, 30, 3}, {2, 64, 2}, {1, 1000, 10}, {5, 5, 3}}) {
    const auto cycle = HyperbandBrackets(settings);
    int64_t total = 0;
    for (const auto& bracket : cycle) total += bracket.rungs[0].trials;
    for (int64_t trials = 1; trials <= total; ++trials) {
      int64_t sum = 0;
      for (const auto& bracket : NarrowBrackets(cycle, settings.reduction_factor, trials)) {
        sum += bracket.rungs[0].trials;
        REQUIRE(bracket.rungs.back().trials >= 1);
        REQUIRE(bracket.rungs.back().resource == settings.max_resource);
        for (size_t i = 1; i < bracket.rungs.size(); ++i) {
          const int64_t before = bracket.rungs[i - 1].trials;
          REQUIRE(bracket.rungs[i].trials <= before);
          REQUIRE(bracket.rungs[i].trials >= std::min<int64_t>(1, before / settings.reduction_factor));
        }
      }
      REQUIRE(sum == trials);
    }
    CHECK(NarrowBrackets(cycle, settings.reduction_factor, total) == cycle);
  }
}

}  // namespace
}  // namespace winnow
