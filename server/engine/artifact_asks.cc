#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/cord.h"
#include "artifact/refusals.h"
#include "server/engine/artifacts.h"
#include "server/engine/cluster.h"
#include "spec/search_spec.h"

namespace winnow {
namespace {

// Who waits for a model asks for it again and again; who has not for so long waits no more.
constexpr int64_t kWaitsUs = 60'000'000;

}  // namespace

absl::Status Artifacts::AskModel(const Jobs& jobs, const Cluster& cluster, const v1::GetArtifactRequest& request,
                                 std::set<std::string>& asked) {
  if (blobs_ == nullptr) return absl::FailedPreconditionError("this server keeps no artifacts");
  const auto row = context_.Check(context_.store.jobs.Find(request.job_id()));
  if (!row) return absl::NotFoundError(fmt::format("there is no job \"{}\"", request.job_id()));
  const absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row->spec);
  if (!spec.ok()) return spec.status();
  const TrialNumber best =
      context_.Check(context_.store.trials.Best(row->key, ToSearchSpec(*spec)));
  const TrialNumber trial = request.trial() == 0 ? best : request.trial();
  const std::string model = fmt::format("the model of trial {} of job \"{}\"", trial, row->id);
  if (spec->trainer().external()) {
    return absl::NotFoundError(fmt::format("{} is with the client that trained it", model));
  }
  bool settled = true;  // nothing trains it any more
  if (const auto open = jobs.all().find(row->key); open != jobs.all().end()) {
    const JobState& state = open->second->state;
    const bool known = trial > 0 && trial <= static_cast<int64_t>(state.trials().size());
    if (known && state.trial(trial).live)
      return absl::NotFoundError(fmt::format("{} is not there yet: it is being trained", model));
    settled = state.ended() || (known && state.trial(trial).ended());
  }
  const auto rows = context_.Check(context_.store.assignments.OfTrial(row->key, trial));
  const auto last = std::find_if(rows.rbegin(), rows.rend(), [](const auto& rank) { return rank.rank == 0; });
  if (last == rows.rend()) return absl::NotFoundError(fmt::format("{} is not there: none was ever trained", model));
  const auto home = cluster.workers().find(last->worker);
  const bool there = home != cluster.workers().end() &&
                     std::any_of(cluster.workers().begin(), cluster.workers().end(), [&](const auto& entry) {
                       return entry.second.present() && entry.second.row.storage_id == home->second.row.storage_id;
                     });
  const std::string who = home == cluster.workers().end()
                              ? "a worker that is forgotten"
                              : fmt::format("worker {} on {}", home->second.row.name, home->second.row.host);
  if (!there) {
    return absl::NotFoundError(
        fmt::format("the server does not have {}: it fetches the best trial's when that has ended, and another's when "
                    "it is asked for. It stayed with {}, which is not connected; start it again with the same "
                    "folders and ask again",
                    model, who));
  }
  const bool stays = trial == best && settled;
  Want({row->key, trial}, row->id, cluster, &asked, stays ? 0 : context_.wall_us() + kWaitsUs);
  if (const auto wanted = wanted_.find({row->key, trial}); wanted != wanted_.end() && wanted->second.until_us > 0)
    wanted->second.until_us = context_.wall_us() + kWaitsUs;
  if (const auto wanted = wanted_.find({row->key, trial}); wanted != wanted_.end() && !wanted->second.problem.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("{} cannot be fetched from {}: {}", model, who, wanted->second.problem));
  }
  absl::Status comes = absl::NotFoundError(fmt::format("{} is being fetched from {}; ask again", model, who));
  comes.SetPayload(kModelComes, absl::Cord());
  return comes;
}

void Artifacts::NoteProblem(const WorkerEntry& worker, const std::string& job_id, TrialNumber trial,
                            std::string reason) {
  const auto found = std::find_if(wanted_.begin(), wanted_.end(), [&](const auto& entry) {
    return entry.second.job_id == job_id && entry.first.second == trial;
  });
  if (found == wanted_.end() || found->second.storage != worker.row.storage_id) return;
  found->second.problem = std::move(reason);
}

// Models that nobody has asked for lately, and wishes that nobody waits for.
void Artifacts::DropAsked() {
  const int64_t now = context_.wall_us();
  std::vector<Key> over;
  for (const auto& [key, until] : asked_) {
    if (until < now) over.push_back(key);
  }
  for (const Key& key : over) {
    asked_.erase(key);
    Drop(key, "model");
  }
  std::erase_if(wanted_, [now](const auto& entry) {
    return entry.second.until_us > 0 && entry.second.until_us < now;
  });
}

// A trial that is trained on has another model in the end.
void Artifacts::DropAskedOf(Key key) {
  if (asked_.erase(key) > 0) Drop(key, "model");
  const auto wanted = wanted_.find(key);
  if (wanted != wanted_.end() && wanted->second.until_us > 0) wanted_.erase(wanted);
}

// That models beside the best's were asked for is not recorded: another server drops them.
void Artifacts::ForgetAsked(int64_t job, TrialNumber best) {
  const auto of_best = kept_.find({job, best});
  if (of_best == kept_.end() || !of_best->second.model) return;
  for (auto kept = kept_.lower_bound({job, 0}); kept != kept_.end() && kept->first.first == job; ++kept) {
    if (kept->second.model && kept->first.second != best) asked_.emplace(kept->first, 0);
  }
}

}  // namespace winnow
