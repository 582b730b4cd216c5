// The cost of one decision as a job grows: an admission, its placement, a report (MEDIAN and CURVES: one at
// each of 27 levels) and the attempt's end, with all consequences; the cost of a search model's suggestion;
// and the cost of loading a job from its database. Compared with Optuna's ask and tell in the same run if its
// program is given:
//   bench-decide [--most 1000000] [--peer bench/decide_peer.py] [--python /usr/bin/python3]

#include "scheduler/decide.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/space/random.h"
#include "scheduler/suggest.h"
#include "store/store.h"

namespace winnow {
namespace {

constexpr int kParameters = 6;
constexpr size_t kAtOnce = 16;   // running attempts
constexpr int kMeasured = 2000;  // decisions per figure
constexpr int kMeasuredSuggestions = 30;
constexpr int64_t kMostOfEveryLevel = 10'000;  // trials of 27 reports each

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

struct Quantiles {
  double p50 = 0, p99 = 0;
};
Quantiles Of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds[seconds.size() * 99 / 100]};
}

SearchSpec Job(SamplerKind sampler, PrunerKind pruner) {
  SearchSpec spec;
  for (int i = 0; i < kParameters; ++i)
    spec.parameters.push_back({fmt::format("x{}", i), ContinuousRange{0, 1}});
  spec.objective_metric = "score";
  spec.sampler.kind = sampler;
  spec.pruner.kind = pruner;
  if (HasRungs(pruner)) {
    spec.pruner.rungs = {1, 27, 3};
  } else {
    spec.limits.max_trial_resource = 27;
    if (pruner == PrunerKind::kLearningCurve) spec.pruner.min_chance = 0.05;
  }
  spec.limits.max_total_resource = int64_t{1} << 50;  // brackets are opened without end
  spec.seed = 1;
  return spec;
}

double ValueOf(const Configuration& configuration, int64_t level, double top = 0.3) {
  double sum = 0;
  for (const Value& value : configuration)
    sum -= (std::get<double>(value) - top) * (std::get<double>(value) - top);
  return sum - 1 / static_cast<double>(level);
}

// A job whose attempts report at every level of their part, or once at its end.
class Playing {
 public:
  explicit Playing(const SearchSpec& spec, bool every_level = false)
      : state_(spec), every_level_(every_level) {}

  JobState& state() { return state_; }
  std::vector<Fact>* record = nullptr;  // receives the facts; null: none

  // One decision: starts an attempt and, once kAtOnce run, ends the oldest.
  void Step() {
    auto admission = Admit(state_);
    if (!admission && WantsSuggestion(state_)) {
      Record(Suggest(state_));
      admission = Admit(state_);
    }
    if (admission) {
      if (admission->decision) Record(ToBody(*admission->decision));
      const int64_t attempt = state_.trial(admission->trial).attempts + 1;
      Record(AttemptStarted{admission->trial, attempt, admission->from, admission->to});
      running_.push_back(admission->trial);
    }
    if (admission && running_.size() < kAtOnce) return;
    const TrialState& trial = state_.trial(running_.front());
    running_.pop_front();
    const TrialNumber number = trial.number;
    const int64_t attempt = trial.attempts, last = trial.to;
    const Configuration configuration = trial.configuration;
    for (int64_t level = every_level_ ? trial.attempt_from + 1 : last; level <= last; ++level) {
      if (state_.trial(number).ended()) break;
      Record(Reported{number, attempt, level, ValueOf(configuration, level)});
    }
    Record(AttemptEnded{number, attempt, AttemptOutcome::kFinished, "", 1, 2});
  }

  // Runs until this many trials have ended.
  void StepTo(int64_t trials) {
    while (Ended() < trials) Step();
  }

 private:
  int64_t Ended() const {
    const JobTotals& totals = state_.totals();
    // ASHA ends few of its trials before the job's end: paused ones count as ended.
    return totals.completed + totals.pruned + totals.cancelled + totals.failed + totals.paused;
  }
  void Record(FactBody body) {
    std::vector<Fact> facts = Advance(state_, ++now_us_, std::move(body));
    if (record != nullptr) record->insert(record->end(), facts.begin(), facts.end());
  }

  JobState state_;
  bool every_level_;
  std::deque<TrialNumber> running_;
  int64_t now_us_ = 0;
};

