#include "worker/runs/trainer_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "base/rank_name.h"
#include "nlohmann/json.hpp"

namespace winnow {
namespace {

// Variables of the worker that no trainer may inherit: address and token of the server, and those of an outer
// trial. The trial's own WINNOW_ names are set below; names that users set, such as WINNOW_CACHE_DIR, are
// passed on.
bool IsWithheld(std::string_view name) {
  return name.starts_with("WINNOW_TOKEN") || name.starts_with("WINNOW_TLS_") ||
         name.starts_with("WINNOW_SERVER") || name.starts_with("WINNOW_WORKER_") || name.starts_with("SM_") ||
         name == "RANK" || name == "WORLD_SIZE" || name == "LOCAL_RANK" || name == "MASTER_ADDR" ||
         name == "MASTER_PORT" || name == "WINNOW_SEED" || name.starts_with("WINNOW_REPEAT") ||
         name.starts_with("WINNOW_FOLD") || name == "WINNOW_CONTROL_FD" ||
         name.starts_with("WINNOW_PARENT_") || name == kRankCredentials || name == "WINNOW_ORIGIN_TRIAL";
}

// Variables of common libraries: OpenMP (PyTorch, XGBoost, scikit-learn), OpenBLAS, MKL, numexpr.
constexpr std::array<const char*, 4> kThreadCounts = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                                      "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"};

// Replaces invalid UTF-8 instead of throwing.
std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

int LocalRank(const v1::Assignment& assignment) {
  int before = 0;
  for (int rank = 0; rank < assignment.rank() && rank < assignment.peers_size(); ++rank) {
    if (assignment.rank() >= assignment.peers_size()) break;
    if (assignment.peers(rank).worker() == assignment.peers(assignment.rank()).worker()) ++before;
  }
  return before;
}

std::map<std::string, std::string> GpuVariables(const std::vector<std::string>& ids) {
  std::string list;
  for (const std::string& id : ids) list += (list.empty() ? "" : ",") + id;
  return {{"CUDA_VISIBLE_DEVICES", list}, {"ROCR_VISIBLE_DEVICES", list}, {"NVIDIA_VISIBLE_DEVICES", list}};
}

std::vector<std::string> TrainerEnvironment(const v1::Assignment& assignment,
                                            const TrialDirectories& directories, const TrainerHost& host,
                                            const std::vector<std::string>& inherited) {
  std::map<std::string, std::string> variables;
  for (const std::string& entry : inherited) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string_view name = std::string_view(entry).substr(0, equals);
    if (!IsWithheld(name)) variables.insert_or_assign(std::string(name), entry.substr(equals + 1));
  }
  for (const auto& [name, value] : assignment.environment()) variables[name] = value;
  for (const auto& [name, value] : host.secrets) variables[name] = value;
  // Lines buffered by Python would arrive too late for early stopping. An existing value is kept.
  variables.try_emplace("PYTHONUNBUFFERED", "1");
  if (assignment.cpus() > 0) {
    // Libraries count the host's processors, not those of a limit. An existing value is kept.
    const std::string threads = std::to_string(static_cast<int64_t>(std::ceil(assignment.cpus())));
    for (const char* name : kThreadCounts) variables.try_emplace(name, threads);
  }

  nlohmann::json hosts = nlohmann::json::array();
  for (const v1::Peer& peer : assignment.peers()) hosts.push_back(peer.host());
  if (hosts.empty()) hosts.push_back(host.host);
  const bool has_master = !assignment.master_address().empty();
  const int port = assignment.master_port() > 0 ? assignment.master_port() : host.seat.free_port;
  variables["RANK"] = std::to_string(assignment.rank());
  variables["WORLD_SIZE"] = std::to_string(std::max(assignment.world_size(), 1));
  variables["LOCAL_RANK"] = std::to_string(host.local_rank);
  variables["MASTER_ADDR"] = has_master ? assignment.master_address() : host.host;
  variables["MASTER_PORT"] = std::to_string(port);
  variables["SM_HOSTS"] = Dump(hosts);
  variables["SM_CURRENT_HOST"] =
      assignment.rank() < assignment.peers_size() ? assignment.peers(assignment.rank()).host() : host.host;
  variables["SM_MODEL_DIR"] = directories.model.string();
  variables["SM_OUTPUT_DATA_DIR"] = directories.output.string();
  variables["WINNOW_CHECKPOINT_DIR"] = directories.checkpoint.string();
  variables["WINNOW_RESOURCE_FROM"] = std::to_string(assignment.resource_from());
  variables["WINNOW_RESOURCE_TO"] = std::to_string(assignment.resource_to());
  variables["WINNOW_RESOURCE_OFFSET"] = std::to_string(assignment.resource_offset());
  variables["WINNOW_JOB"] = assignment.job_id();
  variables["WINNOW_TRIAL"] = std::to_string(assignment.trial());
  if (assignment.origin() > 0) variables["WINNOW_ORIGIN_TRIAL"] = std::to_string(assignment.origin());
  variables["WINNOW_ATTEMPT"] = std::to_string(assignment.attempt());
  variables["WINNOW_ASSIGNMENT"] = assignment.id();
  variables["WINNOW_WORK_DIR"] = host.work;
  if (assignment.gpus_size() > 0) {
    // Indices are those of nvidia-smi, not the driver's order by speed.
    variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
    for (const auto& [name, value] : GpuVariables({assignment.gpus().begin(), assignment.gpus().end()}))
      variables[name] = value;
  }
  variables["WINNOW_SLOT"] = std::to_string(host.seat.slot);
  if (host.control >= 0) variables["WINNOW_CONTROL_FD"] = std::to_string(host.control);
  if (!host.credentials.empty()) variables[kRankCredentials] = host.credentials;
  if (!host.python.empty()) {
    std::string& path = variables["PYTHONPATH"];
    path = path.empty() ? host.python : host.python + ":" + path;
  }

  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<std::string> PartEnvironment(const v1::Assignment& assignment, const TrainerSeat& seat) {
  const int port = assignment.master_port() > 0 ? assignment.master_port() : seat.free_port;
  return {"MASTER_PORT=" + std::to_string(port),
          "WINNOW_ASSIGNMENT=" + assignment.id(),
          "WINNOW_ATTEMPT=" + std::to_string(assignment.attempt()),
          "WINNOW_RESOURCE_FROM=" + std::to_string(assignment.resource_from()),
          "WINNOW_RESOURCE_TO=" + std::to_string(assignment.resource_to()),
          "WINNOW_SLOT=" + std::to_string(seat.slot)};
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

}  // namespace winnow
