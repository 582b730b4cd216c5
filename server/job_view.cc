#include "server/job_view.h"

#include <fmt/format.h>

#include "server/jobs.h"
#include "spec/search_spec.h"

namespace winnow {
namespace {

constexpr size_t kMaxViews = 128;

}  // namespace

void JobViews::Forget(int64_t key) {
  auto found = views_.find(key);
  if (found == views_.end()) return;
  ages_.erase(found->second->age);
  views_.erase(found);
}

absl::StatusOr<const JobView*> JobViews::Get(const std::string& id) {
  absl::StatusOr<std::optional<JobRow>> row = store_.jobs.Find(id);
  if (!row.ok()) return row.status();
  if (!*row) return absl::NotFoundError(fmt::format("there is no job \"{}\"", id));
  return Get(**row);
}

absl::StatusOr<const JobView*> JobViews::Get(const JobRow& row) {
  auto found = views_.find(row.key);
  if (found == views_.end()) {
    absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row.spec);
    if (!spec.ok()) return spec.status();
    SearchSpec search = ToSearchSpec(*spec);
    ages_.push_front(row.key);
    Plan plan = MakePlan(search);
    std::string strategy = StrategyText(search);
    auto kept = std::make_unique<Kept>(
        Kept{{row, *std::move(spec), JobState(std::move(search)), {}, std::move(strategy), std::move(plan)},
             ages_.begin()});
    found = views_.emplace(row.key, std::move(kept)).first;
  }
  Kept& kept = *found->second;
  ages_.splice(ages_.begin(), ages_, kept.age);
  absl::StatusOr<std::vector<Fact>> facts = store_.facts.Load(row.key, kept.view.state.last_sequence());
  if (!facts.ok()) {
    Forget(row.key);
    return facts.status();
  }
  for (const Fact& fact : *facts) {
    if (const std::string why = kept.view.state.Contradiction(fact); !why.empty()) {
      Forget(row.key);
      return absl::DataLossError(
          fmt::format("job \"{}\": fact {} contradicts those before it: {}", row.id, fact.sequence, why));
    }
    kept.view.state.Apply(fact);
    if (const auto* ended = std::get_if<BracketEnded>(&fact.body)) {
      kept.view.bracket_ends[ended->bracket] = ended->reason;
    }
  }
  kept.view.row = row;
  if (views_.size() > kMaxViews) Forget(ages_.back());
  return &kept.view;
}

}  // namespace winnow
