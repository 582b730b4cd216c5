#include "server/engine/dispatch.h"

#include <optional>
#include <set>
#include <vector>

#include "base/mutant.h"
#include "scheduler/decide.h"
#include "scheduler/fair_share.h"
#include "scheduler/reservation.h"
#include "scheduler/suggest.h"
#include "server/engine/feasible.h"

namespace winnow {
namespace {

class Round {
 public:
  Round(Jobs& jobs, Workers& workers, Attempts& attempts, Artifacts& artifacts, Recorder& recorder)
      : jobs_(jobs), workers_(workers), attempts_(attempts), artifacts_(artifacts), recorder_(recorder) {
    for (const auto& [key, job] : jobs_.all()) {
      if (job->state.ended() || job->external()) continue;
      order_.insert(job->claim());
      if (!job->reserved.empty()) holder_ = job.get();
    }
  }

  void Run() {
    if (order_.empty()) return;
    rooms_ = workers_.Rooms();
    while (!order_.empty() && !rooms_.empty()) {
      const Claim claim = *order_.begin();
      order_.erase(order_.begin());
      Serve(*jobs_.FindKey(claim.job), claim);
    }
  }

 private:
  enum class Placed { kYes, kNoWork, kNoRoom };

  void Serve(OpenJob& job, const Claim& claim) {
    const bool bound = holder_ != nullptr && Binds(holder_->claim(), claim);
    const std::vector<WorkerRoom> left = bound ? LeftTo(job) : std::vector<WorkerRoom>();
    const std::vector<WorkerRoom>& rooms = bound ? left : rooms_;
    if (rooms.empty()) return;
    GangRequest gang;
    const Placed placed = PlaceOne(job, rooms, &gang);
    if (placed == Placed::kNoRoom && !bound) return Keep(job, gang);
    if (placed != Placed::kNoRoom && holder_ == &job) Release();
    if (placed == Placed::kYes) order_.insert(job.claim());
  }

  // The rooms that the reservation of another job leaves to this one.
  std::vector<WorkerRoom> LeftTo(const OpenJob& job) {
    if (!holder_->shape.UsesGpus() || job.shape.UsesGpus()) return Unreserved(rooms_, holder_->reserved);
    GangRequest gang;
    gang.nodes = holder_->state.spec().MostNodes();
    gang.shape = holder_->shape;
    return BesideGpuGang(rooms_, whole(), holder_->reserved, gang);
  }

  // Keeps workers for the job's gang in place of another's, which comes after it.
  void Keep(OpenJob& job, const GangRequest& gang) {
    Reservation chosen = Reserve(rooms_, whole(), gang, job.reserved);
    if (chosen.empty()) {
      if (holder_ == &job) Release();
      return;  // not even empty workers would hold it
    }
    if (holder_ != nullptr) Release();
    job.reserved = std::move(chosen);
    holder_ = &job;
  }

  void Release() {
    holder_->reserved.clear();
    holder_ = nullptr;
  }

  Placed PlaceOne(OpenJob& job, const std::vector<WorkerRoom>& rooms, GangRequest* gang) {
    while (true) {
      std::optional<Admission> admission = Admit(job.state);
      if (!admission) return AskSearchModel(job);
      if (admission->trial > 0) {
        // A repeat begins from scratch.
        const int64_t from = job.state.spec().repeats > 0 ? 0 : admission->from;
        *gang = attempts_.Gang(job, admission->trial, from);
        gang->nodes = NodesOf(job.state, *admission);
        gang->shape = job.shape;
        const std::optional<std::vector<std::string>> workers = Place(rooms, *gang);
        if (!workers) return Placed::kNoRoom;
        if (from > 0 && !WINNOW_MUTANT("a trial goes on where its checkpoint is not") &&
            !workers_.Share(*workers, gang->storage_id) &&
            !artifacts_.CanRestore(job.row.key, admission->trial, from)) {
          // Then it has to train all again, which the limits must allow: it is admitted anew.
          if (admission->decision) recorder_.Record(job, ToBody(*admission->decision));
          recorder_.Record(job, CheckpointLost{admission->trial});
          continue;
        }
        if (admission->decision) recorder_.Record(job, ToBody(*admission->decision));
        std::vector<RankPlace> ranks;
        for (const std::string& worker : *workers)
          ranks.push_back({worker, Take(worker, job.shape, &rooms_)});
        recorder_.StartAttempt(job, admission->trial, admission->from, admission->to, ranks);
        std::erase_if(rooms_, [](const WorkerRoom& room) { return room.free_slots <= 0; });
        return Placed::kYes;
      }
      recorder_.Record(job, ToBody(*admission->decision));
    }
  }

  // There is no work, unless the job's search model knows some. For a gang it is asked before there is room
  // for all ranks: while it thought, others would take that room, and only what is to be placed can be kept
  // waiting.
  Placed AskSearchModel(OpenJob& job) {
    const int32_t nodes = job.state.spec().LeastNodes();
    if (WantsSuggestion(job.state) &&
        (CapacityOf(rooms_, job.shape) >= nodes || CapacityOf(whole(), job.shape) >= nodes)) {
      jobs_.AskSearchModel(job);
    }
    return Placed::kNoWork;
  }

  const std::vector<WorkerRoom>& whole() {
    if (whole_.empty()) whole_ = workers_.WholeRooms();
    return whole_;
  }

  Jobs& jobs_;
  Workers& workers_;
  Attempts& attempts_;
  Artifacts& artifacts_;
  Recorder& recorder_;
  std::set<Claim> order_;
  OpenJob* holder_ = nullptr;  // for whose gang workers are kept
  std::vector<WorkerRoom> rooms_;
  std::vector<WorkerRoom> whole_;
};

}  // namespace

void Dispatch(Jobs& jobs, Workers& workers, Attempts& attempts, Artifacts& artifacts, Recorder& recorder) {
  Round(jobs, workers, attempts, artifacts, recorder).Run();
}

}  // namespace winnow
