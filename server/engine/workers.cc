#include "server/engine/workers.h"

#include <algorithm>

#include "base/mutant.h"

namespace winnow {

RankShape WorkerEntry::Used() const {
  RankShape used{used_slots};
  for (const auto& [id, rank] : held) {
    used.cpus += rank->row.cpus;
    used.memory_gib += rank->row.memory_gib;
  }
  return used;
}

bool WorkerEntry::MayCallWith(const std::string& token, const std::vector<std::string>& projects) const {
  if (caller) return *caller == token;
  if (token.empty()) return true;
  return row.token.empty() ? row.projects == projects : row.token == token;
}

WorkerRoom WholeRoom(const WorkerRow& worker) {
  WorkerRoom room{worker.id, worker.slots, worker.storage_id, worker.labels};
  if (worker.cpus > 0) room.free_cpus = worker.cpus;
  if (worker.memory_gib > 0) room.free_memory_gib = worker.memory_gib;
  for (const WorkerGpu& gpu : worker.gpus) room.gpus.push_back({gpu.id});
  room.ends_us = worker.ends_us;
  room.projects = worker.projects;
  room.loopback_of = worker.loopback_of;
  room.encrypts = true;
  if (worker.ends_us != 0) room.life_us = worker.ends_us - worker.register_us;
  return room;
}

namespace {

void LeaveOutFaulty(const WorkerRow& worker, WorkerRoom* room) {
  for (const WorkerGpu& gpu : worker.gpus) {
    if (gpu.fault.empty()) continue;
    std::erase_if(room->gpus, [&gpu](const GpuRoom& other) { return other.id == gpu.id; });
  }
}

}  // namespace

void HeldSlots::Set(int32_t slots, int64_t now_us) {
  if (since_us_ == 0) begin_us_ = now_us;
  if (since_us_ != 0) sum_ += static_cast<double>(slots_) * static_cast<double>(now_us - since_us_);
  since_us_ = now_us;
  slots_ = slots;
}

double HeldSlots::TakeMean(int64_t now_us) {
  Set(slots_, now_us);
  const auto time_us = static_cast<double>(now_us - begin_us_);
  begin_us_ = now_us;
  const double sum = std::exchange(sum_, 0);
  return time_us > 0 ? sum / time_us : slots_;
}

WorkerRoom HealthyRoom(const WorkerRow& worker) {
  WorkerRoom room = WholeRoom(worker);
  LeaveOutFaulty(worker, &room);
  return room;
}

WorkerRoom WorkerEntry::Room(bool with_faulty) const {
  WorkerRoom room = WholeRoom(row);
  room.encrypts = encrypts;
  const RankShape used = Used();
  room.free_slots -= used.slots;
  room.free_cpus -= used.cpus;
  room.free_memory_gib -= used.memory_gib;
  if (room.gpus.empty()) return room;
  for (const auto& [id, rank] : held) {
    if (WINNOW_MUTANT("a device is free as soon as its rank is to stop") && rank->revoked()) continue;
    TakeGpus(rank->row.gpus, rank->row.gpu_share, &room);
  }
  if (!with_faulty) LeaveOutFaulty(row, &room);
  return room;
}

absl::Status Workers::Load() {
  all_.clear();
  present_.clear();
  roomy_.clear();
  roomy_ahead_.clear();
  names_.clear();
  changed_.clear();
  if (absl::Status status = marks_.Load(); !status.ok()) return status;
  absl::StatusOr<std::vector<WorkerRow>> rows = context_.store.workers.List(true);
  if (!rows.ok()) return rows.status();
  for (WorkerRow& row : *rows) {
    WorkerEntry& worker = all_[row.id];
    worker.row = std::move(row);
    if (worker.present()) {
      RenewLease(worker);
    } else {
      names_.try_emplace(worker.row.name, worker.row.id);
    }
  }
  return absl::OkStatus();
}

WorkerEntry* Workers::Find(const std::string& id) {
  auto found = all_.find(id);
  return found == all_.end() ? nullptr : &found->second;
}

WorkerEntry* Workers::FindPresentByName(const std::string& name) {
  const auto known = names_.find(name);
  if (known == names_.end()) return nullptr;
  WorkerEntry& worker = all_.at(known->second);
  return worker.present() && worker.row.name == name ? &worker : nullptr;
}

bool Workers::KnowsName(const std::string& name) const {
  return marks_.Find(name) != nullptr || names_.contains(name);
}

std::vector<const WorkerEntry*> Workers::Present() const {
  std::vector<const WorkerEntry*> workers;
  workers.reserve(present_.size());
  for (const std::string& id : present_) workers.push_back(&all_.at(id));
  return workers;
}

std::map<std::string, const WorkerEntry*> Workers::NamesFrom(const std::string& beginning) const {
  std::map<std::string, const WorkerEntry*> names;
  for (auto at = names_.lower_bound(beginning); at != names_.end() && at->first.starts_with(beginning); ++at)
    names.emplace(at->first, &all_.at(at->second));
  return names;
}

void Workers::NoteRoom(const WorkerEntry& worker) {
  const bool free = worker.used_slots < worker.row.slots;
  const auto note = [&worker](bool belongs, std::set<std::string>& workers) {
    if (belongs) {
      workers.insert(worker.row.id);
    } else {
      workers.erase(worker.row.id);
    }
  };
  note(worker.present(), present_);
  note(worker.live() && free, roomy_);
  note(worker.live() && !free && worker.used_slots < worker.row.slots + worker.ahead, roomy_ahead_);
}

WorkerEntry& Workers::Register(WorkerRow row) {
  context_.Note(context_.store.workers.Put(row));
  WorkerEntry& worker = all_[row.id];
  worker.row = std::move(row);
  return worker;
}

void Workers::RenewLease(WorkerEntry& worker) {
  std::string& named = names_[worker.row.name];
  if (named != worker.row.id) named = worker.row.id;
  NoteRoom(worker);
  context_.deadlines.Set(Deadlines::Kind::kLease, worker.row.id,
                         context_.steady_us() + context_.options.lease_us);
}

void Workers::RenewLeases() {
  const std::set<std::string> present = present_;
  for (const std::string& id : present) RenewLease(all_.at(id));
}

void Workers::GiveUp(WorkerEntry& worker, WorkerState state) {
  worker.row.state = state;
  worker.waiting.reset();
  NoteRoom(worker);
  context_.Note(context_.store.workers.Put(worker.row));
  context_.deadlines.Clear(Deadlines::Kind::kLease, worker.row.id);
  NoteChange(worker.row.id);
}

void Workers::Hold(Rank& rank) {
  WorkerEntry& worker = all_.at(rank.row.worker);
  worker.held[rank.row.id] = &rank;
  worker.used_slots += rank.row.slots - (WINNOW_MUTANT("a rank takes a slot less than it should") ? 1 : 0);
  worker.held_slots.Set(worker.SlotsInUse(), context_.steady_us());
  NoteRoom(worker);
  NoteChange(worker.row.id);
}

void Workers::Release(Rank& rank) {
  WorkerEntry& worker = all_.at(rank.row.worker);
  worker.held.erase(rank.row.id);
  worker.used_slots -= rank.row.slots;
  worker.held_slots.Set(worker.SlotsInUse(), context_.steady_us());
  NoteRoom(worker);
  NoteChange(worker.row.id);
}

std::vector<WorkerRoom> Workers::Rooms() const {
  std::vector<WorkerRoom> rooms;
  for (const std::string& id : roomy_) {
    const WorkerEntry& worker = all_.at(id);
    if (marks_.Find(worker.row.name) != nullptr) continue;
    rooms.push_back(worker.Room(false));
  }
  return rooms;
}

std::vector<WorkerRoom> Workers::RoomsOfAll() const {
  std::vector<WorkerRoom> rooms;
  for (const WorkerEntry* worker : Present()) {
    if (worker->live() && marks_.Find(worker->row.name) == nullptr) rooms.push_back(worker->Room(false));
  }
  return rooms;
}

std::vector<WorkerRoom> Workers::RoomsAhead() const {
  std::vector<WorkerRoom> rooms;
  for (const std::string& id : roomy_ahead_) {
    const WorkerEntry& worker = all_.at(id);
    if (marks_.Find(worker.row.name) != nullptr) continue;
    rooms.push_back(WholeRoom(worker.row));
    rooms.back().free_slots += worker.ahead - worker.used_slots;
  }
  return rooms;
}

std::vector<WorkerRoom> Workers::WholeRooms() const {
  std::vector<WorkerRoom> rooms;
  for (const WorkerEntry* worker : Present()) {
    if (!worker->live() || marks_.Find(worker->row.name) != nullptr) continue;
    rooms.push_back(HealthyRoom(worker->row));
    rooms.back().encrypts = worker->encrypts;
  }
  return rooms;
}

bool Workers::Share(const std::vector<std::string>& ids, const std::string& storage_id) const {
  return std::all_of(ids.begin(), ids.end(),
                     [&](const std::string& id) { return row(id).storage_id == storage_id; });
}

std::set<std::string> Workers::PresentWith(const std::string& storage_id) const {
  std::set<std::string> ids;
  for (const WorkerEntry* worker : Present()) {
    if (worker->row.storage_id == storage_id) ids.insert(worker->row.id);
  }
  return ids;
}

}  // namespace winnow
