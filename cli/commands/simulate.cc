#include "scheduler/simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/commands/actions.h"
#include "cli/commands/curve_table.h"
#include "cli/commands/job_source.h"
#include "cli/output/format.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "spec/cluster.h"
#include "spec/search_spec.h"

namespace winnow::cli {
namespace {

constexpr double kSeconds = 1e-6;  // of a microsecond
// Time that attempts take to end, in units, so that all reports of a moment come before the ends.
constexpr double kEnd = 1e-5, kStop = 5e-5;

// The result of one job in virtual time.
struct SimulatedJob {
  bool found = false;
  double best = 0;
  int64_t trials = 0;
  int64_t resource = 0;
  double seconds = 0;
  double busy = 0;     // fraction of the slots' time
  double startup = 0;  // fraction of the busy time
};

struct Run {
  uint64_t seed = 0;
  SimulatedJob search;
  SimulatedJob through;
};

// Returns the highest level that a trial of the job may reach; 0: unknown.
int64_t Furthest(const SearchSpec& search) {
  if (HasRungs(search.pruner.kind)) return search.pruner.rungs.max_resource;
  if (search.limits.max_trial_resource > 0) return search.limits.max_trial_resource;
  if (search.own_end_parameter < 0) return search.own_end;
  return std::get<IntegerRange>(search.parameters[static_cast<size_t>(search.own_end_parameter)].range).max;
}

int64_t TrialsAtOnce(const SearchSpec& search, const SimulateOptions& options) {
  const int64_t fit = options.workers * options.slots / search.LeastNodes();
  const int64_t most = search.limits.max_parallel_trials;
  return most > 0 ? std::min(most, fit) : fit;
}

SimulatedJob RunOne(const SearchSpec& search, const SimulateOptions& options, const CurveTable& table) {
  Simulation simulation;
  simulation.workers = static_cast<int>(options.workers);
  simulation.slots = static_cast<int32_t>(options.slots);
  // Cached, because a trial asks for many levels and the search for the nearest row dominates the time.
  std::map<Configuration, const std::vector<double>*> curves;
  simulation.objective = [&](const Configuration& configuration, int64_t level) {
    const std::vector<double>*& curve = curves[configuration];
    if (curve == nullptr) curve = &table.CurveOf(configuration);
    return (*curve)[static_cast<size_t>(std::min(level, table.levels()) - 1)];
  };
  simulation.unit_seconds = table.has_seconds() ? table.mean_seconds() : 1;
  simulation.jitter = 0;
  simulation.start_seconds = options.startup_seconds;
  simulation.end_seconds = kEnd * simulation.unit_seconds;
  simulation.stop_seconds = kStop * simulation.unit_seconds;
  simulation.own_end = table.levels();
  simulation.wall_time_seconds = static_cast<double>(search.limits.max_wall_time_us) * kSeconds;
  simulation.node_time_seconds = static_cast<double>(search.limits.max_node_time_us) * kSeconds;
  const SimulationResult result = Simulate(search, simulation);
  SimulatedJob outcome;
  if (const auto best = result.state.best_trial()) {
    outcome.found = true;
    outcome.best = result.state.trial(*best).value;
  }
  outcome.trials = static_cast<int64_t>(result.state.trials().size());
  outcome.resource = result.state.totals().resource;
  outcome.seconds = result.elapsed_seconds;
  const double slot_seconds = result.busy_slot_seconds + result.idle_slot_seconds;
  outcome.busy = slot_seconds > 0 ? result.busy_slot_seconds / slot_seconds : 0;
  if (result.busy_slot_seconds > 0) outcome.startup = result.startup_slot_seconds / result.busy_slot_seconds;
  return outcome;
}

// The baseline: as many random trials as the search made, each trained to its end.
SearchSpec RunThrough(const SearchSpec& search, int64_t trials) {
  SearchSpec through = search;
  through.sampler = {};
  through.pruner = {};
  through.initial.clear();
  through.completion = {};
  through.limits = {};
  through.limits.max_parallel_trials = search.limits.max_parallel_trials;
  through.limits.max_trials = std::max<int64_t>(1, trials);
  through.limits.max_trial_resource = Furthest(search);
  return through;
}

// Follows json/message_json.h's form of whole numbers.
nlohmann::json WholeJson(uint64_t number) {
  if (number <= uint64_t{1} << 53) return number;
  return std::to_string(number);
}

nlohmann::json SimulatedJson(const SimulatedJob& outcome) {
  nlohmann::json json = {{"trials", outcome.trials},
                         {"resource", outcome.resource},
                         {"elapsed_seconds", outcome.seconds},
                         {"busy_fraction", outcome.busy},
                         {"startup_fraction", outcome.startup}};
  if (outcome.found) json["best_objective"] = outcome.best;
  return json;
}

// REQUIRES: there are values.
double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double MedianUnits(const std::vector<Run>& runs, SimulatedJob Run::*job) {
  std::vector<double> units;
  for (const Run& run : runs) units.push_back(static_cast<double>((run.*job).resource));
  return Median(std::move(units));
}

// The median best value of the runs in which a trial had one; "–": of none.
std::string MedianBest(const std::vector<Run>& runs, SimulatedJob Run::*job) {
  std::vector<double> values;
  for (const Run& run : runs) {
    if ((run.*job).found) values.push_back((run.*job).best);
  }
  return values.empty() ? "–" : NumberText(Median(std::move(values)));
}

std::string BestOf(const SimulatedJob& outcome) { return outcome.found ? NumberText(outcome.best) : "–"; }

std::string RunsText(const Session& session, const std::vector<Run>& runs, bool startup) {
  using Align = Table::Align;
  std::vector<Table::Column> columns = {{"SEED", Align::kRight}};
  for (const char* title :
       {"BEST", "TRIALS", "UNITS", "ELAPSED", "BUSY", "THROUGH: BEST", "UNITS", "ELAPSED"}) {
    columns.push_back({title, Align::kRight});
  }
  if (startup) columns.insert(columns.begin() + 6, {"START-UP", Align::kRight});
  Table table(std::move(columns));
  for (const Run& run : runs) {
    std::vector<Table::Cell> row = {{Thousands(static_cast<int64_t>(run.seed))},
                                    {BestOf(run.search), Style::kGood},
                                    {Thousands(run.search.trials)},
                                    {Thousands(run.search.resource)},
                                    {DurationText(run.search.seconds)},
                                    {PercentText(run.search.busy)}};
    if (startup) row.emplace_back(PercentText(run.search.startup));
    row.insert(
        row.end(),
        {{BestOf(run.through)}, {Thousands(run.through.resource)}, {DurationText(run.through.seconds)}});
    table.Add(std::move(row));
  }
  return table.Text(session.out, 2);
}

std::string MedianText(const std::vector<Run>& runs) {
  const double units = MedianUnits(runs, &Run::search);
  const double through = MedianUnits(runs, &Run::through);
  std::string text = fmt::format(
      "  median of {}: best {} against {}, {} of {} units", Count(static_cast<int64_t>(runs.size()), "seed"),
      MedianBest(runs, &Run::search), MedianBest(runs, &Run::through), Thousands(static_cast<int64_t>(units)),
      Thousands(static_cast<int64_t>(through)));
  if (through > 0) text += fmt::format(" ({})", PercentText(units / through));
  return text + "\n";
}

}  // namespace

Exit ShowSimulation(Session& session, const SimulateOptions& given) {
  const auto spec = LoadJob(given.file, given.name);
  if (!spec.ok()) return spec.status();
  SearchSpec search = ToSearchSpec(*spec);
  if (search.ranks_by_standing()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is given, but a table has one metric; expected a job with one objective",
                    search.has_several_objectives() ? "objectives" : "metric_constraints"));
  }
  if (TraitsOf(search.pruner.kind).population) {
    return absl::InvalidArgumentError(
        "strategy: is PBT, whose trials go on from the checkpoints of others; expected another, because a "
        "table has "
        "only curves of one configuration");
  }
  const auto table = CurveTable::Read(given.table, search);
  if (!table.ok()) return table.status();
  if (Furthest(search) > table->levels()) {
    return absl::InvalidArgumentError(
        fmt::format("{} has {}, but the job trains to {}; expected one level per unit", Clean(given.table),
                    Count(table->levels(), "level"), Thousands(Furthest(search))));
  }
  SimulateOptions options = given;
  options.slots = RanksPerWorker(*spec, given.slots, given.gpus);  // slots for ranks
  if (search.MostNodes() > options.workers * options.slots) {
    return absl::InvalidArgumentError(
        fmt::format("a trial needs {}, but the workers have {}; expected more --workers, --slots or --gpus",
                    Count(search.MostNodes(), "node"), options.workers * options.slots));
  }
  std::vector<Run> runs;
  const uint64_t first = options.seed < 0 ? search.seed : static_cast<uint64_t>(options.seed);
  for (int64_t i = 0; i < options.seeds; ++i) {
    search.seed = first + static_cast<uint64_t>(i);
    Run run{search.seed, RunOne(search, options, *table), {}};
    run.through = RunOne(RunThrough(search, run.search.trials), options, *table);
    runs.push_back(run);
  }
  if (session.output == Output::kJson) {
    nlohmann::json json = {{"job", spec->name()},
                           {"strategy", StrategyText(*spec)},
                           {"rows", table->rows()},
                           {"rows_left_out", table->left_out()},
                           {"runs", nlohmann::json::array()}};
    for (const Run& run : runs) {
      json["runs"].push_back({{"seed", WholeJson(run.seed)},
                              {"search", SimulatedJson(run.search)},
                              {"run_through", SimulatedJson(run.through)}});
    }
    session.out.Print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return kSuccess;
  }
  std::string text = fmt::format(
      "{}  {}\n  {} of the table{}; {} at a time, {} a unit\n\n",
      session.out.Paint(Style::kBold, spec->name()), StrategyText(*spec), Count(table->rows(), "row"),
      table->left_out() > 0
          ? fmt::format(" ({} outside the search space left out)", Thousands(table->left_out()))
          : "",
      Count(TrialsAtOnce(search, options), "trial"),
      table->has_seconds() ? NumberText(table->mean_seconds()) + " s" : "1 s (no seconds_per_unit)");
  text += RunsText(session, runs, options.startup_seconds > 0);
  if (runs.size() > 1) text += MedianText(runs);
  if (options.startup_seconds > 0)
    text += "  START-UP: part of the busy time, before the first units of parts\n";
  session.out.Print(text + "  THROUGH: as many random trials, each trained to its end\n");
  return kSuccess;
}

}  // namespace winnow::cli
