#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/space/types.h"
#include "store/database/database.h"

namespace winnow {

enum class WorkerState { kLive, kLeaving, kLost, kGone };

// A GPU of a worker.
struct WorkerGpu {
  std::string id;     // as in CUDA_VISIBLE_DEVICES
  std::string model;  // "": unknown
  std::string fault;  // why it gets no trials; "": it is healthy

  bool operator==(const WorkerGpu&) const = default;
};

struct WorkerRow {
  std::string id;
  std::string name;
  std::string host;
  int32_t slots = 0;
  std::string storage_id;
  std::string version;
  int32_t rendezvous_port = 0;
  WorkerState state = WorkerState::kLive;
  int64_t register_us = 0;
  int64_t last_sync_us = 0;  // as of the newest change of the row
  std::map<std::string, std::string> labels = {};
  double cpus = 0;          // 0: unknown
  double memory_gib = 0;    // 0: unknown
  std::string limits = "";  // how resource limits of trainers are enforced
  std::vector<WorkerGpu> gpus = {};
  double cost_per_hour = 0;  // of the whole worker
  int64_t ends_us = 0;       // when it will leave by itself; 0: not known
  std::vector<std::string> projects =
      {};                        // whose jobs it may run, by its token ("": the default one); empty: all
  std::string loopback_of = "";  // of a host that is loopback: where alone it can be reached
  std::string token = "";  // id of the one that its calls come with; "": none, or an older version's row

  bool operator==(const WorkerRow&) const = default;
};

// Why a worker gets no new trials.
enum class Marked { kCordoned, kDraining, kQuarantined };

// A worker, by name, that gets no new trials.
struct WorkerMark {
  std::string name;
  Marked scheduling = Marked::kCordoned;
  std::string reason;
  int64_t until_us = 0;  // of a quarantine; 0: until it is lifted by hand
};

// The texts in the tables: "live", "cordoned" and so on.
const char* TextOf(WorkerState state);
const char* TextOf(Marked scheduling);

class WorkerTable {
 public:
  explicit WorkerTable(Database& database);

  // Inserts or updates.
  absl::Status Put(const WorkerRow& row);
  // In order of registration.
  absl::StatusOr<std::vector<WorkerRow>> List(bool include_gone);
  // The workers on which ranks of the trial were placed, in order of registration.
  absl::StatusOr<std::vector<WorkerRow>> OfTrial(int64_t job, TrialNumber trial);

  absl::Status PutMark(const WorkerMark& mark);
  absl::Status ClearMark(const std::string& name);
  absl::StatusOr<std::vector<WorkerMark>> Marks();

 private:
  absl::StatusOr<std::vector<WorkerRow>> All(Statement& statement);

  Statement put_, list_, of_trial_, put_mark_, clear_mark_, marks_;
};

}  // namespace winnow
