// What an API server sends: events of watches, and the Jobs and pods in them. How the bytes are divided
// changes nothing, and any object has a state that can be shown.

#include <nlohmann/json.hpp>
#include <vector>

#include "base/status_text.h"
#include "base/utf8.h"
#include "server/host/pools/kubernetes/allocation_state.h"
#include "server/host/pools/kubernetes/event_stream.h"
#include "server/host/pools/kubernetes/job_manifest.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace winnow;

void RequireOneLine(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    fuzz::Require(length > 0, "it is UTF-8");
    fuzz::Require(length > 1 || static_cast<unsigned char>(text[0]) >= ' ', "it is one line");
    text.remove_prefix(length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const size_t piece = 1 + input.Below(64);
  const std::string_view bytes = input.rest();
  std::vector<nlohmann::json> objects;
  std::vector<nlohmann::json> again;
  EventStream whole;
  const absl::Status first =
      whole.Take(bytes, [&](const WatchEvent& event) { objects.push_back(event.object); });
  EventStream divided;
  absl::Status second;
  for (size_t at = 0; at < bytes.size() && second.ok(); at += piece)
    second = divided.Take(bytes.substr(at, piece),
                          [&](const WatchEvent& event) { again.push_back(event.object); });
  fuzz::Require(first == second, "the outcome is the same in pieces");
  fuzz::Require(objects == again, "the events are the same in pieces");

  objects.push_back(nlohmann::json::parse(bytes, nullptr, false));
  if (objects.back().is_discarded()) objects.back() = nullptr;
  const KubernetesAllocation state = ReadAllocation("a", objects.front(), objects, "trouble");
  RequireOneLine(state.reason);
  fuzz::Require(state.pods.size() == state.nodes.size(), "each pod that runs has a node");
  RequireOneLine(MessageOf(ApiError(400, objects.back(), bytes)));
  static_cast<void>(AbilitiesOf(objects.back()));
  return 0;
}
