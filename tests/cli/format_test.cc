#include "cli/output/format.h"

#include <cmath>
#include <limits>

#include "cli/output/progress.h"
#include "tests/catch.h"
#include "tests/cli/sample.h"

namespace winnow::cli {

TEST_CASE("Format: thousands, counts and numbers", "[cli]") {
  CHECK(Thousands(0) == "0");
  CHECK(Thousands(999) == "999");
  CHECK(Thousands(1581) == "1,581");
  CHECK(Thousands(-1234567) == "-1,234,567");
  CHECK(Thousands(std::numeric_limits<int64_t>::min()) == "-9,223,372,036,854,775,808");
  CHECK(Count(1, "trial") == "1 trial");
  CHECK(Count(0, "trial") == "0 trials");
  CHECK(NumberText(0.78123456) == "0.781235");
  CHECK(NumberText(std::nan("")) == "nan");
}

TEST_CASE("Format: durations keep two units and round over their ends", "[cli]") {
  CHECK(DurationText(0) == "0.00 s");
  CHECK(DurationText(0.994) == "0.99 s");
  CHECK(DurationText(0.996) == "1.0 s");
  CHECK(DurationText(59.97) == "1 m 00 s");
  CHECK(DurationText(72) == "1 m 12 s");
  CHECK(DurationText(3599.6) == "1 h 00 m");
  CHECK(DurationText(7500) == "2 h 05 m");
  CHECK(DurationText(86400 * 3 + 3600 * 4) == "3 d 04 h");
  CHECK(DurationText(-1) == "0.00 s");
  CHECK(DurationText(std::nan("")) == "?");
}

TEST_CASE("Format: bars fill by halves and never overflow", "[cli]") {
  CHECK(BarText(0, 4) == "────");
  CHECK(BarText(0.5, 4) == "━━──");
  CHECK(BarText(0.13, 4) == "╸───");
  CHECK(BarText(1, 4) == "━━━━");
  CHECK(BarText(7, 4) == "━━━━");
  CHECK(BarText(std::nan(""), 2) == "──");
}

TEST_CASE("Format: CSV fields are quoted only where they must be", "[cli]") {
  CHECK(CsvField("plain") == "plain");
  CHECK(CsvField("a,b") == "\"a,b\"");
  CHECK(CsvField("say \"x\"\n") == "\"say \"\"x\"\"\n\"");
}

TEST_CASE("Format: a cell that a spreadsheet would compute begins with an apostrophe", "[cli]") {
  CHECK(CsvField("=cmd|' /C calc'!A0") == "'=cmd|' /C calc'!A0");
  CHECK(CsvField("-x,y") == "\"'-x,y\"");
  CHECK(CsvField("-1.5") == "-1.5");
}

TEST_CASE("Progress: only what pruned trials were not trained was saved", "[cli]") {
  v1::TuningJob job = SampleJob();
  CHECK(ResourceText(job) == "1,234 units of 1,500 planned");
  job.mutable_spend()->set_resource(412);
  job.clear_planned_resource();
  CHECK(ResourceText(job) == "412 units");
  job.mutable_spend()->set_saved_resource(488);
  CHECK(ResourceText(job) == "412 units; pruning saved 488 more (54 %)");
}

TEST_CASE("Progress: every state of a trial is counted, and the ended ones are", "[cli]") {
  const auto counts =
      Text<v1::TrialCounts>("pending: 1 running: 2 paused: 3 completed: 4 pruned: 5 cancelled: 6 failed: 7");
  CHECK(CountsText(counts) ==
        "2 running, 1 waiting for slots, 3 paused, 4 completed, 5 pruned, 6 cancelled, 7 failed");
  CHECK(EndedTrials(counts) == 22);
  CHECK(AllTrials(counts) == 28);
}

TEST_CASE("Progress: what is expected is the value at the end, of which the best value may be an earlier one",
          "[cli]") {
  v1::TuningJob job;
  CHECK(ExpectedText(job).empty());
  job.mutable_best()->set_expected(0.734712);
  job.mutable_best()->set_expected_error(0.00123);
  CHECK(ExpectedText(job) == "expected 0.7347 ± 0.0012 at the end of training");
  job.mutable_spec()->mutable_objective()->set_value(v1::ObjectiveSpec::LAST);
  CHECK(ExpectedText(job) == "expected 0.7347 ± 0.0012");
}

TEST_CASE("Progress: by planned resource, else trials, else limits, and whole only at the end", "[cli]") {
  v1::TuningJob job = RunningJob();
  CHECK(Fraction(job, 60) == 0.5);
  CHECK(SecondsLeft(job, 60) == Approx(60.0));
  job.clear_planned_resource();
  CHECK(Fraction(job, 60) == 0.4);
  job.clear_planned_trials();
  CHECK_FALSE(Fraction(job, 60).has_value());
  CHECK_FALSE(SecondsLeft(job, 60).has_value());
  job.mutable_spec()->mutable_limits()->mutable_max_wall_time()->set_seconds(240);
  CHECK(Fraction(job, 60) == 0.25);
  CHECK(Fraction(job, 1000) == 0.99);
  job.set_state(v1::TuningJob::STOPPED);
  CHECK(Fraction(job, 60) == 0.25);
  job.mutable_limits()->set_max_wall_seconds(600);  // as somebody has changed them
  CHECK(Fraction(job, 60) == 0.1);
  CHECK(SecondsLeft(job, 60) == Approx(540.0));
  job.mutable_limits()->set_max_total_resource(1500);
  CHECK(Fraction(job, 60) == 0.5);
  job.mutable_limits()->Clear();  // none is left
  CHECK_FALSE(Fraction(job, 60).has_value());
  job.set_state(v1::TuningJob::COMPLETED);
  CHECK(Fraction(job, 60) == 1.0);
}

}  // namespace winnow::cli