struct Strategy {
  const char* name;
  SamplerKind sampler;
  PrunerKind pruner;
  bool every_level = false;
};

// Whether decisions take less than 1 ms and at most twice the time at 100 trials.
bool Decisions(int64_t most) {
  constexpr Strategy kStrategies[] = {{"RANDOM", SamplerKind::kRandom, PrunerKind::kNone},
                                      {"SOBOL", SamplerKind::kSobol, PrunerKind::kNone},
                                      {"HYPERBAND", SamplerKind::kSobol, PrunerKind::kHyperband},
                                      {"ASHA", SamplerKind::kSobol, PrunerKind::kAsha},
                                      {"MEDIAN", SamplerKind::kSobol, PrunerKind::kMedian, true},
                                      {"CURVES", SamplerKind::kSobol, PrunerKind::kLearningCurve, true}};
  bool flat = true;
  fmt::print("{:<12}{:>12}{:>12}{:>12}{:>14}{:>12}\n", "decision", "finished", "p50 us", "p99 us",
             "p50 ratio", "p99 ratio");
  for (const Strategy& strategy : kStrategies) {
    Playing playing(Job(strategy.sampler, strategy.pruner), strategy.every_level);
    Quantiles first;
    const int64_t end = strategy.every_level ? std::min(most, kMostOfEveryLevel) : most;
    for (int64_t trials = 100; trials <= end; trials *= 100) {
      playing.StepTo(trials);
      std::vector<double> seconds;
      for (int i = 0; i < kMeasured; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        playing.Step();
        seconds.push_back(Seconds(begin));
      }
      const Quantiles now = Of(std::move(seconds));
      if (trials == 100) first = now;
      fmt::print("{:<12}{:>12}{:>12.1f}{:>12.1f}{:>14.2f}{:>12.2f}\n", strategy.name, trials, now.p50 * 1e6,
                 now.p99 * 1e6, now.p50 / first.p50, now.p99 / first.p99);
      std::fflush(stdout);
      flat = flat && now.p50 <= 2 * first.p50 && now.p99 < 1e-3;
    }
  }
  return flat;
}

void Suggestions() {
  struct Asked {
    const char* name;
    SamplerKind sampler;
    PrunerKind pruner;
    int objectives;
  };
  fmt::print("\n{:<24}{:>12}{:>12}{:>12}\n", "suggestion", "finished", "p50 ms", "p99 ms");
  for (const Asked& asked : {Asked{"TPE", SamplerKind::kTpe, PrunerKind::kNone, 1},
                             Asked{"GP", SamplerKind::kGp, PrunerKind::kNone, 1},
                             Asked{"GP, 2 objectives", SamplerKind::kGp, PrunerKind::kNone, 2},
                             Asked{"default", SamplerKind::kGp, PrunerKind::kFreezeThaw, 1},
                             Asked{"default, 2 objectives", SamplerKind::kGp, PrunerKind::kFreezeThaw, 2}}) {
    for (int64_t trials : {100, 200, 1'000, 10'000}) {
      SearchSpec spec = Job(asked.sampler, asked.pruner);
      for (int i = 0; asked.objectives > 1 && i < asked.objectives; ++i)
        spec.objectives.push_back({i == 0 ? "score" : fmt::format("score{}", i), Goal::kMaximize, {}});
      if (asked.objectives > 1) spec.objective_value = ObjectiveValue::kLast;
      JobState state(spec);
      int64_t now_us = 0;
      const auto record = [&](FactBody body) { Advance(state, ++now_us, std::move(body)); };
      const auto train = [&](TrialNumber number, int64_t from, int64_t to) {
        const int64_t attempt = state.trial(number).attempts + 1;
        const Configuration configuration = state.trial(number).configuration;
        record(AttemptStarted{number, attempt, from, to});
        for (int i = 0; i < asked.objectives; ++i)
          record(Reported{number, attempt, to, ValueOf(configuration, to, 0.3 + 0.2 * i), i});
        record(AttemptEnded{number, attempt, AttemptOutcome::kFinished, "", 1, 2});
      };
      const bool rungs = HasRungs(asked.pruner);
      while (static_cast<int64_t>(state.trials().size()) < trials) {
        Configuration configuration;
        for (uint64_t i = 0; i < kParameters; ++i) {
          configuration.push_back(
              RandomUnit(7, static_cast<TrialNumber>(state.trials().size()), Purpose::kSimulation, i));
        }
        const auto number = static_cast<TrialNumber>(state.trials().size()) + 1;
        const int64_t to = rungs ? spec.pruner.rungs.min_resource : spec.limits.max_trial_resource;
        record(TrialCreated{number, std::move(configuration), rungs ? 0 : -1, 0, to});
        train(number, 0, to);
      }
      std::vector<double> seconds;
      for (int i = 0; i < kMeasuredSuggestions; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const Suggested suggested = Suggest(state);
        seconds.push_back(Seconds(begin));
        // Its fact carries the parameters of the fitted model, which the next suggestion begins with.
        record(suggested);
        const auto admission = Admit(state);
        if (!admission) continue;
        if (admission->decision) record(ToBody(*admission->decision));
        train(admission->trial, admission->from, admission->to);
      }
      const Quantiles now = Of(std::move(seconds));
      fmt::print("{:<24}{:>12}{:>12.2f}{:>12.2f}\n", asked.name, trials, now.p50 * 1e3, now.p99 * 1e3);
      std::fflush(stdout);
    }
  }
}

