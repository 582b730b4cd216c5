#include "scheduler/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/actions.h"
#include "cli/commands/job_source.h"
#include "cli/commands/suggested_ranges.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "scheduler/plan_estimate.h"
#include "spec/cluster.h"
#include "spec/plan_message.h"
#include "spec/search_spec.h"

namespace winnow::cli {
namespace {

// Returns the units that the bracket trains: a resumed trial continues from the rung below.
int64_t BracketResource(const BracketPlan& bracket, bool resumes) {
  int64_t units = 0;
  int64_t below = 0;
  for (const RungPlan& rung : bracket.rungs) {
    units += rung.trials * (rung.resource - below);
    if (resumes) below = rung.resource;
  }
  return units;
}

// With more brackets than this, equal ones are one line: a plan of many cycles has 100,000.
constexpr size_t kMostBracketLines = 40;

struct BracketLine {
  std::string name;
  const BracketPlan* bracket;
  int64_t count;
};

bool ShowsEachBracket(const Plan& plan) { return plan.brackets.size() <= kMostBracketLines; }

// Lines in the order of the first bracket of each.
std::vector<BracketLine> BracketLines(const Plan& plan) {
  std::vector<BracketLine> lines;
  const bool each = ShowsEachBracket(plan);
  for (size_t b = 0; b < plan.brackets.size(); ++b) {
    const BracketPlan& bracket = plan.brackets[b];
    if (each) {
      lines.push_back({fmt::format("{}: s = {}", b + 1, bracket.s), &bracket, 1});
      continue;
    }
    const auto equal = std::find_if(lines.begin(), lines.end(),
                                    [&](const BracketLine& line) { return *line.bracket == bracket; });
    if (equal == lines.end()) {
      lines.push_back({"", &bracket, 1});
    } else {
      ++equal->count;
    }
  }
  for (BracketLine& line : lines) {
    if (!each) line.name = fmt::format("{} of s = {}", Thousands(line.count), line.bracket->s);
  }
  return lines;
}

std::string BracketTable(const Session& session, const Plan& plan, bool resumes) {
  size_t rungs = 0;
  for (const BracketPlan& bracket : plan.brackets) rungs = std::max(rungs, bracket.rungs.size());
  const bool each = ShowsEachBracket(plan);
  std::vector<Table::Column> columns = {{each ? "BRACKET" : "BRACKETS"}};
  for (size_t i = 0; i < rungs; ++i) columns.push_back({fmt::format("RUNG {}", i + 1), Table::Align::kRight});
  columns.push_back({each ? "UNITS" : "UNITS OF EACH", Table::Align::kRight});
  Table table(std::move(columns));
  for (const BracketLine& line : BracketLines(plan)) {
    const BracketPlan& bracket = *line.bracket;
    std::vector<Table::Cell> row = {line.name};
    for (size_t i = 0; i < rungs; ++i) {
      row.emplace_back(i < bracket.rungs.size() ? fmt::format("{} × {}", Thousands(bracket.rungs[i].trials),
                                                              Thousands(bracket.rungs[i].resource))
                                                : "");
    }
    row.emplace_back(Thousands(BracketResource(bracket, resumes)));
    table.Add(std::move(row));
  }
  std::string text = table.Text(session.out, 2) + "  trials × the units each of them has been trained for\n";
  if (!each) text += "  equal brackets are one line; --output json has all of them in their order\n";
  return text + "\n";
}

std::string Totals(const Session& session, const Plan& plan, const PlanEstimate& estimate, bool resumes) {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("  {}{}\n", session.out.Paint(Style::kDim, fmt::format("{:<16}", label)), value);
  };
  std::string widths = ShowsEachBracket(plan) ? "" : Thousands(plan.trials);
  if (ShowsEachBracket(plan)) {
    for (const BracketPlan& bracket : plan.brackets) {
      if (bracket.rungs.empty()) continue;
      widths += (widths.empty() ? "" : "/") + Thousands(bracket.rungs.front().trials);
    }
  }
  if (!widths.empty()) {
    line("brackets",
         fmt::format("{} ({} trials)", Thousands(static_cast<int64_t>(plan.brackets.size())), widths));
  }
  line("configurations", plan.trials > 0 ? Thousands(plan.trials) : "until another limit ends the job");
  if (plan.evaluations > 0)
    line("evaluations", Thousands(plan.evaluations) + " (a trial counts once per rung)");
  if (plan.brackets.empty()) {
    if (plan.resource > 0) line("resource", Thousands(plan.resource) + " units");
  } else if (plan.resource_with_resume > 0) {
    line("resource", fmt::format("{} units{}", Thousands(plan.resource_with_resume),
                                 resumes ? "" : " if the trainer could resume; it cannot"));
    line("without resume", Thousands(plan.resource_without_resume) + " units");
    if (plan.full_resource > plan.resource) {
      line("all to the end", fmt::format("{} units; the plan saves {}", Thousands(plan.full_resource),
                                         PercentText(1 - static_cast<double>(plan.resource) /
                                                             static_cast<double>(plan.full_resource))));
    }
  }
  if (estimate.elapsed_seconds > 0) {
    std::string time = fmt::format("about {}, slots {} busy", DurationText(estimate.elapsed_seconds),
                                   PercentText(estimate.busy_fraction));
    if (estimate.startup_fraction > 0)
      time += fmt::format(", {} of that in start-up", PercentText(estimate.startup_fraction));
    line("time", time);
  }
  if (!plan.note.empty()) line("note", Clean(plan.note));
  return text;
}

struct PlanPrice {
  double unit_seconds = 0;
  double startup_seconds = 0;  // of a part
};

// What a unit and a part of that job have cost.
absl::StatusOr<PlanPrice> PriceOf(Session& session, const std::string& job) {
  const auto known = session.client().Describe(job);
  if (!known.ok()) return known.status();
  const v1::JobSpend& spend = known->spend();
  const int64_t parts = spend.new_process_parts() + spend.forked_parts() + spend.continued_parts();
  if (spend.resource() == 0 || parts == 0 || spend.training_seconds() <= spend.startup_seconds()) {
    return absl::FailedPreconditionError(
        fmt::format("--like: job {} has {} in {}; expected a job that tells what a unit costs", known->id(),
                    Count(spend.resource(), "unit"), Count(parts, "part")));
  }
  return PlanPrice{
      (spend.training_seconds() - spend.startup_seconds()) / static_cast<double>(spend.resource()),
      spend.startup_seconds() / static_cast<double>(parts)};
}

}  // namespace

