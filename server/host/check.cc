#include "server/host/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "base/status_text.h"
#include "server/engine/answers/job_facts.h"
#include "server/host/blobs/blob_folder.h"
#include "server/host/endpoint_state.h"
#include "spec/search_spec.h"
#include "store/migrations.h"
#include "store/store.h"
#include "winnow/v1/artifact.pb.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Returns what is wrong with blob `digest` of `size` bytes; "": nothing.
std::string WrongWith(BlobPlace& place, const std::string& digest, int64_t size) {
  // One byte more than expected, to detect a blob that is too long.
  BlobBuffer blob;
  const absl::Status read = place.Read(digest, std::clamp<int64_t>(size, 0, kBlobBytes) + 1, blob);
  if (!read.ok()) return MessageOf(read);
  const std::string name = place.NameOf(digest);
  const int64_t got = blob.size();
  if (got != size)
    return fmt::format("{} has {}{} bytes, expected {}", name, got > size ? "more than " : "",
                       std::min(got, size), size);
  return DigestOf(blob.bytes()) == digest ? "" : name + " has other content than its name says";
}

absl::Status CheckManifests(Database& database, CheckSummary& summary, const TellFinding& tell) {
  Statement artifacts(database, "SELECT artifact, manifest FROM artifacts ORDER BY artifact");
  Statement named(database, "SELECT digest FROM artifact_blobs WHERE artifact = ?1");
  return artifacts.Bind().ForEach([&]() -> absl::Status {
    ++summary.artifacts;
    const int64_t artifact = artifacts.Int(0);
    v1::Manifest manifest;
    if (!manifest.ParseFromString(artifacts.Text(1))) {
      tell(fmt::format("artifact {}: its manifest cannot be read", artifact));
      return absl::OkStatus();
    }
    std::set<std::string> listed;
    for (const v1::ArtifactFile& file : manifest.files()) {
      for (const v1::BlobName& blob : file.blobs()) listed.insert(blob.digest());
    }
    std::set<std::string> rows;
    named.Bind(artifact);
    absl::Status status = named.ForEach([&] {
      rows.insert(named.Text(0));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    if (rows != listed) {
      tell(fmt::format("artifact {}: its manifest names {} blobs, its rows {} others or not the same",
                       artifact, listed.size(), rows.size()));
    }
    return absl::OkStatus();
  });
}

// Checks artifacts: their manifests can be read and name the blobs of their rows; each blob of the database
// is in `place`, or else a file of `state_dir`, with the right size and digest, unless that folder does not
// exist, as for a copy.
// Not OK: the tables cannot be read.
absl::Status CheckBlobs(Database& database, const std::string& state_dir, BlobPlace* place,
                        CheckSummary& summary, const TellFinding& tell) {
  absl::Status status = CheckManifests(database, summary, tell);
  if (!status.ok()) return status;
  BlobFolder folder(fs::path(state_dir) / "artifacts");
  std::error_code none;
  summary.has_state_dir = place != nullptr || fs::exists(state_dir, none);
  if (place != nullptr) summary.place = place->name();
  Statement blobs(database, "SELECT digest, size FROM blobs ORDER BY digest");
  return blobs.Bind().ForEach([&] {
    ++summary.blobs;
    const std::string digest = blobs.Text(0);
    if (!IsDigest(digest)) {
      tell(fmt::format("blob \"{}\": not a digest", digest));
      return absl::OkStatus();
    }
    if (!summary.has_state_dir) return absl::OkStatus();
    const std::string wrong = WrongWith(place == nullptr ? folder : *place, digest, blobs.Int(1));
    if (!wrong.empty()) tell(fmt::format("blob {}: {}", digest, wrong));
    return absl::OkStatus();
  });
}

// Reports the columns in which a row differs from what it should be.
class RowCheck {
 public:
  RowCheck(std::string subject, const TellFinding& tell) : subject_(std::move(subject)), tell_(tell) {}

  template <typename T>
  void Equal(const char* column, const T& row, const T& facts) const {
    if (row == facts) return;
    tell_(fmt::format("{}: {} is {}, its facts say {}", subject_, column, Show(row), Show(facts)));
  }

 private:
  static std::string Show(int64_t value) { return std::to_string(value); }
  static std::string Show(const std::string& value) { return '"' + value + '"'; }
  static std::string Show(const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "none";
  }
  static std::string Show(const Configuration&) { return "another one"; }
  std::string subject_;
  const TellFinding& tell_;
};

void CompareTrial(const TrialRow& row, const TrialRow& facts, const RowCheck& check) {
  check.Equal("state", row.state, facts.state);
  check.Equal("reason", row.reason, facts.reason);
  check.Equal("configuration", row.configuration, facts.configuration);
  check.Equal("objective", row.objective, facts.objective);
  check.Equal("resource", row.resource, facts.resource);
  check.Equal("best_objective", row.best_objective, facts.best_objective);
  check.Equal("best_resource", row.best_resource, facts.best_resource);
  check.Equal("value", row.value, facts.value);
  check.Equal("value_resource", row.value_resource, facts.value_resource);
  check.Equal("bracket", row.bracket, facts.bracket);
  check.Equal("rung", row.rung, facts.rung);
  check.Equal("attempts", row.attempts, facts.attempts);
  check.Equal("create_us", row.create_us, facts.create_us);
  check.Equal("start_us", row.start_us, facts.start_us);
  check.Equal("end_us", row.end_us, facts.end_us);
  check.Equal("training_us", row.training_us, facts.training_us);
  check.Equal("trained_resource", row.trained_resource, facts.trained_resource);
}

class JobCheck {
 public:
  JobCheck(Store& store, const JobRow& row, CheckSummary& summary, const TellFinding& tell)
      : store_(store), row_(row), summary_(summary), tell_(tell) {}

  void Run() {
    absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row_.spec);
    if (!spec.ok()) return Tell(MessageOf(spec.status()));
    external_ = spec->trainer().external();
    JobState state(ToSearchSpec(*spec));
    JobRow expected = row_;
    expected.state = "running";
    expected.reason = "";
    expected.end_us = 0;
    absl::Status status =
        ApplyFacts(store_.facts, row_, state, [&](const Fact& fact) { NoteInRow(fact, expected); });
    summary_.facts += state.last_sequence();
    // The rows derived from facts can only be compared with all facts.
    if (!status.ok()) return tell_(MessageOf(status));
    const RowCheck check(fmt::format("job {}", row_.id), tell_);
    check.Equal("last_sequence", row_.last_sequence, state.last_sequence());
    check.Equal("state", row_.state, expected.state);
    check.Equal("reason", row_.reason, expected.reason);
    check.Equal("end_us", row_.end_us, expected.end_us);
    for (const TrialState& trial : state.trials()) {
      CheckTrial(trial);
      CheckAttempts(trial);
    }
    const auto trials = static_cast<int64_t>(state.trials().size());
    summary_.trials += trials;
    absl::StatusOr<int64_t> rows = store_.trials.Count(row_.key, {});
    if (!rows.ok()) return Tell(MessageOf(rows.status()));
    if (*rows != trials) Tell(fmt::format("there are {} rows of trials, its facts say {}", *rows, trials));
  }

 private:
  void Tell(const std::string& text) const { tell_(fmt::format("job {}: {}", row_.id, text)); }

  void CheckTrial(const TrialState& trial) {
    absl::StatusOr<std::optional<TrialRow>> row = store_.trials.Find(row_.key, trial.number);
    if (!row.ok()) return Tell(fmt::format("trial {}: {}", trial.number, MessageOf(row.status())));
    if (!*row) return Tell(fmt::format("trial {} has no row", trial.number));
    CompareTrial(**row, MakeTrialRow(trial),
                 RowCheck(fmt::format("job {}: trial {}", row_.id, trial.number), tell_));
  }

  void CheckAttempts(const TrialState& trial) {
    absl::StatusOr<std::vector<AssignmentRow>> ranks = store_.assignments.OfTrial(row_.key, trial.number);
    if (!ranks.ok()) return Tell(fmt::format("trial {}: {}", trial.number, MessageOf(ranks.status())));
    bool held = false;
    for (const AssignmentRow& rank : *ranks) {
      if (rank.attempt > trial.attempts) {
        Tell(fmt::format("assignment {} is of attempt {}, but trial {} has had {}", rank.id, rank.attempt,
                         trial.number, trial.attempts));
      }
      if (rank.state == RankState::kGone) continue;
      held = true;
      if (!trial.live || rank.attempt != trial.attempts) {
        Tell(fmt::format("assignment {} is {}, but the attempt has ended", rank.id, TextOf(rank.state)));
      }
    }
    if (trial.live && !external_ && !held) {
      Tell(fmt::format("trial {} has a live attempt that no worker holds", trial.number));
    }
    summary_.assignments += static_cast<int64_t>(ranks->size());
  }

  Store& store_;
  const JobRow& row_;
  CheckSummary& summary_;
  const TellFinding& tell_;
  bool external_ = false;
};

absl::Status CheckRows(Store& store, const std::string& state_dir, BlobPlace* place, CheckSummary& summary,
                       const TellFinding& tell) {
  absl::Status status = CheckAssignments(store.database(), tell);
  if (status.ok()) status = CheckLooseRows(store.database(), tell);
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<JobRow>> jobs = store.jobs.List(std::numeric_limits<int64_t>::max(), -1);
  if (!jobs.ok()) return jobs.status();
  for (auto row = jobs->rbegin(); row != jobs->rend(); ++row) JobCheck(store, *row, summary, tell).Run();
  summary.jobs = static_cast<int64_t>(jobs->size());
  status = CheckBlobs(store.database(), state_dir, place, summary, tell);
  if (!status.ok()) return status;
  for (const bool in_rows : {true, false}) {
    if (in_rows && IsPostgres(store.database().file())) continue;
    const absl::StatusOr<int64_t> objects = in_rows ? CheckEndpointRows(store.database(), tell)
                                                    : CheckEndpointFolder(EndpointFolder(state_dir), tell);
    if (!objects.ok()) return objects.status();
    summary.objects += *objects;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CheckSummary> CheckDatabase(const std::string& file, const std::string& state_dir,
                                           const TellFinding& tell, BlobPlace* place) {
  CheckSummary summary;
  const TellFinding count = [&](const std::string& text) {
    ++summary.findings;
    tell(text);
  };
  absl::StatusOr<std::unique_ptr<Database>> database = OpenToCheck(file);
  if (!database.ok()) return database.status();
  absl::Status status = CheckVersion(**database);
  if (!status.ok()) return status;
  summary.version = NewestVersion();
  const std::unique_ptr<Store> store = Store::Over(*std::move(database));
  status = store->Read([&]() -> absl::Status {
    absl::Status looked = CheckFile(store->database(), count);
    if (!looked.ok()) return looked;
    return CheckRows(*store, state_dir, place, summary, count);
  });
  // Damage may also end the check itself.
  if (!status.ok()) count(MessageOf(status));
  return summary;
}

std::string Text(const CheckSummary& s, const std::string& file) {
  const char* unseen =
      s.blobs > 0 && !s.has_state_dir ? " (their files were not checked: there is no state directory)" : "";
  const std::string seen = fmt::format(
      "version {}, {} jobs with {} facts, {} trials, {} assignments, {} artifacts with {} blobs{}{}{}",
      s.version, s.jobs, s.facts, s.trials, s.assignments, s.artifacts, s.blobs, unseen,
      s.place.empty() ? "" : " in " + s.place,
      s.objects > 0 ? fmt::format(", {} objects of S3", s.objects) : "");
  if (s.sound()) return fmt::format("{} is sound: {}", file, seen);
  return fmt::format("{} is not sound: {} findings ({}); see \"Checking a database\" in docs/operations.md",
                     file, s.findings, seen);
}

}  // namespace winnow
