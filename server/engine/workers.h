#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/placement.h"
#include "server/engine/context.h"
#include "server/engine/rank.h"
#include "server/engine/worker_marks.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// How many slots a worker held on average. Times are of Clock::steady_us.
class HeldSlots {
 public:
  // The worker holds `slots` from `now_us` on.
  void Set(int32_t slots, int64_t now_us);
  // The mean since the last call, or since the first Set.
  double TakeMean(int64_t now_us);

 private:
  int32_t slots_ = 0;
  int64_t since_us_ = 0;  // from when on slots_ counts; 0: nothing was told yet
  int64_t begin_us_ = 0;  // of the time that the mean is over
  double sum_ = 0;        // slots times microseconds until since_us_
};

struct WorkerEntry {
  WorkerRow row;
  int32_t used_slots = 0;             // by what it holds
  std::map<std::string, Rank*> held;  // ranks that are not gone, by assignment id
  std::string leaving_reason;         // its own words; "": none
  std::string end_words;              // what its engine has said of its end; "": nothing
  // The token (its id; "": none) that its first call since the server's start came with.
  std::optional<std::string> caller;
  HeldSlots held_slots;   // those of its slots that are in use, over time
  int32_t ahead = 0;      // ranks that it takes beyond its slots, as its newest call said
  bool encrypts = false;  // its ranks can encrypt what they tell others; false too if it has not called yet
  // The programs that wait on it, as its newest call said. Absent: none has come since the server's start.
  std::optional<std::vector<v1::WaitingTrainer>> waiting;

  // Whether a call with that token (its id; "": none), which is bound to `projects`, may be the worker's:
  // with the token that it has called with. Before its first call since the server's start, so may be a call
  // without one (of the server's own user, or tokens are not required), and where its token is not known, one
  // with any token that is bound to the same projects.
  bool MayCallWith(const std::string& token, const std::vector<std::string>& projects) const;

  bool live() const { return row.state == WorkerState::kLive; }
  bool lost() const { return row.state == WorkerState::kLost; }
  bool present() const { return live() || row.state == WorkerState::kLeaving; }
  // The slots, processors and memory that its ranks take.
  RankShape Used() const;
  // used_slots, without what it holds beyond its slots.
  int32_t SlotsInUse() const { return std::min(used_slots, row.slots); }
  // What its ranks leave. `with_faulty`: its GPUs with a fault are in it too.
  WorkerRoom Room(bool with_faulty) const;
};

// The workers: their rows, leases, marks and free room. Owner: the coordinator thread; every method runs
// inside the batch's transaction.
class Workers {
 public:
  explicit Workers(Context& context) : context_(context), marks_(context) {}

  // Reads everything anew. Every worker that was present gets a whole lease; none holds anything yet.
  absl::Status Load();

  // Null: unknown.
  WorkerEntry* Find(const std::string& id);
  WorkerEntry* FindPresentByName(const std::string& name);
  // Whether any worker, or a mark, ever had that name.
  bool KnowsName(const std::string& name) const;
  // REQUIRES a known id.
  const WorkerRow& row(const std::string& id) const { return all_.at(id).row; }
  // Every worker that ever registered. With pools, these are far more than are present.
  const std::map<std::string, WorkerEntry>& all() const { return all_; }
  // The workers that are live or leaving, ordered by id.
  std::vector<const WorkerEntry*> Present() const;
  // The names with that beginning that workers ever had, with the newest worker of each.
  std::map<std::string, const WorkerEntry*> NamesFrom(const std::string& beginning) const;

  WorkerEntry& Register(WorkerRow row);
  void RenewLease(WorkerEntry& worker);
  void RenewLeases();
  // The worker is lost or has left: `state` is kLost or kGone. The caller ends its ranks.
  void GiveUp(WorkerEntry& worker, WorkerState state);

  // The rank takes its share of its worker until Release.
  void Hold(Rank& rank);
  void Release(Rank& rank);
  // The free room of the workers that may be given something.
  std::vector<WorkerRoom> Rooms() const;
  // The room for ranks of one slot on workers whose slots are all taken: how many more they may hold.
  std::vector<WorkerRoom> RoomsAhead() const;
  // The room of all workers that may be given something, also of those that have none, in order of their ids.
  std::vector<WorkerRoom> RoomsOfAll() const;
  // The workers that may be given something, as if they held nothing. GPUs with a fault are in neither.
  std::vector<WorkerRoom> WholeRooms() const;
  // Whether all of them have that storage. REQUIRES known ids.
  bool Share(const std::vector<std::string>& ids, const std::string& storage_id) const;
  // The current time in microseconds, on the clock of WorkerRow::ends_us.
  int64_t wall_us() const { return context_.wall_us(); }
  // Ids of those present that have that storage.
  std::set<std::string> PresentWith(const std::string& storage_id) const;

  WorkerMarks& marks() { return marks_; }
  const WorkerMarks& marks() const { return marks_; }

  // The worker's state, or the list of ranks wanted of it, has changed: SyncCalls looks at its call after the
  // commit.
  void NoteChange(const std::string& id) { changed_.insert(id); }
  std::set<std::string> TakeChanged() { return std::exchange(changed_, {}); }

 private:
  // Keeps present_ and roomy_ up to date. Called when the worker's state, its slots or its ranks have
  // changed.
  void NoteRoom(const WorkerEntry& worker);

  Context& context_;
  std::map<std::string, WorkerEntry> all_;
  std::set<std::string> present_;             // live and leaving workers
  std::set<std::string> roomy_;               // live workers that have a free slot
  std::set<std::string> roomy_ahead_;         // live workers that have none, and may hold more ranks
  std::map<std::string, std::string> names_;  // the newest worker of each name, or one that is gone
  std::set<std::string> changed_;
  WorkerMarks marks_;
};

// The room of a worker that holds nothing, with those of its GPUs that have a fault now. It counts as one
// that encrypts.
WorkerRoom WholeRoom(const WorkerRow& worker);
// The same without them.
WorkerRoom HealthyRoom(const WorkerRow& worker);

}  // namespace winnow
