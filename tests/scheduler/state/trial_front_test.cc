#include "scheduler/state/trial_front.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/simulate.h"
#include "scheduler/space/random.h"
#include "scheduler/state/job_state.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

std::vector<Standing> FrontAnew(const JobState& state) {
  std::vector<Standing> front, all;
  for (const TrialState& trial : state.trials()) {
    Standing standing = FinalStanding(state.spec(), trial);
    if (TakesPart(trial, standing)) all.push_back(std::move(standing));
  }
  for (const Standing& one : all) {
    const bool dominated = std::any_of(
        all.begin(), all.end(), [&](const Standing& other) { return Dominates(other.keys, one.keys); });
    if (!dominated) front.push_back(one);
  }
  return front;
}

TEST_CASE("Trial front: after every report and every end as made anew from all trials", "[scheduler]") {
  int64_t fell = 0, came_forward = 0, failed = 0, infeasible = 0;
  for (uint64_t number = 0; number < 80; ++number) {
    const AnyJob job = DrawFrontJob(number, 8);
    if (!job.spec.has_several_objectives()) continue;
    CAPTURE(number);
    JobState state(job.spec);
    std::vector<Fact> facts = Simulate(job.spec, job.simulation).facts;
    facts.resize(std::min<size_t>(facts.size(), 500));
    for (const Fact& fact : facts) {
      const std::vector<Standing> before = state.front();
      state.Apply(fact);
      const auto* report = std::get_if<Reported>(&fact.body);
      const auto* ended = std::get_if<TrialEnded>(&fact.body);
      if (report == nullptr && ended == nullptr) continue;
      const std::vector<Standing> front = FrontAnew(state);
      REQUIRE(state.front() == front);
      const TrialNumber changed = report != nullptr ? report->trial : ended->trial;
      const auto has = [](const std::vector<Standing>& list, TrialNumber one) {
        return std::any_of(list.begin(), list.end(), [one](const Standing& s) { return s.number == one; });
      };
      fell += has(before, changed) && !has(front, changed) ? 1 : 0;
      came_forward += std::count_if(front.begin(), front.end(), [&](const Standing& s) {
        return s.number != changed && !has(before, s.number);
      });
      failed += ended != nullptr && ended->end == TrialEnd::kFailed ? 1 : 0;
      infeasible += state.trial(changed).violation > 0 ? 1 : 0;
    }
  }
  CHECK(fell > 10);
  CHECK(came_forward > 10);
  CHECK(failed > 10);
  CHECK(infeasible > 10);
}

// How many comparisons a report of a front member takes, whose second objective grows with every report.
double ComparedPerReport(TrialNumber trials) {
  const auto draw = [](TrialNumber number, uint64_t i) {
    return RandomUnit(1, number, Purpose::kSimulation, i);
  };
  TrialFront front;
  for (TrialNumber n = 1; n <= trials; ++n) front.Offer({n, {draw(n, 0), draw(n, 1)}, 0}, true);
  constexpr int64_t kReports = 2'000;
  const int64_t before = front.compared();
  for (int64_t report = 1; report <= kReports; ++report) {
    const auto place = draw(report, 2) * static_cast<double>(front.members().size());
    Standing next = front.members()[static_cast<size_t>(place)];
    next.keys[0] -= 0.002 * draw(report, 3);
    next.keys[1] += 0.01 * draw(report, 4);
    front.Offer(std::move(next), true);
  }
  return static_cast<double>(front.compared() - before) / static_cast<double>(kReports);
}

TEST_CASE("Trial front: what loses something costs no look at all trials", "[scheduler]") {
  const double few = ComparedPerReport(400), many = ComparedPerReport(1'600);
  CHECK(few > 1);
  CHECK(many < 2.5 * few);
  CHECK(many < 400);
}

}  // namespace
}  // namespace winnow