Exit ShowPlan(Session& session, const PlanOptions& options) {
  const auto spec = LoadJob(options.file, options.name);
  if (!spec.ok()) return spec.status();
  if (options.suggest_ranges) return ShowSuggestedRanges(session, *spec, options.from);
  PrintWarnings(*spec, &session.err);
  const SearchSpec search = ToSearchSpec(*spec);
  const int64_t per_worker = RanksPerWorker(*spec, options.slots, options.gpus);
  if (per_worker == 0 && options.gpus >= 0 && RanksPerWorker(*spec, options.slots, -1) > 0) {
    return absl::InvalidArgumentError(
        fmt::format("--gpus: {} are not enough for a rank, which needs {}", options.gpus,
                    ShapeOf(*spec).gpus > 0 ? Count(ShapeOf(*spec).gpus, "GPU") : "a part of one"));
  }
  const int64_t ranks = options.workers * per_worker;
  const int64_t slots = std::max<int64_t>(search.MostNodes(), ranks);  // enough for at least one trial
  const Plan plan = MakePlan(search);
  absl::StatusOr<PlanPrice> price = PlanPrice{options.unit_seconds, options.startup_seconds};
  if (!options.like.empty()) price = PriceOf(session, options.like);
  if (!price.ok()) return price.status();
  const PlanEstimate estimate =
      price->unit_seconds > 0
          ? EstimatePlan(search, static_cast<int>(slots), price->unit_seconds, price->startup_seconds)
          : PlanEstimate();
  if (session.output == Output::kJson) {
    v1::TuningPlan message = PlanMessage(plan);
    message.set_strategy_text(winnow::StrategyText(search));
    message.set_elapsed_seconds(estimate.elapsed_seconds);
    message.set_busy_fraction(estimate.busy_fraction);
    message.set_startup_fraction(estimate.startup_fraction);
    session.out.Print(ToJson(message));
    return kSuccess;
  }
  std::string text =
      fmt::format("{}  {}\n\n", session.out.Paint(Style::kBold, spec->name()), StrategyText(*spec));
  if (!plan.brackets.empty()) text += BracketTable(session, plan, search.goes_on());
  session.out.Print(text + Totals(session, plan, estimate, search.goes_on()));
  return kSuccess;
}

}  // namespace winnow::cli
