#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/engine/answers/requester.h"
#include "server/engine/blob_index.h"
#include "server/engine/context.h"
#include "server/engine/jobs.h"
#include "server/engine/projects/stored_bytes.h"
#include "server/engine/workers.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// Where the ranks of an attempt look for files, and where the trial's files are.
struct StoragePlaces {
  std::vector<std::string> ranks;  // storage ids by rank
  std::string home;                // storage id of rank 0 of the attempt before; "": there was none
  TrialNumber of = 0;              // whose checkpoint it is: the trial's own, or that of its origin
  bool idle = false;  // the attempt before reported nothing: it may never have had the checkpoint
};

// The checkpoints, model files and sources in the artifact store: which there are, which attempt is given
// one, which are not needed any more, and which model files workers are to send. It keeps the newest
// checkpoint of each trial that may train on, and the checkpoint and the model file of each trial that its
// job hands out: the best one, or those of the front. Another trial's model file is fetched when somebody
// asks for it, and kept for a while. Owner: the coordinator thread; methods run inside the batch's
// transaction unless they say otherwise.
class Artifacts {
 public:
  // Null `blobs`: nothing is ever kept.
  Artifacts(Context& context, const Jobs& jobs, const Workers& workers, BlobIndex* blobs)
      : context_(context), jobs_(jobs), workers_(workers), blobs_(blobs) {}

  // Reads everything anew. An artifact that lacks a blob counts as gone. REQUIRES jobs and workers are
  // loaded.
  absl::Status Load();

  // FAILED_PRECONDITION: fenced, not wanted, or (payload kMissingBlob) a blob is not there; NOT_FOUND names
  // the job; PERMISSION_DENIED: it is for a worker with another token than the caller's to send it. REQUIRES
  // a manifest that CheckManifest takes. `rank`: that of the request's assignment; null if that is gone.
  absl::Status Put(const v1::PutArtifactRequest& request, const Rank* rank, const Requester& by);
  // The files of a new job's source. ClaimSource gives FAILED_PRECONDITION, with the payload kMissingBlob, if
  // a blob is not there; AddSource REQUIRES that it gave OK in this batch.
  absl::Status ClaimSource(const v1::Manifest& manifest);
  void AddSource(const StoredOfJob& job, const v1::Manifest& manifest);
  // For a model file that GetArtifact has not found (trial 0: the best): asks the workers that have the
  // trial's folder for it, which are added to `asked`. Never OK: NOT_FOUND, with the payload kModelComes
  // where it comes; FAILED_PRECONDITION with the worker's reason if that cannot send it; else the status says
  // where it is, or why there is none.
  absl::Status RequestModelFile(const v1::GetArtifactRequest& request, std::set<std::string>& asked);
  // The worker cannot send a model file. Does nothing if it was not asked for that one.
  void NoteProblem(const WorkerEntry& worker, const std::string& job_id, TrialNumber trial,
                   std::string reason);
  // The blob is damaged: drops every artifact that has it.
  void LoseBlob(const std::string& digest);
  void ForgetJob(int64_t job);
  // What the store has of whom.
  const StoredBytes& stored() const { return stored_; }
  // An ended job hands out `chosen` in place of `seen`, its trial of the best value: asks for the model file
  // of that, as of a best trial. `asked` as above.
  void Choose(const JobRow& row, TrialNumber seen, TrialNumber chosen, std::set<std::string>& asked);

  // Whether the store has a checkpoint of at least that level.
  bool CanRestore(int64_t job, TrialNumber trial, int64_t from) const;
  // Fills in restore, keep_checkpoints and take_checkpoint. `attempt` is not started yet.
  void Describe(int64_t job, const StoragePlaces& places, v1::Assignment& message);

  // At the batch's end, before rows are written: drops what no trial needs any more, and asks for the model
  // file of a best trial that has ended. Gives the ids of the workers whose next answer is to say so.
  std::set<std::string> Settle();
  // The model files that the worker is asked for.
  void AddWanted(const WorkerEntry& worker, v1::SyncResponse& response) const;

  void Begin() { one_storage_.reset(); }
  void Committed();  // outside of a transaction

 private:
  using Key = std::pair<int64_t, TrialNumber>;  // job, trial
  struct Kept {
    std::optional<int64_t> checkpoint;  // its level
    bool model = false;
  };
  struct Wanted {
    std::string job_id;
    std::string worker;        // that ran rank 0 last
    std::string storage;       // its
    std::string problem = {};  // why it was not sent when that was tried last
    // somebody waits for it until then; 0: the job hands it out, and it stays wanted
    int64_t until_us = 0;
  };

  absl::Status FindLost();
  void DropAsked();
  void DropAskedOf(Key key);
  void ForgetAsked(int64_t job, const std::set<TrialNumber>& handed_out);
  absl::StatusOr<std::set<TrialNumber>> HandedOutByEnded(const JobRow& row, const v1::TuningJobSpec& spec);
  absl::Status WantOfEnded();
  absl::Status PutCheckpoint(const v1::PutArtifactRequest& request, const Rank* rank, const Requester& by);
  // Whether a worker that was asked for that model may call with the caller's token.
  bool MaySend(const Wanted& wanted, const Requester& by) const;
  absl::Status PutModel(const v1::PutArtifactRequest& request, const Requester& by);
  absl::Status Record(const JobRow& job, v1::Artifact artifact);
  absl::StatusOr<std::vector<BlobRow>> Claim(const v1::Manifest& manifest);
  // `job`: whose it is; its bytes do not count.
  void Store(StoredOfJob job, const ArtifactRow& row, const std::vector<BlobRow>& blobs);
  void Dropped(int64_t job, const DroppedArtifacts& dropped);
  void Drop(Key key, ArtifactKind kind);
  void DropUnneeded(const OpenJob& job, TrialNumber trial, const std::set<TrialNumber>& handed_out);
  void DropModels(int64_t job, const std::set<TrialNumber>& but);
  void SettleJob(const OpenJob& job, std::set<std::string>& asked);
  void Want(Key key, const std::string& job_id, std::set<std::string>& asked, int64_t until_us = 0);
  bool OneStorage();

  Context& context_;
  const Jobs& jobs_;
  const Workers& workers_;
  BlobIndex* const blobs_;
  std::map<Key, Kept> kept_;
  StoredBytes stored_;
  std::map<int64_t, std::set<TrialNumber>> handed_out_;  // by job, if open or with a front
  std::map<Key, Wanted> wanted_;                         // models
  std::map<Key, int64_t> asked_;     // models that are kept only since they were asked for, until when
  std::set<std::string> lost_;       // blobs that were missing at Load
  std::set<std::string> unused_;     // to be forgotten once the batch is committed
  std::optional<bool> one_storage_;  // of this batch: whether all workers share their folder
};

}  // namespace winnow
