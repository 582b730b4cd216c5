#include "server/engine/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "scheduler/decide.h"
#include "scheduler/fair_share.h"
#include "scheduler/part_time.h"
#include "scheduler/preemption.h"
#include "scheduler/reservation.h"
#include "scheduler/suggest.h"
#include "server/engine/feasible.h"

namespace winnow {
namespace {

// Whether the job's paused trials have no checkpoint but their suspended programs.
bool Suspends(const OpenJob& job) {
  return job.state.spec().suspends && !WINNOW_MUTANT("a trial goes on where its program is not");
}

// Where a suspended program is with which its trial can go on.
enum class Program { kThere, kNotKnown, kNowhere };

// Whether it is on the worker that trained the part before. Not known: the worker has not called since the
// server started.
Program FindProgram(const Workers& workers, const OpenJob& job, const Admission& admission,
                    const std::string& worker) {
  const auto found = workers.all().find(worker);
  if (found == workers.all().end()) return Program::kNowhere;
  const WorkerEntry& home = found->second;
  if (!home.live() || workers.marks().Find(home.row.name) != nullptr) return Program::kNowhere;
  if (!home.waiting) return Program::kNotKnown;
  const auto is_its = [&](const v1::WaitingTrainer& program) {
    return program.suspended() && program.job_id() == job.row.id && program.trial() == admission.trial &&
           program.resource() == admission.from;
  };
  const bool there = std::any_of(home.waiting->begin(), home.waiting->end(), is_its);
  return there ? Program::kThere : Program::kNowhere;
}

// A worker has the answer to what it tells the server within this time, as a rule.
constexpr int64_t kAnswerUs = 10'000;

// How many ranks of the job, whose parts are short, a worker may hold beyond its slots: as many as those of
// its slots that have short parts can train until the server has answered, if they are quick ones, and one
// more, because a program is forked meanwhile. 0: what a rank takes of a worker is more than a slot. A part
// that waits for a slot takes no node time, which a limit of it would count.
int32_t RanksAhead(const OpenJob& job, const WorkerEntry& worker, int64_t short_ranks) {
  const SearchSpec& spec = job.state.spec();
  const RankShape& shape = job.shape;
  const bool is_plain = shape.slots == 1 && shape.cpus == 0 && shape.memory_gib == 0 && !shape.UsesGpus() &&
                        spec.MostNodes() == 1 && !spec.suspends && spec.limits.max_node_time_us == 0;
  const int64_t running = short_ranks - (worker.used_slots - worker.row.slots);  // those ahead are short
  if (!is_plain || running <= 0) return 0;
  const int64_t most = 1 + running * kAnswerUs / job.quick_us;
  return static_cast<int32_t>(std::min<int64_t>(most, worker.ahead));
}

bool HasRoom(const std::vector<WorkerRoom>& rooms, const std::string& worker, const RankShape& shape) {
  return std::any_of(rooms.begin(), rooms.end(), [&](const WorkerRoom& room) {
    return room.worker_id == worker && Capacity(room, shape) > 0;
  });
}

class Round {
 public:
  Round(const Context& context, Jobs& jobs, Workers& workers, Attempts& attempts, Artifacts& artifacts,
        Recorder& recorder, ProjectBook& projects)
      : context_(context),
        jobs_(jobs),
        workers_(workers),
        attempts_(attempts),
        artifacts_(artifacts),
        recorder_(recorder),
        projects_(projects) {
    if (projects_.on()) FindGroups();
    for (const auto& [key, job] : jobs_.all()) {
      if (job->state.ended() || job->external()) continue;
      Insert(*job);
      if (!job->reserved.empty()) holder_ = job.get();
    }
  }

  void Run() {
    if (First() == nullptr) return;
    std::vector<Claim> contenders;
    if (preempts_) contenders = HigherClasses();
    rooms_ = workers_.Rooms();
    for (Group* group = First(); group != nullptr && !rooms_.empty(); group = First()) {
      const Claim claim = *group->order.begin();
      group->order.erase(group->order.begin());
      Serve(*jobs_.FindKey(claim.job), claim);
    }
    if (!contenders.empty()) PreemptForFirst(contenders);
    RunAhead();
  }

