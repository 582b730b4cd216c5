#include "server/host/pools/pools_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/read_file.h"
#include "server/host/pools/fields.h"

namespace winnow {
namespace {

constexpr int64_t kMostNodesOfPool = 10'000;
constexpr int64_t kMostSeconds = 365 * 86'400;
constexpr size_t kLongestPoolName = 20;

bool IsPoolName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestPoolName && name.front() != '-' && name.back() != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

WorkerShape ReadShape(const nlohmann::json& object, const std::string& path, PoolSettings& settings,
                      PoolProblems& problems) {
  Fields fields(object, path, problems);
  WorkerShape shape;
  shape.slots = static_cast<int32_t>(fields.Int("slots", 1, 1, 1024));
  shape.cpus = fields.Real("cpus", 0, 0, 1e6);
  shape.memory_gib = fields.Real("memory_gib", 0, 0, 1e6);
  shape.gpus = static_cast<int32_t>(fields.Int("gpus", 0, 0, 1024));
  shape.labels = fields.TextMap("labels");
  settings.worker_command = fields.Texts("command");
  if (settings.worker_command.empty()) settings.worker_command = {"winnow-worker"};
  settings.worker_arguments = fields.Texts("arguments");
  settings.server = fields.Text("server");
  if (const std::string file = fields.Text("tls_ca"); !file.empty()) {
    const absl::StatusOr<std::string> text = ReadFile(file);
    settings.tls_ca = text.value_or("");
    if (!text.ok()) {
      fields.Problem("tls_ca", fmt::format("is \"{}\", which cannot be read; expected a PEM file", file));
    } else if (settings.tls_ca.find("CERTIFICATE-----") == std::string::npos) {
      fields.Problem("tls_ca", fmt::format("is \"{}\", which contains no certificate in PEM", file));
    }
  }
  fields.Done();
  return shape;
}

class PoolsReader {
 public:
  PoolsReader(std::filesystem::path folder, std::string prefix, const std::vector<PoolKind>& kinds)
      : folder_(std::move(folder)), prefix_(std::move(prefix)), kinds_(kinds) {}

  void Read(const nlohmann::json& root) {
    Fields top(root, "", problems_);
    const nlohmann::json list = root.is_object() && root.contains("pools") ? root["pools"] : nlohmann::json();
    top.Object("pools");
    top.Done();
    if (!root.is_object()) return;
    if (!list.is_array()) {
      problems_.push_back("pools: expected a list of pools");
      return;
    }
    for (size_t i = 0; i < list.size(); ++i) ReadPool(list[i], fmt::format("pools[{}]", i));
  }

  absl::StatusOr<std::vector<DeclaredPool>> Result(const std::string& file) {
    if (absl::Status status = ProblemsOf(file, problems_); !status.ok()) return status;
    return std::move(pools_);
  }

 private:
  void ReadPool(const nlohmann::json& object, const std::string& path) {
    Fields fields(object, path, problems_);
    if (!object.is_object()) return;
    DeclaredPool pool;
    PoolSettings& settings = pool.settings;
    settings.name = fields.Text("name");
    if (!IsPoolName(settings.name)) {
      fields.Problem("name", fmt::format("is \"{}\"; expected 1 to {} lower-case letters, digits and '-', "
                                         "which is neither first nor last",
                                         settings.name, kLongestPoolName));
    } else if (!names_.insert(settings.name).second) {
      fields.Problem("name", fmt::format("is \"{}\", which another pool has too", settings.name));
    }
    settings.kind = fields.Text("kind");
    settings.worker = ReadShape(fields.Object("worker"), fields.PathOf("worker"), settings, problems_);
    settings.max_nodes = static_cast<int32_t>(fields.Int("max_nodes", 1, 1, kMostNodesOfPool));
    settings.min_nodes = static_cast<int32_t>(fields.Int("min_nodes", 0, 0, settings.max_nodes));
    settings.max_queued = static_cast<int32_t>(fields.Int("max_queued", 10, 1, kMostNodesOfPool));
    settings.idle_timeout = Seconds(fields, "idle_timeout_seconds", 300, 1);
    settings.time_limit = Seconds(fields, "time_limit_seconds", 0, 0);
    settings.grace = Seconds(fields, "grace_seconds", 120, 0);
    settings.start_timeout = Seconds(fields, "start_timeout_seconds", 600, 1);
    settings.poll =
        std::chrono::milliseconds(static_cast<int64_t>(1000 * fields.Real("poll_seconds", 5, 0.05, 3600)));
    settings.cost_per_node_hour = fields.Real("cost_per_node_hour", 0, 0, 1e9);
    if (settings.time_limit.count() > 0 && settings.time_limit <= settings.grace) {
      fields.Problem("time_limit_seconds",
                     fmt::format("is {}; expected more than grace_seconds, {}, in which workers leave",
                                 settings.time_limit.count(), settings.grace.count()));
    }
    const PoolKind* kind = nullptr;
    std::vector<std::string> kinds;
    for (const PoolKind& known : kinds_) {
      kinds.emplace_back(known.name);
      if (settings.kind == known.name) kind = &known;
    }
    if (kind == nullptr) {
      for (const PoolKind& known : kinds_) (void)fields.Object(known.field);
      fields.Problem("kind", fmt::format("is \"{}\"; expected {}", settings.kind, fmt::join(kinds, " or ")));
    } else {
      const PoolPlace place{folder_ / settings.name, AllocationPrefix(prefix_, settings.name)};
      PoolProblems own;
      pool.engine = kind->make(settings, place, fields.Object(kind->field), own);
      for (const std::string& problem : own) problems_.push_back(path + "." + problem);
    }
    fields.Done();
    pools_.push_back(std::move(pool));
  }

  static std::chrono::seconds Seconds(Fields& fields, const char* name, int64_t otherwise, int64_t least) {
    return std::chrono::seconds(fields.Int(name, otherwise, least, kMostSeconds));
  }

  const std::filesystem::path folder_;
  const std::string prefix_;
  const std::vector<PoolKind>& kinds_;
  std::set<std::string> names_;
  PoolProblems problems_;
  std::vector<DeclaredPool> pools_;
};

}  // namespace

std::string AllocationPrefix(const std::string& prefix, const std::string& pool) {
  return prefix + "-" + pool;
}

absl::StatusOr<std::vector<DeclaredPool>> ReadPoolsFile(const std::string& file,
                                                        const std::filesystem::path& folder,
                                                        const std::string& prefix,
                                                        const std::vector<PoolKind>& kinds) {
  const absl::StatusOr<nlohmann::json> root = ReadJsonFile(file);
  if (!root.ok()) return root.status();
  PoolsReader reader(folder, prefix, kinds);
  reader.Read(*root);
  return reader.Result(file);
}

}  // namespace winnow
