#include "store/workers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "store/enum_text.h"
#include "store/text_list.h"

namespace winnow {
namespace {

constexpr const char* kWorkerStates[] = {"live", "leaving", "lost", "gone"};
constexpr const char* kMarks[] = {"cordoned", "draining", "quarantined"};
constexpr EnumTexts<WorkerState, 4> kWorkerStateTexts("workers.state", kWorkerStates);
constexpr const char* kWorkerColumns =
    "worker, name, host, slots, storage_id, version, rendezvous_port, state, register_us, last_sync_us, "
    "labels,"
    " cpus, memory_gib, limits, gpus, cost_per_hour, ends_us, projects, loopback_of, token";
constexpr EnumTexts<Marked, 3> kMarkTexts("worker_marks.scheduling", kMarks);

// REQUIRES: written by us: a JSON object of strings.
std::map<std::string, std::string> LabelsFromJson(const std::string& text) {
  const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  std::map<std::string, std::string> labels;
  if (!parsed.is_object()) return labels;
  for (const auto& [name, value] : parsed.items()) {
    if (value.is_string()) labels[name] = value.get<std::string>();
  }
  return labels;
}

std::string JsonOfGpus(const std::vector<WorkerGpu>& gpus) {
  if (gpus.empty()) return "";
  nlohmann::json list = nlohmann::json::array();
  for (const WorkerGpu& gpu : gpus) {
    list.push_back({{"id", gpu.id}, {"model", gpu.model}, {"fault", gpu.fault}});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// REQUIRES: written by JsonOfGpus.
std::vector<WorkerGpu> GpusFromJson(const std::string& text) {
  const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  std::vector<WorkerGpu> gpus;
  if (!parsed.is_array()) return gpus;
  const auto text_of = [](const nlohmann::json& entry, const char* name) {
    const auto found = entry.find(name);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : "";
  };
  for (const nlohmann::json& entry : parsed) {
    if (entry.is_object())
      gpus.push_back({text_of(entry, "id"), text_of(entry, "model"), text_of(entry, "fault")});
  }
  return gpus;
}

}  // namespace

const char* TextOf(WorkerState state) { return kWorkerStateTexts.Text(state); }
const char* TextOf(Marked scheduling) { return kMarkTexts.Text(scheduling); }

WorkerTable::WorkerTable(Database& database)
    : put_(database,
           "INSERT INTO workers (worker, name, host, slots, storage_id, version, rendezvous_port, state,"
           " register_us, last_sync_us, labels, cpus, memory_gib, limits, gpus, cost_per_hour, ends_us,"
           " projects, loopback_of, token) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
           " ?14, ?15, ?16, ?17, ?18, ?19, ?20)"
           " ON CONFLICT (worker) DO UPDATE SET name = ?2, host = ?3, slots = ?4, storage_id = ?5,"
           " version = ?6, rendezvous_port = ?7, state = ?8, last_sync_us = ?10, labels = ?11, cpus = ?12,"
           " memory_gib = ?13, limits = ?14, gpus = ?15, cost_per_hour = ?16, ends_us = ?17,"
           " projects = ?18, loopback_of = ?19, token = ?20"),
      list_(database, fmt::format("SELECT {} FROM workers WHERE ?1 OR state IN ('live', 'leaving')"
                                  " ORDER BY register_us, worker",
                                  kWorkerColumns)),
      of_trial_(database, fmt::format("SELECT {} FROM workers WHERE worker IN (SELECT worker FROM assignments"
                                      " WHERE job = ?1 AND trial = ?2) ORDER BY register_us, worker",
                                      kWorkerColumns)),
      put_mark_(database,
                "INSERT INTO worker_marks (name, scheduling, reason, until_us) VALUES (?1, ?2, ?3, ?4)"
                " ON CONFLICT (name) DO UPDATE SET scheduling = ?2, reason = ?3, until_us = ?4"),
      clear_mark_(database, "DELETE FROM worker_marks WHERE name = ?1"),
      marks_(database, "SELECT name, scheduling, reason, until_us FROM worker_marks ORDER BY name") {}

absl::Status WorkerTable::Put(const WorkerRow& row) {
  const std::string labels =
      nlohmann::json(row.labels).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return put_
      .Bind(row.id, row.name, row.host, row.slots, row.storage_id, row.version, row.rendezvous_port,
            TextOf(row.state), row.register_us, row.last_sync_us, labels, row.cpus, row.memory_gib,
            row.limits, JsonOfGpus(row.gpus), row.cost_per_hour, row.ends_us, JsonOfTexts(row.projects),
            row.loopback_of, row.token)
      .Run();
}

absl::StatusOr<std::vector<WorkerRow>> WorkerTable::List(bool include_gone) {
  return All(list_.Bind(include_gone));
}

absl::StatusOr<std::vector<WorkerRow>> WorkerTable::OfTrial(int64_t job, TrialNumber trial) {
  return All(of_trial_.Bind(job, trial));
}

absl::StatusOr<std::vector<WorkerRow>> WorkerTable::All(Statement& s) {
  std::vector<WorkerRow> rows;
  absl::Status status = s.ForEach([&] {
    WorkerState state;
    absl::Status read = kWorkerStateTexts.Read(s.Text(7), state);
    if (!read.ok()) return read;
    rows.push_back({s.Text(0),
                    s.Text(1),
                    s.Text(2),
                    static_cast<int32_t>(s.Int(3)),
                    s.Text(4),
                    s.Text(5),
                    static_cast<int32_t>(s.Int(6)),
                    state,
                    s.Int(8),
                    s.Int(9),
                    LabelsFromJson(s.Text(10)),
                    s.Real(11),
                    s.Real(12),
                    s.Text(13),
                    GpusFromJson(s.Text(14)),
                    s.Real(15),
                    s.Int(16),
                    TextsFromJson(s.Text(17)),
                    s.Text(18),
                    s.Text(19)});
    return read;
  });
  if (!status.ok()) return status;
  return rows;
}

absl::Status WorkerTable::PutMark(const WorkerMark& mark) {
  return put_mark_.Bind(mark.name, TextOf(mark.scheduling), mark.reason, mark.until_us).Run();
}

absl::Status WorkerTable::ClearMark(const std::string& name) { return clear_mark_.Bind(name).Run(); }

absl::StatusOr<std::vector<WorkerMark>> WorkerTable::Marks() {
  std::vector<WorkerMark> marks;
  Statement& s = marks_.Bind();
  absl::Status status = s.ForEach([&] {
    Marked scheduling;
    absl::Status read = kMarkTexts.Read(s.Text(1), scheduling);
    if (read.ok()) marks.push_back({s.Text(0), scheduling, s.Text(2), s.Int(3)});
    return read;
  });
  if (!status.ok()) return status;
  return marks;
}

}  // namespace winnow