 private:
  enum class Placed { kYes, kNoWork, kNoRoom, kOverQuota };

  // The jobs of a project that may want slots.
  struct Group {
    ProjectClaim claim;
    std::set<Claim> order;
  };

  void FindGroups() {
    projects_.Count(jobs_.Uses(), context_.wall_us());
    std::set<std::string> names;
    for (const auto& [key, job] : jobs_.all()) names.insert(job->row.project);
    groups_.clear();
    for (const std::string& name : names) {
      Group& group = groups_.emplace_back();
      group.claim = projects_.ClaimOf(name, context_.wall_us());
      group.claim.project = static_cast<int64_t>(groups_.size()) - 1;
      group_of_[name] = groups_.size() - 1;
      preempts_ = preempts_ || group.claim.job_class != groups_[0].claim.job_class;
    }
  }

  Group& GroupOf(const OpenJob& job) {
    return groups_[group_of_.empty() ? 0 : group_of_.at(job.row.project)];
  }

  Claim ClaimOf(const OpenJob& job) {
    const ProjectClaim& project = GroupOf(job).claim;
    Claim claim = job.claim();
    claim.project = project.project;
    claim.job_class = project.job_class;
    return claim;
  }

  void Insert(const OpenJob& job) { GroupOf(job).order.insert(ClaimOf(job)); }

  // The group whose first job is served next; null: no job is left.
  Group* First() {
    Group* first = nullptr;
    for (Group& group : groups_) {
      if (!group.order.empty() && (first == nullptr || group.claim < first->claim)) first = &group;
    }
    return first;
  }

  // The jobs of all classes but the lowest, in the order in which they are served.
  std::vector<Claim> HigherClasses() const {
    std::vector<const Group*> groups;
    int32_t lowest = groups_[0].claim.job_class;
    for (const Group& group : groups_) {
      groups.push_back(&group);
      lowest = std::min(lowest, group.claim.job_class);
    }
    std::sort(groups.begin(), groups.end(),
              [](const Group* a, const Group* b) { return a->claim < b->claim; });
    std::vector<Claim> claims;
    for (const Group* group : groups) {
      if (group->claim.job_class > lowest)
        claims.insert(claims.end(), group->order.begin(), group->order.end());
    }
    return claims;
  }

  bool Allowed(const OpenJob& job, int32_t nodes) const {
    if (!projects_.on()) return true;
    const QuotaUse more = UseOfStart(job.shape, nodes, job.state);
    return !projects_.Forbidden(job.row.project, job.row.owner, more);
  }

  void Serve(OpenJob& job, const Claim& claim) {
    const bool bound = holder_ != nullptr && Binds(ClaimOf(*holder_), claim);
    const std::vector<WorkerRoom> left = bound ? LeftTo(job) : std::vector<WorkerRoom>();
    const std::vector<WorkerRoom>& rooms = bound ? left : rooms_;
    if (rooms.empty()) return;
    GangRequest gang;
    const Placed placed = PlaceOne(job, rooms, &gang);
    if (placed == Placed::kNoRoom && !bound) return Keep(job, gang);
    if (placed != Placed::kNoRoom && holder_ == &job) Release();
    if (placed == Placed::kYes) Insert(job);
  }

  // The trials that hold slots, and what they leave of the workers that may be given something.
  struct Held {
    std::vector<RunningTrial> trials;
    std::vector<WorkerRoom> rooms;
  };
  const Held& held() {
    if (!held_) held_ = Held{RunningTrials(), workers_.RoomsOfAll()};
    return *held_;
  }

  std::vector<RunningTrial> RunningTrials() {
    std::map<std::pair<int64_t, TrialNumber>, RunningTrial> found;
    for (const WorkerEntry* worker : workers_.Present()) {
      for (const auto& [assignment, rank] : worker->held) {
        const OpenJob& job = *jobs_.FindKey(rank->row.job);
        RunningTrial& trial = found[{rank->row.job, rank->row.trial}];
        trial.job = rank->row.job;
        trial.trial = rank->row.trial;
        trial.job_class = GroupOf(job).claim.job_class;
        trial.started_us = rank->row.place_us;
        trial.stopping = trial.stopping || !rank->wanted();
        trial.shape = job.shape;
        trial.ranks.push_back({worker->row.id, rank->row.gpus});
      }
    }
    std::vector<RunningTrial> running;
    for (auto& [key, trial] : found) running.push_back(std::move(trial));
    return running;
  }