void Require(const absl::Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", std::string(status.message()));
  std::exit(1);
}

void Loading(int64_t trials) {
  const SearchSpec spec = Job(SamplerKind::kSobol, PrunerKind::kHyperband);
  std::vector<Fact> facts;
  Playing playing(spec);
  playing.record = &facts;
  playing.StepTo(trials);

  std::array<char, 32> folder{"/tmp/bench-decide-XXXXXX"};
  if (mkdtemp(folder.data()) == nullptr) std::exit(1);
  const std::string file = std::string(folder.data()) + "/jobs.db";
  auto store = Store::Open(file);
  Require(store.status());
  int64_t job = 0;
  Require((*store)->Write([&]() -> absl::Status {
    JobRow row;
    row.spec = "{}";
    row.state = "running";
    auto inserted = (*store)->jobs.Insert("bench", row);
    if (!inserted.ok()) return inserted.status();
    job = inserted->key;
    for (const Fact& fact : facts) {
      const auto* r = std::get_if<Reported>(&fact.body);
      const absl::Status status = r == nullptr
                                      ? (*store)->facts.AppendEvent(job, fact)
                                      : (*store)
                                            ->facts
                                            .AppendReport(job, {r->trial, r->attempt, r->resource, "score",
                                                                r->objective, fact.time_us, fact.sequence})
                                            .status();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }));
  const auto begin = std::chrono::steady_clock::now();
  auto loaded = (*store)->facts.Load(job);
  Require(loaded.status());
  const double read = Seconds(begin);
  const auto before = mallinfo2();
  JobState state(spec);
  for (const Fact& fact : *loaded) state.Apply(fact);
  const auto after = mallinfo2();
  const double all = Seconds(begin);
  const auto count = static_cast<double>(state.trials().size());
  fmt::print(
      "\nload of {} trials, {} facts: {:.0f} ms ({:.0f} ms of it reading the file); {:.0f} bytes a trial in "
      "memory\n",
      state.trials().size(), facts.size(), all * 1e3, read * 1e3,
      static_cast<double>(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / count);
  if (!(state == playing.state())) fmt::print("the loaded state differs\n");
  std::filesystem::remove_all(folder.data());
}

int Main(int count, char** arguments) {
  int64_t most = 1'000'000;
  std::string peer, python = "/usr/bin/python3";
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view flag = arguments[i];
    if (flag == "--most") most = std::atoll(arguments[i + 1]);
    if (flag == "--peer") peer = arguments[i + 1];
    if (flag == "--python") python = arguments[i + 1];
  }
  const bool flat = Decisions(most);
  Loading(10'000);
  Suggestions();
  fmt::print("{}\n", flat ? "decisions are flat within 2x and below 1 ms"
                          : "decisions are NOT flat within 2x and below 1 ms");
  std::fflush(stdout);
  if (!peer.empty()) {
    fmt::print("\nOptuna, ask and tell:\n");
    std::fflush(stdout);
    const std::string command = "'" + python + "' '" + peer + "' --trials 100,1000,10000";
    if (std::system(command.c_str()) != 0) fmt::print("Optuna did not run\n");
  }
  return flat ? 0 : 1;
}

}  // namespace
}  // namespace winnow

int main(int count, char** arguments) { return winnow::Main(count, arguments); }
