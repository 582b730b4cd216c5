#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/placement.h"
#include "server/engine/context.h"
#include "server/engine/held_slots.h"
#include "server/engine/rank.h"
#include "server/engine/worker_marks.h"

namespace winnow {

struct WorkerEntry {
  WorkerRow row;
  int32_t used_slots = 0;             // by what it holds
  std::map<std::string, Rank*> held;  // by assignment id; not gone: each takes slots, processors and memory
  std::string leaving_reason;         // as it says; "": none
  std::optional<std::string> caller;  // who spoke first for it since the server started: a token's id, "": none
  HeldSlots held_slots;               // as used_slots, over time

  bool live() const { return row.state == WorkerState::kLive; }
  bool lost() const { return row.state == WorkerState::kLost; }
  bool present() const { return live() || row.state == WorkerState::kLeaving; }
  // What all that it holds takes of it.
  RankShape Used() const;
};

// The workers: their rows, leases and marks, and the room that they have. Owner: the coordinator thread; every method runs
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
  const std::map<std::string, WorkerEntry>& all() const { return all_; }

  WorkerEntry& Register(WorkerRow row);
  void RenewLease(WorkerEntry& worker);
  void RenewLeases();
  // It is lost, or has left: `state` is kLost or kGone. What it holds is the caller's to end.
  void GiveUp(WorkerEntry& worker, WorkerState state);

  // The rank takes its share of its worker, until it is released.
  void Hold(Rank& rank);
  void Release(Rank& rank);
  // What workers that may be given something have free.
  std::vector<WorkerRoom> Rooms() const;
  // The same workers, as if they held nothing.
  std::vector<WorkerRoom> WholeRooms() const;
  // Whether all of them have that storage. REQUIRES known ids.
  bool Share(const std::vector<std::string>& ids, const std::string& storage_id) const;
  // Ids of those present that have that storage.
  std::set<std::string> PresentWith(const std::string& storage_id) const;

  WorkerMarks& marks() { return marks_; }
  const WorkerMarks& marks() const { return marks_; }

  // Its state, or what is wanted of it, has changed: its held call is to be looked at after the commit.
  void NoteChange(const std::string& id) { changed_.insert(id); }
  std::set<std::string> TakeChanged() { return std::exchange(changed_, {}); }

 private:
  // To be called when its state, its slots or what it holds has changed.
  void NoteRoom(const WorkerEntry& worker);

  Context& context_;
  std::map<std::string, WorkerEntry> all_;
  std::set<std::string> roomy_;               // live workers that have a free slot
  std::map<std::string, std::string> names_;  // the newest worker of each name; it may be gone
  std::set<std::string> changed_;
  WorkerMarks marks_;
};

// The room of a worker that holds nothing.
WorkerRoom WholeRoom(const WorkerRow& worker);

}  // namespace winnow
