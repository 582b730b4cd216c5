#include "server/host/pools/kubernetes/watched_list.h"

#include <algorithm>

#include "server/host/pools/kubernetes/fields.h"

namespace winnow {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string NameOf(const Json& object) { return TextAt(object, "metadata", "name"); }
std::string UidOf(const Json& object) { return TextAt(object, "metadata", "uid"); }

}  // namespace

WatchedList::WatchedList(ApiClient& client, Options options)
    : client_(client), options_(std::move(options)), thread_([this] { Run(); }) {}

WatchedList::~WatchedList() { thread_.join(); }

absl::StatusOr<std::vector<Json>> WatchedList::Items(milliseconds patience) {
  const auto end = steady_clock::now() + patience;
  MutexLock lock(mutex_);
  while (!asked_ && steady_clock::now() < end) changed_.WaitUntil(mutex_, end);
  if (!status_.ok()) return status_;
  std::vector<Json> items;
  items.reserve(items_.size());
  for (const auto& [name, object] : items_) items.push_back(object);
  return items;
}

void WatchedList::Put(const Json& object) {
  MutexLock lock(mutex_);
  ++puts_;
  if (!deleted_.contains(UidOf(object))) items_.try_emplace(NameOf(object), object);
}

int64_t WatchedList::lists() const {
  MutexLock lock(mutex_);
  return lists_;
}

absl::Status WatchedList::MakeList() {
  while (true) {
    int64_t puts = 0;
    {
      MutexLock lock(mutex_);
      puts = puts_;
    }
    absl::StatusOr<ApiList> list = client_.List(options_.collection, options_.query);
    if (!list.ok()) return list.status();
    if (list->version.empty()) return absl::UnavailableError("the API server's list has no resourceVersion");
    MutexLock lock(mutex_);
    ++lists_;
    if (puts != puts_) continue;  // the list may be older than what was created meanwhile
    items_.clear();
    for (Json& object : list->items) {
      std::string name = NameOf(object);
      items_[std::move(name)] = std::move(object);
    }
    deleted_.clear();
    version_ = list->version;
    return absl::OkStatus();
  }
}

void WatchedList::Take(const WatchEvent& event) {
  MutexLock lock(mutex_);
  if (const std::string version = TextAt(event.object, "metadata", "resourceVersion"); !version.empty())
    version_ = version;
  if (event.type == "BOOKMARK") return;
  if (event.type != "DELETED") {
    items_[NameOf(event.object)] = event.object;
    return;
  }
  deleted_.insert(UidOf(event.object));
  // Another object may have the name by now.
  const auto known = items_.find(NameOf(event.object));
  if (known != items_.end() && UidOf(known->second) == UidOf(event.object)) items_.erase(known);
}

absl::Status WatchedList::Follow() {
  std::string version;
  {
    MutexLock lock(mutex_);
    version = version_;
  }
  const absl::Status status = client_.Watch(
      options_.collection, options_.query, version, [this] { Finish(absl::OkStatus()); },
      [this](const WatchEvent& event) { Take(event); });
  if (absl::IsOutOfRange(status)) {
    MutexLock lock(mutex_);
    version_.clear();
    return absl::OkStatus();
  }
  return status;
}

// The outcome of an attempt to reach the server, for those who ask.
void WatchedList::Finish(const absl::Status& status) {
  MutexLock lock(mutex_);
  asked_ = true;
  status_ = status;
  changed_.NotifyAll();
}

void WatchedList::Run() {
  milliseconds pause = options_.first_pause;
  while (true) {
    bool known = false;
    {
      MutexLock lock(mutex_);
      known = !version_.empty();
    }
    const auto begun = steady_clock::now();
    const absl::Status status = known ? Follow() : MakeList();
    if (absl::IsCancelled(status)) {
      Finish(status);
      return;
    }
    // A watch that lasted is begun again at once, however it ended: the next attempt shows whether the server
    // is there. One that did not is not asked for again and again without a pause.
    const bool lasted = known && steady_clock::now() - begun >= options_.first_pause;
    if (lasted || (!known && status.ok())) pause = options_.first_pause;
    if (lasted) continue;
    if (!known || !status.ok()) Finish(status);
    if (!known && status.ok()) continue;
    if (!client_.Sleep(pause)) continue;  // the next call says that it is cancelled
    pause = std::min(pause * 2, options_.last_pause);
  }
}

}  // namespace winnow