  // What would be free if all trials of classes below the job's had stopped.
  std::vector<WorkerRoom> RoomsBelow(const OpenJob& job) {
    const int32_t job_class = GroupOf(job).claim.job_class;
    std::vector<RunningTrial> gone;
    std::copy_if(
        held().trials.begin(), held().trials.end(), std::back_inserter(gone),
        [job_class](const RunningTrial& trial) { return trial.stopping || trial.job_class < job_class; });
    return WithoutTrials(held().rooms, gone);
  }

  // Stops trials of lower classes for the first of these jobs that has work and finds no room.
  void PreemptForFirst(const std::vector<Claim>& contenders) {
    for (const Claim& contender : contenders) {
      OpenJob* job = jobs_.FindKey(contender.job);
      if (job == nullptr || job->state.ended()) continue;
      if (holder_ != nullptr && Binds(ClaimOf(*holder_), ClaimOf(*job))) continue;
      GangRequest gang;
      if (PlaceOne(*job, {}, &gang) != Placed::kNoRoom) continue;
      Keep(*job, gang);
      if (holder_ != job) continue;
      const std::vector<RunningTrial>& running = held().trials;
      const std::vector<size_t> stopped =
          TrialsToPreempt(held().rooms, running, gang, ClaimOf(*job).job_class, job->reserved);
      for (const size_t i : stopped) {
        recorder_.Preempt(*jobs_.FindKey(running[i].job), running[i].trial,
                          fmt::format("preempted by {} (class {})", ProjectInWords(job->row.project),
                                      ClaimOf(*job).job_class));
      }
      return;
    }
  }

  bool HasShortParts(const OpenJob& job) const {
    return job.part_us > 0 && job.part_us <= context_.options.short_part_us;
  }

  // Places short parts on workers whose slots are all taken, unless another job has work for those slots.
  void RunAhead() {
    if (holder_ != nullptr) return;
    std::vector<OpenJob*> others;
    for (Group& group : groups_) {
      std::erase_if(group.order, [&](const Claim& claim) {
        OpenJob& job = *jobs_.FindKey(claim.job);
        if (!HasShortParts(job)) others.push_back(&job);
        return !HasShortParts(job);
      });
    }
    if (First() == nullptr) return;
    rooms_ = workers_.RoomsAhead();
    if (rooms_.empty()) return;
    if (std::any_of(others.begin(), others.end(),
                    [](const OpenJob* job) { return Admit(job->state).has_value(); }))
      return;
    for (Group* group = First(); group != nullptr && !rooms_.empty(); group = First()) {
      OpenJob& job = *jobs_.FindKey(group->order.begin()->job);
      group->order.erase(group->order.begin());
      GangRequest gang;
      const std::vector<WorkerRoom> rooms = RoomsAhead(job);
      if (!rooms.empty() && PlaceOne(job, rooms, &gang) == Placed::kYes) Insert(job);
    }
  }

