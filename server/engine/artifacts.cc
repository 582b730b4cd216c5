#include "server/engine/artifacts.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/cord.h"
#include "artifact/manifest.h"
#include "artifact/refusals.h"
#include "base/status_text.h"
#include "scheduler/validate.h"
#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/job_view.h"
#include "server/engine/answers/requester.h"
#include "spec/search_spec.h"

namespace winnow {
namespace {

// A worker that was heard of so lately may come back, and take a trial on.
constexpr int64_t kMayReturnUs = 3'600'000'000;
// How many of the jobs that ended before this server started, and how old ones, may still get their model.
constexpr int64_t kEndedJobs = 100;
constexpr int64_t kEndedUs = 86'400'000'000;
// A model that was asked for stays so long: time enough to fetch it over a slow line.
constexpr int64_t kAskedUs = 3'600'000'000;
// A caller who waits for a model asks for it again and again; one who has not for so long waits no more.
constexpr int64_t kWaitsUs = 60'000'000;
// A job hands out at most this many trials of its front, those of the lowest numbers.
constexpr size_t kMostOfFront = 32;

// The trials whose models the job hands out.
std::set<TrialNumber> HandedOutBy(const JobState& state) {
  if (const std::optional<TrialNumber> best = state.best_trial()) return {*best};
  std::set<TrialNumber> trials;
  if (!state.spec().has_several_objectives()) return trials;
  for (const Standing& member : state.front()) {
    if (trials.size() == kMostOfFront) break;
    trials.insert(member.number);
  }
  return trials;
}

}  // namespace

absl::Status Artifacts::Load() {
  kept_.clear();
  handed_out_.clear();
  wanted_.clear();
  asked_.clear();
  lost_.clear();
  unused_.clear();
  if (blobs_ == nullptr) return absl::OkStatus();
  absl::StatusOr<std::vector<ArtifactRow>> rows = context_.store.artifacts.List();
  if (!rows.ok()) return rows.status();
  if (absl::Status status = stored_.Load(context_.store.artifacts); !status.ok()) return status;
  for (const ArtifactRow& row : *rows) {
    if (row.kind == ArtifactKind::kSource) continue;  // it stays as long as its job
    Kept& kept = kept_[{row.job, row.trial}];
    if (row.kind == ArtifactKind::kModel) {
      kept.model = true;
    } else {
      kept.checkpoint = row.resource;
    }
  }
  if (absl::Status status = FindLost(); !status.ok()) return status;
  if (absl::Status status = WantOfEnded(); !status.ok()) return status;
  std::set<std::string> asked;  // none of them has called yet
  for (const auto& [key, job] : jobs_.all()) SettleJob(*job, asked);
  return absl::OkStatus();
}

// Rows whose blobs are not there are deleted at the next Settle.
absl::Status Artifacts::FindLost() {
  absl::StatusOr<std::vector<BlobRow>> blobs = context_.store.artifacts.Blobs();
  if (!blobs.ok()) return blobs.status();
  std::set<std::tuple<int64_t, TrialNumber, ArtifactKind>> lost;
  for (const BlobRow& row : *blobs) {
    v1::BlobName name;
    name.set_digest(row.digest);
    name.set_size(row.size);
    if (blobs_->Claim(name)) continue;
    lost_.insert(row.digest);
    absl::StatusOr<std::vector<ArtifactRow>> of = context_.store.artifacts.Of(row.digest);
    if (!of.ok()) return of.status();
    for (const ArtifactRow& artifact : *of) {
      kept_.erase({artifact.job, artifact.trial});
      lost.emplace(artifact.job, artifact.trial, artifact.kind);
    }
  }
  if (!lost.empty()) {
    spdlog::warn(
        "{} of the recorded checkpoints, models and sources are not in the artifact store (--state-dir, "
        "--artifacts): they are forgotten",
        lost.size());
  }
  return absl::OkStatus();
}

absl::Status Artifacts::WantOfEnded() {
  std::set<std::string> asked;  // none of them has called yet
  absl::StatusOr<std::vector<JobRow>> rows = context_.store.jobs.List(INT64_MAX, kEndedJobs);
  if (!rows.ok()) return rows.status();
  for (const JobRow& row : *rows) {
    if (row.end_us == 0 || row.end_us < context_.wall_us() - kEndedUs) continue;
    absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row.spec);
    if (!spec.ok()) return spec.status();
    if (spec->trainer().external()) continue;
    const absl::StatusOr<std::set<TrialNumber>> handed_out = HandedOutByEnded(row, *spec);
    if (absl::IsDataLoss(handed_out.status())) {  // reading the job says so; others go on
      spdlog::warn("the models of the front of job \"{}\" are not fetched: {}", row.id,
                   MessageOf(handed_out.status()));
      continue;
    }
    if (!handed_out.ok()) return handed_out.status();
    if (!spec->objectives().empty()) handed_out_[row.key] = *handed_out;
    for (const TrialNumber trial : *handed_out) Want({row.key, trial}, row.id, asked);
    ForgetAsked(row.key, *handed_out);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::set<TrialNumber>> Artifacts::HandedOutByEnded(const JobRow& row,
                                                                  const v1::TuningJobSpec& spec) {
  SearchSpec search = ToSearchSpec(spec);
  if (!search.has_several_objectives()) {
    const absl::StatusOr<TrialNumber> best = HandedOutTrial(context_.store, row, spec, search);
    if (!best.ok()) return best.status();
    return *best == 0 ? std::set<TrialNumber>() : std::set<TrialNumber>{*best};
  }
  JobState state(std::move(search));
  const absl::Status status = ApplyFacts(context_.store.facts, row, state, [](const Fact&) {});
  if (!status.ok()) return status;
  return HandedOutBy(state);
}

absl::Status Artifacts::Put(const v1::PutArtifactRequest& request, const Rank* rank, const Requester& by) {
  if (blobs_ == nullptr) return absl::FailedPreconditionError("this server stores no artifacts");
  const int64_t resource = request.artifact().resource();
  if (resource < 0 || resource > kMostResource) {
    return absl::InvalidArgumentError(
        fmt::format("artifact.resource: {} is out of range; expected 0 to {}", resource, kMostResource));
  }
  return request.artifact().kind() == v1::Artifact::MODEL ? PutModel(request, by)
                                                          : PutCheckpoint(request, rank, by);
}

absl::Status Artifacts::PutCheckpoint(const v1::PutArtifactRequest& request, const Rank* rank,
                                      const Requester& by) {
  v1::Artifact artifact = request.artifact();
  const OpenJob* job = rank == nullptr ? nullptr : jobs_.FindKey(rank->row.job);
  if (job == nullptr || rank->row.rank != 0 || artifact.job_id() != job->row.id ||
      artifact.trial() != rank->row.trial || job->state.trial(rank->row.trial).ended()) {
    return absl::FailedPreconditionError(
        fmt::format("assignment {} is not that of rank 0 of a trial that trains: its checkpoint is not taken",
                    request.assignment_id()));
  }
  const AssignmentRow& row = rank->row;
  const auto holder = workers_.all().find(row.worker);
  if (holder == workers_.all().end() || !holder->second.MayCallWith(by.token_id, by.worker_projects)) {
    return absl::PermissionDeniedError(fmt::format(
        "assignment {} is held by a worker which registered with another token: it sends the checkpoint",
        row.id));
  }
  artifact.set_attempt(row.attempt);
  const int64_t most = row.resource_to > 0 ? row.resource_to : INT64_MAX;
  artifact.set_resource(std::clamp(artifact.resource(), std::min(row.resource_from, most), most));
  absl::Status status = Record(job->row, artifact);
  if (status.ok()) kept_[{row.job, row.trial}].checkpoint = artifact.resource();
  return status;
}

// As AddWanted asks. A worker may also have gone since, while it sent the model.
bool Artifacts::MaySend(const Wanted& wanted, const Requester& by) const {
  const auto may = [&by](const WorkerEntry& worker) {
    return worker.MayCallWith(by.token_id, by.worker_projects);
  };
  if (const auto home = workers_.all().find(wanted.worker); home != workers_.all().end()) {
    if (may(home->second) || home->second.present()) return may(home->second);
  }
  const std::vector<const WorkerEntry*> present = workers_.Present();
  return std::any_of(present.begin(), present.end(), [&](const WorkerEntry* worker) {
    return worker->row.storage_id == wanted.storage && may(*worker);
  });
}

absl::Status Artifacts::PutModel(const v1::PutArtifactRequest& request, const Requester& by) {
  const v1::Artifact& artifact = request.artifact();
  const auto wanted = std::find_if(wanted_.begin(), wanted_.end(), [&](const auto& entry) {
    return entry.second.job_id == artifact.job_id() && entry.first.second == artifact.trial();
  });
  if (wanted == wanted_.end()) {
    return absl::FailedPreconditionError(fmt::format("the model of trial {} of job \"{}\" is not wanted",
                                                     artifact.trial(), artifact.job_id()));
  }
  if (!MaySend(wanted->second, by)) {
    return absl::PermissionDeniedError(
        fmt::format("the model of trial {} of job \"{}\" is wanted of a worker which registered with another "
                    "token",
                    artifact.trial(), artifact.job_id()));
  }
  const Key key = wanted->first;
  const bool of_best = wanted->second.until_us == 0;
  const auto job = context_.Note(context_.store.jobs.Find(artifact.job_id()));
  if (!job) return NoJob(artifact.job_id());
  absl::Status status = Record(*job, artifact);
  if (!status.ok()) return status;
  wanted_.erase(wanted);
  kept_[key].model = true;
  if (!of_best) {
    asked_[key] = context_.wall_us() + kAskedUs;
    return status;
  }
  const auto handed_out = handed_out_.find(key.first);
  DropModels(key.first,
             handed_out == handed_out_.end() ? std::set<TrialNumber>{key.second} : handed_out->second);
  return status;
}

// Models that are kept because somebody has asked for them are not dropped.
void Artifacts::DropModels(int64_t job, const std::set<TrialNumber>& but) {
  std::vector<Key> others;
  for (auto kept = kept_.lower_bound({job, 0}); kept != kept_.end() && kept->first.first == job; ++kept) {
    if (kept->second.model && !but.contains(kept->first.second) && !asked_.contains(kept->first))
      others.push_back(kept->first);
  }
  for (const Key& other : others) Drop(other, ArtifactKind::kModel);
}

absl::StatusOr<std::vector<BlobRow>> Artifacts::Claim(const v1::Manifest& manifest) {
  std::vector<BlobRow> blobs;
  for (const v1::BlobName& blob : BlobsOf(manifest)) {
    if (!blobs_->Claim(blob)) {
      absl::Status missing =
          absl::FailedPreconditionError(fmt::format("blob {} is not there", blob.digest()));
      missing.SetPayload(kMissingBlob, absl::Cord(blob.digest()));
      return missing;
    }
    blobs.push_back({blob.digest(), blob.size()});
  }
  return blobs;
}

absl::Status Artifacts::ClaimSource(const v1::Manifest& manifest) {
  if (blobs_ == nullptr) return absl::FailedPreconditionError("this server stores no artifacts");
  return Claim(manifest).status();
}

void Artifacts::AddSource(const StoredOfJob& job, const v1::Manifest& manifest) {
  const absl::StatusOr<std::vector<BlobRow>> blobs = Claim(manifest);
  if (!blobs.ok()) return context_.Note(blobs.status());
  ArtifactRow row;
  row.job = job.job;
  row.kind = ArtifactKind::kSource;
  row.manifest = manifest.SerializeAsString();
  row.create_us = context_.wall_us();
  Store(job, row, *blobs);
}

void Artifacts::Store(StoredOfJob job, const ArtifactRow& row, const std::vector<BlobRow>& blobs) {
  job.bytes = 0;
  for (const BlobRow& blob : blobs) job.bytes += blob.size;
  stored_.Add(job);
  Dropped(job.job, context_.Note(context_.store.artifacts.Put(row, blobs)));
  for (const BlobRow& blob : blobs) unused_.erase(blob.digest);
}

void Artifacts::Dropped(int64_t job, const DroppedArtifacts& dropped) {
  unused_.insert(dropped.unused.begin(), dropped.unused.end());
  stored_.Remove(job, dropped.bytes);
}

absl::Status Artifacts::Record(const JobRow& job, v1::Artifact artifact) {
  const absl::StatusOr<std::vector<BlobRow>> blobs = Claim(artifact.manifest());
  if (!blobs.ok()) return blobs.status();
  ArtifactRow row;
  row.job = job.key;
  row.trial = artifact.trial();
  row.kind = artifact.kind() == v1::Artifact::MODEL ? ArtifactKind::kModel : ArtifactKind::kCheckpoint;
  row.attempt = artifact.attempt();
  row.resource = artifact.resource();
  row.manifest = artifact.manifest().SerializeAsString();
  row.create_us = context_.wall_us();
  Store({job.key, job.project, job.owner}, row, *blobs);
  return context_.failure();
}

void Artifacts::LoseBlob(const std::string& digest) {
  for (const ArtifactRow& row : context_.Note(context_.store.artifacts.Of(digest))) {
    Drop({row.job, row.trial}, row.kind);
  }
}

void Artifacts::ForgetJob(int64_t job) {
  if (blobs_ == nullptr) return;
  Dropped(job, context_.Note(context_.store.artifacts.DeleteJob(job)));
  handed_out_.erase(job);
  const auto of_job = [job](const auto& entry) { return entry.first.first == job; };
  std::erase_if(kept_, of_job);
  std::erase_if(wanted_, of_job);
  std::erase_if(asked_, of_job);
}

bool Artifacts::CanRestore(int64_t job, TrialNumber trial, int64_t from) const {
  const auto found = kept_.find({job, trial});
  return found != kept_.end() && found->second.checkpoint.has_value() && *found->second.checkpoint >= from;
}

bool Artifacts::OneStorage() {
  if (!one_storage_) {
    std::set<std::string> storages;
    for (const auto& [id, worker] : workers_.all()) {
      if (worker.present() || worker.row.last_sync_us > context_.wall_us() - kMayReturnUs) {
        storages.insert(worker.row.storage_id);
      }
    }
    one_storage_ = storages.size() <= 1;
  }
  return *one_storage_;
}

void Artifacts::Describe(int64_t job, const StoragePlaces& places, v1::Assignment& message) {
  if (!message.resumes()) return;
  // The folder of another trial, which the ranks share: rank 0 copies it.
  const bool taken = places.of != message.trial() && message.resource_from() > 0 && message.rank() == 0;
  if (blobs_ == nullptr) return message.set_take_checkpoint(taken);
  const bool spread = std::any_of(places.ranks.begin(), places.ranks.end(),
                                  [&](const std::string& storage) { return storage != places.ranks[0]; });
  message.set_keep_checkpoints(message.rank() == 0 && (spread || !OneStorage()));
  const bool prepared = message.world_size() > 1 && !message.await_start();
  const bool newest_is_there = !spread && !places.idle && places.ranks[0] == places.home;
  if (prepared || places.home.empty()) return;
  if (newest_is_there) return message.set_take_checkpoint(taken);
  if (CanRestore(job, places.of, 0)) {
    auto row = context_.Note(context_.store.artifacts.Find(job, places.of, ArtifactKind::kCheckpoint));
    if (row) message.mutable_restore()->ParseFromString(row->manifest);
  } else if (!spread && places.ranks[0] == places.home) {
    message.set_take_checkpoint(taken);
  } else if (spread) {
    message.mutable_restore();  // nothing: ranks must not begin with what only some of them find
  }
}

void Artifacts::Drop(Key key, ArtifactKind kind) {
  Dropped(key.first, context_.Note(context_.store.artifacts.Delete(key.first, key.second, kind)));
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  if (kind == ArtifactKind::kModel) {
    found->second.model = false;
    asked_.erase(key);
  } else {
    found->second.checkpoint.reset();
  }
  if (!found->second.model && !found->second.checkpoint) kept_.erase(found);
}

void Artifacts::DropUnneeded(const OpenJob& job, TrialNumber trial, const std::set<TrialNumber>& handed_out) {
  const Key key{job.row.key, trial};
  const auto found = kept_.find(key);
  if (found == kept_.end() || handed_out.contains(trial)) return;
  const TrialState& state = job.state.trial(trial);
  const bool over = (state.ended() && !state.live) || job.state.ended();
  if (found->second.checkpoint && over) Drop(key, ArtifactKind::kCheckpoint);
}

void Artifacts::SettleJob(const OpenJob& job, std::set<std::string>& asked) {
  if (job.external()) return;
  const int64_t key = job.row.key;
  const std::set<TrialNumber> handed_out = HandedOutBy(job.state);
  std::set<TrialNumber>& known = handed_out_[key];
  if (known != handed_out) {
    for (const TrialNumber trial : known) {
      if (handed_out.contains(trial)) continue;
      wanted_.erase({key, trial});
      DropUnneeded(job, trial, handed_out);
    }
    known = handed_out;
  }
  for (const TrialNumber trial : job.touched) {
    DropUnneeded(job, trial, handed_out);
    if (job.state.trial(trial).live) DropAskedOf({key, trial});
  }
  if (job.state.ended()) {
    std::vector<TrialNumber> rest;
    for (auto kept = kept_.lower_bound({key, 0}); kept != kept_.end() && kept->first.first == key; ++kept) {
      rest.push_back(kept->first.second);
    }
    for (const TrialNumber trial : rest) DropUnneeded(job, trial, handed_out);
    if (job.state.spec().has_several_objectives()) {
      DropModels(key, handed_out);
    } else {
      handed_out_.erase(key);  // from now on the chosen trial counts, see Choose
    }
  }
  for (const TrialNumber number : handed_out) {
    const TrialState& trial = job.state.trial(number);
    if (trial.live || !(trial.ended() || job.state.ended())) continue;
    // A model that was kept because somebody asked for it is kept as one that the job hands out.
    if (asked_.erase({key, number}) > 0) ForgetAsked(key, handed_out);
    if (const auto wanted = wanted_.find({key, number}); wanted != wanted_.end()) wanted->second.until_us = 0;
    const auto found = kept_.find({key, number});
    if (found == kept_.end() || !found->second.model) Want({key, number}, job.row.id, asked);
  }
}

void Artifacts::Want(Key key, const std::string& job_id, std::set<std::string>& asked, int64_t until_us) {
  const auto kept = kept_.find(key);
  if ((kept != kept_.end() && kept->second.model) || wanted_.count(key) > 0) return;
  const auto rows = context_.Note(context_.store.assignments.OfTrial(key.first, key.second));
  const auto last =
      std::find_if(rows.rbegin(), rows.rend(), [](const AssignmentRow& row) { return row.rank == 0; });
  if (last == rows.rend()) return;
  const auto home = workers_.all().find(last->worker);
  if (home == workers_.all().end()) return;
  wanted_[key] = {job_id, last->worker, home->second.row.storage_id, "", until_us};
  asked.merge(workers_.PresentWith(home->second.row.storage_id));
}

void Artifacts::Choose(const JobRow& row, TrialNumber seen, TrialNumber chosen,
                       std::set<std::string>& asked) {
  if (blobs_ == nullptr || seen == chosen) return;
  const absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row.spec);
  if (!spec.ok() || spec->trainer().external()) return;
  const auto wanted = wanted_.find({row.key, seen});
  if (wanted != wanted_.end() && wanted->second.until_us == 0) wanted_.erase(wanted);
  Want({row.key, chosen}, row.id, asked);
}

std::set<std::string> Artifacts::Settle() {
  std::set<std::string> asked;
  if (blobs_ == nullptr) return asked;
  for (const std::string& digest : lost_) LoseBlob(digest);
  lost_.clear();
  DropAsked();
  for (const auto& [key, job] : jobs_.all()) {
    if (job->changed) SettleJob(*job, asked);
  }
  return asked;
}

void Artifacts::AddWanted(const WorkerEntry& worker, v1::SyncResponse& response) const {
  for (const auto& [key, wanted] : wanted_) {
    if (wanted.storage != worker.row.storage_id) continue;
    if (!MayRun(worker.row.projects, ProjectOfJob(wanted.job_id))) continue;
    if (wanted.until_us > 0 && wanted.until_us < context_.wall_us()) continue;
    const auto home = workers_.all().find(wanted.worker);
    const bool there = home != workers_.all().end() && home->second.present();
    if (there && wanted.worker != worker.row.id) continue;
    v1::ModelWanted* added = response.add_models_wanted();
    added->set_job_id(wanted.job_id);
    added->set_trial(key.second);
  }
}

void Artifacts::Committed() {
  for (const std::string& digest : unused_) blobs_->Forget(digest);
  unused_.clear();
}

absl::Status Artifacts::RequestModelFile(const v1::GetArtifactRequest& request,
                                         std::set<std::string>& asked) {
  if (blobs_ == nullptr) return absl::FailedPreconditionError("this server stores no artifacts");
  const auto row = context_.Note(context_.store.jobs.Find(request.job_id()));
  if (!row) return NoJob(request.job_id());
  const absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row->spec);
  if (!spec.ok()) return spec.status();
  const TrialNumber best = context_.Note(HandedOutTrial(context_.store, *row, *spec, ToSearchSpec(*spec)));
  const TrialNumber trial = request.trial() == 0 ? best : request.trial();
  const std::string model = fmt::format("the model of trial {} of job \"{}\"", trial, row->id);
  if (spec->trainer().external()) {
    return absl::NotFoundError(fmt::format("{} is at the client that trained it", model));
  }
  bool settled = true;  // nothing trains it any more
  if (const auto open = jobs_.all().find(row->key); open != jobs_.all().end()) {
    const JobState& state = open->second->state;
    const bool known = trial > 0 && trial <= static_cast<int64_t>(state.trials().size());
    if (known && state.trial(trial).live)
      return absl::NotFoundError(fmt::format("{} does not exist yet: it is being trained", model));
    settled = state.ended() || (known && state.trial(trial).ended());
  }
  const auto handed_out = handed_out_.find(row->key);
  const bool is_handed_out =
      trial == best || (handed_out != handed_out_.end() && handed_out->second.contains(trial));
  const auto rows = context_.Note(context_.store.assignments.OfTrial(row->key, trial));
  const auto last = std::find_if(rows.rbegin(), rows.rend(), [](const auto& rank) { return rank.rank == 0; });
  if (last == rows.rend())
    return absl::NotFoundError(fmt::format("{} does not exist: none was ever trained", model));
  // What an attempt leaves that was cut off, as by a full disk, may be half a model.
  if (!settled && last->outcome && *last->outcome != AttemptOutcome::kFinished) {
    return absl::NotFoundError(fmt::format(
        "{} does not exist yet: its last attempt did not finish, and another one follows", model));
  }
  const auto home = workers_.all().find(last->worker);
  const bool there =
      home != workers_.all().end() && !workers_.PresentWith(home->second.row.storage_id).empty();
  const std::string who = home == workers_.all().end()
                              ? "a deleted worker"
                              : fmt::format("worker {} on {}", home->second.row.name, home->second.row.host);
  if (!there) {
    return absl::NotFoundError(
        fmt::format("the server does not have {}: it fetches the model of the best trial, or those of the "
                    "Pareto front, when they have ended, and others on request. The model is on {}, which is "
                    "not connected; start that worker again with the same directories and try again",
                    model, who));
  }
  const bool stays = is_handed_out && settled;
  Want({row->key, trial}, row->id, asked, stays ? 0 : context_.wall_us() + kWaitsUs);
  if (const auto wanted = wanted_.find({row->key, trial});
      wanted != wanted_.end() && wanted->second.until_us > 0)
    wanted->second.until_us = context_.wall_us() + kWaitsUs;
  if (const auto wanted = wanted_.find({row->key, trial});
      wanted != wanted_.end() && !wanted->second.problem.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("{} cannot be fetched from {}: {}", model, who, wanted->second.problem));
  }
  absl::Status comes = absl::NotFoundError(fmt::format("{} is being fetched from {}; try again", model, who));
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
    Drop(key, ArtifactKind::kModel);
  }
  std::erase_if(
      wanted_, [now](const auto& entry) { return entry.second.until_us > 0 && entry.second.until_us < now; });
}

// A trial that is trained on has another model in the end.
void Artifacts::DropAskedOf(Key key) {
  if (asked_.erase(key) > 0) Drop(key, ArtifactKind::kModel);
  const auto wanted = wanted_.find(key);
  if (wanted != wanted_.end() && wanted->second.until_us > 0) wanted_.erase(wanted);
}

// Which models were fetched because somebody asked for them is not recorded. So a server that is started
// again drops the models that the job does not hand out.
void Artifacts::ForgetAsked(int64_t job, const std::set<TrialNumber>& handed_out) {
  const auto is_kept = [&](TrialNumber trial) {
    const auto kept = kept_.find({job, trial});
    return kept != kept_.end() && kept->second.model;
  };
  if (std::none_of(handed_out.begin(), handed_out.end(), is_kept)) return;
  for (auto kept = kept_.lower_bound({job, 0}); kept != kept_.end() && kept->first.first == job; ++kept) {
    if (kept->second.model && !handed_out.contains(kept->first.second)) asked_.emplace(kept->first, 0);
  }
}

}  // namespace winnow
