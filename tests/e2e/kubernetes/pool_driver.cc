// pool_driver PREFIX SETTINGS: makes a Kubernetes pool from its settings (JSON), does what each line of its
// input says, and answers each by a line. Tests play the server with it.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status_text.h"
#include "server/host/pools/kubernetes/kubernetes_pool.h"
#include "server/host/pools/kubernetes/kubernetes_settings.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

Json Said(const absl::Status& status) {
  return {{"status", absl::StatusCodeToString(status.code())}, {"message", MessageOf(status)}};
}

AllocationRequest RequestOf(const Json& order) {
  AllocationRequest request;
  request.name = order.at("name");
  request.nodes = order.value("nodes", 1);
  request.shape.cpus = order.value("cpus", 1.0);
  request.time_limit = std::chrono::seconds(order.value("time_limit", 0));
  request.command = order.at("command");
  request.files = order.value("files", request.files);
  return request;
}

std::vector<AllocationKey> KeysOf(const Json& order) {
  std::vector<AllocationKey> keys;
  for (const Json& name : order.at("names")) keys.push_back({name, ""});
  return keys;
}

Json Do(KubernetesPool& pool, const Json& order) {
  const std::string what = order.at("do");
  if (what == "submit") {
    const auto ids = pool.Submit({RequestOf(order)});
    Json answer = Said(ids.status());
    if (ids.ok()) answer["id"] = ids->front();
    return answer;
  }
  if (what == "list") {
    const auto listed = pool.List(KeysOf(order));
    Json answer = Said(listed.status());
    answer["allocations"] = Json::object();
    if (!listed.ok()) return answer;
    for (const Allocation& each : *listed) {
      answer["allocations"][each.name] = {
          {"id", each.id}, {"state", TextOf(each.state)}, {"reason", each.reason}, {"hosts", each.hosts}};
    }
    return answer;
  }
  if (what == "cancel") return Said(pool.Cancel(KeysOf(order)));
  if (what == "forget") return Said(pool.Forget(KeysOf(order).front()));
  if (what == "render") return {{"text", pool.Render({RequestOf(order)})}};
  return {{"calls", pool.calls()}, {"lists", pool.lists()}};
}

int Main(const char* prefix, const char* settings) {
  PoolProblems problems;
  const auto pool =
      MakeKubernetesPool({}, {.folder = "/", .prefix = prefix}, Json::parse(settings), problems);
  for (const std::string& problem : problems) std::cerr << problem << "\n";
  if (pool == nullptr) return 1;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << Do(static_cast<KubernetesPool&>(*pool), Json::parse(line)).dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  if (argc == 3) return winnow::Main(argv[1], argv[2]);
  std::cerr << "usage: pool_driver PREFIX SETTINGS\n";
  return 2;
}