  // The rooms of rooms_ that the job may use.
  std::vector<WorkerRoom> RoomsAhead(const OpenJob& job) const {
    std::vector<WorkerRoom> rooms = rooms_;
    for (WorkerRoom& room : rooms) {
      const WorkerEntry& worker = workers_.all().at(room.worker_id);
      const auto short_ranks = std::count_if(worker.held.begin(), worker.held.end(), [&](const auto& held) {
        return HasShortParts(*jobs_.FindKey(held.second->row.job));
      });
      room.free_slots -= worker.ahead - RanksAhead(job, worker, short_ranks);
    }
    std::erase_if(rooms, [](const WorkerRoom& room) { return room.free_slots <= 0; });
    return rooms;
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
    Reservation chosen = Reserve(preempts_ ? RoomsBelow(job) : rooms_, whole(), gang, job.reserved);
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
    if (!Allowed(job, job.state.spec().LeastNodes())) return Placed::kOverQuota;
    std::set<TrialNumber> passed;
    while (true) {
      std::optional<Admission> admission = Admit(job.state, passed);
      if (!admission) return AskSearchModel(job);
      const bool starts = admission->trial > 0;
      if (starts && !Allowed(job, NodesOf(job.state, *admission))) return Placed::kOverQuota;
      if (starts && admission->from > 0 && Suspends(job)) {
        const GangRequest home = attempts_.Gang(job, admission->trial, admission->from);
        const Program program = FindProgram(workers_, job, *admission, home.worker_id);
        const bool has_room = program == Program::kThere && HasRoom(rooms, home.worker_id, job.shape);
        if (!has_room) {
          if (admission->decision) Record(job, ToBody(*admission->decision));
          if (program == Program::kNowhere) {
            Record(job, CheckpointLost{admission->trial});
          } else {
            passed.insert(admission->trial);
          }
          continue;
        }
        Start(job, *admission, {home.worker_id});
        return Placed::kYes;
      }
      if (starts) {
        // A repeat begins from scratch.
        const int64_t from = job.state.spec().repeats > 0 ? 0 : admission->from;
        *gang = attempts_.Gang(job, admission->trial, from);
        gang->nodes = NodesOf(job.state, *admission);
        gang->shape = job.shape;
        gang->shape.encrypted = gang->nodes > 1 && context_.options.rank_tls == RankTls::kAlways;
        gang->start_us = workers_.wall_us();
        gang->takes_us = ExpectedPartUs(job.state, *admission);
        const std::optional<std::vector<std::string>> workers = Place(rooms, *gang);
        if (!workers) return Placed::kNoRoom;
        if (from > 0 && !WINNOW_MUTANT("a trial goes on where its checkpoint is not") &&
            !workers_.Share(*workers, gang->storage_id) &&
            !artifacts_.CanRestore(job.row.key, job.state.trial(admission->trial).checkpoint_of(), from)) {
          // Then it has to train all again, which the limits must allow: it is admitted anew.
          if (admission->decision) Record(job, ToBody(*admission->decision));
          Record(job, CheckpointLost{admission->trial});
          continue;
        }
        Start(job, *admission, *workers);
        return Placed::kYes;
      }
      Record(job, ToBody(*admission->decision));
    }
  }

  void Record(OpenJob& job, FactBody body) {
    held_.reset();
    recorder_.Record(job, std::move(body));
  }

  void Start(OpenJob& job, const Admission& admission, const std::vector<std::string>& workers) {
    if (admission.decision) Record(job, ToBody(*admission.decision));
    if (projects_.on()) {
      const QuotaUse more = UseOfStart(job.shape, static_cast<int32_t>(workers.size()), job.state);
      projects_.Start(job.row.project, job.row.owner, more);
      GroupOf(job).claim.slots += more.slots;
    }
    std::vector<RankPlace> ranks;
    for (const std::string& worker : workers) ranks.push_back({worker, Take(worker, job.shape, &rooms_)});
    held_.reset();
    recorder_.StartAttempt(job, admission.trial, admission.from, admission.to, ranks);
    std::erase_if(rooms_, [](const WorkerRoom& room) { return room.free_slots <= 0; });
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

  const Context& context_;
  Jobs& jobs_;
  Workers& workers_;
  Attempts& attempts_;
  Artifacts& artifacts_;
  Recorder& recorder_;
  ProjectBook& projects_;
  std::vector<Group> groups_ = std::vector<Group>(1);    // one where projects do not count
  std::map<std::string, size_t, std::less<>> group_of_;  // by the project's name; empty: there is one group
  bool preempts_ = false;                                // there are jobs of different classes
  OpenJob* holder_ = nullptr;                            // for whose gang workers are kept
  std::vector<WorkerRoom> rooms_;
  std::vector<WorkerRoom> whole_;
  std::optional<Held> held_;  // until something is recorded
};

}  // namespace

void Dispatch(const Context& context, Jobs& jobs, Workers& workers, Attempts& attempts, Artifacts& artifacts,
              Recorder& recorder, ProjectBook& projects) {
  Round(context, jobs, workers, attempts, artifacts, recorder, projects).Run();
}

}  // namespace winnow
